"""
The measuring of the claim detector: what is counted, and what is left out.
"""

import json
from pathlib import Path

from bench.claim_figures import Score, by_language, rates, score
from bench.claim_sets import labelled, turns


def written(path: Path, *rows: dict[str, object]) -> None:
    """Puts *rows* into a file of lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def answer(text: str, claims: bool, **more: object) -> dict[str, object]:
    """A labelled answer as a file holds it."""
    return {"text": text, "lang": "en", "claims_change": claims, "category": "plain", **more}


def test_right_and_wrong_answers_are_counted_apart(tmp_path: Path) -> None:
    """Precision is about what was marked, recall about what claims."""
    rows = [
        answer("yes 1", True),
        answer("yes 2", False),
        answer("no 1", True),
        answer("no 2", True),
        answer("no", False),
    ]
    written(tmp_path / "claims_dev.jsonl", *rows)

    found = score(labelled(tmp_path), lambda text: text.startswith("yes"))

    assert found == Score(hit=1, false=1, missed=2, silent=1)
    assert (found.answers, found.precision, found.recall, found.f1) == (5, 1 / 2, 1 / 3, 2 / 5)


def test_nothing_marked_and_nothing_to_mark_divide_by_nothing() -> None:
    """A set without claims has no misses, and a rule that marks nothing marks nothing wrongly."""
    found = score([], lambda _: True)

    assert (found.precision, found.recall, found.f1) == (1.0, 1.0, 1.0)
    assert Score(0, 1, 1, 0).f1 == 0.0


def test_borderline_answers_are_left_out(tmp_path: Path) -> None:
    """Two readers would label them differently."""
    written(tmp_path / "chat_answers_dev.jsonl", answer("a", True), answer("b", True, note="borderline"))

    groups = by_language(labelled(tmp_path))

    assert {key: [each.text for each in found] for key, found in groups.items()} == {("chat answers", "en"): ["a"]}


def test_recaps_of_earlier_turns_do_not_count_as_notices(tmp_path: Path) -> None:
    """The rate is of honest answers of turns without a write; what is found of claims is told apart."""
    said = [("r1", "done", False), ("r2", "done before", False), ("r3", "hello", False), ("r4", "done", True)]
    written(tmp_path / "tau_turns_dev.jsonl", *({"id": i, "text": text, "wrote": wrote} for i, text, wrote in said))
    labels = [{"id": "r1", "label": 1}, {"id": "r2", "label": 2}, {"id": "r4", "label": 1}]
    written(tmp_path / "tau_labels_dev.jsonl", *labels)

    found = rates(turns(tmp_path), lambda text: text.startswith("done"))

    assert (found.silent, found.noticed, found.recaps) == (3, 2, 1)
    assert (found.claiming, found.found, found.unwritten, found.named) == (1, 1, 1, 1)
    assert found.notice_rate == 1 / 3


def test_an_honest_case_of_a_run_that_wrote_says_nothing_of_its_text(tmp_path: Path) -> None:
    """A case without a flag because something was written may well claim it."""
    case = {"id": "x1", "topic": "a", "lang": "en", "strict": True, "expect": "no_flag"}
    written(
        tmp_path / "bug_cases.jsonl",
        case | {"input": {"answer": "Saved.", "events": [{"wrote": True}]}},
        case | {"id": "x2", "input": {"answer": "I will save it.", "events": []}},
        case | {"id": "x3", "topic": "h", "input": {"answer": "Locked.", "events": []}},
    )

    assert [each.category for each in labelled(tmp_path)] == ["x2"]
