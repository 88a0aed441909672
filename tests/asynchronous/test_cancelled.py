"""
Tasks are cancelled wherever they wait: a caller's task, which ends the call alone, and the driver's own.
"""

import asyncio
import itertools
import threading
from typing import Any

import attrs
import pytest

from nr_agent_core import AsyncChat, Configuration, Outcome, RunReason, RunStatus, ToolEffect
from nr_agent_core.adapters.memory import MemoryStore
from nr_agent_core.domain.run import Run, fold
from nr_agent_core.domain.run_events import ToolFinished, ToolStarted
from nr_agent_core.driver import asynchronous
from nr_agent_core.runtime import async_facade
from nr_agent_core.testing import ManualClock, ScriptedModel, call, round_of
from tests.asynchronous.desk import ANNA, Desk, stored, told_plainly
from tests.asynchronous.stepping import Stepped, stepped

WRITES = round_of(call("save", n=1), call("search", n=1), call("save", n=2))
LEASE = 1000.0


def desk_of(effect: ToolEffect, *, in_loop: bool) -> tuple[Desk, ManualClock]:
    """A host whose turn makes three calls without an approval and answers."""
    clock = ManualClock()
    desk = Desk(MemoryStore(clock), (), in_loop, effects={"search": ToolEffect.READ_ONLY, "save": effect})

    def said(request: Any) -> Any:
        return WRITES if request.messages[-1].role == "user" else "All is finished."

    model = ScriptedModel(otherwise=said)
    desk.more = {"configuration": Configuration(model=model, unattended=["save"]), "model": None}
    return desk, clock


def run_of(desk: Desk, conversation: str = "conversation-0001") -> Run:
    """The conversation's run, from its stream."""
    ((run_id, events),) = stored(desk.store, conversation).items()
    return fold(run_id, (event.event for event in events))


effects = pytest.mark.parametrize("effect", ToolEffect, ids=lambda effect: effect.value)
colours = pytest.mark.parametrize("in_loop", [False, True], ids=["plain tools", "asynchronous tools"])


@effects
@colours
def test_a_caller_who_is_cancelled_ends_nothing(effect: ToolEffect, in_loop: bool) -> None:
    """Wherever the caller waits: the run goes on, and all that is stored, written and heard is the same (R6)."""
    plain, _ = desk_of(effect, in_loop=in_loop)
    expected = stored(plain.store, told_plainly(plain))

    def cancelled_at(place: int) -> bool:
        desk, _ = desk_of(effect, in_loop=in_loop)

        async def story() -> bool:
            chat = AsyncChat(**desk.parts())
            caller = Stepped(chat.send("Go.", ANNA), place)
            await asyncio.gather(asyncio.create_task(stepped(caller)), return_exceptions=True)
            assert await chat.close(wait=30) == 0
            return caller.cancelled

        cancelled = asyncio.run(story())
        assert stored(desk.store, "conversation-0001") == expected
        assert len(desk.executed) == len(plain.executed) == 3
        assert desk.heard == plain.heard
        return cancelled

    places = list(itertools.takewhile(cancelled_at, range(100)))

    assert len(places) >= 1


@effects
@colours
def test_a_driver_that_is_cancelled_makes_no_outcome_unknown(
    effect: ToolEffect, in_loop: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    Wherever the driver's own task is cancelled, as at the end of a loop, it stops where nothing is open (R6, R7).

    A run that is left is recovered: each write was executed once and its outcome is known.
    """
    counted = [0]

    def cancelled_at(place: int) -> bool:
        desk, clock = desk_of(effect, in_loop=in_loop)
        drivers: list[Stepped] = []

        def stopping(work: Any, waits: Any) -> Any:
            drivers.append(Stepped(asynchronous.driven_async(work, waits), place if not drivers else -1))
            return stepped(drivers[-1])

        monkeypatch.setattr(async_facade, "driven_async", stopping)

        async def story() -> None:
            chat = AsyncChat(**desk.parts())
            await asyncio.gather(chat.send("Go.", ANNA), return_exceptions=True)
            left = run_of(desk)
            assert left.intent is None or not effect.writes, "nothing is open outside"
            if not left.settled:
                clock.advance(LEASE)
                await chat.runtime.recover(left.id)

        asyncio.run(story())
        run = run_of(desk)
        events = [event.event for event in stored(desk.store, "conversation-0001")[run.id]]
        assert (run.status, run.reason) == (RunStatus.COMPLETED, RunReason.COMPLETED)
        outcomes = [event.outcome for event in events if isinstance(event, ToolFinished)]
        assert outcomes == [Outcome.TEXT] * 3
        writes = [key for key in desk.executed if key in {e.key for e in events if isinstance(e, ToolStarted)}]
        assert len(writes) == (2 if effect.writes else 0), "each write was executed once"
        assert len(desk.heard) == (2 if effect.writes else 0)
        counted[0] += 1
        return drivers[0].cancelled

    places = list(itertools.takewhile(cancelled_at, range(100)))

    assert len(places) > 8, "it waits often"
    assert counted[0] == len(places) + 1


@effects
def test_a_loop_that_ends_while_a_plain_tool_writes_keeps_what_it_did(effect: ToolEffect) -> None:
    """``asyncio.run`` cancels what is left: a call in a thread is waited for and its outcome stored (R6)."""
    desk, clock = desk_of(effect, in_loop=False)
    begun, go_on = threading.Event(), threading.Event()
    parts = desk.parts()
    create = parts["tools"][1]

    def slow(arguments: Any, context: Any) -> Any:
        begun.set()
        assert go_on.wait(30)
        return create.execute(arguments, context)

    parts["tools"][1] = attrs.evolve(create, execute=slow)

    async def leaves_early() -> None:
        chat = AsyncChat(**parts)
        task = asyncio.create_task(chat.send("Go.", ANNA))
        await asyncio.to_thread(begun.wait, 30)
        task.cancel()
        # The loop ends now; the tool ends a moment after its driver was cancelled.
        asyncio.get_running_loop().call_soon(lambda: asyncio.get_running_loop().call_soon(go_on.set))

    asyncio.run(leaves_early())

    run = run_of(desk)
    assert run.intent is None
    if not run.settled:
        clock.advance(LEASE)
        asyncio.run(AsyncChat(**desk.parts()).runtime.recover(run.id))
    run = run_of(desk)
    assert run.status is RunStatus.COMPLETED
    written = [write.written.reference.uid for write in desk.store.writes(after=0, limit=9)]
    assert written == ([1, 2] if effect.writes else [])
