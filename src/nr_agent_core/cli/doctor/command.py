"""
The command ``doctor``: its arguments, its checks, its exit code.
"""

import argparse
import importlib.util
import io
import sys
from typing import TYPE_CHECKING, Final

from nr_agent_core.cli.command import ExitCode
from nr_agent_core.cli.stores.address import UnusableError, address_of, declare_store

if TYPE_CHECKING:
    from nr_agent_core.cli.doctor.findings import Check, Finding
    from nr_agent_core.cli.stores.tables import PostgresTables, SqliteTables

FORMATS: Final = ("table", "text", "json")

_PREFIX: Final = "nr-agent-core doctor:"
_RICH_MISSING: Final = "--format table needs rich: pip install 'nr-agent-core[cli]', or choose --format text"
_DESCRIPTION: Final = """\
Looks at a store and says what is the matter with it: schema, settings, damaged
pages and rows, runs whose process is gone, queued runs that nobody takes up,
approvals past their expiry, conversations that are stuck, the feed. It changes
nothing, and shows neither what is said in chats nor a connection string.
"""
_EPILOG: Final = """\
exit codes:
  0  nothing wants attention
  1  there are warnings or errors
  2  the store cannot be looked at: not there, locked, not reachable, damaged from
     its beginning on, of a newer release, of another application; or wrong
     arguments

examples:
  nr-agent-core doctor chat.db
  PGPASSFILE=~/.pgpass nr-agent-core doctor postgresql://chat@db.example/site --format json
"""


class DoctorCommand:
    """
    ``nr-agent-core doctor STORE``
    """

    name = "doctor"
    summary = "say what is the matter with a store, without changing anything"
    description = _DESCRIPTION

    def declare(self, parser: argparse.ArgumentParser) -> None:
        """
        Adds the arguments of ``doctor``.
        """
        parser.epilog = _EPILOG
        declare_store(parser, required=True)
        parser.add_argument(
            "--all",
            action="store_true",
            help="read all settled runs, messages and entries, not the newest 1000 of each",
        )
        parser.add_argument(
            "--follower",
            type=_position,
            metavar="POSITION",
            help="how far a follower of the feed has come: says its lag",
        )
        parser.add_argument(
            "--format", choices=FORMATS, help="table (default where rich is installed), text (elsewhere) or json"
        )

    def run(self, arguments: argparse.Namespace) -> int:
        """
        Writes the findings to standard output; what could not be looked at is said on standard error.
        """
        rich = importlib.util.find_spec("rich") is not None
        chosen = arguments.format or ("table" if rich else "text")
        if chosen == "table" and not rich:
            print(_PREFIX, _RICH_MISSING, file=sys.stderr)
            return ExitCode.UNUSABLE
        try:
            name, findings = _examination(arguments)
        except UnusableError as error:
            from nr_agent_core.cli.audit.visible_text import visible_line

            print(_PREFIX, visible_line(str(error)), file=sys.stderr)
            return ExitCode.UNUSABLE
        return _report(name, findings, chosen)


def _position(value: str) -> int:
    if not value.isdecimal():
        raise argparse.ArgumentTypeError("a position is a number from 0")
    return int(value)


def _examination(arguments: argparse.Namespace) -> "tuple[str, list[Finding]]":
    from nr_agent_core.cli.doctor.findings import examined
    from nr_agent_core.cli.stores.tables import opened

    tables = opened(address_of(arguments.store, arguments.schema))
    try:
        return tables.name, examined(_checks(tables, arguments))
    finally:
        tables.close()


def _checks(tables: "SqliteTables | PostgresTables", arguments: argparse.Namespace) -> "list[tuple[str, Check]]":
    from nr_agent_core.cli.doctor.run_checks import RunChecks
    from nr_agent_core.cli.stores.tables import SqliteTables

    if isinstance(tables, SqliteTables):
        from nr_agent_core.cli.doctor.sqlite_checks import SqliteChecks

        checks = SqliteChecks(tables).all()
    else:
        from nr_agent_core.cli.doctor.postgres_checks import PostgresChecks

        examination = PostgresChecks(tables, follower=arguments.follower)
        checks = examination.all() if tables.version else examination.server()
    if tables.version:
        checks += RunChecks(tables, everything=arguments.all).all()
    return checks


def _report(name: str, findings: "list[Finding]", chosen: str) -> int:
    from nr_agent_core.cli.doctor.report import WRITERS, is_sound

    # A letter that the terminal cannot show must not cost the report.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    WRITERS[chosen](name, findings, sys.stdout)
    return ExitCode.DONE if is_sound(findings) else ExitCode.FLAGGED
