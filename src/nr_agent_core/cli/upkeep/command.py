"""
The command ``upkeep``: its arguments, its windows, its exit code.
"""

import argparse
import sys
from typing import TYPE_CHECKING, Final

from nr_agent_core.cli.command import ExitCode
from nr_agent_core.cli.stores.address import UnusableError, address_of, declare_store

if TYPE_CHECKING:
    from nr_agent_core.cli.upkeep.work import Work
    from nr_agent_core.ports.retention import Retention

FORMATS: Final = ("text", "json")
WINDOWS: Final = ("conversation_days", "run_days", "waiting_days", "write_days")

_PREFIX: Final = "nr-agent-core upkeep:"
_EVER: Final = "ever"
_DESCRIPTION: Final = """\
Looks after a store: ends approvals whose time is over and runs that cannot be
read, and deletes what is past its window.

With --app it also recovers runs whose process is gone. That takes the model and
the tools of the application: name a Chat, a Runtime, or a function that returns
one, as module:attribute. With a STORE alone such runs are left and counted.
"""
_EPILOG: Final = """\
exit codes:
  0  all that was due was done
  1  some runs were left: they need --app, are somebody else's, or failed again
  2  the store or the application cannot be used, or wrong arguments

examples:
  nr-agent-core upkeep --app mysite.chat:make_chat
  nr-agent-core upkeep chat.db --conversation-days 90 --dry-run
"""


class UpkeepCommand:
    """
    ``nr-agent-core upkeep STORE``
    """

    name = "upkeep"
    summary = "end and delete what nobody goes on with, by windows of retention"
    description = _DESCRIPTION

    def declare(self, parser: argparse.ArgumentParser) -> None:
        """
        Adds the arguments of ``upkeep``.
        """
        parser.epilog = _EPILOG
        declare_store(parser, required=False)
        parser.add_argument("--app", metavar="MODULE:ATTRIBUTE", help="the application, in place of STORE")
        for option, default, meaning in (
            ("--conversation-days", 30.0, "since the last message of a conversation"),
            ("--run-days", 30.0, "since a run was settled"),
            ("--waiting-days", 90.0, "since a card was put up; then its run ends"),
            ("--write-days", None, "for entries of the feed, which go no sooner than their run and conversation"),
        ):
            shown = _EVER if default is None else f"{default:g}"
            parser.add_argument(
                option, type=_days, default=default, metavar="DAYS", help=f"{meaning}; or {_EVER} (default: {shown})"
            )
        parser.add_argument(
            "--writes-up-to",
            type=int,
            default=0,
            metavar="POSITION",
            help="entries of the feed up to there go, too, once their run and conversation are gone",
        )
        parser.add_argument("--dry-run", action="store_true", help="say what would go, and change nothing")
        parser.add_argument("--format", choices=FORMATS, default=FORMATS[0], help="text (default) or json")

    def run(self, arguments: argparse.Namespace) -> int:
        """
        Does the work and writes what was done to standard output.
        """
        from nr_agent_core.cli.audit.visible_text import visible_line
        from nr_agent_core.domain.errors import AgentCoreError
        from nr_agent_core.ports.retention import Retention

        try:
            windows = {name: getattr(arguments, name) for name in WINDOWS}
            retention = Retention(**windows, writes_up_to=arguments.writes_up_to)
            return _work(arguments, retention)
        except (UnusableError, AgentCoreError) as error:
            print(_PREFIX, visible_line(str(error)), file=sys.stderr)
            return ExitCode.UNUSABLE


def _days(value: str) -> float | None:
    if value == _EVER:
        return None
    try:
        return float(value)
    except ValueError:
        raise argparse.ArgumentTypeError(f"days are a number, or the word {_EVER}") from None


def _work(arguments: argparse.Namespace, retention: "Retention") -> int:
    from nr_agent_core.cli.upkeep.report import WRITERS

    work = _found(arguments)
    try:
        told = work.foretold(retention) if arguments.dry_run else work.done(retention)
    finally:
        work.close()
    WRITERS[arguments.format](told, sys.stdout)
    return ExitCode.FLAGGED if told.left else ExitCode.DONE


def _found(arguments: argparse.Namespace) -> "Work":
    from nr_agent_core.cli.upkeep.work import of_application, of_store

    if arguments.app is not None and not arguments.store:
        return of_application(arguments.app)
    if arguments.app is None and arguments.store:
        return of_store(address_of(arguments.store, arguments.schema))
    raise UnusableError("name either a store or, with --app, an application")
