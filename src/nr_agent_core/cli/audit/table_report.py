"""
The report for a terminal. Needs the extra `cli`: rich is imported when a table is drawn, not before.
"""

from typing import TYPE_CHECKING, Final, TextIO

from nr_agent_core.cli.audit.notice_words import NOTICE_WORDS
from nr_agent_core.cli.audit.passages import AT_MOST, Passage, passages
from nr_agent_core.cli.audit.report import Judged, Report
from nr_agent_core.cli.audit.summary_lines import summary_lines
from nr_agent_core.cli.audit.visible_text import visible, visible_line

if TYPE_CHECKING:
    from rich.text import Text

_CLAIMED: Final = "bold red"


def write_table(report: Report, out: TextIO) -> None:
    """
    Writes *report* to *out*: the figures, then every flagged answer with the claimed words marked.

    The marks are characters, and colours besides where *out* is a terminal.
    """
    from rich.console import Console
    from rich.table import Table

    # No markup, emoji names or highlighting: an answer is shown, not interpreted.
    console = Console(file=out, markup=False, emoji=False, highlight=False)
    table = Table("what", title="Audit", title_justify="left")
    table.add_column("figure", justify="right")
    for what, figure in summary_lines(report):
        table.add_row(what, str(figure))
    console.print(table)
    for judged in report.flagged:
        console.print()
        for line in _flagged(judged):
            console.print(line)


def _flagged(judged: Judged) -> "list[Text]":
    from rich.text import Text

    lines = [
        Text.assemble(
            (visible_line(judged.id), "bold"),
            f"  {visible_line(judged.file)}:{judged.line}",
            *(f"  {code.value}: {NOTICE_WORDS[code]}" for code in judged.notices),
        )
    ]
    found = passages(judged.text, judged.claims)
    lines += [_marked(passage) for passage in found[:AT_MOST]]
    if len(found) > AT_MOST:
        lines.append(Text(f"  {len(found) - AT_MOST} more such places", "dim"))
    return lines


def _marked(passage: Passage) -> "Text":
    from rich.text import Text

    text = Text("… " if passage.cut_before else "")
    for piece, claimed in passage.pieces:
        text.append(f">>{visible(piece)}<<" if claimed else visible(piece), _CLAIMED if claimed else None)
    text.append(" …" if passage.cut_after else "")
    # Whole lines, so that a wrapped answer stays apart from the next heading.
    indented = Text("\n").join(Text("  ").append_text(line) for line in text.split("\n"))
    indented.overflow = "fold"
    return indented
