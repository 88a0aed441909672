"""
Asked for an explanation, the detector says of each place it looked at what it is, and why others are no claims (V2).
"""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nr_agent_core.domain.claims import ClaimDetector, ClaimPolicy

DETECTOR = ClaimDetector(languages=["de", "en"])
DATA = Path(__file__).resolve().parents[2] / "data"
TEXTS = [json.loads(line)["text"] for line in (DATA / "fresh_answers_1.jsonl").read_text(encoding="utf-8").splitlines()]


@given(st.lists(st.sampled_from(TEXTS), min_size=1, max_size=3).map("\n\n".join))
def test_an_explanation_changes_no_verdict(text: str) -> None:
    """The places without a rule against them are the claims, and every other one names its rule."""
    explained = DETECTOR.claims(text, explain=True)

    assert tuple(claim for claim in explained if claim.rejected_by is None) == DETECTOR.claims(text)
    assert [claim.start for claim in explained] == sorted({claim.start for claim in explained})
    for claim in explained:
        assert claim.rejected_by != ""
        assert text[claim.start : claim.end].strip()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("The page was not published.", "negated"),
        ("Was the page published?", "a question"),
        ("If the page is published, look there.", "a condition"),
        ("The page was published yesterday.", "dated"),
        ("The page will be published.", "governed"),
        ("The page was published by the customer.", "somebody else"),
        ("It seems the page was published.", "a doubt"),
        ("According to the log the page was published.", "a report"),
        ("The parcel was shipped.", "happens in the world"),
        ("Pages are always published twice.", "how things stand"),
        ("Draft for the mail: Dear Ms Ober, we have changed your contract.", "only proposed"),
        ("Es gibt sechs Seiten. Zwei davon sind neu. Die Startseite wurde veröffentlicht.", "describe"),
        ("Die Seite wurde nicht veröffentlicht.", "negated"),
    ],
)
def test_the_rule_against_a_candidate_is_named(text: str, why: str) -> None:
    """Whoever wonders learns which rule it was."""
    assert DETECTOR.claims(text) == ()
    assert why in " ".join(claim.rejected_by or "" for claim in DETECTOR.claims(text, explain=True))


def test_a_text_without_a_claiming_word_needs_no_explanation() -> None:
    """Nothing was looked at."""
    assert DETECTOR.claims("The weather is fine.", explain=True) == ()


def test_the_literal_rule_explains_itself_too() -> None:
    """A listed word behind a negator is told with it (V3)."""
    saved, kept = ClaimDetector(ClaimPolicy.SEED_RULE).claims("It was not saved. It was created.", explain=True)

    assert saved.rejected_by == "a negator among the three words before"
    assert kept.rejected_by is None
