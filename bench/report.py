"""
The figures as a page of Markdown, in a layout that only changes with the figures.
"""

import os
import platform
import re
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.play import Line, cpu, median_of, peer_names, ratios, window_growth

BEGIN, END = "<!-- figures: written by python -m bench -->", "<!-- end of figures -->"

Lines = Mapping[str, Sequence[Line]]


def figures(lines: Lines, imports: Mapping[str, Any]) -> str:
    """The part of the page that is measured."""
    parts = [_machine(lines, imports), _bars(lines, imports), _side_by_side(lines)]
    return "\n\n".join(parts)


def write(page: Path, measured: str) -> None:
    """
    Put *measured* between the two marks of *page*.

    Raises:
        ValueError: the page has no such marks.
    """
    text = page.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"{page} has no lines {BEGIN!r} and {END!r}")
    page.write_text(f"{before}{BEGIN}\n\n{measured}\n\n{END}{after}", encoding="utf-8")


def _machine(lines: Lines, imports: Mapping[str, Any]) -> str:
    played = len(lines["w1 library full"])
    return (
        f"{os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}, "
        f"SQLite {sqlite3.sqlite_version}. Medians of {played} interleaved pairs of runs, W1 with "
        f"{lines['w1 library full'][0]['turns']} turns, W2 with {lines['w2 library full'][0]['cycles']} approvals, "
        f"W3 with {lines['w3 library full'][0]['workers']} threads of 20 turns; imports {imports['repeats']} times."
    )


def _bars(lines: Lines, imports: Mapping[str, Any]) -> str:
    w1, probe = lines["w1 library full"], lines["probe library"][0]
    locked = sum("locked" in error for line in lines["w3 library full"] for error in line["errors"])
    failed = sum(sum(line["errors"].values()) for line in lines["w3 library full"])
    rows = [
        _ratio_row("W1, WAL FULL: CPU of a turn, to the limit", lines, "w1 library full", "w1 limit full", 3.0),
        _ratio_row("W1, WAL NORMAL: CPU of a turn, to the limit", lines, "w1 library normal", "w1 limit normal", None),
        _row("W1, CPU of the last 100 turns, to the first 100", _growth(w1, 1), 1.2, "x"),
        _row("W1, commits per turn", probe["commits_per_turn"], 2.0, ""),
        _row("W1, statements per turn", probe["statements_per_turn"], None, ""),
        _row("W1, KiB stored per turn", median_of(w1, lambda line: line["kib_per_turn"]), 2.5, ""),
        _row(
            "W1 with nothing kept between turns, 32k window: CPU of the last 100 turns, to turns 201-300",
            _growth(lines["w1 library window"], 3),
            1.2,
            "x",
        ),
        _ratio_row("W2, WAL FULL: CPU of an approval, to the limit", lines, "w2 library full", "w2 limit full", 2.5),
        _ratio_row("W2, WAL NORMAL: CPU of an approval, to the limit", lines, "w2 library normal", "w2 limit normal"),
        _row("W2, commits per approval", probe["commits_per_approval_cycle"], 5.0, ""),
        _row("W3, errors of 'locked' (of all errors: " + str(failed) + ")", float(locked), 0.0, ""),
        _ratio_row("W3, WAL FULL: CPU of a turn, to the limit", lines, "w3 library full", "w3 limit full"),
        _row("Import, CPU to that of the dependencies and sqlite3", imports["ratio"], 1.6, "x"),
    ]
    loaded = ", ".join(imports["unwanted"]) or "none"
    later = ", ".join(imports["later"]) or "none"
    return "\n".join(
        [
            "| what | figure | bar | spread |",
            "| --- | --- | --- | --- |",
            *rows,
            "",
            f"Loaded by the import although they must not be: {loaded}. Loaded on first use only: {later}.",
        ]
    )


def _growth(lines: Sequence[Line], early: int) -> float:
    return median_of(lines, lambda line: window_growth(line, early))


def _row(what: str, figure: float, bar: float | None, unit: str, spread: str = "") -> str:
    said = f"{figure:.2f}".rstrip("0").rstrip(".") + unit
    if bar is None:
        return f"| {what} | {said} | | {spread} |"
    allowed = f"at most {bar:g}{unit}"
    return f"| {what} | {said} | {allowed if figure <= bar else f'**{allowed}**'} | {spread} |"


def _ratio_row(what: str, lines: Lines, one: str, other: str, bar: float | None = None) -> str:
    found = sorted(ratios(lines, one, other))
    middle = found[len(found) // 2] if len(found) % 2 else (found[len(found) // 2 - 1] + found[len(found) // 2]) / 2
    return _row(what, middle, bar, "x", f"{found[0]:.2f}-{found[-1]:.2f}")


def _side_by_side(lines: Lines) -> str:
    """All systems in units of the limit, which is given in milliseconds."""
    scale = {workload: cpu(lines[f"{workload} limit full"]) for workload in ("w1", "w2", "w3")}
    rows = [
        _system_row("limit (hand-written)", lines, lambda workload: f"{workload} limit full", scale),
        _system_row("nr_agent_core", lines, lambda workload: f"{workload} library full", scale),
        *(_system_row(_title(lines, name), lines, _peer_line(name), scale) for name in peer_names(lines)),
    ]
    unit = (
        f"CPU in units of the limit: {scale['w1']:.2f} ms a turn (W1), {scale['w2']:.2f} ms an approval (W2), "
        f"{scale['w3']:.2f} ms a turn (W3)."
    )
    head = "| system | W1 first | W1 last | of turns | growth | KiB a turn | W2 | W3 | W3 p99 ms | W3 errors |"
    return "\n".join([unit, "", head, "| --- " * 10 + "|", *rows])


def _peer_line(name: str) -> Callable[[str], str]:
    return lambda workload: f"{workload} peer {name}"


def _title(lines: Lines, name: str) -> str:
    line = next(line for key, played in lines.items() if key.endswith(f" peer {name}") for line in played)
    packages = {name: version for name, version in line["versions"].items() if name not in ("python", "sqlite")}
    main = next(iter(packages.items()), None)
    return str(line["system"]) if main is None else f"{line['system']} {main[1]}"


def _system_row(title: str, lines: Lines, key: Callable[[str], str], scale: Mapping[str, float]) -> str:
    cells = [title]
    w1, w2, w3 = (lines.get(key(workload)) for workload in ("w1", "w2", "w3"))
    if w1:
        first = median_of(w1, lambda line: line["cpu_ms"]["first"])
        last = median_of(w1, lambda line: line["cpu_ms"]["last"])
        size = median_of(w1, lambda line: line["file_mib"] * 1024 / line["turns"])
        cells += [_times(first / scale["w1"]), _times(last / scale["w1"]), str(w1[0]["turns"])]
        cells += [f"{last / first:.1f}", f"{size:.1f}"]
    else:
        cells += ["-"] * 5
    cells.append(_times(cpu(w2) / scale["w2"]) if w2 else "-")
    if w3:
        errors = sum(sum(line["errors"].values()) for line in w3)
        cells += [_times(cpu(w3) / scale["w3"]), f"{median_of(w3, lambda line: line['p99_ms']):.0f}", str(errors)]
    else:
        cells += ["-"] * 3
    return f"| {' | '.join(cells)} |"


def _times(ratio: float) -> str:
    return f"{ratio:.1f}x" if ratio < 10 else f"{ratio:.0f}x"


def plain(measured: str) -> str:
    """The same for a terminal: the marks of Markdown that only disturb there are left out."""
    return re.sub(r"\*\*", "!", measured)
