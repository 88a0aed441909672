"""
The command ``audit``: its arguments, its inputs, its exit code.
"""

import argparse
import importlib.util
import io
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, TextIO

from nr_agent_core.cli.command import ExitCode

if TYPE_CHECKING:
    from nr_agent_core.cli.audit.report import Report

STANDARD_INPUT: Final = "-"
FORMATS: Final = ("table", "json", "markdown")
POLICIES: Final = ("asserted", "seed_rule")

_PREFIX: Final = "nr-agent-core audit:"
_RICH_MISSING: Final = (
    "--format table needs rich: pip install 'nr-agent-core[cli]', or choose --format markdown or --format json"
)
_DESCRIPTION: Final = """\
Holds the answers of existing transcripts against the writes in them: which
answers claim a change although their turn wrote nothing?

A FILE holds, seen from its content,
  - chat messages in the shape of OpenAI's API, as JSON or JSON Lines: a list of
    messages, an object with "messages", or one message a line (then a file is
    one conversation); or
  - one answer a line: {"id", "text", "calls": [{"name", "error"}], "wrote"}.

An answer is flagged when it claims a change and its turn wrote nothing
(nothingSaved), when a call of a writing tool has no result in its turn
(writeOutcomeUnknown), when it denies any change and its turn wrote
(savedNonetheless), when it writes a call as text (callNotMade), or when it names
a record that nothing before it names (unknownReference). Where it cannot be told
whether the turn wrote, an answer is not accused.
"""
_EPILOG: Final = """\
exit codes:
  0  the audit was made
  1  with --fail: an answer is flagged
  2  wrong arguments, a file that cannot be read, or rich is missing for the table

examples:
  nr-agent-core audit chats.jsonl --write-tools 'create_*,update_*,delete_*'
  nr-agent-core audit - --format json --fail < chats.jsonl
"""


class AuditCommand:
    """
    ``nr-agent-core audit FILE...``
    """

    name = "audit"
    summary = "hold the answers of existing transcripts against the writes in them"
    description = _DESCRIPTION

    def declare(self, parser: argparse.ArgumentParser) -> None:
        """
        Adds the arguments of ``audit``.
        """
        parser.epilog = _EPILOG
        parser.add_argument("files", nargs="+", metavar="FILE", help="a transcript; - reads standard input")
        parser.add_argument(
            "--write-tools",
            action="append",
            type=_patterns,
            default=[],
            metavar="NAME,GLOB*",
            help="tools that write, by name or glob; commas part them, and the option may come again. All others "
            "count as reading. Without it no tool is known to write or to read: a turn with calls that did not "
            "fail counts as 'cannot tell', a turn without any as 'wrote nothing'",
        )
        parser.add_argument(
            "--policy",
            choices=POLICIES,
            default=POLICIES[0],
            help="how an answer is read: asserted looks at how a word is used (default), seed_rule at the word alone",
        )
        parser.add_argument(
            "--format", choices=FORMATS, default=FORMATS[0], help="table (default, needs rich), json or markdown"
        )
        parser.add_argument("--fail", action="store_true", help="end with 1 when an answer is flagged")

    def run(self, arguments: argparse.Namespace) -> int:
        """
        Audits the files and writes the report to standard output, everything else to standard error.
        """
        if arguments.format == "table" and importlib.util.find_spec("rich") is None:
            print(_PREFIX, _RICH_MISSING, file=sys.stderr)
            return ExitCode.UNUSABLE
        return _audit(arguments)


def _patterns(value: str) -> list[str]:
    patterns = [pattern.strip() for pattern in value.split(",")]
    if not all(patterns):
        raise argparse.ArgumentTypeError("a name or glob is empty")
    return patterns


def _audit(arguments: argparse.Namespace) -> int:
    from nr_agent_core.cli.audit.evidence import WriteTools
    from nr_agent_core.cli.audit.progress import ReadingProgress
    from nr_agent_core.cli.audit.remarks import remarks
    from nr_agent_core.cli.audit.report import Report
    from nr_agent_core.domain.claims import ClaimPolicy

    tools = WriteTools(pattern for patterns in arguments.write_tools for pattern in patterns)
    report = Report(ClaimPolicy(arguments.policy), tools)
    with ReadingProgress(_total_size(arguments.files), sys.stderr) as progress:
        for file in arguments.files:
            _read(file, report, progress.advance)
    for remark in remarks(report):
        print(_PREFIX, remark, file=sys.stderr)
    # A letter that the terminal cannot show must not cost the report.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    _writer(arguments.format)(report, sys.stdout)
    if report.unreadable:
        return ExitCode.UNUSABLE
    return ExitCode.FLAGGED if arguments.fail and report.flagged else ExitCode.DONE


def _read(file: str, report: "Report", advance: Callable[[int], None]) -> None:
    from nr_agent_core.cli.audit.inputs import read_answers
    from nr_agent_core.cli.audit.report import Unreadable

    name = "stdin" if file == STANDARD_INPUT else file
    report.begin(name)
    try:
        with _opened(file) as stream:
            for found in read_answers(stream, name, advance):
                report.add(found)
    except OSError as error:
        report.unreadable.append(Unreadable(name, error.strerror or type(error).__name__))


def _opened(file: str) -> BinaryIO:
    if file == STANDARD_INPUT:
        return open(0, "rb", closefd=False)
    return Path(file).open("rb")


def _total_size(files: Iterable[str]) -> int | None:
    try:
        paths = [Path(file) for file in files]
        if all(path.is_file() for path in paths):
            return sum(path.stat().st_size for path in paths)
    except OSError:
        return None
    return None


def _writer(name: str) -> "Callable[[Report, TextIO], None]":
    if name == "json":
        from nr_agent_core.cli.audit.json_report import write_json

        return write_json
    if name == "markdown":
        from nr_agent_core.cli.audit.markdown_report import write_markdown

        return write_markdown
    from nr_agent_core.cli.audit.table_report import write_table

    return write_table
