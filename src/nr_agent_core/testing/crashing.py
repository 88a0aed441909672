"""
A process that dies at a chosen point: before or after any thing it does outside.

A plan counts the *points* of a story: each commit, model call, tool call, announcement and
reconcile is one. First tell the story without a death and count; then tell it again, once for
each plan of :func:`every_plan`, restarting whenever :class:`WorkerDied` rises, and compare how it
ends.
"""

import enum
import itertools
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import attrs

from nr_agent_core.domain.conversation import Message
from nr_agent_core.domain.model_dialogue import ModelAnswer, ModelRequest
from nr_agent_core.domain.provenance import AiRecordWritten, StoredWrite
from nr_agent_core.domain.tool_result import RecordWrite
from nr_agent_core.domain.tools import Tool, ToolContext
from nr_agent_core.ports.conversation_store import ConversationRow, History
from nr_agent_core.ports.event_bus import EventBus, Listener
from nr_agent_core.ports.model_provider import ModelProvider
from nr_agent_core.ports.retention import Purged, Retention
from nr_agent_core.ports.run_store import RunRow, StoredEvent, UnreadableRun
from nr_agent_core.ports.unit_of_work import Change, UnitOfWork

_T = TypeVar("_T")


class WorkerDied(BaseException):
    """
    The process ended here. Whatever it did outside before stands; it does nothing more.
    """


class Point(enum.Enum):
    """
    What a process does outside itself.
    """

    COMMIT = "commit"
    MODEL = "model"
    TOOL = "tool"
    ANNOUNCEMENT = "announcement"
    RECONCILE = "reconcile"


class Moment(enum.Enum):
    """
    When it dies: before the thing is done, or after it.
    """

    BEFORE = "before"
    AFTER = "after"


@attrs.frozen
class Death:
    """
    The worker dies at the point with this number, counted from 0 over all lives.
    """

    number: int
    moment: Moment

    def __str__(self) -> str:
        return f"{self.moment.value} {self.number}"


class CrashPlan:
    """
    The deaths of a story, shared by all that its process does outside.

    Once dead, a worker does nothing: whatever it asks for raises :class:`WorkerDied` again,
    undone, until :meth:`restart` begins the next life. So a clean-up that a real crash would
    never reach is caught.

    Args:
        deaths: where the worker dies; none means that it only counts.

    Attributes:
        passed: the points so far, by kind, in order; the undone ones of a death included.
    """

    def __init__(self, *deaths: Death) -> None:
        self._deaths = dict.fromkeys(deaths)
        self._lock = threading.Lock()
        self._dead = False
        self.passed: list[Point] = []

    @property
    def dead(self) -> bool:
        """Whether the worker is dead now."""
        return self._dead

    @property
    def used_up(self) -> bool:
        """Whether every planned death happened; False at the end says that the story was shorter."""
        return not self._deaths

    def restart(self) -> None:
        """A new process begins; the points are counted on."""
        self._dead = False

    def do(self, point: Point, thing: Callable[[], _T]) -> _T:
        """
        What *thing* returns, unless the worker dies before or after it.

        Raises:
            WorkerDied: it died here, or was dead already.
        """
        number = self._begin(point)
        done = thing()
        self._end(number)
        return done

    async def do_async(self, point: Point, thing: Callable[[], Awaitable[_T]]) -> _T:
        """Like :meth:`do`, for something to be awaited."""
        number = self._begin(point)
        done = await thing()
        self._end(number)
        return done

    def _begin(self, point: Point) -> int:
        with self._lock:
            if self._dead:
                raise WorkerDied("the worker is dead already; a new life begins with restart()")
            number = len(self.passed)
            self.passed.append(point)
            self._die_at(number, Moment.BEFORE)
        return number

    def _end(self, number: int) -> None:
        with self._lock:
            self._die_at(number, Moment.AFTER)

    def _die_at(self, number: int, moment: Moment) -> None:
        death = Death(number, moment)
        if death in self._deaths:
            del self._deaths[death]
            self._dead = True
            raise WorkerDied(f"{moment.value} point {number}, a {self.passed[number].value}")

    def __repr__(self) -> str:
        left = ", ".join(map(str, self._deaths))
        return f"<CrashPlan: {len(self.passed)} points passed{', to die ' + left if left else ''}>"


def every_plan(points: int, *, pairs_within: int = 0) -> Iterator[tuple[Death, ...]]:
    """
    The deaths of every story: one before and after each of *points* points, and in pairs.

    Args:
        points: how many points the story has without a death.

        pairs_within: how many points after the first death the second one comes at the latest; 0
            makes no pairs. A life after a death has points of its own, so a pair may reach past *points*.
    """
    for number, moment in itertools.product(range(points), Moment):
        yield (Death(number, moment),)
        for distance, second in itertools.product(range(1, pairs_within + 1), Moment):
            yield (Death(number, moment), Death(number + distance, second))


class CrashingStore:
    """
    A store whose process may die before or after each commit. Reading is no point.
    """

    def __init__(self, store: UnitOfWork, plan: CrashPlan) -> None:
        self._store, self._plan = store, plan

    def commit(self, changes: Sequence[Change]) -> None:
        """One point, then as the store does."""
        self._plan.do(Point.COMMIT, lambda: self._store.commit(changes))

    def now(self) -> float:
        """As the store says."""
        return self._store.now()

    def conversation_row(self, conversation: str) -> ConversationRow | None:
        """As the store says."""
        return self._store.conversation_row(conversation)

    def messages(self, conversation: str, *, before: int | None = None, limit: int = 50) -> tuple[Message, ...]:
        """As the store says."""
        return self._store.messages(conversation, before=before, limit=limit)

    def history(self, conversation: str, *, budget: int) -> History:
        """As the store says."""
        return self._store.history(conversation, budget=budget)

    def run_row(self, run_id: str) -> RunRow | None:
        """As the store says."""
        return self._store.run_row(run_id)

    def events(self, run_id: str, *, after: int = -1) -> tuple[StoredEvent, ...]:
        """As the store says."""
        return self._store.events(run_id, after=after)

    def waiting_runs(self, *, limit: int) -> tuple[RunRow, ...]:
        """As the store says."""
        return self._store.waiting_runs(limit=limit)

    def due_runs(self, *, queued_grace: float, limit: int) -> tuple[RunRow, ...]:
        """As the store says."""
        return self._store.due_runs(queued_grace=queued_grace, limit=limit)

    def unreadable_runs(self, *, limit: int) -> tuple[UnreadableRun, ...]:
        """As the store says."""
        return self._store.unreadable_runs(limit=limit)

    def purge(self, retention: Retention, *, limit: int = 200) -> Purged:
        """One point, then as the store does."""
        return self._plan.do(Point.COMMIT, lambda: self._store.purge(retention, limit=limit))

    def purgeable(self, retention: Retention) -> Purged:
        """As the store says."""
        return self._store.purgeable(retention)

    def tidy(self) -> None:
        """As the store does."""
        self._store.tidy()

    def writes(self, *, after: int, limit: int) -> tuple[StoredWrite, ...]:
        """As the store says."""
        return self._store.writes(after=after, limit=limit)

    def writes_of(self, run_id: str) -> tuple[RecordWrite, ...]:
        """As the store says."""
        return self._store.writes_of(run_id)

    def close(self) -> None:
        """As the store does."""
        self._store.close()

    def __getattr__(self, name: str) -> Any:
        # What a store offers beyond the port, or a later port asks for.
        return getattr(self._store, name)


class CrashingModel:
    """
    A model whose asking process may die before or after each question.
    """

    def __init__(self, model: ModelProvider, plan: CrashPlan) -> None:
        self._model, self._plan = model, plan

    @property
    def context_window(self) -> int | None:
        """As the model says."""
        return self._model.context_window

    @property
    def output_limit(self) -> int | None:
        """As the model says."""
        return self._model.output_limit

    def complete(self, request: ModelRequest) -> ModelAnswer:
        """One point, then as the model does."""
        return self._plan.do(Point.MODEL, lambda: self._model.complete(request))

    def __getattr__(self, name: str) -> Any:
        # Further ways to ask, if the model has them. A stream is no point.
        found = getattr(self._model, name)
        if name != "complete_async":
            return found

        async def complete_async(request: ModelRequest) -> ModelAnswer:
            return await self._plan.do_async(Point.MODEL, lambda: found(request))

        return complete_async


class CrashingBus:
    """
    A bus whose process may die before or after each announcement.
    """

    def __init__(self, bus: EventBus, plan: CrashPlan) -> None:
        self._bus, self._plan = bus, plan

    def subscribe(self, listener: Listener) -> None:
        """As the bus does."""
        self._bus.subscribe(listener)

    def announce(self, event: AiRecordWritten) -> None:
        """One point, then as the bus does."""
        self._plan.do(Point.ANNOUNCEMENT, lambda: self._bus.announce(event))


def crashing_tool(tool: Tool, plan: CrashPlan) -> Tool:
    """
    *tool*, whose process may die before or after each execution and each reconcile.
    """

    def execute(arguments: Mapping[str, Any], context: ToolContext) -> object:
        return _with_point(plan, Point.TOOL, lambda: tool.execute(arguments, context))

    def reconcile(key: str, context: ToolContext) -> object:
        asked = tool.reconcile
        assert asked is not None
        return _with_point(plan, Point.RECONCILE, lambda: asked(key, context))

    return attrs.evolve(tool, execute=execute, reconcile=reconcile if tool.reconcile is not None else None)


def _with_point(plan: CrashPlan, point: Point, thing: Callable[[], object]) -> object:
    number = plan._begin(point)
    returned = thing()
    if isinstance(returned, Awaitable):
        # An asynchronous tool has done nothing yet: the worker dies after what is awaited.
        return _ended(plan, number, returned)
    plan._end(number)
    return returned


async def _ended(plan: CrashPlan, number: int, returned: Awaitable[object]) -> object:
    done = await returned
    plan._end(number)
    return done
