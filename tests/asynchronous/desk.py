"""
One small host with pages, in every colour: the same tools plain and asynchronous, the same chat in four ways.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from nr_agent_core import (
    AsyncChat,
    Chat,
    Reader,
    RoleAccess,
    Sent,
    Tool,
    ToolContext,
    ToolEffect,
    ToolResult,
    WriteKind,
)
from nr_agent_core.adapters.blinker_event_bus import BlinkerEventBus
from nr_agent_core.domain.provenance import AiRecordWritten
from nr_agent_core.ports.run_store import StoredEvent
from nr_agent_core.ports.unit_of_work import UnitOfWork
from nr_agent_core.testing import ScriptedModel, SequentialIds

ANNA = Reader("anna")
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


@attrs.define
class Desk:
    """
    The host: what was executed and heard, and the parts of a chat over *store*.
    """

    store: UnitOfWork
    script: tuple[Any, ...] = ()
    in_loop: bool = True
    streams: bool = True
    effects: Mapping[str, ToolEffect] = attrs.field(
        factory=lambda: {"search": ToolEffect.READ_ONLY, "save": ToolEffect.NON_IDEMPOTENT_WRITE}
    )
    more: Mapping[str, Any] = attrs.field(factory=dict)
    executed: list[str] = attrs.field(factory=list)
    heard: list[AiRecordWritten] = attrs.field(factory=list)

    def parts(self) -> dict[str, Any]:
        """The parts of one chat."""
        bus = BlinkerEventBus()
        bus.subscribe(self.heard.append)
        return {
            "store": self.store,
            "model": ScriptedModel(*self.script, streams=self.streams),
            "tools": [self.tool(name, effect) for name, effect in self.effects.items()],
            "access": RoleAccess(owner_decides=True),
            "ids": SequentialIds(),
            "bus": bus,
            **self.more,
        }

    def tool(self, name: str, effect: ToolEffect) -> Tool:
        """A tool of this host, asynchronous if the desk is."""

        def execute(arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
            self.executed.append(context.key)
            result = ToolResult.text(f"{name} is done")
            return result.with_write_target(("pages", arguments["n"]), WriteKind.CREATED) if effect.writes else result

        async def execute_async(arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
            await asyncio.sleep(0)
            return execute(arguments, context)

        async def preview(arguments: Mapping[str, Any], context: ToolContext) -> str:
            await asyncio.sleep(0)
            return f"Page {arguments['n']}"

        return Tool(name, f"Does {name}.", SCHEMA, effect, execute_async if self.in_loop else execute, preview=preview)


def stored(store: UnitOfWork, conversation: str) -> dict[str, tuple[StoredEvent, ...]]:
    """Every stored event of a conversation's runs, with its time and number."""
    runs = {message.run_id for message in store.messages(conversation, limit=1000) if message.run_id}
    row = store.conversation_row(conversation)
    assert row is not None
    if row.last_run is not None:
        runs.add(row.last_run.id)
    return {run_id: store.events(run_id) for run_id in sorted(runs)}


# -- the same story in four ways ----------------------------------------------------------------


def told_plainly(desk: Desk) -> str:
    """A message, and approvals until none is asked for; by ``Chat``."""
    chat = Chat(**desk.parts())
    sent = chat.send("Go.", ANNA)
    while card := chat.view(sent.conversation, ANNA).card:
        chat.decide(sent.conversation, "approve", card=card, by=ANNA)
    return sent.conversation


def told_as_streams(desk: Desk) -> str:
    """The same by ``Chat.stream``."""
    chat = Chat(**desk.parts())
    sent = read(chat.stream("Go.", ANNA))
    while card := chat.view(sent.conversation, ANNA).card:
        read(chat.stream_decide(sent.conversation, "approve", card=card, by=ANNA))
    return sent.conversation


def told_in_a_loop(desk: Desk) -> str:
    """The same by ``AsyncChat``."""

    async def tell() -> str:
        chat = AsyncChat(**desk.parts())
        sent = await chat.send("Go.", ANNA)
        while card := (await chat.view(sent.conversation, ANNA)).card:
            await chat.decide(sent.conversation, "approve", card=card, by=ANNA)
        return sent.conversation

    return asyncio.run(tell())


def told_in_a_loop_as_streams(desk: Desk) -> str:
    """The same by ``AsyncChat.stream``."""

    async def tell() -> str:
        chat = AsyncChat(**desk.parts())
        sent = await read_async(chat.stream("Go.", ANNA))
        while card := (await chat.view(sent.conversation, ANNA)).card:
            await read_async(chat.stream_decide(sent.conversation, "approve", card=card, by=ANNA))
        return sent.conversation

    return asyncio.run(tell())


WAYS: list[Callable[[Desk], str]] = [told_plainly, told_as_streams, told_in_a_loop, told_in_a_loop_as_streams]


def read(stream: Any) -> Sent:
    """What a stream's call brought, read to its end."""
    for _ in stream:
        pass
    sent: Sent = stream.sent
    return sent


async def read_async(stream: Any) -> Sent:
    """The same in a loop."""
    async for _ in stream:
        pass
    sent: Sent = stream.sent
    return sent
