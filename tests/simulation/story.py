"""
One story told with deaths: a message, a round of calls, an approval, an answer.

Whoever lives next looks at the store and goes on from there, as any process would: it sends, decides
or recovers. Afterwards the host's log of executions, the announcements, the feed and the stream
are compared.
"""

from collections.abc import Mapping
from typing import Any

import attrs

from nr_agent_core import Chat, Outcome, Reader, RoleAccess, Tool, ToolContext, ToolEffect, ToolResult, WriteKind
from nr_agent_core.adapters.blinker_event_bus import BlinkerEventBus
from nr_agent_core.domain.provenance import AiRecordWritten
from nr_agent_core.domain.run import Run, fold
from nr_agent_core.domain.run_events import ToolFinished
from nr_agent_core.domain.run_status import RunStatus
from nr_agent_core.domain.tools import Reconciliation
from nr_agent_core.ports.unit_of_work import OpenConversation, UnitOfWork
from nr_agent_core.testing.crashing import (
    CrashingBus,
    CrashingModel,
    CrashingStore,
    CrashPlan,
    WorkerDied,
    crashing_tool,
)
from nr_agent_core.testing.manual_clock import ManualClock
from nr_agent_core.testing.scripted_model import ScriptedModel, call, round_of

ANNA = Reader("anna")
WRITES = ("create_page", "create_page")
MIXED = ("search_pages", "create_page", "search_pages", "create_page")
LIVES = 60


@attrs.frozen(kw_only=True)
class Plot:
    """
    What the story is about.

    ``round`` names the tools of the model's one round. ``reconciles`` is what the host answers
    about an interrupted write: True for the truth, else the answer itself; None: it cannot be
    asked. ``repeat`` is the outcome that a repeat with a known key brings.
    """

    effect: ToolEffect
    round: tuple[str, ...] = WRITES
    reconciles: object = None
    repeat: Outcome = Outcome.TEXT

    @property
    def writes(self) -> int:
        """How many records the story writes."""
        return self.round.count("create_page") if self.effect.writes else 0


@attrs.define
class Told:
    """
    How a story ended, and what happened outside meanwhile.
    """

    run: Run
    stream: tuple[Any, ...]
    plan: CrashPlan
    executed: list[str]
    announced: list[AiRecordWritten]
    feed: list[AiRecordWritten]
    position: int
    messages: int
    notices: list[str]
    content_left: bool
    stored_when_announced: list[bool]


@attrs.define
class Host:
    """
    The outside world: it survives every death.
    """

    store: UnitOfWork
    plot: Plot
    plan: CrashPlan
    conversation: str
    after: int
    facade: Any = Chat
    executed: list[str] = attrs.field(factory=list)
    announced: list[AiRecordWritten] = attrs.field(factory=list)
    stored_when_announced: list[bool] = attrs.field(factory=list)

    def chat(self) -> Any:
        """A new process: nothing of an earlier one is in it but the store."""
        bus = BlinkerEventBus()
        bus.subscribe(self._heard)
        tools = [self._tool("create_page", self.plot.effect), self._tool("search_pages", ToolEffect.READ_ONLY)]
        return self.facade(
            store=CrashingStore(self.store, self.plan),
            model=CrashingModel(ScriptedModel(otherwise=self._model), self.plan),
            tools=[crashing_tool(tool, self.plan) for tool in tools],
            access=RoleAccess(owner_decides=True),
            bus=CrashingBus(bus, self.plan),
        )

    def _model(self, request: Any) -> Any:
        if request.messages[-1].role == "user":
            return round_of(*(call(name, n=n) for n, name in enumerate(self.plot.round)))
        return "All is finished."

    def _heard(self, event: AiRecordWritten) -> None:
        self.announced.append(event)
        self.stored_when_announced.append(event in self.feed())

    def feed(self) -> list[AiRecordWritten]:
        """The durable feed of this story as it is now."""
        return [stored.written for stored in self.store.writes(after=self.after, limit=99)]

    def _tool(self, name: str, effect: ToolEffect) -> Tool:
        writes, asked = name == "create_page", self.plot.reconciles is not None
        return Tool(
            name=name,
            description="Does something with pages.",
            parameters={"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
            effect=effect,
            execute=self._execute if writes else _search,
            reconcile=self._reconcile if writes and asked else None,
        )

    def _execute(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        again = context.key in self.executed
        self.executed.append(context.key)
        if again and self.plot.repeat is Outcome.UNCHANGED:
            return ToolResult.unchanged("it is there")
        if again and self.plot.repeat is Outcome.ERROR:
            return ToolResult.error("it exists")
        result = ToolResult.text("done")
        if not self.plot.effect.writes:
            return result
        return result.with_write_target(("pages", arguments["n"] + 1), WriteKind.CREATED)

    def _reconcile(self, key: str, context: ToolContext) -> object:
        if self.plot.reconciles is not True:
            return self.plot.reconciles
        if key not in self.executed:
            return Reconciliation.NEVER_HAPPENED
        uid = 1 + int(context.call_id.rpartition(".")[2])
        return ToolResult.text("found").with_write_target(("pages", uid), WriteKind.CREATED)


def _search(arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
    return ToolResult.text("nothing found")


def tell(
    store: UnitOfWork,
    clock: ManualClock,
    plot: Plot,
    plan: CrashPlan,
    conversation: str = "c",
    after: int = 0,
    facade: Any = Chat,
) -> Told:
    """
    Tell the story once in a new *conversation*, with the deaths of *plan*, until its run is settled.

    The feed is read behind the position *after*, where the story before ended.
    """
    host = Host(store, plot, plan, conversation, after, facade)
    store.commit((OpenConversation(conversation, ANNA.id),))
    for _ in range(LIVES):
        clock.advance(1000.0)
        plan.restart()
        try:
            if _live(host.chat(), store, conversation):
                break
        except WorkerDied:
            continue
    row = store.conversation_row(conversation)
    assert row is not None
    assert row.last_run is not None, "the story never began"
    stream = tuple(stored.event for stored in store.events(row.last_run.id))
    messages = store.messages(conversation)
    return Told(
        fold(row.last_run.id, stream),
        stream,
        plan,
        host.executed,
        host.announced,
        host.feed(),
        max((stored.position for stored in store.writes(after=after, limit=99)), default=after),
        len(messages),
        [notice.code.value for message in messages for notice in message.notices],
        any(event.text is not None for event in stream if isinstance(event, ToolFinished)),
        host.stored_when_announced,
    )


def _live(chat: Chat, store: UnitOfWork, conversation: str) -> bool:
    """One life: do whatever comes next; True when the run is settled."""
    row = store.conversation_row(conversation)
    assert row is not None
    last = row.last_run
    if last is None:
        chat.send("go", ANNA, conversation=conversation)
    elif last.status.settled:
        return True
    elif last.status is RunStatus.WAITING_FOR_APPROVAL:
        card = chat.view(conversation, ANNA).card
        assert card is not None
        chat.decide(conversation, "approve", card=card, by=ANNA)
    else:
        chat.runtime.recover(last.id)
    return False
