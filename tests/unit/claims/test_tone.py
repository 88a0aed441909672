"""
Whether a paragraph describes records or tells of a change, sentence by sentence (V4, V5).
"""

import pytest

from nr_agent_core.domain.claims import word_class as wc
from nr_agent_core.domain.claims.tone import describes, opens


def flags(sentence: str) -> list[int]:
    """Classes of the words of *sentence*, which are named after them; "x" has none, "a+b" is of two."""
    return [
        sum(wc.BY_NAME.get(name, 0) or wc.QUOTED * (name == "quoted") for name in word.split("+"))
        for word in sentence.split()
    ]


def describing(*sentences: str, later: bool = False, past: bool = False, chained: int = 0) -> bool:
    """Whether *sentences* describe."""
    return describes(map(flags, sentences), later=later, past=past, chained=chained)


DATED = [
    "dated x",
    "x report",
    "x date since",
    "x was on_date date",
    "x have on_date date",
    "x passive on_date date",
    "x past on_date date",
    "other participle on_date date",
]
ENOUGH = [
    "x trait",
    "x state_verb bound date",
    "x have quantity",
    "quantity be x",
    "quantity was x",
    "quantity have x",
    "quantity preposition x",
    "quantity state_verb x",
    "quantity passive x",
    "quantity x be",
    "quantity quantity be",
]
HALF = [
    "x was neg participle",
    "x be neg participle",
    "x passive neg participle",
    "x have neg participle",
    "been neg participle",
    "participle be x",
    "participle passive x",
    "x be participle",
    "x progress participle",
    "x modal participle",
]
NOTHING = [
    "x",
    "x x x",
    "dated condition",
    "x report condition",
    "trait condition",
    "x date",
    "x on_date date",
    "be on_date date",
    "participle on_date date",
    "self was on_date date",
    "self_have was on_date date",
    "modal was on_date date",
    "modal state_verb bound date",
    "self state_verb bound date",
    "state_verb bound",
    "state_verb date",
    "bound date",
    "x have quantity+quoted",
    "x have x quantity",
    "have quantity self",
    "have quantity self_have",
    "have quantity modal",
    "quantity",
    "quantity+quoted be",
    "quantity x",
    "quantity x have",
    "x quantity be",
    "neg participle",
    "was neg",
    "was participle",
    "be neg participle self",
    "be neg participle condition",
    "be participle self",
    "be participle self_have",
    "be participle have",
    "be participle was",
    "be participle passive",
    "be participle condition",
    "be participle please",
    "modal participle self",
    "modal participle self_have",
    "modal participle other",
    "modal participle person",
    "modal participle condition",
    "modal participle neg",
    "modal x",
]


@pytest.mark.parametrize("sentence", DATED)
def test_dates_and_reports_describe_whatever_is_told(sentence: str) -> None:
    """Since when something is so, on which day it was, or who says it: that is enough for the past, too."""
    assert describing(sentence)
    assert describing(sentence, past=True)


@pytest.mark.parametrize("sentence", ENOUGH)
def test_counts_and_traits_describe(sentence: str) -> None:
    """How many there are, how a record is and until when it runs; two of them for what is told in the past."""
    assert describing(sentence)
    assert not describing(sentence, past=True)
    assert describing(sentence, "x", sentence, past=True)


@pytest.mark.parametrize("sentence", HALF)
def test_denials_states_and_plans_describe_half(sentence: str) -> None:
    """Two of them, one beside several states in one sentence, and for the past four."""
    assert not describing(sentence)
    assert describing(sentence, sentence)
    assert describing(sentence, chained=1)
    assert not describing(sentence, sentence, sentence, past=True)
    assert describing(*[sentence] * 4, past=True)


@pytest.mark.parametrize("sentence", NOTHING)
def test_other_sentences_say_nothing_of_it(sentence: str) -> None:
    """However many there are."""
    assert not describing(*[sentence] * 4)


def test_states_in_one_sentence_count() -> None:
    """Two of them make a description, and for the past four."""
    assert [describing(chained=count) for count in (0, 1, 2, 3)] == [False, False, True, True]
    assert [describing(chained=count, past=True) for count in (2, 3, 4)] == [False, False, True]


TELLING = [
    "x now",
    "x mark",
    "x answers",
    "before x",
    "find pronoun x",
    "alone",
    "alone x x",
    "self participle",
    "self past",
    "self_have participle",
    "self_have past",
    "now neg",
]
NOT_TELLING = [
    "alone x x x",
    "before+was x",
    "find x pronoun",
    "self x",
    "participle x",
    "self participle modal",
    "self participle condition",
    "self participle dated",
    "mark neg",
    "self participle neg",
    "find pronoun neg",
]


@pytest.mark.parametrize("sentence", TELLING)
def test_what_tells_of_a_change_outweighs_every_description(sentence: str) -> None:
    """What is new, what it replaces, what answers a request, and the speaker's deeds."""
    assert not describing("dated x", sentence)
    assert not describing(sentence, "dated x", later=True)


@pytest.mark.parametrize("sentence", NOT_TELLING)
def test_what_tells_of_no_change_outweighs_nothing(sentence: str) -> None:
    """Denied, planned, supposed, dated or long."""
    assert describing("dated x", sentence)


def test_what_follows_others_describes_unless_something_speaks_against_it() -> None:
    """A sentence behind statements goes on with them; in the past only beside a description."""
    assert describing("x x", later=True)
    assert not describing("x x", later=True, past=True)
    assert describing("x trait", later=True, past=True)
    assert not describing("x be neg participle", later=True, past=True)
    assert not describing("self neg x", later=True)
    assert not describing("self_have neg x", later=True)
    assert describing("self x", "x neg", later=True)


def test_what_stays_was_left_alone() -> None:
    """Said of one thing, something else was changed: it takes more to describe."""
    assert not describing("x trait", "x stays")
    assert describing("x trait", "x stays", "x trait")
    assert describing("x trait stays", "x trait")


@pytest.mark.parametrize(
    ("sentences", "opening"),
    [
        ([], True),
        (["x x x x"], True),
        (["x be x x"], True),
        (["x x x x x"], True),
        (["x x x x x x"], True),
        (["x x x x x x x"], False),
        (["x x x x be"], False),
        (["filler x x x x x x x"], True),
        (["filler+person x x x x x x"], False),
        (["filler x x x x x x be"], False),
        (["x", "x x x x be"], False),
    ],
)
def test_a_greeting_opens(sentences: list[str], opening: bool) -> None:
    """Up to four words, or six without a verb; a thanks of any length without one."""
    assert opens(map(flags, sentences)) is opening
