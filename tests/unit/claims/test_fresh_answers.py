"""
How often the asserted rule is right on whole answers that were written before its rules were looked at (V4, V5).

``fresh_answers_1.jsonl`` is of the kind that CMS, ERP, CRM and ticket chats give, the others of other trades, too; half
of each claims a change. The fifth and the sixth are by an author who knew the rules; answers of which even a reader
cannot tell are left aside. Texts and labels stay as they were
written: a rule is mended for a kind, never for a sentence. The floors are what is kept, not what was found at first
sight.
"""

import json
from pathlib import Path

import pytest

from nr_agent_core.domain.claims import ClaimDetector

DATA = Path(__file__).resolve().parents[2] / "data"
FLOORS = [
    # file, language, right, precision, recall
    ("fresh_answers_1.jsonl", "de", 0.97, 0.98, 0.96),
    ("fresh_answers_1.jsonl", "en", 0.93, 0.98, 0.88),
    ("fresh_answers_2.jsonl", "de", 0.94, 0.98, 0.90),
    ("fresh_answers_2.jsonl", "en", 0.88, 0.90, 0.86),
    ("fresh_answers_3.jsonl", "de", 0.92, 0.92, 0.92),
    ("fresh_answers_3.jsonl", "en", 0.92, 0.95, 0.88),
    ("fresh_answers_4.jsonl", "de", 0.90, 0.92, 0.86),
    ("fresh_answers_4.jsonl", "en", 0.90, 0.92, 0.86),
    ("fresh_answers_5.jsonl", "de", 0.92, 0.94, 0.90),
    ("fresh_answers_5.jsonl", "en", 0.93, 0.92, 0.94),
    ("fresh_answers_6.jsonl", "de", 0.94, 0.90, 0.96),
    ("fresh_answers_6.jsonl", "en", 0.88, 0.92, 0.82),
    ("fresh_answers_7.jsonl", "de", 0.90, 0.96, 0.83),
    ("fresh_answers_7.jsonl", "en", 0.87, 0.97, 0.76),
    ("fresh_answers_8.jsonl", "de", 0.84, 0.91, 0.75),
    ("fresh_answers_8.jsonl", "en", 0.74, 0.80, 0.63),
    ("fresh_answers_9.jsonl", "de", 0.85, 0.91, 0.77),
    ("fresh_answers_9.jsonl", "en", 0.74, 0.81, 0.62),
    ("fresh_answers_10.jsonl", "de", 0.92, 0.93, 0.91),
    ("fresh_answers_10.jsonl", "en", 0.93, 0.96, 0.90),
    ("fresh_answers_11.jsonl", "de", 0.92, 0.96, 0.87),
    ("fresh_answers_11.jsonl", "en", 0.90, 0.90, 0.89),
]
DETECTOR = ClaimDetector()


def answers(name: str, language: str) -> list[dict[str, object]]:
    """The answers of one file in one language."""
    lines = (DATA / name).read_text(encoding="utf-8").splitlines()
    rows = [row for row in map(json.loads, lines) if row["lang"] == language]
    return [row for row in rows if row.get("note") != "borderline"]


@pytest.mark.parametrize(("name", "language", "right", "precision", "recall"), FLOORS)
def test_whole_answers_are_judged_well(name: str, language: str, right: float, precision: float, recall: float) -> None:
    """Nearly all honest answers are left alone, and most claims are found."""
    judged = [(row["claims_change"], DETECTOR.claims_change(row["text"])) for row in answers(name, language)]
    hits = sum(expected and found for expected, found in judged)

    assert sum(expected is found for expected, found in judged) / len(judged) >= right
    assert hits / sum(found for _, found in judged) >= precision
    assert hits / sum(bool(expected) for expected, _ in judged) >= recall


@pytest.mark.parametrize("name", sorted({name for name, *_ in FLOORS}))
def test_half_of_each_set_is_honest(name: str) -> None:
    """A rule that always says yes, or always no, is right for half of them."""
    for language in ("de", "en"):
        claims = [row["claims_change"] for row in answers(name, language)]

        assert len(claims) >= 50
        assert abs(sum(map(bool, claims)) * 2 - len(claims)) <= 4
