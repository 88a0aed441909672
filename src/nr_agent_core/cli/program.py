"""
The program ``nr-agent-core``: finds the command, gives it its arguments, ends with its exit code.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Any, Final

from nr_agent_core.cli.audit.command import AuditCommand
from nr_agent_core.cli.command import Command
from nr_agent_core.cli.doctor.command import DoctorCommand
from nr_agent_core.cli.explain.command import ExplainCommand
from nr_agent_core.cli.upkeep.command import UpkeepCommand
from nr_agent_core.cli.worker.command import WorkerCommand

PROGRAM: Final = "nr-agent-core"
COMMANDS: Final[tuple[Command, ...]] = (
    AuditCommand(),
    ExplainCommand(),
    UpkeepCommand(),
    DoctorCommand(),
    WorkerCommand(),
)

_DISTRIBUTION: Final = "nr-agent-core"
# What a shell reports for a program that was interrupted, or whose reader went away.
_INTERRUPTED: Final = 130
_READER_GONE: Final = 141


def version() -> str:
    """
    The version of the installed package; says so when the code runs without being installed.
    """
    from importlib import metadata

    try:
        return metadata.version(_DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return "unknown version (not installed)"


class _VersionAction(argparse.Action):
    """
    Looks the version up when it is asked for, not whenever a parser is built.
    """

    def __init__(self, option_strings: Sequence[str], dest: str, **options: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, **options)

    def __call__(self, parser: argparse.ArgumentParser, *ignored: object, **also_ignored: object) -> None:
        print(f"{PROGRAM} {version()}")
        parser.exit()


def program_parser() -> argparse.ArgumentParser:
    """
    The parser of the whole command line; ``command`` of its namespace is the chosen command.
    """
    parser = argparse.ArgumentParser(
        prog=PROGRAM,
        description="Tools beside nr_agent_core, an AI chat core that states what a run did.",
        epilog=f"Details: {PROGRAM} COMMAND --help",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--version", action=_VersionAction, dest=argparse.SUPPRESS, help="print the version of the package and leave"
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS:
        below = commands.add_parser(
            command.name,
            help=command.summary,
            description=command.description,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        command.declare(below)
        below.set_defaults(command=command)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """
    Runs one command.

    Args:
        argv: the words after the program's name; None takes those of the process.

    Returns:
        The command's exit code (:class:`~nr_agent_core.cli.command.ExitCode`); 130 when interrupted,
        141 when whoever read the output went away.

    Raises:
        SystemExit: the arguments are wrong (2), or help or the version was asked for (0). No command ran.
    """
    arguments = program_parser().parse_args(argv)
    command: Command = arguments.command
    try:
        code = command.run(arguments)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        # The interpreter flushes once more at its end; that must not fail a second time.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _READER_GONE
    return int(code)
