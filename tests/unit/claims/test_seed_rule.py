"""
The literal rule (V3): words of a list, three words back, within a clause.
"""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nr_agent_core.domain.claims import Claim, ClaimDetector, ClaimPolicy
from nr_agent_core.domain.claims.seed_rule import SeedRule
from nr_agent_core.domain.package_data import read_toml

PACKAGE = "nr_agent_core.domain.claims"
LISTS = {code: read_toml(PACKAGE, f"seed.{code}.toml") for code in ("de", "en")}
WORDS = sorted(word for table in LISTS.values() for word in table["words"].split())
NEGATORS = ["nicht", "nichts", "nie", "niemals", "weder", "kein", "keine", "keinen", "not", "no", "nothing", "never"]
NEGATORS += ["isn't", "wasn’t", "haven't"]
FILLER = ["alpha", "bravo", "x1", "läuft", "it's"]
DETECTOR = ClaimDetector(ClaimPolicy.SEED_RULE)

words = st.sampled_from(WORDS)
negators = st.sampled_from(NEGATORS)
fillers = st.lists(st.sampled_from(FILLER), max_size=6)
cases = st.sampled_from([str.lower, str.upper, str.title, str])


@pytest.mark.parametrize("word", ["erledigt", "gespeichert", "created", "updated"])
def test_the_named_participles_are_listed(word):
    """The lists hold the participles that the rule names (V3)."""
    assert word in WORDS


@given(words, fillers, cases)
@example("vergrößert", [], str.upper)
def test_a_listed_word_claims_in_any_case(word, before, case):
    """A listed word without a negator near it is a claim, whatever its case; its span is the word."""
    shown = case(word)
    text = " ".join([*before, shown])

    claim = DETECTOR.claims(text)[-1]

    assert (shown, word) == (text[claim.start : claim.end], claim.word)


@given(words, negators, fillers, cases)
def test_a_negator_reaches_three_words(word, negator, between, case):
    """A negator takes the claim back if at most two words stand between; a fourth word is out of reach."""
    text = " ".join([case(negator), *between, word])

    assert DETECTOR.claims_change(text) is (len(between) > 2)


@given(words, negators, st.sampled_from(".!?:;\n\r"))
def test_a_negator_ends_with_its_clause(word, negator, end):
    """What ends a clause ends the reach of its negators."""
    assert DETECTOR.claims_change(f"{negator} x{end}{word}")
    assert not DETECTOR.claims_change(f"{negator} x,{word}")


@given(words, negators)
def test_a_negator_behind_the_word_does_not_count(word, negator):
    """Only words before are looked at: the rule is literal."""
    assert DETECTOR.claims_change(f"{word} {negator}")


@given(words, st.sampled_from("abzäß19'’"))
def test_words_are_whole(word, letter):
    """A letter, digit or apostrophe at either side makes another word."""
    assert {word + letter, letter + word} & set(WORDS) or not DETECTOR.claims_change(f"{word}{letter} {letter}{word}")


@given(words, st.sampled_from(["_", "-", "*", "(", '"', "/", "`"]))
def test_other_signs_part_words(word, sign):
    """An underscore or a markup sign is no part of a word."""
    assert DETECTOR.claims_change(f"a{sign}{word}{sign}b")


@given(words, words, negators)
def test_one_unnegated_word_is_enough(negated, word, negator):
    """A negated claim hides no other one."""
    claims = DETECTOR.claims(f"{negator} {negated}. {word}")

    assert [word] == [claim.word for claim in claims]


def test_the_text_is_read_as_it_stands():
    """No normalisation: decomposed letters, code and quotations are read literally (V3)."""
    assert not DETECTOR.claims_change("gea\u0308ndert")
    assert DETECTOR.claims_change("```\nsaved\n```")
    assert DETECTOR.claims_change("> saved")
    assert DETECTOR.claims_change("Shall it be saved?")


TABLES = {
    "aa": {"words": "sent größer", "negators": "nokt nil", "negator_prefixes": "kein", "negator_suffixes": "n't"},
    "bb": {"words": "sent gemakt", "negators": "nit", "negator_prefixes": "", "negator_suffixes": ""},
}
NEGATED = "a negator among the three words before"


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("It was Sent.", [(7, 11, "sent", "aa", None)]),
        ("gemakt, GRÖSSER", [(0, 6, "gemakt", "bb", None), (8, 15, "größer", "aa", None)]),
        ("nokt sent", [(5, 9, "sent", "aa", NEGATED)]),
        ("nit a b gemakt", [(8, 14, "gemakt", "bb", NEGATED)]),
        ("nit a b c gemakt", [(10, 16, "gemakt", "bb", None)]),
        ("Keinerlei sent", [(10, 14, "sent", "aa", NEGATED)]),
        ("isn\u2019t sent: sent", [(6, 10, "sent", "aa", NEGATED), (12, 16, "sent", "aa", None)]),
        ("n'tx sent", [(5, 9, "sent", "aa", None)]),
        ("xkein sent", [(6, 10, "sent", "aa", None)]),
        ("nil sent gemakt nokt", [(4, 8, "sent", "aa", NEGATED), (9, 15, "gemakt", "bb", NEGATED)]),
        ("nothing here", []),
    ],
)
def test_every_listed_word_is_told_of(text, places):
    """Its span, its listed form, the first language that lists it, and what took it back (V3)."""
    expected = [Claim(start, end, word, code, "listed word", why) for start, end, word, code, why in places]

    rule = SeedRule(TABLES)

    assert list(rule.explained(text)) == expected
    assert list(rule.find(text)) == [claim for claim in expected if claim.rejected_by is None]
