"""
A worker dies before or after every thing it does outside, singly and in pairs, and no outcome changes.

Random plans miss what enumeration finds; Hypothesis comes on top with longer plans.
"""

import itertools
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nr_agent_core import Chat, Outcome, Reconciliation, ToolEffect
from nr_agent_core.adapters.memory import MemoryStore
from nr_agent_core.adapters.postgres import PostgresStore
from nr_agent_core.adapters.sqlite import SqliteStore
from nr_agent_core.domain.run_status import RunReason, RunStatus
from nr_agent_core.domain.write_evidence import Wrote
from nr_agent_core.ports.unit_of_work import UnitOfWork
from nr_agent_core.testing.crashing import CrashPlan, Death, Moment, Point, every_plan
from nr_agent_core.testing.manual_clock import ManualClock
from tests.asynchronous.blocking import BlockingChat
from tests.simulation.story import MIXED, WRITES, Plot, Told, tell

READ, IDEMPOTENT, HARMFUL = ToolEffect.READ_ONLY, ToolEffect.IDEMPOTENT_WRITE, ToolEffect.NON_IDEMPOTENT_WRITE
PAIRS_WITHIN = 8
PAIRS_WITHIN_ON_A_SERVER = 3


@attrs.define
class World:
    """
    One store for many stories, each in a conversation of its own.
    """

    store: UnitOfWork
    clock: ManualClock
    pairs_within: int = PAIRS_WITHIN
    facade: Any = Chat
    stories: int = 0
    position: int = 0

    def play(self, plot: Plot, *deaths: Death) -> Told:
        """The story with these deaths, checked against every rule."""
        self.stories += 1
        told = tell(self.store, self.clock, plot, CrashPlan(*deaths), f"c{self.stories}", self.position, self.facade)
        self.position = told.position
        check(told, plot)
        return told


@pytest.fixture(params=["memory", "sqlite", "asynchronous", pytest.param("postgres", marks=pytest.mark.server)])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    """A world over each store."""
    clock, within = ManualClock(1_000_000.0), PAIRS_WITHIN
    store: UnitOfWork
    facade: Any = Chat
    if request.param == "memory":
        store = MemoryStore(clock=clock)
    elif request.param == "asynchronous":
        # Each life has an event loop: a death in it leaves nothing to the next one.
        facade, within = BlockingChat, 1
        store = MemoryStore(clock=clock)
    elif request.param == "sqlite":
        store = SqliteStore(tmp_path / "s.db", synchronous="NORMAL", clock=clock)
    else:
        server, within = request.getfixturevalue("postgres"), PAIRS_WITHIN_ON_A_SERVER
        store = PostgresStore(server.dsn(), schema=server.schema(), synchronous="NORMAL", clock=clock)
    with closing(store):
        yield World(store, clock, within, facade)


PLOTS = [Plot(effect=effect, round=calls) for effect in ToolEffect for calls in (WRITES, MIXED)]
plots = pytest.mark.parametrize(
    "plot", PLOTS, ids=lambda plot: f"{plot.effect.value}-{'mixed' if plot.round == MIXED else 'writes'}"
)


def check(told: Told, plot: Plot) -> None:
    """What must hold however often and wherever the worker died."""
    run = told.run
    assert run.settled
    assert told.messages == 2, "one question, one answer, never two"
    assert not told.content_left, "content is forgotten when the run settles (E4)"
    assert set(told.feed) <= set(told.announced), "each stored write was announced (W3)"
    assert not any(told.stored_when_announced), "a listener hears before the store holds the write (W1)"
    assert len(told.feed) == len(set(told.feed))
    wrote = plot.effect.writes and bool(told.executed)
    assert ("nothingSaved" in told.notices) is (run.status is RunStatus.COMPLETED and not wrote)
    if plot.effect is HARMFUL:
        assert len(told.executed) == len(set(told.executed)), "a harmful write is executed at most once (P5)"
        if plot.reconciles is None:
            check_harmful(told, plot)
    else:
        assert run.status is RunStatus.COMPLETED
        assert len(set(told.executed)) == plot.round.count("create_page"), "a repeat has the same key"
        if plot.repeat is Outcome.TEXT:
            assert len(told.feed) == plot.writes


def check_harmful(told: Told, plot: Plot) -> None:
    """A harmful write ends known, or unknown and said aloud."""
    run = told.run
    if run.reason is RunReason.WRITE_OUTCOME_UNKNOWN:
        assert run.status is RunStatus.FAILED
        assert run.evidence.open_calls
        assert "writeOutcomeUnknown" in told.notices
        assert len(told.executed) - len(told.feed) in (0, 1)
        if told.feed:
            assert "savedBeforeEnd" in told.notices
        else:
            assert run.evidence.wrote is Wrote.CANNOT_TELL
    else:
        assert run.status is RunStatus.COMPLETED
        assert len(told.executed) == len(told.feed) == plot.writes
        assert run.evidence.wrote is Wrote.YES
        assert told.notices == []


@pytest.mark.simulation
@plots
def test_deaths_singly_and_in_near_pairs_change_no_outcome(world: World, plot: Plot) -> None:
    """(P5, R6, R7, W3) Every point, before and after, and every pair within some points of each other."""
    points = len(world.play(plot).plan.passed)
    plans = list(every_plan(points, pairs_within=world.pairs_within))

    for deaths in plans:
        world.play(plot, *deaths)

    assert world.stories == 1 + len(plans) > 2 * points


@pytest.mark.slow
@plots
def test_deaths_in_all_pairs_change_no_outcome(world: World, plot: Plot) -> None:
    """(P5, R6, R7, W3) The same with every pair, however far apart."""
    points = len(world.play(plot).plan.passed)

    plans = list(every_plan(points, pairs_within=2 * points))

    for deaths in plans:
        world.play(plot, *deaths)

    assert world.stories == 1 + len(plans) > points * points


def test_the_story_has_the_commits_that_the_order_promises(world: World) -> None:
    """N approved writes: two commits before the pause, n + 2 after it; each effect between its commits."""
    passed = [point.value for point in world.play(Plot(effect=HARMFUL)).plan.passed]

    assert passed == [
        "commit", "model", "commit",  # opening; question and pause
        "commit", "tool", "announcement",  # decision with the first intent
        "commit", "tool", "announcement",  # first outcome with the second intent
        "commit", "model", "commit",  # second outcome at once; the answer
    ]  # fmt: skip


@pytest.mark.parametrize("calls", [WRITES, MIXED], ids=["writes", "mixed"])
def test_only_deaths_between_intent_and_outcome_end_unknown(world: World, calls: tuple[str, ...]) -> None:
    """(R7) Batching an outcome with what follows passes every safety test and fails this count."""
    plot = Plot(effect=HARMFUL, round=calls)
    passed = world.play(plot).plan.passed
    executions = [number for number, point in enumerate(passed) if point is Point.TOOL]
    tools = [number for number, name in zip(executions, calls, strict=True) if name == "create_page"]
    window: set[Death] = set()
    for tool in tools:
        outcome = next(number for number in range(tool, len(passed)) if passed[number] is Point.COMMIT)
        inside = itertools.product(range(tool, outcome), Moment)
        window |= {Death(number, moment) for number, moment in inside}
        window |= {Death(tool - 1, Moment.AFTER), Death(outcome, Moment.BEFORE)}

    unknown = {
        death
        for (death,) in every_plan(len(passed))
        if world.play(plot, death).run.reason is RunReason.WRITE_OUTCOME_UNKNOWN
    }

    assert unknown == window


def test_a_host_that_reconciles_leaves_nothing_unknown(world: World) -> None:
    """(R7) The host's word settles the call: what happened is announced and stored, what did not never will."""
    plot = Plot(effect=HARMFUL, reconciles=True)
    points = len(world.play(plot).plan.passed)

    for deaths in every_plan(points, pairs_within=3):
        told = world.play(plot, *deaths)
        assert told.run.status is RunStatus.COMPLETED
        assert len(told.executed) == len(told.feed)
        assert not told.run.evidence.open_calls


@pytest.mark.parametrize("answer", [Reconciliation.CANNOT_TELL, "nonsense", None], ids=str)
def test_a_host_that_cannot_tell_leaves_it_unknown(world: World, answer: object) -> None:
    """(R7) Anything but a result or a promise is "cannot tell"; the harmful write is not tried again."""
    plot = Plot(effect=HARMFUL, reconciles=answer)
    points = len(world.play(plot).plan.passed)

    ends = {world.play(plot, *deaths).run.reason for deaths in every_plan(points)}

    assert ends == {RunReason.COMPLETED, RunReason.WRITE_OUTCOME_UNKNOWN}


@pytest.mark.parametrize("repeat", [Outcome.UNCHANGED, Outcome.ERROR], ids=lambda outcome: outcome.value)
def test_a_repeat_speaks_for_itself_alone(world: World, repeat: Outcome) -> None:
    """(R7) Unchanged or an error of a repeat never becomes "nothing was saved" of the first try."""
    plot = Plot(effect=IDEMPOTENT, repeat=repeat)
    points = len(world.play(plot).plan.passed)
    repeated = 0

    for deaths in every_plan(points, pairs_within=2):
        told = world.play(plot, *deaths)
        if len(told.executed) > len(set(told.executed)):
            repeated += 1
            assert "writeOutcomeUnknown" in told.notices
            assert told.run.evidence.wrote is not Wrote.NO
            assert told.run.evidence.open_calls

    assert repeated


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    effect=st.sampled_from(ToolEffect),
    deaths=st.lists(st.builds(Death, st.integers(0, 30), st.sampled_from(Moment)), max_size=6, unique=True),
)
def test_any_deaths_keep_the_promises(effect: ToolEffect, deaths: list[Death]) -> None:
    """(P5) However often a worker dies: at most once if harmful, and an end that tells the truth."""
    clock = ManualClock(1_000_000.0)
    told = tell(MemoryStore(clock=clock), clock, Plot(effect=effect), CrashPlan(*deaths))

    assert told.run.settled
    assert told.messages == 2
    assert set(told.feed) <= set(told.announced)
    if effect is HARMFUL:
        assert len(told.executed) == len(set(told.executed))
        assert len(told.executed) - len(told.feed) in (0, 1)
    if len(told.executed) > len(told.feed) and effect.writes:
        assert told.run.evidence.open_calls or effect is IDEMPOTENT
    if told.run.reason is RunReason.RETRIES_EXHAUSTED:
        assert len(deaths) > 3
