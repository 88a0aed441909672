"""
"Go on" while an approval waits: phrases, and where a message goes (C1-C6).
"""

import itertools
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nr_agent_core.domain.continue_phrases import (
    LONGEST_PHRASE,
    SHIPPED_LANGUAGES,
    ContinuePhraseRouter,
    PhraseKind,
    Route,
    Standing,
    route,
)
from nr_agent_core.domain.errors import InvalidValueError
from nr_agent_core.domain.package_data import read_toml

VECTORS = tomllib.loads((Path(__file__).parents[1] / "vectors" / "continue_phrases.toml").read_text(encoding="utf-8"))
PHRASES = [(text, PhraseKind(kind)) for kind, texts in VECTORS.items() if kind != "request" for text in texts]
ROUTER = ContinuePhraseRouter()
PLAIN = st.sampled_from([(text, kind) for text, kind in PHRASES if text.isascii() and text[-1:].isalpha()])


@pytest.mark.parametrize(("text", "kind"), PHRASES)
def test_listed_phrases_are_recognised(text, kind):
    """The whole message is one of the phrases (C1)."""
    assert kind is ROUTER.phrase_kind(text)


@pytest.mark.parametrize("text", VECTORS["request"])
def test_everything_else_is_an_ordinary_request(text):
    """Longer sentences, questions, negations and refusals are ordinary requests (C1)."""
    assert ROUTER.phrase_kind(text) is None


@given(
    PLAIN,
    st.sampled_from([str.upper, str.lower, str.title, str.capitalize]),
    st.sampled_from(["", " ", "\n", "\t "]),
    st.lists(st.sampled_from(list(".,;:!…-–)\"'*🙂🎉 ")), max_size=6).map("".join),
)
def test_case_blanks_and_trailing_marks_do_not_matter(phrase, case, before, after):
    """Case, spaces, trailing punctuation and symbols are passed over (C1)."""
    text, kind = phrase

    assert ROUTER.phrase_kind(f"{before}{case(text)}{after}") is kind


@given(
    PLAIN,
    st.sampled_from(["ok", "Ja", "dann", "bitte", "danke", "please", "Thanks", "then"]),
    st.sampled_from([", ", " "]),
)
def test_openers_do_not_matter(phrase, opener, gap):
    """An opener leaves the kind as it is (C1)."""
    text, kind = phrase

    assert ROUTER.phrase_kind(f"{opener}{gap}{text}") is kind


@given(PLAIN, st.sampled_from("?？؟❓"), st.sampled_from(["", " ", "!", "...", " 🙂"]))
def test_a_question_mark_makes_a_request(phrase, mark, after):
    """A question is no phrase, whatever stands around its mark (C1)."""
    assert ROUTER.phrase_kind(f"{phrase[0]}{mark}{after}") is None


@given(
    PLAIN, st.sampled_from(["nicht {}", "{} nicht", "not {}", "don't {}", "nein, {}", "no, {}", "never {}", "kein {}"])
)
def test_a_negation_makes_a_request(phrase, frame):
    """A negation or a refusal is no phrase (C1)."""
    assert ROUTER.phrase_kind(frame.format(phrase[0])) is None


@given(
    PLAIN,
    st.sampled_from(["{} mit Seite 2", "{}, ändere aber den Titel", "{} with page 2", "{} and rename it", "{}: x"]),
)
def test_a_longer_sentence_makes_a_request(phrase, frame):
    """A sentence that contains a phrase is no phrase (C1)."""
    assert ROUTER.phrase_kind(frame.format(phrase[0])) is None


@pytest.mark.parametrize("length", [LONGEST_PHRASE, LONGEST_PHRASE + 1])
def test_a_phrase_has_at_most_60_characters(length):
    """More than 60 characters are no phrase (C1)."""
    text = "weiter".ljust(length, "!")

    assert ROUTER.phrase_kind(text) is (PhraseKind.GO_ON if length == 60 else None)


@given(st.text())
def test_any_text_is_answered(text):
    """No message makes the router fail, and none that says nothing is a phrase."""
    kind = ROUTER.phrase_kind(text)

    assert kind is None or any(character.isalnum() or character in "👍✅👌🆗✔" for character in text)


def test_one_spelling_of_umlauts_is_as_good_as_another():
    """Composed, decomposed and written-out umlauts are the same."""
    spellings = ["bestätigt", "besta\u0308tigt", "bestaetigt", "BESTÄTIGT"]

    assert {ROUTER.phrase_kind(text) for text in spellings} == {PhraseKind.APPROVED_IT}


def test_all_languages_count_at_once():
    """No language is guessed; a router may be told to know fewer (C1)."""
    german = ContinuePhraseRouter(["de"])

    assert ROUTER.phrase_kind("ja, go on") is PhraseKind.GO_ON
    assert german.phrase_kind("weiter") is PhraseKind.GO_ON
    assert german.phrase_kind("carry on") is None


def test_a_language_is_added_by_data_only():
    """Phrases of a further language are data that a host passes."""
    dutch = {"go_on": ["(ga maar |)(door|verder)"], "assent": ["prima"], "openers": ["ja"]}
    router = ContinuePhraseRouter(extra={"nl": dutch})

    assert router.phrase_kind("Ja, ga maar door!") is PhraseKind.GO_ON
    assert router.phrase_kind("weiter") is PhraseKind.GO_ON


@pytest.mark.parametrize(
    "make",
    [
        lambda: ContinuePhraseRouter(["xx"]),
        lambda: ContinuePhraseRouter(extra={"nl": {"unheard": ["x"]}}),
        lambda: ContinuePhraseRouter(extra={"nl": {"go_on": "verder"}}),
        lambda: ContinuePhraseRouter(extra={"nl": {"go_on": ["(verder"]}}),
        lambda: ContinuePhraseRouter(extra={"nl": {"go_on": ["(verder|)"]}}),
        lambda: ContinuePhraseRouter(extra={"nl": {"go_on": [""]}}),
        lambda: ContinuePhraseRouter(extra={"nl": {"go_on": [3]}}),
        lambda: ContinuePhraseRouter(extra={"nl": ["verder"]}),
    ],
)
def test_phrases_that_cannot_be_meant_are_refused(make):
    """A wrong list is an error at start-up, not a surprise in a chat."""
    with pytest.raises(InvalidValueError):
        make()


@pytest.mark.parametrize("language", SHIPPED_LANGUAGES)
def test_the_shipped_files_are_well_formed(language):
    """The data of each language passes the same check as a host's."""
    data = read_toml("nr_agent_core.domain", f"phrases/{language}.toml")

    assert {"openers", "trailers", *(kind.value for kind in PhraseKind)} == set(data)
    ContinuePhraseRouter([], extra={language: data})


@pytest.mark.parametrize("language", SHIPPED_LANGUAGES)
def test_no_phrase_is_of_two_kinds(language):
    """A phrase without brackets, in any list, is recognised as the kind of that list."""
    data = read_toml("nr_agent_core.domain", f"phrases/{language}.toml")
    for kind in PhraseKind:
        for entry in itertools.chain.from_iterable(line.split("|") for line in data[kind.value] if "(" not in line):
            assert ROUTER.phrase_kind(entry) is kind, entry


HELD, BUSY, DELIVERED, ORDINARY = Route.HELD, Route.BUSY, Route.DELIVERED, Route.ORDINARY
SUPERSEDE, LET_GO = Route.SUPERSEDE, Route.LET_GO

TABLE = {
    # standing: go on, approved it, assent, any other message
    Standing.NONE: (ORDINARY, ORDINARY, ORDINARY, ORDINARY),
    Standing.WAITING: (HELD, HELD, HELD, SUPERSEDE),
    Standing.QUEUED: (BUSY, BUSY, BUSY, BUSY),
    Standing.RUNNING: (BUSY, BUSY, BUSY, BUSY),
    Standing.ENDED_HERE: (ORDINARY, ORDINARY, ORDINARY, ORDINARY),
    Standing.ENDED_OUTSIDE: (DELIVERED, DELIVERED, ORDINARY, ORDINARY),
    Standing.UNANSWERABLE: (LET_GO, LET_GO, LET_GO, LET_GO),
}


@pytest.mark.parametrize("standing", Standing)
@pytest.mark.parametrize("place", range(4))
def test_every_cell_of_the_routes(standing, place):
    """Where a message goes is decided by the run; the text only says whether it is a phrase (P1, C1-C6)."""
    kind = [PhraseKind.GO_ON, PhraseKind.APPROVED_IT, PhraseKind.ASSENT, None][place]

    assert route(kind, standing) is TABLE[standing][place]
