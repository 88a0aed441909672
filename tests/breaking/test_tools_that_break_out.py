"""
Tools that end in a way nobody planned: their outcome is unknown, and the run goes on (T4).
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from nr_agent_core import RunStatus, ToolEffect, Wrote
from nr_agent_core.testing.scripted_model import call
from tests.cases.desk import ANNA, Desk, tool_of


async def cancelled(*_: Any) -> str:
    """A client inside gave up by cancelling the task it ran in."""
    raise asyncio.CancelledError


def cancelled_inside(*_: Any) -> str:
    """The same, from a tool that runs a loop of its own."""
    return asyncio.run(cancelled())


@pytest.mark.parametrize("execute", [cancelled, cancelled_inside])
@pytest.mark.parametrize("effect", list(ToolEffect))
def test_a_tool_that_is_cancelled_inside_ends_itself_alone(tmp_path: Path, execute: Any, effect: ToolEffect) -> None:
    """(T4) A cancelled task is an end like any other exception: it does not rise through the host."""
    desk = Desk(call("save", title="a"), "Done.", path=tmp_path / "chat.db", tools=[tool_of("save", execute, effect)])

    sent = desk.chat.send("Save it.", ANNA)
    if effect.writes:
        sent = desk.decide(sent.conversation)

    assert sent.status is RunStatus.COMPLETED
    evidence = desk.chat.runtime.status(sent.run_id or "", "anna").evidence
    assert evidence.wrote is (Wrote.CANNOT_TELL if effect.writes else Wrote.NO)


@pytest.mark.parametrize("effect", list(ToolEffect))
def test_a_surrounding_that_swallows_what_a_tool_raised_hides_nothing(tmp_path: Path, effect: ToolEffect) -> None:
    """(T4) The host's context manager suppressed the exception: the call brought nothing that could be believed."""

    @contextmanager
    def around(_: Any) -> Iterator[None]:
        with suppress(RuntimeError):
            yield

    def fails(*_: Any) -> str:
        raise RuntimeError("the connection is gone")

    desk = Desk(call("save", title="a"), "Done.", path=tmp_path / "chat.db", around_tool=around,
                tools=[tool_of("save", fails, effect)])  # fmt: skip
    sent = desk.chat.send("Save it.", ANNA)
    if effect.writes:
        sent = desk.decide(sent.conversation)

    assert sent.status is RunStatus.COMPLETED
    evidence = desk.chat.runtime.status(sent.run_id or "", "anna").evidence
    assert evidence.wrote is (Wrote.CANNOT_TELL if effect.writes else Wrote.NO)
