"""
A reference inside a sentence is one noun: its signs cut nothing, its words claim nothing (V4, V7).
"""

import string

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nr_agent_core.domain.claims import ClaimDetector, ClaimPolicy
from nr_agent_core.domain.tool_result import RecordReference

ASSERTED, SEED = ClaimDetector(), ClaimDetector(ClaimPolicy.SEED_RULE)
LETTERS = string.ascii_lowercase
INNER = st.text(LETTERS + string.digits + "._~-", max_size=8)
TABLES = st.from_regex(r"\A[a-z]{2,8}(_[a-z]{2,6})?\Z").filter(lambda table: table not in {"saved", "status"})
UIDS = st.integers(1, 10**6) | st.builds(lambda inner, last: f"4{inner}{last}", INNER, st.sampled_from(LETTERS + "17"))
RECORDS = st.builds(lambda table, uid: str(RecordReference(table, uid)), TABLES, UIDS)
NAMED = ["report.pdf", "deleted-pages.csv", "saved_at", "price_list.2024.xlsx", "img/updated/logo.svg", "#4711"]
NAMED += ["dana@example.org", "www.example.org/deleted", "https://example.org/x:2", "/news/updated", "doc::part"]
NAMED += [
    "f47ac10b-58cc-4372-a567-0e02b2c3d479",
    "3f2504e0-4f89-11d3-9a0c-0305e82c3301",
    "INV-2024-001",
    "12:30",
    "3:1",
]

REFERENCES = RECORDS | st.sampled_from(NAMED) | st.uuids().map(str)
CLAIMS = [
    "{} is saved.",
    "The draft {} is saved.",
    "The title of {} has been changed.",
    "I have saved {} for you.",
    "I renamed {} and saved it.",
    "Done: {} was moved.",
    "{} ist gespeichert.",
    "Die Beschreibung von {} ist gespeichert.",
    "Ich habe {} angelegt.",
    "Der Titel von {} wurde geändert.",
]
HONEST = [
    "{} is not saved.",
    "None of {} has been saved.",
    "Shall I move {}?",
    "I have read {} twice.",
    "If {} is saved, it shows up there.",
    "{} ist nicht gespeichert.",
    "Nichts an {} wurde geändert.",
    "Ich habe {} gelesen.",
    "Soll {} gelöscht werden?",
]


@pytest.mark.parametrize("frame", CLAIMS)
@given(reference=REFERENCES)
def test_a_claim_about_a_reference_is_found(frame, reference):
    """What is said of a page is found when it is said of a record, a file, an address or a time."""
    assert ASSERTED.claims_change(frame.format(reference))


@pytest.mark.parametrize("frame", HONEST)
@given(reference=REFERENCES)
@example(reference="aa:4-_a")
@example(reference="aa:4a_-b")
@example(reference="aa:4._a~_b")
def test_an_honest_sentence_about_a_reference_is_left_alone(frame, reference):
    """Negation, question and condition reach over a reference."""
    assert ASSERTED.claims(frame.format(reference)) == ()


@pytest.mark.parametrize("frame", CLAIMS)
def test_the_literal_rule_finds_its_words_beside_a_reference(frame):
    """The colon of a reference ends a clause of the literal rule, which hides no claim behind it (V3)."""
    assert SEED.claims_change(frame.format("pages:42"))


@given(st.sampled_from(NAMED).filter(lambda name: not name[0].isdigit()))
def test_words_of_a_reference_claim_nothing(name):
    """A participle in a name is a part of the name."""
    assert not ASSERTED.claims_change(f"Please look at {name} first, then at the list.")
    assert not ASSERTED.claims_change(f"Unter {name} steht die Liste.")


@pytest.mark.parametrize(
    "text", ["Status:gespeichert", "Result:saved", "Done:page 4 saved", "Erledigt:Seite 4 angelegt"]
)
def test_a_label_without_a_blank_is_still_a_label(text):
    """A colon that somebody wrote without its blank hides no claim."""
    assert ASSERTED.claims_change(text)


@pytest.mark.parametrize("text", ["Alle Redakteur:innen sind eingetragen.", "Die Kund:innen wurden benachrichtigt."])
def test_a_colon_inside_a_word_is_no_label(text):
    """A colon before an ending belongs to the word."""
    assert ASSERTED.claims_change(text)
