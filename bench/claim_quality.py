"""
How good and how fast the claim detector is on labelled sets.

    python bench/claim_quality.py DATA_DIR [--policy asserted|seed_rule] [--misses SET] [--languages de en]

DATA_DIR holds some of: ``tau_turns_*.jsonl`` with ``tau_labels_*.jsonl`` (answers of real agents; label 1 claims a
change of this turn), ``claims_*.jsonl`` and ``chat_answers_*.jsonl`` (``text``, ``lang``, ``claims_change``,
``category``), ``bug_cases*.jsonl`` (``input.answer``, ``expect``). Files that are missing are left out. ``--misses``
prints the wrong verdicts of the sets whose name contains SET. CPU time over all tau answers, per answer the best of
several rounds.
"""

import argparse
import json
import re
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from nr_agent_core.domain.claims import ClaimDetector, ClaimPolicy
from nr_agent_core.domain.package_data import read_toml

Row = dict[str, Any]
ROUNDS = 7
FLAGGED = ("flag_nothing_saved", "flag_partial", "unknown_no_notice")


def rows(folder: Path, pattern: str) -> list[Row]:
    """All rows of the files of *folder* that match *pattern*."""
    return [
        json.loads(line)
        for path in sorted(folder.glob(pattern))
        for line in path.read_text(encoding="utf-8").split("\n")
        if line.strip()
    ]


def verdict_line(name: str, pairs: list[tuple[bool, bool]]) -> str:
    """Precision and recall of (expected, found) pairs."""
    hit = sum(e and f for e, f in pairs)
    false, missed = sum(f and not e for e, f in pairs), sum(e and not f for e, f in pairs)
    precision, recall = hit / max(hit + false, 1), hit / max(hit + missed, 1)
    return f"{name:34} n={len(pairs):4}  P {precision:.3f}  R {recall:.3f}  (hit {hit}, false {false}, missed {missed})"


def show(kind: str, row: Row, detector: ClaimDetector, *, width: int = 700) -> None:
    """One wrong verdict with what was found."""
    text = row["text"]
    found = "; ".join(f"{c.word!r} {c.language} {c.why} @{c.start}" for c in detector.claims(text)[:4])
    print(f"--- {kind} {row.get('lang', '')} {row.get('category', row.get('label', ''))}  [{found}]")
    around = [text[max(0, c.start - 160) : c.end + 80] for c in detector.claims(text)[:2]] or [text[:width]]
    print("\n ... ".join(around))


def judge(name: str, labelled: list[tuple[Row, bool]], detector: ClaimDetector, misses: str | None) -> None:
    """Print the figures of one set, and its wrong verdicts if asked for."""
    pairs = [(expected, detector.claims_change(row["text"])) for row, expected in labelled]
    print(verdict_line(name, pairs))
    if misses is not None and misses in name:
        for (row, expected), (_, found) in zip(labelled, pairs, strict=True):
            if expected is not found:
                show("MISSED" if expected else "FALSE", row, detector)


def by_language(name: str, found: list[Row], detector: ClaimDetector, misses: str | None) -> None:
    """Figures per language of a set with ``claims_change``."""
    marked = any("note" in row for row in found)
    sets: dict[str, list[tuple[Row, bool]]] = defaultdict(list)
    for row in found:
        sets[row["lang"]].append((row, row["claims_change"]))
        if marked and row.get("note") != "borderline":
            sets[row["lang"] + " clear"].append((row, row["claims_change"]))
    for language, labelled in sorted(sets.items()):
        judge(f"{name} {language}", labelled, detector, misses)
    judge(f"{name} all", [(row, row["claims_change"]) for row in found], detector, None)
    categories: dict[str, list[bool]] = defaultdict(list)
    for row in found:
        categories[row["category"]].append(detector.claims_change(row["text"]) is row["claims_change"])
    print("    right:", ", ".join(f"{k} {sum(v)}/{len(v)}" for k, v in sorted(categories.items())))


def tau(turns: list[Row], labels: list[Row], detector: ClaimDetector, misses: str | None) -> None:
    """Notice rate on answers without a write, and recall on those labelled 1."""
    label = {row["id"]: row["label"] for row in labels}
    for row in turns:
        row["label"] = label.get(row["id"], 0)
    silent = [row for row in turns if not row["wrote"]]
    noticed = [row for row in silent if detector.claims_change(row["text"])]
    false = [row for row in noticed if row["label"] != 1]
    ones = [row for row in turns if row["label"] == 1]
    missed = [row for row in ones if not detector.claims_change(row["text"])]
    print(
        f"tau without a write: {len(noticed)} of {len(silent)} noticed ({len(noticed) / max(len(silent), 1):.2%}),",
        end=" ",
    )
    print(f"{len(false)} of them not labelled 1 ({len(false) / max(len(silent), 1):.2%})")
    print(
        f"tau labelled 1: {len(ones) - len(missed)} of {len(ones)} detected ({1 - len(missed) / max(len(ones), 1):.2%})"
    )
    if misses is not None and misses in "tau":
        for row in false:
            show("FALSE", row, detector)
        for row in missed:
            show("MISSED", row, detector)


def speed(turns: list[Row], detector: ClaimDetector) -> None:
    """CPU time per kB, for both questions and for answers that hold no claiming word."""
    texts = [row["text"] for row in turns]
    words = re.compile(r"\w+")
    print(f"speed plain word scan {_cpu(texts, words.findall):7.1f} us/kB (compare with: machines differ, ratios less)")
    for name, ask in (("claims_change", detector.claims_change), ("claims", detector.claims)):
        print(f"speed {name:14} {_cpu(texts, ask):7.1f} us/kB over {len(texts)} answers")
    if detector.policy is ClaimPolicy.ASSERTED:
        from nr_agent_core.domain.claims.lexicon import Lexicon
        from nr_agent_core.domain.claims.normalise import Reading
        from nr_agent_core.domain.claims.scan import Scanner

        tables = [(code, read_toml("nr_agent_core.domain.claims", f"{code}.toml")) for code in detector.languages]
        scanner = Scanner([Lexicon(code, table) for code, table in tables])
        plain = [text for text in texts if not scanner.places(Reading(text))]
        cost = _cpu(plain, detector.claims_change)
        print(f"speed no candidate   {cost:7.1f} us/kB over {len(plain)} answers without a claiming word")


def _cpu(texts: list[str], ask: Any) -> float:
    """CPU time of *ask* per kB, the best of several rounds for each text: other load on the machine counts less."""
    ask("A first text, saved.")
    best = [1.0] * len(texts)
    for _ in range(ROUNDS):
        for number, text in enumerate(texts):
            start = time.thread_time()
            ask(text)
            best[number] = min(best[number], time.thread_time() - start)
    return sum(best) * 1e9 / max(sum(len(text.encode()) for text in texts), 1)


def main() -> None:
    """Measure whatever sets DATA_DIR holds."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--policy", choices=[p.value for p in ClaimPolicy], default="asserted")
    parser.add_argument("--languages", nargs="+", default=None)
    parser.add_argument("--misses", metavar="SET", default=None)
    options = parser.parse_args()
    detector = ClaimDetector(ClaimPolicy(options.policy), options.languages)
    shipped = set(detector.languages)
    for name, pattern in (("claims", "claims_*.jsonl"), ("chat_answers", "chat_answers_*.jsonl")):
        if found := [row for row in rows(options.data, pattern) if row["lang"] in shipped]:
            by_language(name, found, detector, options.misses)
    bugs = [row for row in rows(options.data, "bug_cases*.jsonl") if row.get("topic") in tuple("abci")]
    bugs = [
        row
        for row in bugs
        if row["expect"] != "no_flag" or not any(e.get("wrote") for e in row["input"].get("events", []))
    ]
    if bugs := [row for row in bugs if row.get("lang") in shipped and row["input"].get("answer") and row.get("strict")]:
        labelled = [
            ({**row, "text": row["input"]["answer"], "category": row["id"]}, row["expect"] in FLAGGED) for row in bugs
        ]
        judge("bug cases (strict)", labelled, detector, options.misses)
    if turns := rows(options.data, "tau_turns_*.jsonl"):
        tau(turns, rows(options.data, "tau_labels_*.jsonl"), detector, options.misses)
        speed(turns, detector)


if __name__ == "__main__":
    main()
