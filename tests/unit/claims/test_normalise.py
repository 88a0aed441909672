"""
The copy that is matched on: what is in it, what is blank, and the way back to the original (V4).
"""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nr_agent_core.domain.claims.normalise import QUOTE, Reading

DELETED = "\u00ad\u200b\u200c\u200d\u2060\ufe0e\ufe0f\ufeff"
LETTERS = st.text("abc Z\u00e9", min_size=1, max_size=8)


def quoted(text: str) -> str:
    """*text* as its copy shows it, a sign for each blanked character."""
    return Reading(text).text.replace(QUOTE, "q")


@pytest.mark.parametrize(
    ("written", "copy"),
    [
        ("Caf\u00c9", "caf\u00e9"),
        ("I\u2019ve I\u2018ve I\u02bcve", "i've i've i've"),
        ("a\u00a0b\u202fc", "a b c"),
        ("a\u2028b\u2029c", "a\nb\nc"),
        ("re\u2011add", "re-add"),
        ("a\r\nb\rc", "a \nb\nc"),
        ("A\rB", "a\nb"),
        ("cre\u00adated", "created"),
        ("ge**\u00e4n**dert", "ge\u00e4ndert"),
        ("a*b a**b a***b a****b", "ab ab ab a*b"),
        ("crea-\nted", "created"),
        ("crea- \nted", "created"),
        ("crea-\n    ted", "created"),
        ("crea -\nted", "crea -\nted"),
        ("crea-\n\nted", "crea-\n\nted"),
        ("2 * 3", "2 * 3"),
        ("\u0130x", "\u0130x"),
    ],
)
def test_spelling_is_made_plain(written: str, copy: str) -> None:
    """Case, apostrophes, blanks, line ends, soft hyphens, emphasis and hyphenation inside a word are made one."""
    assert Reading(written).low.replace("****", "*") == copy


def test_decomposed_letters_are_composed() -> None:
    """A letter and its marks are one character of the copy."""
    for word in ("ge\u00e4ndert", "\u00e9t\u00e9", "zrobi\u0107"):
        assert Reading(unicodedata.normalize("NFD", word)).low == word


@given(st.lists(st.tuples(LETTERS, st.sampled_from([*DELETED, "e\u0301", "o\u0308", ""])), min_size=1, max_size=6))
def test_every_character_knows_where_it_comes_from(parts: list[tuple[str, str]]) -> None:
    """What is deleted or composed moves the rest: the way back leads to the same letter of the original."""
    text = "".join(letters + odd for letters, odd in parts)
    reading = Reading(text)

    for at, character in enumerate(reading.low):
        origin = reading.origin(at)
        letter = unicodedata.normalize("NFC", text[origin : origin + 2])[0].lower()
        assert letter == character or unicodedata.normalize("NFC", text[origin]).lower() == character
    assert reading.origin(len(reading.low)) == len(text)


def test_the_way_back_is_exact() -> None:
    """Behind one deleted and one composed character everything stands two places further on."""
    reading = Reading("a\u00adb e\u0301 cd")

    assert reading.low == "ab \u00e9 cd"
    assert [reading.origin(at) for at in range(len("ab \u00e9 cd") + 1)] == [0, 2, 3, 4, 6, 7, 8, 9]


def test_a_text_without_deletions_is_its_own_map() -> None:
    """Same length, same places."""
    reading = Reading("It\u2019s saved.")

    assert [reading.origin(at) for at in (0, 5, 11)] == [0, 5, 11]
    assert reading.cased == "It's saved."


@pytest.mark.parametrize(
    ("written", "copy"),
    [
        ('He said "it is" so', "he said qqqqqqq so"),
        ("sagt \u201ees ist\u201c so", "sagt qqqqqqqq so"),
        ("sagt \u201ees ist\u201d so", "sagt qqqqqqqq so"),
        ("says \u201cit is\u201d so", "says qqqqqqq so"),
        ("dit \u00abil est\u00bb", "dit qqqqqqqq"),
        ("sagt \u00bbes ist\u00ab", "sagt qqqqqqqq"),
        ("run `it now` here", "run qqqqqqqq here"),
        ("see 'the one' here", "see qqqqqqqqq here"),
        ("('one') here", "(qqqqq) here"),
        ("it's one's own", "it's one's own"),
        ('an "open one', 'an "open one'),
        ('an "open\none" here', 'an "open\none" here'),
        ("at https://a.b/c-d. So", "at httpsqqqqqqqqqq. so"),
        ("no `` here", "no `` here"),
        ("<b>one</b> two", ";  one;    two"),
        ("1 < 2 > 1", "1 < 2 > 1"),
        ("> so it is\nnot", "          \nnot"),
        ("  > so\nnot > so", "      \nnot > so"),
        ("**one** __two__", "  one     two  "),
        ("*one* _two_", " one   two "),
        ("snake_case 2*3", "snake_case 2*3"),
        ("a * b _ c", "a * b _ c"),
    ],
)
def test_what_is_no_statement_of_the_answer_is_blank(written: str, copy: str) -> None:
    """Quotations, inline code, addresses, tags, quoted lines and emphasis are blanked at the same length."""
    assert quoted(written) == copy
    assert len(copy) == len(written)


@pytest.mark.parametrize("length", [399, 400, 401])
def test_a_quotation_is_not_endless(length: int) -> None:
    """Quotation marks more than four hundred characters apart belong to no quotation."""
    text = f'"{"a" * length}"'

    assert (quoted(text) == "q" * (length + 2)) is (length <= 400)


@pytest.mark.parametrize("fence", ["```", "~~~"])
def test_fences_are_blank(fence: str) -> None:
    """What stands between fences keeps its length and nothing else; the line of the last fence belongs to it."""
    text = f"one\n{fence}py\ntwo\n{fence} x\nthree\n{fence}\nfour"
    copy = Reading(text).text

    assert [word for word in ("one", "two", "three", "four", "py", "x") if word in copy.split()] == ["one", "three"]
    assert (len(copy), copy.index("three")) == (len(text), text.index("three"))
    assert set(copy) - set("onethr") == {"\n"}


def test_a_fence_begins_its_line() -> None:
    """Behind up to eight blanks; in the middle of a line the signs are no fence."""
    assert "two" not in Reading("one\n        ```\ntwo").text
    assert "two" in Reading("one ~~~\ntwo").text


ANSWER = {
    "answer": "The page was saved today.",
    "status": "saved",
    "items": [{"state": "saved", "note": "a b c saved d"}],
}


def test_the_values_of_json_are_lines() -> None:
    """Keys are blank but for those that lead into a list or object; short values deep inside are states and blank."""
    text = json.dumps(ANSWER)
    lines = [line.strip(" :,") for line in Reading(text).text.split("\n")]

    assert list(filter(None, lines)) == ["the page was saved today.", "saved", "items", "a b c saved d"]
    assert len(Reading(text).text) == len(text)
    assert all(Reading(text).text.index(word) == text.index(word) for word in ("items", "a b c", "today"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"a_b": {"c": 1}}', "a b 1"),
        ('{"a": 1, "b": "c_d"}', "1 c d"),
        ('["c\\nd"]', "c d"),
        ('["c", "d"]', "c d"),
        ('[["c", "d"]]', ""),
        ('[["one two three", "one two three four"]]', "one two three four"),
        ('{"a": {"b": "c"}, "d": "e"}', "a e"),
        ('{"a": {"b": ["c"]}, "d": ["e"]}', "a d"),
        ('  {"a": "open", "b": ', "open"),
        ('{"a": "b\\"c"}', 'b "c'),
        ("{a: 1}", "{a: 1}"),
        ("[a] b", "[a] b"),
    ],
)
def test_what_json_states(text: str, words: str) -> None:
    """What begins like JSON is read as such, whether it ends or not; other braces are text."""
    copy = Reading(text).text

    assert " ".join(copy.replace(":", " ").replace(",", " ").split()) == " ".join(words.replace(":", " ").split())
