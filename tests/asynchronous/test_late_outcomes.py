"""
Tools that pass their deadline: the turn goes on, and what they then did is stored and announced.
"""

import asyncio
import threading
from typing import Any

import pytest

from nr_agent_core import AsyncChat, Chat, Configuration, RunStatus, Tool, ToolEffect, ToolResult, WriteKind, Wrote
from nr_agent_core.adapters.asyncio_event_bus import AsyncioEventBus
from nr_agent_core.testing import ScriptedModel, call
from tests.asynchronous.chat_in_memory import parts
from tests.asynchronous.desk import ANNA, SCHEMA

READ, WRITE, REPEATABLE = ToolEffect.READ_ONLY, ToolEffect.NON_IDEMPOTENT_WRITE, ToolEffect.IDEMPOTENT_WRITE


@pytest.mark.parametrize("in_loop", [False, True], ids=["plain", "asynchronous"])
@pytest.mark.parametrize("effect", [READ, REPEATABLE, WRITE], ids=lambda effect: effect.value)
def test_a_tool_that_passes_its_deadline_is_given_up_and_its_outcome_kept(effect: ToolEffect, in_loop: bool) -> None:
    """(T4, R7, R8) The turn goes on; what the tool then did becomes known, is announced and stored."""
    heard: list[Any] = []

    async def story() -> tuple[Any, Any, int]:
        held, ended = asyncio.Event(), threading.Event()

        async def save_async(*_: Any) -> ToolResult:
            await held.wait()
            return _saved(effect)

        def save(*_: Any) -> ToolResult:
            ended.wait(30)
            return _saved(effect)

        slow = Tool("save", "Save.", SCHEMA, effect, save_async if in_loop else save, deadline=0.01)
        model = ScriptedModel(call("save", n=1), "I do not know.")
        configuration = Configuration(model=model, unattended=["save"])
        given = parts(tools=[slow], configuration=configuration, model=None)
        given["bus"].subscribe(heard.append)
        chat = AsyncChat(**given)
        sent = await chat.send("Go.", ANNA)
        before = await chat.runtime.status(sent.run_id or "", ANNA)
        held.set()
        ended.set()
        left = await chat.close(wait=30)
        return before, await chat.runtime.status(sent.run_id or "", ANNA), left

    before, after, left = asyncio.run(story())

    assert before.status is RunStatus.COMPLETED
    assert before.evidence.wrote is (Wrote.CANNOT_TELL if effect.writes else Wrote.NO)
    assert left == 0
    assert after.evidence.wrote is (Wrote.YES if effect.writes else Wrote.NO)
    assert len(heard) == (1 if effect.writes else 0)


def slow_tool(go_on: threading.Event) -> Tool:
    """A plain tool that writes once it may, long after its deadline."""

    def save(*_: Any) -> ToolResult:
        assert go_on.wait(30)
        return _saved(WRITE)

    return Tool("save", "Save.", SCHEMA, WRITE, save, deadline=0.01)


def unattended(*answers: Any) -> dict[str, Any]:
    """A configuration in which the tool needs no approval."""
    return {"configuration": Configuration(model=ScriptedModel(*answers), unattended=["save"]), "model": None}


def _saved(effect: ToolEffect) -> ToolResult:
    result = ToolResult.text("it is so")
    return result.with_write_target(("pages", 1), WriteKind.CREATED) if effect.writes else result


def test_a_tool_that_ends_when_its_loop_is_closed_is_not_forgotten() -> None:
    """(R7) Its thread stores and announces what it did, for whoever looks next."""
    go_on = threading.Event()
    heard: list[Any] = []
    bus = AsyncioEventBus()

    async def listen(event: Any) -> None:
        heard.append(event)

    bus.subscribe(listen)
    given = parts(tools=[slow_tool(go_on)], bus=bus, **unattended(call("save", n=1), "I do not know."))
    chat = AsyncChat(**given)
    sent = asyncio.run(chat.send("Go.", ANNA))
    go_on.set()

    assert asyncio.run(chat.close(wait=30)) == 0
    evidence = Chat(**given).runtime.status(sent.run_id or "", ANNA).evidence
    assert evidence.wrote is Wrote.YES
    assert len(heard) == 1


def test_asynchronous_listeners_hear_of_late_writes_in_their_own_loop() -> None:
    """(W1) As long as the loop runs, they are called there."""
    go_on = threading.Event()
    loops: list[Any] = []
    bus = AsyncioEventBus()

    async def listen(event: Any) -> None:
        loops.append(asyncio.get_running_loop())

    bus.subscribe(listen)

    async def story() -> None:
        given = parts(tools=[slow_tool(go_on)], bus=bus, **unattended(call("save", n=1), "I do not know."))
        chat = AsyncChat(**given)
        await chat.send("Go.", ANNA)
        go_on.set()
        assert await chat.close(wait=30) == 0
        assert loops == [asyncio.get_running_loop()]

    asyncio.run(story())
