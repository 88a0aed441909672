"""
Findings on a terminal, as lines, and for programs.
"""

import json
from collections.abc import Callable, Sequence
from typing import Final, TextIO

from nr_agent_core.cli.audit.visible_text import visible_line
from nr_agent_core.cli.doctor.findings import Finding, Level

_STYLES: Final = {Level.FINE: "green", Level.NOTE: "dim", Level.WARNING: "yellow", Level.ERROR: "bold red"}


def write_table(name: str, findings: Sequence[Finding], out: TextIO) -> None:
    """
    A table; needs the extra `cli`.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    # No markup, emoji names or highlighting: an id is shown, not interpreted.
    console = Console(file=out, markup=False, emoji=False, highlight=False)
    table = Table("", "check", "finding", title=visible_line(name), title_justify="left")
    for level, check, text in findings:
        table.add_row(Text(level.value, _STYLES[level]), check, Text(visible_line(text), overflow="fold"))
    console.print(table)
    console.print(_summary(findings))


def write_text(name: str, findings: Sequence[Finding], out: TextIO) -> None:
    """
    One line a finding.
    """
    lines = [visible_line(name)]
    lines += [f"{level.value:<8} {check:<14} {visible_line(text)}" for level, check, text in findings]
    out.write("\n".join([*lines, _summary(findings)]) + "\n")


def write_json(name: str, findings: Sequence[Finding], out: TextIO) -> None:
    """
    An object with the store's name and a list of findings.
    """
    shown = [{"level": level.value, "check": check, "text": text} for level, check, text in findings]
    json.dump({"store": name, "sound": is_sound(findings), "findings": shown}, out, ensure_ascii=False, indent=2)
    out.write("\n")


def is_sound(findings: Sequence[Finding]) -> bool:
    """
    Whether nothing wants somebody to act.
    """
    return not any(finding.level in (Level.WARNING, Level.ERROR) for finding in findings)


def _summary(findings: Sequence[Finding]) -> str:
    counts = {level: sum(finding.level is level for finding in findings) for level in (Level.ERROR, Level.WARNING)}
    if not any(counts.values()):
        return "Nothing wants attention."
    return ", ".join(f"{number} {level.value}s" for level, number in counts.items() if number)


WRITERS: Final[dict[str, Callable[[str, Sequence[Finding], TextIO], None]]] = {
    "table": write_table,
    "text": write_text,
    "json": write_json,
}
