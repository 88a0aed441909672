"""
Outcomes that are in hand while the store refuses, and runs whose rows are damaged (R6, R7, O2).
"""

import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest

from nr_agent_core import (
    StoredFormError,
    StoreError,
    ToolEffect,
    ToolResult,
    Wrote,
)
from nr_agent_core.adapters.sqlite import SqliteStore
from nr_agent_core.domain.run import fold
from nr_agent_core.domain.run_events import ToolFinished
from nr_agent_core.domain.tool_result import Outcome
from nr_agent_core.driver import LateOutcomes
from nr_agent_core.ports.unit_of_work import AppendEvents
from nr_agent_core.testing.scripted_model import call, round_of
from tests.breaking.late import IDEMPOTENT, PATIENCE, Later, died_in, evidence, saved, until
from tests.cases.desk import Desk, tool_of


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
    db.execute("UPDATE event SET kind = 'Unheard' WHERE seq = 1")
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
