"""
Over how many words a rule looks: what it does up to that many, and no longer with one more (V4, V5).

In the made-up language of the frame tables; a gap is filled with words that mean nothing.
"""

import re

import pytest

from nr_agent_core.domain.claims.asserted_rule import AssertedRule
from tests.unit.claims.test_frame_tables import said, sentence, table

STANDS = "says how things stand, of some or of all such things"
ADJACENT = [
    ("thing was form by {} other", 4, "done by somebody else", "was done"),
    ("self have readform {} lookedat", 6, "something was only looked at", "I have done"),
    ("lookedat {} readform by self", 7, "something was only looked at", "bare form"),
    ("self have readform {} be", 6, "something was only looked at", "I have done"),
    ("{} thingzes be form", 3, STANDS, "is done"),
    ("determiner thing self form {} be", 6, "the deed is taken for known", "I did"),
    ("- 12 {} \u2192 thing", 14, "arrow", "no state that begins now"),
    ("- thing {} (before 12)", 12, "value before", "nothing to look at"),
    ("- thing (before {} 12)", 2, "value before", "nothing to look at"),
    ("thing: (before {})", 3, "value before", "nothing to look at"),
    ("thing {} final", 3, "state", "no state that begins now"),
    ("{} gone", 4, "state", "no state that begins now"),
    ("thing: now {}", 7, "value now", "no state that begins now"),
    ("thing stateverb {} resumed", 6, "state again", "no state that begins now"),
    ("self past {} lookedat", 3, "no state that begins now", "I did"),
    ("thing be form ondate {} date", 2, "dated: told of a day", "is done"),
    ("form: 12 {}", 0, "a label whose value denies or counts", "bare form"),
    ("thing: switched {}", 0, "value", "no state that begins now"),
    ("thing was form {} neg", 1, "negated", "was done"),
    ("thing be form {} neg", 1, "negated", "is done"),
    ("12 {} be form", 0, STANDS, "is done"),
    ("12 12 12 12 {} be form", 0, STANDS, "is done"),
]
FRAME = [
    ("thing {} beingmodal form", 3, "being done", "governed by the verb before it"),
    ("thing {} be 12 form", 7, STANDS, "is done"),
    ("{} fixed be form", 4, "a tool or a setting that no answer changes", "is done"),
    ("self have readform {} lookedat", 6, "something was only looked at", "I have done"),
    ("thing passive by {} other form", 4, "done by somebody else", "was done"),
]


@pytest.mark.parametrize(
    ("shape", "template", "words", "within", "beyond"),
    [("adjacent", *bound) for bound in ADJACENT] + [("frame", *bound) for bound in FRAME],
)
def test_a_rule_reaches_over_so_many_words(shape: str, template: str, words: int, within: str, beyond: str) -> None:
    """From none to that many, and over no more."""
    rule = AssertedRule({"xx": table(shape)})

    told = [re.sub(r"\d+ ", "", said(rule, sentence(template, "thing " * count))) for count in range(words + 2)]

    assert told == [within] * (words + 1) + [beyond]
