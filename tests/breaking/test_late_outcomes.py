"""
What comes late: outcomes of calls that were given up, overtaken, repeated or refused (R7, T4, T7, W3).
"""

import sqlite3
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from nr_agent_core import (
    NothingWrittenError,
    RunStatus,
    SendOutcome,
    StoredFormError,
    StoreError,
    ToolEffect,
    ToolResult,
    WriteKind,
    Wrote,
)
from nr_agent_core.adapters.sqlite import SqliteStore
from nr_agent_core.domain.run import fold
from nr_agent_core.domain.run_events import ToolFinished
from nr_agent_core.domain.tool_result import Outcome
from nr_agent_core.driver import LateOutcomes
from nr_agent_core.ports.unit_of_work import AppendEvents
from nr_agent_core.testing.scripted_model import call, round_of
from tests.cases.desk import ANNA, Desk, tool_of

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


@pytest.mark.parametrize("result", [ToolResult.unchanged("As it was."), ToolResult.error("It exists already.")])
def test_a_repeat_that_comes_late_speaks_for_itself_alone(tmp_path: Path, result: ToolResult) -> None:
    """(R7, P4) The first try wrote and died; its repeat passes its deadline and then finds nothing to do."""
    path, gate, ended = tmp_path / "chat.db", threading.Event(), threading.Event()
    sent = died_in(path)

    def repeat(*_: Any) -> ToolResult:
        gate.wait(PATIENCE)
        return result

    def answers(_: Any) -> str:
        gate.set()
        ended.wait(PATIENCE)
        return "I saved the page."

    later = Desk(answers, store=SqliteStore(path, clock=Later()),
                 tools=[tool_of("save", repeat, IDEMPOTENT, deadline=0.05)])  # fmt: skip
    late = later.chat.runtime.wiring.late
    keep = late.keep

    def kept(*given: Any) -> None:
        keep(*given)
        ended.set()

    late.keep = kept  # type: ignore[method-assign, assignment]

    later.chat.upkeep()
    later.chat.close(wait=0.5)

    codes = later.codes(sent.conversation)
    assert "writeOutcomeUnknown" in codes
    assert "nothingSaved" not in codes
    assert evidence(later, sent.run_id).wrote is Wrote.CANNOT_TELL


def test_the_first_try_that_comes_late_does_not_speak_for_its_repeat(tmp_path: Path) -> None:
    """(R7, P5) The first try failed and says so late; its repeat wrote and died: nobody may say: not carried out."""
    path, at_work, gate = tmp_path / "chat.db", threading.Event(), threading.Event()

    def slow(*_: Any) -> ToolResult:
        at_work.set()
        gate.wait(PATIENCE)
        raise NothingWrittenError("the connection was refused")

    first = Desk(call("save", title="a"), path=path, tools=[tool_of("save", slow, IDEMPOTENT)])
    sent = first.waiting()
    driver = threading.Thread(target=first.decide, args=(sent.conversation,))
    driver.start()
    at_work.wait(PATIENCE)
    for hours in range(1, 5):
        died = Desk("No.", store=SqliteStore(path, clock=Later(hours)), tools=[tool_of("save", dying, IDEMPOTENT)])
        try:
            died.chat.runtime.recover(sent.run_id or "")
        except GoneError:
            continue
    gate.set()
    driver.join(PATIENCE)
    first.chat.close(wait=1.0)

    assert first.chat.runtime.status(sent.run_id or "", "anna").status is RunStatus.FAILED
    assert evidence(first, sent.run_id).wrote is Wrote.CANNOT_TELL
    assert first.chat.retry(sent.conversation or "", ANNA).outcome is SendOutcome.REFUSED


def test_an_outcome_of_a_single_try_still_settles_late(tmp_path: Path) -> None:
    """(R7) Where nobody else tried, an error that comes late is the answer: nothing was written."""
    gate = threading.Event()

    def slow(*_: Any) -> ToolResult:
        gate.wait(PATIENCE)
        return ToolResult.error("There is no such page.")

    desk = Desk(call("save", title="a"), "Done.", path=tmp_path / "chat.db",
                tools=[tool_of("save", slow, IDEMPOTENT, deadline=0.05)])  # fmt: skip
    sent = desk.waiting()
    desk.decide(sent.conversation)
    assert evidence(desk, sent.run_id).wrote is Wrote.CANNOT_TELL

    gate.set()

    until(lambda: evidence(desk, sent.run_id).wrote is Wrote.NO)


@pytest.mark.parametrize("how", ["cancel", "deadline"])
def test_a_record_written_by_a_reading_tool_is_recorded_however_late(tmp_path: Path, how: str) -> None:
    """(T7, W3) It happened and it was announced: feed and evidence hold it, also behind a deadline or a cancel."""
    gate, at_work = threading.Event(), threading.Event()
    announced: list[str] = []

    class Bus:
        def announce(self, event: Any) -> None:
            announced.append(str(event.reference))

    def looks(*_: Any) -> ToolResult:
        at_work.set()
        gate.wait(PATIENCE)
        return saved()

    deadline = 0.05 if how == "deadline" else 60.0
    desk = Desk(call("look", title="a"), "I saved it.", path=tmp_path / "chat.db", bus=Bus(),
                tools=[tool_of("look", looks, ToolEffect.READ_ONLY, deadline=deadline)])  # fmt: skip
    conversation = desk.chat.open(ANNA)
    driver = threading.Thread(target=desk.chat.send, args=("Look.", ANNA), kwargs={"conversation": conversation})
    driver.start()
    at_work.wait(PATIENCE)
    if how == "cancel":
        desk.chat.cancel(conversation, ANNA)
    else:
        driver.join(PATIENCE)
    gate.set()
    driver.join(PATIENCE)

    until(lambda: announced)
    desk.chat.close(wait=PATIENCE)
    until(desk.chat.runtime.writes)
    feed = [str(entry.written.reference) for entry in desk.chat.runtime.writes()]
    assert feed == announced == ["pages:42"]
    row = desk.chat.runtime.segments.store.conversation_row(conversation)
    assert row is not None
    assert row.last_run is not None
    assert evidence(desk, row.last_run.id).wrote is Wrote.YES


class FailingOnce:
    """
    A store that raises *error* instead of one commit, the first that holds an outcome.
    """

    def __init__(self, store: Any, error: Exception, *, after: bool = False) -> None:
        self._store, self._error, self._after = store, error, after

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def commit(self, changes: Any) -> None:
        """Store *changes*, but for that one time."""
        outcome = any(isinstance(event, ToolFinished) and event.executed for change in changes
                      if isinstance(change, AppendEvents) for event in change.events)  # fmt: skip
        if not outcome or self._error is None:
            self._store.commit(changes)
            return
        error, self._error = self._error, None  # type: ignore[assignment]
        if self._after:
            self._store.commit(changes)
        raise error


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize(
    "error",
    [StoreError("no such table"), StoredFormError("database", "its pages are damaged"), OSError("gone")],
    ids=repr,
)
def test_an_outcome_in_hand_outlives_whatever_a_commit_raises(tmp_path: Path, error: Exception, after: bool) -> None:
    """(R3, R7, W3) What a store raises at an outcome's commit, before or after storing it, loses nothing."""
    path = tmp_path / "chat.db"
    runs: list[int] = []

    def counts(*_: Any) -> ToolResult:
        runs.append(1)
        return saved()

    store: Any = FailingOnce(SqliteStore(path), error, after=after)
    desk = Desk(call("save", title="a"), "Done.", store=store, tools=[tool_of("save", counts)])
    sent = desk.waiting()
    with pytest.raises(type(error)):
        desk.decide(sent.conversation)
    Desk("Done.", store=SqliteStore(path, clock=Later()), tools=[tool_of("save", counts)]).chat.upkeep()
    desk.chat.close(wait=5.0)

    assert len(runs) == 1
    assert [str(write.reference) for write in evidence(desk, sent.run_id).records] == ["pages:42"]


def test_an_outcome_outlives_the_damage_of_the_next_call(tmp_path: Path) -> None:
    """(R7, E6) The next call's arguments are damaged: what the one before brought is stored, and unknown is said."""
    path = tmp_path / "chat.db"
    sent = died_in(path, round_of(call("save", title="a"), call("save", title="b")))
    db = sqlite3.connect(path)
    db.execute("DROP TRIGGER event_content_is_only_forgotten")
    db.execute("UPDATE event SET content = replace(content, '\\\"b\\\"', '\\\"c\\\"') WHERE kind LIKE 'model%'")
    db.commit()
    assert db.total_changes == 1
    db.close()

    later = Desk("Done.", store=SqliteStore(path, clock=Later()), tools=[tool_of("save", saved, IDEMPOTENT)])
    later.chat.upkeep()
    later.chat.close(wait=2.0)

    feed = [str(entry.written.reference) for entry in later.chat.runtime.writes()]
    assert feed == ["pages:42"]
    assert "savedBeforeEnd" in later.codes(sent.conversation)


def test_a_recovery_that_meets_damaged_arguments_says_unknown(tmp_path: Path) -> None:
    """(R7, V1) The intent stands and its arguments cannot be read: it is not repeated, and unknown is said aloud."""
    path = tmp_path / "chat.db"
    sent = died_in(path)
    db = sqlite3.connect(path)
    db.execute("UPDATE event SET content = NULL WHERE kind LIKE 'model%'")
    db.commit()
    db.close()

    later = Desk("Done.", store=SqliteStore(path, clock=Later()), tools=[tool_of("save", saved, IDEMPOTENT)])
    later.chat.upkeep()

    assert evidence(later, sent.run_id).wrote is Wrote.CANNOT_TELL
    assert "writeOutcomeUnknown" in later.codes(sent.conversation)


class SlowStore:
    """
    A store of one settled run whose commits wait for a gate.
    """

    def __init__(self, store: Any) -> None:
        self._store, self.gate, self.entered = store, threading.Event(), threading.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def commit(self, changes: Any) -> None:
        """Store *changes* once the gate is open."""
        self.entered.set()
        self.gate.wait(PATIENCE)
        self._store.commit(changes)


def open_call(path: Path) -> tuple[Desk, str, ToolFinished]:
    """A settled run with one call of unknown outcome, and what that call brings late."""
    sent = died_in(path, effect=ToolEffect.NON_IDEMPOTENT_WRITE)
    later = Desk("Done.", store=SqliteStore(path, clock=Later()), tools=[tool_of("save", saved)])
    later.chat.upkeep()
    run_id = sent.run_id or ""
    run = fold(run_id, [stored.event for stored in later.chat.runtime.segments.store.events(run_id)])
    assert run.intent is not None
    result = saved()
    event = ToolFinished(0, 0, "save", run.intent.effect, True, Outcome.TEXT, 6, late=True, writes=result.writes)
    return later, run_id, event


def test_closing_counts_what_another_thread_is_about_to_store(tmp_path: Path) -> None:
    """(R7) An outcome that is being stored just now is not stored yet: closing says so and waits for it."""
    desk, run_id, event = open_call(tmp_path / "chat.db")
    store = SlowStore(desk.chat.runtime.segments.store)
    late = LateOutcomes(store)
    storing = threading.Thread(target=late.keep, args=(run_id, event))
    storing.start()
    store.entered.wait(PATIENCE)

    at_once = late.close(0.0)
    threading.Timer(0.1, store.gate.set).start()
    in_time = late.close(PATIENCE)

    storing.join(PATIENCE)
    assert (at_once, in_time) == (1, 0)
    assert [str(write.reference) for write in evidence(desk, run_id).records] == ["pages:42"]


def test_an_outcome_that_comes_as_the_keeper_leaves_is_looked_after(tmp_path: Path) -> None:
    """(R7) The keeping thread found nothing more to keep and ends: what comes just then is tried again all the same."""
    desk, run_id, event = open_call(tmp_path / "chat.db")

    class Locked(SlowStore):
        times = 2

        def commit(self, changes: Any) -> None:
            """Refused twice, for the first keep and the one that comes as the keeper leaves."""
            if self.times > 0:
                self.times -= 1
                raise StoreError("locked")
            self._store.commit(changes)

    store = Locked(desk.chat.runtime.segments.store)
    late = LateOutcomes(store, patience=0.05)
    leaving, kept = threading.Event(), threading.Event()
    flush = late.flush

    def last_look() -> int:
        left = flush()
        if left == 0 and threading.current_thread().name == "nr-agent-core-late":
            leaving.set()
            kept.wait(PATIENCE)
        return left

    late.flush = last_look  # type: ignore[method-assign]
    stored_before = ToolFinished(7, 0, "save", event.effect, True, Outcome.TEXT, 6, late=True)
    late._store_or_keep("no such run", stored_before)
    assert leaving.wait(PATIENCE)
    assert evidence(desk, run_id).wrote is not Wrote.YES
    late._patience = PATIENCE
    store.times = 1
    late.keep(run_id, event)
    kept.set()
    until(lambda: evidence(desk, run_id).wrote is Wrote.YES)

    assert [str(write.reference) for write in evidence(desk, run_id).records] == ["pages:42"]


def test_many_upkeeps_end_what_cannot_be_read_once(tmp_path: Path) -> None:
    """(O2, C7) However many processes look after an unreadable run at once, its conversation is told once."""
    path = tmp_path / "chat.db"
    sent = died_in(path)
    db = sqlite3.connect(path)
    db.execute("DROP TRIGGER event_facts_stay")
    db.execute("UPDATE event SET kind = 'unheard.9' WHERE seq = 1")
    db.commit()
    db.close()
    barrier = threading.Barrier(2)

    class Meeting(SlowStore):
        def due_runs(self, **given: Any) -> Any:
            """All look before anybody acts."""
            due = self._store.due_runs(**given)
            barrier.wait(PATIENCE)
            return due

        def commit(self, changes: Any) -> None:
            """Store *changes* at once."""
            self._store.commit(changes)

    stores: list[Any] = [Meeting(SqliteStore(path, clock=Later())) for _ in range(2)]
    desks = [Desk("No.", store=store) for store in stores]
    threads = [threading.Thread(target=desk.chat.upkeep) for desk in desks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)

    assert desks[0].codes(sent.conversation).count("runEnded") == 1


def test_closing_waits_for_each_try_of_a_call(tmp_path: Path) -> None:
    """(T4, R7) A call and its repeat share a key: when one of them has ended, the other is still at work."""
    late = LateOutcomes(SqliteStore(tmp_path / "chat.db"))

    late.expect("key")
    late.expect("key")
    late.arrived("key")

    assert late.close(0.0) == 1
    late.arrived("key")
    assert late.close(0.0) == 0
