"""
What an examination found.
"""

import enum
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

from nr_agent_core.domain.errors import StoreError

AT_MOST: Final = 10
"""How many ids one finding names."""


class Level(enum.Enum):
    """
    How bad it is. Warnings and errors want somebody to act.
    """

    FINE = "fine"
    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"


class Finding(NamedTuple):
    """
    One sentence about one thing that was looked at.
    """

    level: Level
    check: str
    text: str


Check: TypeAlias = Callable[[], Iterator[Finding]]


def examined(checks: Sequence[tuple[str, Check]]) -> list[Finding]:
    """
    What all *checks* found. One that cannot be made is a finding itself; the others are made all the same.
    """
    found: list[Finding] = []
    for name, check in checks:
        try:
            found.extend(check())
        except StoreError as error:
            found.append(Finding(Level.ERROR, name, f"could not be looked at: {error}"))
    return found


def listed(ids: Sequence[object]) -> str:
    """
    Some ids, and how many more there are.
    """
    shown = ", ".join(repr(each) for each in ids[:AT_MOST])
    return shown + (f" and {len(ids) - AT_MOST} more" if len(ids) > AT_MOST else "")


def counted(number: int, one: str, many: str) -> str:
    """
    A number with its noun.
    """
    return f"{number} {one if number == 1 else many}"
