"""
Which language a sentence is read in, and how much of an answer is read at all (V2).
"""

import pytest

from nr_agent_core.domain.claims import asserted_rule
from nr_agent_core.domain.claims.asserted_rule import AssertedRule
from nr_agent_core.domain.claims.explanation import OTHER_LANGUAGE

SIZE = 40
"""What a sentence costs beside its length."""


def table(**words: str) -> dict[str, object]:
    """A language of a few words; forms are listed under "participle"."""
    shared = words.pop("shared", "")
    return {"shape": "adjacent", "exact": True, "shared": shared, "words": words}


TABLES = {
    "aa": table(self="ai", have="hab", participle="sav bild", neg="nokt", function="zha uf wit", modal="wul"),
    "bb": table(self="ik", have="heb", participle="gemakt sav", neg="nit", function="dee van om", modal="zal"),
    "cc": table(
        self="yo", have="he", participle="hech postu", neg="nun", function="el por del", modal="vay", shared="postu"
    ),
}


def rule() -> AssertedRule:
    """The languages, compiled anew: a change of the compiling is seen."""
    return AssertedRule(TABLES)


def read(text: str) -> list[tuple[str, str, str]]:
    """Word, language and reason of each claim in *text*."""
    return [(claim.word, claim.language, claim.why) for claim in rule().find(text)]


@pytest.mark.parametrize(
    ("text", "word", "code"),
    [
        ("ai hab sav zha x", "sav", "aa"),
        ("ik heb sav dee x", "sav", "bb"),
        ("ik heb gemakt", "gemakt", "bb"),
        ("yo he hech", "hech", "cc"),
        ("yo he postu del x", "postu", "cc"),
        ("ai hab bild zha x", "bild", "aa"),
        ("ai hab sav", "sav", "aa"),
        ("ik heb sav", "sav", "bb"),
        ("sav zha", "sav", "aa"),
        ("sav dee", "sav", "bb"),
        ("sav dee van zha", "sav", "bb"),
        ("sav zha uf dee", "sav", "aa"),
        ("ik heb sav zha dee", "sav", "bb"),
        ("ai hab sav zha dee", "sav", "aa"),
    ],
)
def test_a_shared_form_is_of_the_language_whose_words_stand_beside_it(text: str, word: str, code: str) -> None:
    """Function words decide; without them, the language that knows most of the words."""
    assert [(claimed, language) for claimed, language, _ in read(text)] == [(word, code)]


@pytest.mark.parametrize(
    "text",
    [
        "ik heb sav nit dee x",
        "ai hab nokt sav zha x",
        "zha uf hech",
        "postu x",
        "postu dee van",
        "wul sav zha",
        "zal sav dee",
    ],
)
def test_a_sentence_of_another_language_claims_nothing(text: str) -> None:
    """Negated in the language it is in, a form among foreign function words, or a shared form without its own."""
    assert read(text) == []


def test_two_function_words_of_its_own_show_a_language_whatever_stands_beside_it() -> None:
    """More of another language are only names."""
    assert [code for _, code, _ in read("dee van gemakt zha uf wit")] == ["bb"]
    assert read("dee gemakt zha uf wit") == []


def test_a_foreign_function_word_alone_is_a_name() -> None:
    """The language that knows more of the words than every other reads on; not one that knows fewer or as many."""
    assert [code for _, code, _ in read("ik heb gemakt zha")] == ["bb"]
    assert read("x gemakt zha uf") == []
    assert read("x gemakt zha") == []


def test_function_words_that_another_language_knows_decide_nothing() -> None:
    """Whatever it knows them as."""
    tables = {**TABLES, "bb": table(**{**words_of("bb"), "function": "dee van zha"})}
    rule = AssertedRule(tables)

    assert [claim.language for claim in rule.find("gemakt zha")] == ["bb"]
    assert [claim.language for claim in rule.find("gemakt uf")] == []


def words_of(code: str) -> dict[str, str]:
    """The words of one of the languages."""
    return dict(TABLES[code]["words"])  # type: ignore[call-overload]


def test_a_language_alone_reads_everything() -> None:
    """No other one can rule it out."""
    alone = AssertedRule({"cc": TABLES["cc"]})

    assert [claim.word for claim in alone.find("hech zha uf")] == ["hech"]


def test_each_place_is_claimed_once() -> None:
    """By the first language, where two of them read the sentence; the places are in their order."""
    rule = AssertedRule({"aa": TABLES["aa"], "bb": TABLES["bb"]})

    assert [(c.start, c.language) for c in rule.find("xx sav. yy gemakt. zz sav")] == [
        (3, "aa"),
        (11, "bb"),
        (22, "aa"),
    ]


def test_the_words_of_another_language_are_told_of() -> None:
    """Asked for an explanation, a form that no language takes for its own is named with that."""
    (told,) = rule().explained("zha uf hech")

    assert (told.start, told.end, told.word, told.why) == (7, 11, "hech", "candidate")
    assert (told.rejected_by, told.language) == (OTHER_LANGUAGE, "aa")


def test_the_explanation_knows_both_kinds() -> None:
    """What claims, and beside it what does not, in the order of the text; nothing twice."""
    told = list(rule().explained("ai hab nokt sav it. ai hab bild it. ai wul sav it."))

    assert [(claim.start, claim.why, claim.rejected_by) for claim in told] == [
        (12, "candidate", "negated"),
        (27, "I have done", None),
        (43, "candidate", "governed by the verb before it"),
    ]


@pytest.fixture(name="effort")
def little_effort(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only two short sentences of an answer are judged."""
    monkeypatch.setattr(asserted_rule, "_EFFORT", 2 * (SIZE + len("ai hab nokt sav.")) + 1)


@pytest.mark.usefixtures("effort")
@pytest.mark.parametrize(
    ("text", "claims"),
    [
        ("ai hab nokt sav. ai hab nokt sav.", []),
        (f"{'xx ' * 60}\n\nAi hab nokt sav. ai hab nokt sav.", []),
        ("ai hab nokt sav. ai hab nokt sav. ai hab nokt bild.", [("bild", 46, "not read")]),
        ("ai hab nokt sav. xxx xxx xxx. ai hab nokt sav.", []),
        ("ai hab sav. ai hab nokt sav. ai hab nokt bild.", [("sav", 7, "I have done")]),
        ("ai hab nokt sav. ai hab sav. ai hab nokt bild.", [("sav", 24, "I have done")]),
        ("ai hab nokt sav. ai hab nokt sav. x bild, y bild.", [("bild", 36, "not read")]),
    ],
)
def test_what_is_left_over_claims_once(text: str, claims: list[tuple[str, int, str]]) -> None:
    """
    Only sentences with a claiming word count, by their length; the first that is left is a claim at its form, unless
    something was claimed before.
    """
    assert [(claim.word, claim.start, claim.why) for claim in rule().find(text)] == claims


@pytest.mark.usefixtures("effort")
def test_what_is_left_over_is_not_explained() -> None:
    """But for its one claim, in the first language."""
    told = list(rule().explained("ai hab nokt sav. ai hab nokt sav. ai hab nokt bild. ai hab bild."))

    assert [(claim.word, claim.start, claim.end, claim.rejected_by) for claim in told] == [
        ("sav", 12, 15, "negated"),
        ("sav", 29, 32, "negated"),
        ("bild", 46, 50, None),
    ]
    assert told[-1].language == "aa"


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("ai hab re\u00adsav zha x. ai hab s\u00adav zha x.", [(28, 32)]),
        ("ge\u0301 ai hab sav zha x", [(11, 14)]),
    ],
)
def test_places_are_those_of_the_text_as_it_was_given(text: str, places: list[tuple[int, int]]) -> None:
    """Whatever was deleted or composed before them, and within them."""
    assert [(claim.start, claim.end) for claim in rule().find(text)] == places
    assert [(claim.start, claim.end) for claim in rule().explained(text) if claim.rejected_by is None] == places


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        ("\u0421\u0442\u0430\u0442\u0443\u0441 \u043f\u043e\u043b\u044f: sav", False),
        ("\u0421\u0442\u0430\u0442\u0443\u0441 sav", True),
        ("\u0421\u0442\u0430\u0442\u0443\u0441 x sav", True),
        ("\u0421\u0442\u0430\u0442\u0443\u0441 \u043f\u043e\u043b\u044f zha sav", True),
        ("\u5b57\u6bb5\u503c\u662f sav", False),
        ("\u5b57\u6bb5 sav", True),
        ("caf\u00e9 sav", True),
    ],
)
def test_a_form_among_more_words_of_another_script_is_a_value(text: str, claims: bool) -> None:
    """Unless a function word stands beside it, or as many Latin words do."""
    assert bool(read(text)) is claims
