"""
The report for a page or a comment: Markdown that shows answers as they are and runs nothing of theirs.
"""

import re
from collections.abc import Iterator
from typing import TextIO

from nr_agent_core.cli.audit.notice_words import NOTICE_WORDS
from nr_agent_core.cli.audit.passages import AT_MOST, Passage, passages
from nr_agent_core.cli.audit.report import Judged, Report
from nr_agent_core.cli.audit.summary_lines import summary_lines
from nr_agent_core.cli.audit.visible_text import visible, visible_line


def write_markdown(report: Report, out: TextIO) -> None:
    """
    Writes *report* to *out*: the figures as a table, then every flagged answer in a fenced block.
    """
    out.write("# Audit\n\n| what | figure |\n| --- | ---: |\n")
    out.writelines(f"| {what} | {figure} |\n" for what, figure in summary_lines(report))
    for judged in report.flagged:
        out.writelines(_flagged(judged))


def _flagged(judged: Judged) -> Iterator[str]:
    yield f"\n## {_code(judged.id)}\n\n"
    told = "; ".join(f"{code.value}: {NOTICE_WORDS[code]}" for code in judged.notices)
    yield f"{told} ({_code(f'{judged.file}:{judged.line}')})\n\n"
    found = passages(judged.text, judged.claims)
    shown = "\n".join(map(_marked, found[:AT_MOST]))
    fence = "`" * max(3, _longest_run(shown) + 1)
    yield f"{fence}text\n{shown}\n{fence}\n"
    if len(found) > AT_MOST:
        yield f"\n{len(found) - AT_MOST} more such places\n"


def _marked(passage: Passage) -> str:
    text = "".join(f">>{visible(piece)}<<" if claimed else visible(piece) for piece, claimed in passage.pieces)
    return f"{'… ' if passage.cut_before else ''}{text}{' …' if passage.cut_after else ''}"


def _code(text: str) -> str:
    shown = visible_line(text)
    fence = "`" * (_longest_run(shown) + 1)
    padding = " " if len(fence) > 1 else ""
    return f"{fence}{padding}{shown}{padding}{fence}"


def _longest_run(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)
