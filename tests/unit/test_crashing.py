"""
The crash simulator itself: points are counted, deaths come where they were planned, the dead do nothing.
"""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nr_agent_core.adapters.blinker_event_bus import BlinkerEventBus
from nr_agent_core.domain.model_dialogue import ModelRequest
from nr_agent_core.domain.provenance import AiRecordWritten
from nr_agent_core.domain.tool_result import RecordReference, ToolEffect, ToolResult, WriteKind
from nr_agent_core.domain.tools import Reconciliation, Tool, ToolContext
from nr_agent_core.testing.crashing import (
    CrashingBus,
    CrashingModel,
    CrashingStore,
    CrashPlan,
    Death,
    Moment,
    Point,
    WorkerDied,
    crashing_tool,
    every_plan,
)
from nr_agent_core.testing.scripted_model import ScriptedModel

BEFORE, AFTER = Moment.BEFORE, Moment.AFTER
CONTEXT = ToolContext("owner", "run-1", "0.0", "0" * 64, 120.0)
EVENT = AiRecordWritten("run-1", RecordReference("pages", 1), WriteKind.CREATED)


class Store:
    """
    Just enough of a store to see what reaches it.
    """

    def __init__(self, done: list[str]) -> None:
        self.done = done

    def commit(self, changes: object) -> None:
        """One commit."""
        self.done.append("commit")

    def now(self) -> float:
        """A time."""
        return 5.0

    def vacuum(self) -> str:
        """Something beyond the port."""
        return "purged"


def things(done: list[str], plan: CrashPlan) -> dict[Point, Callable[[], object]]:
    """Every kind of outside thing, wrapped; each notes that it was done."""

    def execute(arguments: Any, context: ToolContext) -> ToolResult:
        done.append("tool")
        return ToolResult.text("ok")

    def reconcile(key: str, context: ToolContext) -> Reconciliation:
        done.append("reconcile")
        return Reconciliation.NEVER_HAPPENED

    def answer(request: ModelRequest) -> str:
        done.append("model")
        return "hello"

    tool = crashing_tool(
        Tool(
            name="save",
            description="",
            parameters={"type": "object"},
            effect=ToolEffect.NON_IDEMPOTENT_WRITE,
            execute=execute,
            reconcile=reconcile,
        ),
        plan,
    )
    bus = CrashingBus(BlinkerEventBus(), plan)
    bus.subscribe(lambda event: done.append("announcement"))
    model = CrashingModel(ScriptedModel(otherwise=answer, context_window=9, output_limit=3), plan)
    store = CrashingStore(Store(done), plan)  # type: ignore[arg-type]
    asked = tool.reconcile
    assert asked is not None
    return {
        Point.COMMIT: lambda: store.commit(()),
        Point.MODEL: lambda: model.complete(ModelRequest("", ())).text,
        Point.TOOL: lambda: tool.execute({}, CONTEXT),
        Point.ANNOUNCEMENT: lambda: bus.announce(EVENT),
        Point.RECONCILE: lambda: asked("0" * 64, CONTEXT),
    }


@pytest.mark.parametrize("point", Point)
def test_without_deaths_everything_is_done_and_counted(point: Point) -> None:
    """A plan without deaths only counts."""
    done: list[str] = []
    plan = CrashPlan()
    perform = things(done, plan)[point]
    perform()
    perform()

    assert done == [point.value] * 2
    assert plan.passed == [point, point]
    assert plan.used_up
    assert not plan.dead


@pytest.mark.parametrize("point", Point)
@pytest.mark.parametrize("moment", Moment)
def test_the_worker_dies_before_or_after_every_kind_of_thing(point: Point, moment: Moment) -> None:
    """Before: it was not done. After: it was, and nobody learnt of it."""
    done: list[str] = []
    plan = CrashPlan(Death(1, moment))
    perform = things(done, plan)[point]
    perform()

    with pytest.raises(WorkerDied):
        perform()
    assert done == [point.value] * (1 if moment is BEFORE else 2)
    assert plan.dead
    assert plan.used_up


@pytest.mark.parametrize("point", Point)
def test_the_dead_do_nothing_until_a_new_life_begins(point: Point) -> None:
    """What a clean-up would do behind a death is not done and not counted."""
    done: list[str] = []
    plan = CrashPlan(Death(0, BEFORE))
    perform = things(done, plan)[point]
    for _ in range(3):
        with pytest.raises(WorkerDied):
            perform()
    plan.restart()
    perform()

    assert done == [point.value]
    assert plan.passed == [point, point]


@given(st.lists(st.tuples(st.integers(0, 12), st.sampled_from(Moment)), max_size=4, unique=True))
def test_a_story_told_again_after_each_death_is_done_as_planned(deaths: list[tuple[int, Moment]]) -> None:
    """Points are numbered over all lives, and each planned death within the story happens once."""
    plan = CrashPlan(*(Death(*death) for death in deaths))
    done, died = [], 0
    while len(plan.passed) < 13:
        try:
            plan.do(Point.TOOL, lambda: done.append(len(plan.passed) - 1))
        except WorkerDied:
            died += 1
            plan.restart()

    undone = {number for number, moment in deaths if moment is BEFORE}
    # Whoever died before a point cannot die after it.
    assert died == len({number for number, _ in deaths})
    assert done == [number for number in range(13) if number not in undone]
    assert plan.used_up is (len({number for number, _ in deaths}) == len(deaths))


def test_a_plan_says_when_the_story_was_too_short_for_it() -> None:
    """An enumeration stops where a death no longer finds its point."""
    plan = CrashPlan(Death(5, AFTER))
    plan.do(Point.MODEL, lambda: None)

    assert not plan.used_up
    assert "after 5" in repr(plan)


def test_every_plan_names_each_point_and_each_near_pair() -> None:
    """Singly: two moments a point. In pairs: the second death at most so many points later."""
    single = set(every_plan(3))
    paired = set(every_plan(3, pairs_within=2))

    assert single == {(Death(number, moment),) for number in range(3) for moment in Moment}
    assert single < paired
    assert len(paired) == 6 + 6 * 2 * 2
    assert max(death.number for plan in paired for death in plan) == 4


def test_an_asynchronous_tool_dies_after_what_is_awaited() -> None:
    """A coroutine that was only made has done nothing."""
    done: list[str] = []

    async def execute(arguments: Any, context: ToolContext) -> ToolResult:
        done.append("tool")
        return ToolResult.text("ok")

    plan = CrashPlan(Death(0, AFTER))
    tool = crashing_tool(
        Tool(
            name="save",
            description="",
            parameters={"type": "object"},
            effect=ToolEffect.READ_ONLY,
            execute=execute,
        ),
        plan,
    )

    async def story() -> None:
        await tool.execute({}, CONTEXT)  # type: ignore[misc]

    with pytest.raises(WorkerDied):
        asyncio.run(story())
    assert done == ["tool"]
    assert tool.reconcile is None


def test_something_awaited_is_a_point_too() -> None:
    """The asynchronous drivers are crashed by the same plans."""

    async def story() -> int:
        plan = CrashPlan(Death(1, AFTER))

        async def thing() -> int:
            return 7

        assert await plan.do_async(Point.MODEL, thing) == 7
        with pytest.raises(WorkerDied):
            await plan.do_async(Point.MODEL, thing)
        return len(plan.passed)

    assert asyncio.run(story()) == 2


def test_what_is_no_point_passes_through() -> None:
    """Reading, and what a store or model offers beyond, is neither counted nor stopped by a death."""
    plan = CrashPlan(Death(0, BEFORE))
    store = CrashingStore(Store([]), plan)  # type: ignore[arg-type]
    model = CrashingModel(ScriptedModel(context_window=9, output_limit=3), plan)
    with pytest.raises(WorkerDied):
        store.commit(())

    assert (store.now(), store.vacuum()) == (5.0, "purged")
    assert (model.context_window, model.output_limit) == (9, 3)
    assert plan.passed == [Point.COMMIT]
