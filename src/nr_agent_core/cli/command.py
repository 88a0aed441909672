"""
What a command of ``nr-agent-core`` is, and with which numbers it may end.
"""

import argparse
import enum
from typing import Protocol


class ExitCode(enum.IntEnum):
    """
    How a command ended: for scripts, not for people.
    """

    DONE = 0
    FLAGGED = 1
    UNUSABLE = 2


class Command(Protocol):
    """
    One word after ``nr-agent-core``.

    A new command is a class with these members and one entry in
    :data:`nr_agent_core.cli.program.COMMANDS`.
    """

    @property
    def name(self) -> str:
        """The word."""
        ...

    @property
    def summary(self) -> str:
        """One line for the list of commands."""
        ...

    @property
    def description(self) -> str:
        """What ``--help`` says before the options."""
        ...

    def declare(self, parser: argparse.ArgumentParser) -> None:
        """Adds the command's arguments to its own parser. Imports nothing heavy."""
        ...

    def run(self, arguments: argparse.Namespace) -> int:
        """Does the work on the process's streams and returns an exit code."""
        ...
