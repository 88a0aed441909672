"""
How a text is cut into words, how forms come of listed words, and how they get misspelt (V2, V4).
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nr_agent_core.domain.claims import word_class as wc
from nr_agent_core.domain.claims.endings import Endings, classes_of
from nr_agent_core.domain.claims.lexicon import Lexicon
from nr_agent_core.domain.claims.normalise import QUOTE
from nr_agent_core.domain.claims.outline import Outline
from nr_agent_core.domain.claims.parting import Parting
from nr_agent_core.domain.claims.spelling import respellings, slips
from nr_agent_core.domain.claims.tokens import TOKEN, is_name, is_number


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("it's re-added now.", ["it's", "re-added", "now"]),
        ("(one) [two] | three", ["(", "one", ")", "[", "two", "]", "|", "three"]),
        ("a - b -> c \u2192 d \u2014 e", ["a", "-", "b", "->", "c", "\u2192", "d", "\u2014", "e"]),
        ("1,234.5 12:30 2/3 2024-05-01", ["1,234.5", "12:30", "2/3", "2024-05-01"]),
        ("5kg 2nd", ["5kg", "2nd"]),
        ("pages:42 doc::part a_b #12 @me /a/b", ["pages:42", "doc::part", "a_b", "#12", "@me", "/a/b"]),
        ("report.pdf a@b.org x: y; z", ["report.pdf", "a@b.org", "x", ":", "y", ";", "z"]),
        (f"a {QUOTE}{QUOTE} b", ["a", QUOTE * 2, "b"]),
        ("", []),
    ],
)
def test_a_text_is_cut_into_words(text: str, tokens: list[str]) -> None:
    """Words, numbers, quoted names, references and the marks that cut; a reference is one."""
    assert TOKEN.findall(text) == tokens


@pytest.mark.parametrize("token", ["12", "12:30", "1.5", "2nd", "5kg", "10min"])
def test_numbers_count_or_measure(token: str) -> None:
    """Up to three letters behind a number are its unit."""
    assert is_number(token)


@pytest.mark.parametrize("token", ["4tests", "3f2504e0", "4_a", "12a4"])
def test_other_words_of_digits_are_names(token: str) -> None:
    """A longer word behind it, or letters within, make a name of it."""
    assert not is_number(token)


def test_signs_make_a_name() -> None:
    """Each of the signs that no word has."""
    assert all(is_name(f"a{sign}b") for sign in "_:@./\\#")
    assert not any(map(is_name, ("ab", "a-b", "a'b", "AXB", "")))


def endings() -> Endings:
    """The endings of a made-up list."""
    return Endings({"car": "told qu\u00e9 | participle cado cada", "ar": "participle ado", "": "base er"})


def test_the_longest_ending_that_fits_counts() -> None:
    """Each of its forms with its classes; a form of its own is a participle, too."""
    assert endings().forms("tocar") == [
        ("toqu\u00e9", wc.TOLD | wc.PARTICIPLE),
        ("tocado", wc.PARTICIPLE),
        ("tocada", wc.PARTICIPLE),
    ]
    assert endings().forms("amar") == [("amado", wc.PARTICIPLE)]
    assert endings().forms("com") == [("comer", wc.BASE)]
    assert Endings({"ar": "participle ado"}).forms("com") == []


@pytest.mark.parametrize(
    ("name", "classes"),
    [
        ("told", wc.TOLD | wc.PARTICIPLE),
        ("impersonal", wc.IMPERSONAL | wc.PARTICIPLE),
        ("third", wc.THIRD | wc.PARTICIPLE),
        ("participle", wc.PARTICIPLE),
        ("past", wc.PAST),
    ],
)
def test_forms_that_need_no_auxiliary_are_participles(name: str, classes: int) -> None:
    """The other lists give their own class only."""
    assert classes_of(name) == classes


def test_letters_are_written_the_other_way() -> None:
    """All at once, and one letter of the table at a time."""
    assert set(respellings("gr\u00f6\u00dfe", {"\u00f6": "oe", "\u00df": "ss", "\u00e4": "ae"})) == {
        "groe\u00dfe",
        "gr\u00f6sse",
        "groesse",
    }
    assert set(respellings("abc", {"\u00e4": "ae"})) == {"abc"}


def test_slips_of_the_pen() -> None:
    """Two letters swapped, one left out, one doubled; the first and the last letter stay; short words keep theirs."""
    assert set(slips("blomket")) == {
        *("bolmket", "blmoket", "blokmet", "blomekt"),
        *("bomket", "blmket", "bloket", "blomet"),
        *("bllomket", "bloomket", "blommket", "blomkket", "blomkeet"),
    }
    assert list(slips("closed")) == []
    assert list(slips("re-added")) == []


@given(st.text("abcdefg", min_size=7, max_size=12))
def test_a_slip_keeps_the_ends(word: str) -> None:
    """Whatever the word, and at most one letter more or less."""
    for slip in slips(word):
        assert (slip[0], slip[-1], abs(len(slip) - len(word)) <= 1) == (word[0], word[-1], True)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("abcd", ["abc", "d"]),
        ("xabx", ["xabx"]),
        ("oxy", ["oxy"]),
        ("\u5df2o", ["\u5df2", "o"]),
        ("a b", ["a", "b"]),
        ("file.txt ab", ["file.txt", "ab"]),
        ("\u5df2\u4fdd\u5b58", ["\u5df2", "\u4fdd\u5b58"]),
        ("\u5df2(ab)\uff0c\u2713", ["\u5df2", "(", "ab", ")", "\u2713"]),
        ("\u4fdd", ["\u4fdd"]),
        ("\u5df2->3", ["\u5df2", "->", "3"]),
        (f"\u5df2{QUOTE}{QUOTE}", ["\u5df2", QUOTE * 2]),
    ],
)
def test_the_longest_listed_word_is_taken_where_nothing_parts_words(text: str, words: list[str]) -> None:
    """Else a Latin word, a sign that cuts, or the sign that stands there; what is nothing of it is left out."""
    parting = Parting({"ab": 1, "abc": 1, "o": 1, "\u5df2": 1, "\u4fdd\u5b58": 1})

    spans = list(parting.spans(text, 0, len(text)))

    assert [text[start:end] for start, end in spans] == words


def test_words_are_parted_within_bounds() -> None:
    """A word that goes on behind the end is none, and nothing before the start is looked at."""
    parting = Parting({"\u4fdd\u5b58": 1})
    text = "\u4fdd\u5b58\u4fdd\u5b58"

    assert list(parting.spans(text, 2, 4)) == [(2, 4)]
    assert list(parting.spans(text, 1, 3)) == [(1, 2), (2, 3)]
    assert list(parting.spans("words", 1, 3)) == [(1, 3)]


def test_the_headings_above_a_place() -> None:
    """The nearest, then those of higher rank above it; not those beside it, and none that stands below."""
    text = "# A\n\n## B\n\n### C\n\ntext\n\n## D\n\ntext\n\n#### E\ntext\n# F\nend"
    outline = Outline(text)

    def above(place: int) -> list[str]:
        return [text[line.body : line.end].strip() for line in outline.above(place)]

    places = [at for at in range(len(text)) if text.startswith(("text", "end"), at)]
    assert [above(at) for at in places] == [["C", "B", "A"], ["D", "A"], ["E", "D", "A"], ["F"]]
    assert [text[line.start : line.end] for line in outline.above(text.index("### C"))] == ["## B", "# A"]
    assert above(0) == []
    assert above(text.index("## B")) == ["A"]
    assert list(Outline("no heading, #tag").above(9)) == []


TABLE = {
    "shape": "adjacent",
    "elision": "l' qu'",
    "enclitics": "-lo",
    "hyphen_prefixes": "re- un-",
    "adverb_endings": "ly",
    "shared": "made",
    "split_verbs": {"switch": "off on"},
    "rarer": "penned",
    "respelled": {"\u00f6": "oe"},
    "derived": {"verbs": {"": "participle ed | base s"}},
    "words": {
        "participle": "saved gel\u00f6scht",
        "verbs": "post",
        "world": "post",
        "determiner": "l'",
        "self": "i",
        "self_have": "'ve",
        "label": "new",
        "switched": "on",
        "be": "is",
        "bound": "for",
        "before": "was",
        "function": "the of",
        "draft": "sketch",
        "neg": "not",
        "other": "team",
    },
    "phrases": {
        "alone": "all set | spot on",
        "neutral": "saved search | not only",
        "go_ahead": "shall i",
        "gone": "in the cloud | in the",
    },
}


def lexicon() -> Lexicon:
    """The made-up language, compiled anew: a change of the compiling is seen."""
    return Lexicon("xx", TABLE)


@pytest.mark.parametrize(
    ("token", "classes"),
    [
        ("saved", wc.PARTICIPLE | wc.PHRASE),
        ("svaed", 0),
        ("geloescht", wc.PARTICIPLE),
        ("gel\u00f6shct", wc.PARTICIPLE),
        ("gel\u00f6shchct", 0),
        ("gel\u00f6cht", wc.PARTICIPLE),
        ("posted", wc.PARTICIPLE | wc.WORLD),
        ("posts", wc.BASE),
        ("post", wc.BASE | wc.WORLD),
        ("penned", wc.PARTICIPLE),
        ("pennned", 0),
        ("switch", wc.SPLIT),
        ("quickly", wc.ADVERB),
        ("thing", 0),
        ("l'thing", wc.DETERMINER),
        ("l'saved", wc.DETERMINER),
        ("qu'saved", wc.PARTICIPLE),
        ("i've", wc.SELF | wc.SELF_HAVE),
        ("saved've", wc.SELF_HAVE),
        ("re-saved", wc.PARTICIPLE),
        ("mis-saved", 0),
        ("saved-lo", wc.PARTICIPLE),
        ("x:saved", wc.PARTICIPLE),
        ("x:thing", wc.QUOTED),
        ("team:thing", wc.OTHER),
        ("x:12", wc.QUOTED),
        ("a_saved", wc.QUOTED),
        ("12", wc.QUANTITY),
        ("12:30", wc.QUANTITY | wc.QUOTED),
        ("2024-05-01", wc.QUANTITY | wc.DATE),
        ("3.12", wc.QUANTITY | wc.DATE),
        ("2021", wc.QUANTITY | wc.DATE),
        ("2199", wc.QUANTITY),
        ("4tests", wc.QUOTED),
        (QUOTE, wc.QUOTED),
        (",", wc.COMMA),
        (";", wc.BREAK),
        ("|", wc.BREAK),
        ("(", wc.OPEN),
        ("]", wc.CLOSE),
        (":", wc.COLON),
        ("->", wc.ARROW),
        ("\u2713", wc.MARK),
    ],
)
def test_a_word_has_the_classes_of_its_lists_or_of_its_shape(token: str, classes: int) -> None:
    """Listed, derived, misspelt, elided, prefixed, joined by a colon, or a number, a date, a name, a mark."""
    assert lexicon().words[token] == classes, token


def test_words_that_are_asked_for_are_not_remembered() -> None:
    """Texts are endless."""
    words = lexicon().words
    before = len(words)

    assert words["never-seen"] == 0
    assert len(words) == before


@pytest.mark.parametrize(
    ("text", "classes"),
    [
        ("all set", [wc.ALONE] * 2),
        ("all sets", [wc.PHRASE, 0]),
        ("saved search", [0, 0]),
        ("saved it", [wc.PARTICIPLE | wc.PHRASE, 0]),
        ("in the cloud", [wc.GONE] * 3),
        ("in the rain", [wc.GONE, wc.GONE, 0]),
        ("now in the", [0, wc.GONE, wc.GONE]),
        ("the cloud", [wc.FUNCTION, 0]),
        ("in", [wc.PHRASE]),
    ],
)
def test_a_phrase_gives_its_classes_to_its_words(text: str, classes: list[int]) -> None:
    """The longest that stands there; a neutral one takes them away."""
    assert lexicon().classify(lexicon().cut(text)) == classes


def test_a_go_ahead_is_found_by_its_first_word() -> None:
    """And needs its others."""
    assert lexicon().asks(["so", "shall", "i"])
    assert not lexicon().asks(["shall", "we"])
    assert not lexicon().asks([])


def test_what_sentences_are_noticed_by() -> None:
    """Forms and their slips, rarest words of claiming phrases, labels, values and what stands before a bracket."""
    assert {"saved", "gel\u00f6scht", "geloescht", "posted", "penned", "switch"} <= lexicon().triggers
    assert not {"post", "the", "not", "new", "svaed"} & lexicon().triggers
    assert lexicon().anchored == {"all": ["all set"], "spot": ["spot on"], "cloud": ["in the cloud"], "in": ["in the"]}
    assert (lexicon().labels, lexicon().values, lexicon().bound, lexicon().before) == (
        {"new"},
        {"on"},
        {"for"},
        {"was"},
    )
    assert lexicon().verbs == {"is"}
    assert (lexicon().function, lexicon().drafts, lexicon().shared) == ({"the", "of"}, {"sketch"}, {"made"})
    assert lexicon().noticed == lexicon().triggers | {"all", "spot", "cloud", "in", "new", "on", "was"}


def test_tokens_and_their_places_agree() -> None:
    """Within the bounds that are given, to the end of the text without them."""
    text = "one saved: two"

    assert lexicon().cut(text) == ["one", "saved", ":", "two"]
    assert lexicon().cut(text, 4, 9) == ["saved"]
    assert [text[start:end] for start, end in lexicon().spans(text, 4, len(text))] == ["saved", ":", "two"]
