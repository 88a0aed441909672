"""
What people are told beside a report, on standard error: what was left out, and what could not be told.
"""

from collections.abc import Iterator

from nr_agent_core.cli.audit.report import Report
from nr_agent_core.cli.audit.visible_text import visible_line

_NAMES_SHOWN = 20


def remarks(report: Report) -> Iterator[str]:
    """
    One line each: unreadable inputs, malformed lines, inputs without an answer, undeclared tools,
    and patterns that matched nothing.
    """
    for unreadable in report.unreadable:
        yield f"{visible_line(unreadable.file)}: cannot be read: {unreadable.why}"
    for malformed in report.malformed:
        yield f"{visible_line(malformed.file)}:{malformed.line}: left out: {visible_line(malformed.why)}"
    for file in report.silent_files:
        yield f"{visible_line(file)}: holds no completed answer"
    if report.undeclared:
        yield (
            f"cannot tell whether anything was written in the turns of {report.undeclared} answers: name the tools "
            f"that write with --write-tools; called here: {_names(report.tools.seen)}"
        )
    if report.lacks_calls:
        yield "no turn shows a call: if these transcripts leave calls out, flagged answers may be true"
    for pattern in report.tools.unmatched:
        yield f"--write-tools {visible_line(pattern)!r} matches no tool that was called; is it misspelt?"


def _names(names: tuple[str, ...]) -> str:
    shown = ", ".join(map(visible_line, names[:_NAMES_SHOWN]))
    return shown if len(names) <= _NAMES_SHOWN else f"{shown} and {len(names) - _NAMES_SHOWN} more"
