"""
What a text is noticed by, and where (V2).
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nr_agent_core.domain.claims.lexicon import Lexicon
from nr_agent_core.domain.claims.normalise import Reading
from nr_agent_core.domain.claims.scan import Scanner

TABLE = {
    "shape": "adjacent",
    "exact": True,
    "shared": "mixed",
    "words": {
        "participle": "sent mixed caf\u00e9",
        "function": "zha d'",
        "be": "is 's",
        "switched": "on dark",
        "bound": "for",
        "label": "new",
        "before": "was",
        "self": "i",
    },
    "phrases": {"gone": "upp there | yonder", "alone": "good to go"},
}
OTHER = {
    "shape": "adjacent",
    "exact": True,
    "words": {"participle": "gemakt sent", "function": "dee", "label": "sent gemaklet"},
    "phrases": {"gone": "upp hier"},
}


def places(text: str) -> list[int]:
    """Where *text* is noticed; the languages are compiled anew: a change of the compiling is seen."""
    lexicons = (Lexicon("aa", TABLE), Lexicon("bb", OTHER))
    return Scanner(lexicons, [frozenset({"zha", "d'"}), frozenset({"dee"})]).places(Reading(text))


def noticed(text: str) -> list[str]:
    """What begins at the noticed places of *text*, up to the next blank."""
    return [text[place:].split(maxsplit=1)[0] for place in places(text)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("it was sent, and sent.", ["sent,", "sent."]),
        ("SENT Sent", ["SENT", "Sent"]),
        ("sentence resent sent2 2sent unsent", []),
        ("sent_it re-sent sent-off", ["sent_it", "sent", "sent-off"]),
        ("gemakt sent", ["gemakt", "sent"]),
        ("sent gemakt", ["sent", "gemakt"]),
        ("caf\u00e9 caf\u00e9s", ["caf\u00e9"]),
        ("cafe\u0301 it", ["cafe\u0301"]),
        ("", []),
        ("nothing here", []),
    ],
)
def test_words_are_noticed_as_whole_words(text: str, found: list[str]) -> None:
    """In any case and spelling, in the order of the text; not inside of other words."""
    assert noticed(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("it is upp there now", ["upp"]),
        ("upp hier, upp there", ["upp", "upp"]),
        ("good to go", ["good"]),
        ("good to gone", []),
        ("supp there", []),
        ("upp or yonder", ["yonder"]),
        ("beyonder", []),
    ],
)
def test_phrases_are_noticed_where_they_begin(text: str, found: list[str]) -> None:
    """As they are written in the list; a phrase of one word is a word."""
    assert noticed(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("mixed", []),
        ("mixed zha", ["mixed"]),
        ("d'it mixed", ["mixed"]),
        ("mixed dee", []),
        ("mixed sent", ["sent"]),
        ("mixed sent zha", ["mixed", "sent"]),
        ("mixed that", []),
    ],
)
def test_a_shared_form_is_noticed_beside_function_words_of_its_own(text: str, found: list[str]) -> None:
    """Anywhere in the text, also those that end in an apostrophe; those of another language do not count."""
    assert noticed(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("new: it", ["new:"]),
        ("new it", []),
        ("renew: it", []),
        ("gemaklet: it", ["gemaklet:"]),
        ("25 (was 10)", ["(was"]),
        ("it was 10", []),
        ("(wasp)", []),
    ],
)
def test_labels_and_earlier_values_are_noticed_in_their_place(text: str, found: list[str]) -> None:
    """Before a colon, and behind an opening bracket."""
    assert noticed(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("it is on.", ["is"]),
        ("it is on", ["is"]),
        ("it is on, yes", ["is"]),
        ("it is on for all", ["is"]),
        ("it is on form", []),
        ("it is on it", []),
        ("it is once", []),
        ("this on.", []),
        ("it's on.", ["'s"]),
        ("it's on it", []),
        ("lamp: on", ["on"]),
        ("lamp: **dark**", ["dark**"]),
        ("lamp: once", []),
        ("lamp:on", []),
        ("lamp on", []),
    ],
)
def test_values_are_noticed_behind_a_verb_or_a_colon(text: str, found: list[str]) -> None:
    """Where the clause ends behind them or says for whom they hold; elsewhere they are everyday words."""
    assert noticed(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("\u2705 it", ["\u2705"]),
        ("it \u2714", ["\u2714"]),
        ("- a \u2192 b", ["\u2192"]),
        ("  12. a \u21d2 b", ["\u21d2"]),
        ("a \u2192 b", []),
        ("- a\nb \u2192 c", []),
        ("\u2705 sent", ["\u2705", "sent"]),
        ("sent \u2705", ["sent", "\u2705"]),
    ],
)
def test_signs_are_noticed_in_any_language(text: str, found: list[str]) -> None:
    """Check marks anywhere, arrows in an item of a list."""
    assert noticed(text) == found


def test_what_is_blank_is_not_noticed() -> None:
    """Quotations, code and quoted lines."""
    assert noticed('"sent" `sent`\n> sent\n```\nsent \u2705\n```') == []
    assert noticed('"sent" sent') == ["sent"]


def test_a_line_end_in_json_parts_words() -> None:
    """The sign for it is no letter of the next word."""
    assert noticed('{"a": "it.\\nsent"}') == ['sent"}']


@given(st.lists(st.sampled_from(["sent", "gemakt", "\u2705", "it", "caf\u00e9", "\u0130", "\ud800"]), max_size=8))
def test_places_are_in_order(words: list[str]) -> None:
    """One for each form, whatever stands between."""
    text = " ".join(words)

    found = places(text)

    assert found == sorted(found)
    assert len(found) == sum(word in ("sent", "gemakt", "\u2705", "caf\u00e9") for word in words)
