"""
Calls whose outcome comes late, processes that die in one, and what the stream proves.
"""

import time
from pathlib import Path
from typing import Any

import pytest

from nr_agent_core import (
    ToolEffect,
    ToolResult,
    WriteKind,
)
from nr_agent_core.testing.scripted_model import call
from tests.cases.desk import Desk, tool_of

PATIENCE = 30.0
IDEMPOTENT = ToolEffect.IDEMPOTENT_WRITE


class Later:
    """
    The machine's time, some hours on.
    """

    def __init__(self, hours: int = 1) -> None:
        self._hours = hours

    def now(self) -> float:
        """Seconds since 1970."""
        return time.time() + 3600 * self._hours


class GoneError(BaseException):
    """
    The process ends here.
    """


def saved(*_: Any) -> ToolResult:
    """A page is written."""
    return ToolResult.text("Saved.").with_write_target(("pages", 42), WriteKind.CREATED)


def dying(*_: Any) -> ToolResult:
    """The process is gone right after the effect."""
    raise GoneError


def until(what: Any) -> None:
    """Until *what* is so."""
    end = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.005)


def evidence(desk: Desk, run_id: str | None) -> Any:
    """What the stored stream proves now."""
    assert run_id is not None
    return desk.chat.runtime.status(run_id, "anna").evidence


def died_in(path: Path, *answers: Any, effect: ToolEffect = IDEMPOTENT) -> Any:
    """A run whose process died right after the effect of its approved write, before the outcome was stored."""
    desk = Desk(*answers or (call("save", title="a"),), path=path, tools=[tool_of("save", dying, effect)])
    sent = desk.waiting()
    with pytest.raises(GoneError):
        desk.decide(sent.conversation)
    return sent
