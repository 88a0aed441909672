"""
The host's own code under an event loop: tools in both colours, what surrounds them, an executor, listeners.
"""

import asyncio
import contextvars
import threading
from contextlib import contextmanager
from typing import Any

from nr_agent_core import AsyncChat, Configuration, RunStatus, ToolEffect, ToolResult, WriteKind, tool
from nr_agent_core.adapters.asyncio_event_bus import AsyncioEventBus
from nr_agent_core.adapters.memory import MemoryStore
from nr_agent_core.testing import ManualClock, ScriptedModel, call, round_of
from tests.asynchronous.chat_in_memory import parts
from tests.asynchronous.desk import ANNA, Desk

READ, WRITE = ToolEffect.READ_ONLY, ToolEffect.NON_IDEMPOTENT_WRITE


def test_plain_and_asynchronous_tools_work_side_by_side() -> None:
    """An asynchronous one runs in the loop, a plain one beside it; previews and both effects too (T8)."""
    places: dict[str, int] = {}

    @tool(effect=READ)
    async def look(n: int) -> str:
        """Look."""
        places["look"] = threading.get_ident()
        return "seen"

    @tool(effect=READ)
    def listen(n: int) -> str:
        """Listen."""
        places["listen"] = threading.get_ident()
        return "heard"

    @tool(effect=WRITE)
    async def save(n: int) -> ToolResult:
        """Save."""
        places["save"] = threading.get_ident()
        return ToolResult.text("saved").with_write_target(("pages", n), WriteKind.CREATED)

    @save.preview
    async def _(n: int) -> str:
        places["preview"] = threading.get_ident()
        return f"page {n}"

    script = (round_of(call("look", n=1), call("listen", n=1), call("save", n=7)), "Page 7 is saved.")

    async def story() -> Any:
        chat = AsyncChat(**parts(*script, tools=[look, listen, save]))
        sent = await chat.send("Go.", ANNA)
        card = (await chat.view(sent.conversation, ANNA)).card
        assert card is not None
        assert ("page 7",) in [shown.lines for shown in card.calls]
        return await chat.decide(sent.conversation, "approve", card=card, by=ANNA)

    sent = asyncio.run(story())

    assert sent.status is RunStatus.COMPLETED
    here = threading.get_ident()
    assert {name for name, place in places.items() if place == here} == {"look", "save", "preview"}
    assert "listen" in places


def test_tools_see_the_callers_context_and_the_hosts_surroundings() -> None:
    """Context variables of the caller's task, and ``around_tool`` around each call, in both colours (T13)."""
    tenant: contextvars.ContextVar[str] = contextvars.ContextVar("tenant", default="nobody")
    seen: list[str] = []
    around: list[str] = []

    @contextmanager
    def surrounding(context: Any) -> Any:
        around.append(context.call_id)
        yield
        around.append(context.call_id)

    @tool(effect=READ)
    async def look() -> str:
        """Look."""
        seen.append(tenant.get())
        return "seen"

    @tool(effect=READ)
    def listen() -> str:
        """Listen."""
        seen.append(tenant.get())
        return "heard"

    async def story() -> None:
        tenant.set("acme")
        script = (round_of(call("look"), call("listen")), "Done.")
        chat = AsyncChat(**parts(*script, tools=[look, listen], around_tool=surrounding))
        await chat.send("Go.", ANNA)

    asyncio.run(story())

    assert seen == ["acme", "acme"]
    assert around == ["0.0", "0.0", "0.1", "0.1"]


def test_a_hosts_own_executor_runs_the_plain_tools() -> None:
    """A chat may bring one; asynchronous tools run in the loop all the same."""
    used: list[float] = []

    class Ours:
        def run(self, work: Any, *, deadline: float, late: Any) -> Any:
            used.append(deadline)
            return work()

    desk = Desk(MemoryStore(ManualClock()), (call("search", n=1), "Done."), in_loop=False, more={"executor": Ours()})

    sent = asyncio.run(AsyncChat(**desk.parts()).send("Go.", ANNA))

    assert sent.status is RunStatus.COMPLETED
    assert used == [120.0]


def test_asynchronous_listeners_hear_before_the_outcome_is_stored() -> None:
    """In their order, each isolated; one that fails or is slow costs the outcome nothing (W1, W2)."""
    heard: list[tuple[str, int]] = []
    bus, store = AsyncioEventBus(), MemoryStore(ManualClock())

    async def slow(event: Any) -> None:
        await asyncio.sleep(0)
        heard.append(("slow", len(store.writes(after=0, limit=9))))

    async def failing(event: Any) -> None:
        heard.append(("failing", len(store.writes(after=0, limit=9))))
        raise asyncio.CancelledError

    def plain(event: Any) -> None:
        heard.append(("plain", len(store.writes(after=0, limit=9))))

    for listener in (slow, failing, plain):
        bus.subscribe(listener)
    configuration = Configuration(model=ScriptedModel(call("save", n=7), "Saved."), unattended=["save"])
    desk = Desk(store, more={"bus": bus, "configuration": configuration, "model": None})

    sent = asyncio.run(AsyncChat(**desk.parts()).send("Go.", ANNA))

    assert sent.status is RunStatus.COMPLETED
    assert heard == [("slow", 0), ("failing", 0), ("plain", 0)]
    assert len(store.writes(after=0, limit=9)) == 1
