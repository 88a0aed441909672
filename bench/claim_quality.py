"""
How good and how fast the claim detector is on labelled answers, beside the literal rule.

    python -m bench.claim_quality DATA_DIR [--languages de en] [--errors FILE] [--chart FILE] [--write PAGE]

``bench/claim_sets.py`` says what DATA_DIR may hold. ``--errors`` gets the wrong answers as lines of JSON, ``--chart``
a picture (PNG or SVG, extra ``bench``), ``--write`` the tables between the marks of a page.
"""

import argparse
import json
import re
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.claim_chart import Bar, draw
from bench.claim_figures import Score, by_category, by_group, by_language, rates, score
from bench.claim_sets import CLAIMED_NOW, Labelled, Turn, labelled, turns
from nr_agent_core.domain.claims import ClaimDetector, ClaimPolicy

BEGIN, END = "<!-- figures -->", "<!-- end of figures -->"
ROUNDS = 5


def main() -> None:
    """Measure whatever sets DATA_DIR holds."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--languages", nargs="+", default=None)
    parser.add_argument("--errors", type=Path, default=None)
    parser.add_argument("--chart", type=Path, default=None)
    parser.add_argument("--write", type=Path, default=None)
    given = parser.parse_args()
    asserted, literal = ClaimDetector(languages=given.languages), ClaimDetector(ClaimPolicy.SEED_RULE)
    answers, real = labelled(given.data), turns(given.data)
    if not answers and not real:
        parser.error(f"{given.data} holds none of the files that bench/claim_sets.py names")
    tables = [*_scores(answers, asserted, literal), "", *_rates(real, asserted, literal)]
    print(
        "\n".join((*tables, "", *_categories(answers, asserted), "", *_speed([turn.text for turn in real], asserted)))
    )
    if given.errors is not None:
        _write_errors(given.errors, answers, real, asserted)
    if given.chart is not None:
        draw(*_bars(answers, real, asserted, literal), given.chart)
    if given.write is not None:
        _write_page(given.write, tables)


def _scores(answers: Sequence[Labelled], asserted: ClaimDetector, literal: ClaimDetector) -> list[str]:
    lines = [
        "| answers | language | number | precision | recall | F1 | literal rule: precision | recall | F1 |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for (group, language), found in by_language(answers).items():
        cells = _cells(score(found, asserted.claims_change))
        # Without a list the literal rule finds nothing; figures would say that it is never wrong.
        cells += _cells(score(found, literal.claims_change)) if language in literal.languages else ["-"] * 3
        lines.append(f"| {group} | {language} | {len(found)} | {' | '.join(cells)} |")
    return lines


def _cells(found: Score) -> list[str]:
    return [f"{figure:.2f}" for figure in (found.precision, found.recall, found.f1)]


def _rates(real: Sequence[Turn], asserted: ClaimDetector, literal: ClaimDetector) -> list[str]:
    lines = [
        "| agents | turns without a write | with a notice | literal rule | written claims seen | false ones named |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for group, found in by_group(real).items():
        ours, other = rates(found, asserted.claims_change), rates(found, literal.claims_change)
        lines.append(
            f"| {group} | {ours.silent} | {ours.notice_rate:.1%} | {other.notice_rate:.1%} "
            f"| {ours.found} of {ours.claiming} | {ours.named} of {ours.unwritten} |"
        )
    return lines


def _categories(answers: Sequence[Labelled], detector: ClaimDetector) -> list[str]:
    """How many of each kind are right; those of which all are right are counted together."""
    lines, whole = [], 0
    for (group, category), found in by_category(answers).items():
        right = sum(detector.claims_change(answer.text) is answer.claims for answer in found)
        if right == len(found):
            whole += 1
        else:
            lines.append(f"{group}: {category}: {right} of {len(found)} right")
    return [f"all right in {whole} kinds; in the others:", *lines]


def _speed(texts: Sequence[str], detector: ClaimDetector) -> list[str]:
    """CPU time per kB of real answers, beside a plain scan for words, which every machine can be compared by."""
    if not texts:
        return []
    plain = [text for text in texts if not detector.claims(text)]
    asked: list[tuple[str, Callable[[str], object]]] = [
        ("plain word scan", re.compile(r"\w+").findall),
        ("claims_change", detector.claims_change),
        ("claims", detector.claims),
    ]
    lines = [f"{name:15} {_cpu(texts, ask):8.1f} us per kB of {len(texts)} answers" for name, ask in asked]
    lines.append(
        f"claims_change   {_cpu(plain, detector.claims_change):8.1f} us per kB of {len(plain)} without a claim"
    )
    return lines


def _cpu(texts: Sequence[str], ask: Callable[[str], object]) -> float:
    """CPU time of *ask* per kB, the best of several rounds for each text: other load on the machine counts less."""
    ask("A first text, saved.")
    best = [1.0] * len(texts)
    for _ in range(ROUNDS):
        for number, text in enumerate(texts):
            start = time.thread_time()
            ask(text)
            best[number] = min(best[number], time.thread_time() - start)
    return sum(best) * 1e9 / max(sum(len(text.encode()) for text in texts), 1)


def _write_errors(path: Path, answers: Sequence[Labelled], real: Sequence[Turn], detector: ClaimDetector) -> None:
    """The wrong answers, with what was found in them."""
    wrong = [
        {"group": answer.group, "language": answer.language, "category": answer.category, "claims": answer.claims}
        | _found(answer.text, detector)
        for answer in answers
        if detector.claims_change(answer.text) is not answer.claims
    ]
    wrong += [
        {"group": turn.group, "wrote": turn.wrote, "label": turn.label} | _found(turn.text, detector)
        for turn in real
        if (turn.label == CLAIMED_NOW or not turn.wrote)
        and detector.claims_change(turn.text) is not (turn.label == CLAIMED_NOW)
    ]
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in wrong), encoding="utf-8")


def _found(text: str, detector: ClaimDetector) -> dict[str, object]:
    claims = [f"{claim.word!r} at {claim.start}: {claim.why}" for claim in detector.claims(text)]
    return {"found": claims, "text": text}


def _bars(
    answers: Sequence[Labelled], real: Sequence[Turn], asserted: ClaimDetector, literal: ClaimDetector
) -> tuple[list[Bar], list[Bar]]:
    scores = [
        Bar(
            f"{group}, {language}",
            score(found, literal.claims_change).f1 if language in literal.languages else None,
            score(found, asserted.claims_change).f1,
        )
        for (group, language), found in by_language(answers).items()
        if group != "bug cases"
    ]
    noticed = [
        Bar(group, *(rates(found, rule.claims_change).notice_rate for rule in (literal, asserted)))
        for group, found in by_group(real).items()
    ]
    return scores, noticed


def _write_page(page: Path, tables: Sequence[str]) -> None:
    """Put *tables* between the marks of *page*."""
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, mark, after = rest.partition(END)
    if not mark:
        raise SystemExit(f"{page} has no place for figures: it lacks {BEGIN} and {END}")
    page.write_text(f"{before}{BEGIN}\n\n" + "\n".join(tables) + f"\n\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
