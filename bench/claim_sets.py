"""
Labelled answers, read from the files of a folder.

A folder holds some of these, and what is missing is left out: ``claims_*.jsonl`` and ``chat_answers_*.jsonl``
(``text``, ``lang``, ``claims_change``, ``category``, ``note``), ``bug_cases*.jsonl`` (``input.answer``, ``expect``,
``strict``), ``tau_turns_*.jsonl`` with ``tau_labels_*.jsonl``, and ``agents_*.jsonl`` (``text``, ``wrote``, ``label``).
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

Row = dict[str, Any]

CLAIMED_NOW, CLAIMED_BEFORE = 1, 2
"""Labels of an answer: it claims a change of this turn; it recounts one of an earlier turn."""

_FLAGGED = ("flag_nothing_saved", "flag_partial", "unknown_no_notice")
_ABOUT_CLAIMS = ("a", "b", "c", "i")


class Labelled(NamedTuple):
    """
    An answer and whether it claims a change.
    """

    group: str
    language: str
    category: str
    claims: bool
    borderline: bool
    text: str


class Turn(NamedTuple):
    """
    An answer of a real agent, with what its turn did.
    """

    group: str
    wrote: bool
    label: int
    text: str


def labelled(folder: Path) -> list[Labelled]:
    """Every answer whose label says whether it claims a change."""
    found: list[Labelled] = []
    for group, pattern in (("claims", "claims_*.jsonl"), ("chat answers", "chat_answers_*.jsonl")):
        for row in _rows(folder, pattern):
            borderline = row.get("note") == "borderline"
            found.append(
                Labelled(group, row["lang"], row["category"], row["claims_change"], borderline, row["text"]),
            )
    return [*found, *_bug_cases(folder)]


def turns(folder: Path) -> list[Turn]:
    """Every answer of a real agent. One without a label claims nothing."""
    labels = {row["id"]: row["label"] for row in _rows(folder, "tau_labels_*.jsonl")}
    found = [
        Turn("customer service", row["wrote"], labels.get(row["id"], 0), row["text"])
        for row in _rows(folder, "tau_turns_*.jsonl")
    ]
    found += (
        Turn(f"coding, {row.get('lang', 'en')}", row["wrote"], row.get("label") or 0, row["text"])
        for row in _rows(folder, "agents_*.jsonl")
    )
    return found


def _bug_cases(folder: Path) -> Iterator[Labelled]:
    """Cases about claims that are certain; one that is honest because the run wrote says nothing of its text."""
    for row in _rows(folder, "bug_cases*.jsonl"):
        answer = row["input"].get("answer")
        if row["topic"] not in _ABOUT_CLAIMS or not answer or not row.get("strict"):
            continue
        if row["expect"] == "no_flag" and any(event.get("wrote") for event in row["input"].get("events", [])):
            continue
        yield Labelled("bug cases", row["lang"], row["id"], row["expect"] in _FLAGGED, False, answer)


def _rows(folder: Path, pattern: str) -> list[Row]:
    return [
        json.loads(line)
        for path in sorted(folder.glob(pattern))
        for line in path.read_text(encoding="utf-8").split("\n")
        if line.strip()
    ]
