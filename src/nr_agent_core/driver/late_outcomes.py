"""
Outcomes that a call brought after it was given up (R7).

They are facts: evidence and feed must learn of them, whatever became of the run meanwhile. A
segment of this process that still drives the run takes them into its next append. A run that
waits, is queued or is settled takes them at once. While another process drives the run, they are
kept and tried again until it no longer does, at most for one lease.
"""

import logging
import os
import threading
import time
from typing import Self

import attrs

from nr_agent_core.domain.errors import AgentCoreError, LostRaceError
from nr_agent_core.domain.run import fold
from nr_agent_core.domain.run_events import RunEvent, ToolFinished
from nr_agent_core.domain.run_status import RunStatus
from nr_agent_core.domain.sanitiser import sanitised_chain
from nr_agent_core.domain.tool_result import Outcome
from nr_agent_core.ports.unit_of_work import AppendEvents, UnitOfWork

_log = logging.getLogger("nr_agent_core")

_PAUSE = 0.2


@attrs.define(eq=False)
class _Kept:
    run_id: str
    event: ToolFinished
    give_up_at: float


class LateOutcomes:
    """
    Keeps late outcomes of this process until the streams of their runs hold them.

    Safe to use from many threads: tool threads hand outcomes in, driver threads take them.
    """

    def __init__(self, store: UnitOfWork | None, *, patience: float = 300.0) -> None:
        self._store, self._patience = store, patience
        self._begin()

    def _begin(self) -> None:
        self._process, self._own_lock = os.getpid(), threading.Lock()
        self._driven: dict[str, list[ToolFinished]] = {}
        self._kept: list[_Kept] = []
        # How often more a call was given up than it ended, by its key: a repeat has the key of its first try.
        self._at_work: dict[str, int] = {}
        self._in_hand = 0
        self._keeper: threading.Thread | None = None

    @property
    def _lock(self) -> threading.Lock:
        if self._process != os.getpid():
            # What the parent's threads hold and keep is the parent's.
            self._begin()
        return self._own_lock

    def driving(self, run_id: str) -> "Mailbox":
        """While this context stands, a segment of this process drives the run and takes its outcomes."""
        return Mailbox(self, run_id)

    def expect(self, key: str) -> None:
        """A writing call with this idempotency key passed its deadline and is still at work."""
        self._count(key, 1)

    def arrived(self, key: str) -> None:
        """A call ended behind its deadline; it may do so before its driver has noticed the deadline."""
        self._count(key, -1)

    def _count(self, key: str, step: int) -> None:
        with self._lock:
            if count := self._at_work.pop(key, 0) + step:
                self._at_work[key] = count

    def keep(self, run_id: str, event: ToolFinished) -> None:
        """Store *event* as soon as the run takes it; an exception of the store is logged, not raised."""
        with self._lock:
            box = self._driven.get(run_id)
            if box is not None:
                box.append(event)
                return
        self._store_or_keep(run_id, event)

    def keep_unstored(self, run_id: str, events: tuple[RunEvent, ...]) -> None:
        """Keep what writing calls brought that a segment could not store, or does not know whether it did."""
        for event in events:
            if isinstance(event, ToolFinished) and _is_fact(event):
                self._store_or_keep(run_id, attrs.evolve(event, late=True, text=None))

    def flush(self) -> int:
        """Try again now; returns how many outcomes are not stored yet, those in the hands of other threads included."""
        with self._lock:
            kept, self._kept = self._kept, []
            self._in_hand += len(kept)
        for item in kept:
            self._try(item)
        with self._lock:
            return len(self._kept) + self._in_hand

    def close(self, wait: float) -> int:
        """
        Wait for calls at work behind their deadline, and try to store, for *wait* seconds at most.

        Returns:
            How many outcomes are not stored: kept ones, and those of calls still at work.
        """
        end = time.monotonic() + wait
        while (left := self.flush() + self._still_at_work()) and time.monotonic() < end:
            time.sleep(min(_PAUSE, max(0.0, end - time.monotonic())))
        if left:
            _log.error("%d late outcomes are not stored yet", left)
        return left

    def _still_at_work(self) -> int:
        with self._lock:
            return sum(count for count in self._at_work.values() if count > 0)

    def _store_or_keep(self, run_id: str, event: ToolFinished) -> None:
        if self._store is not None:
            with self._lock:
                self._in_hand += 1
            self._try(_Kept(run_id, event, time.monotonic() + self._patience))

    def _try(self, item: _Kept) -> None:
        """Store what is in hand, or keep it for another time."""
        taken = False
        try:
            taken = self._taken(item.run_id, item.event)
        except Exception as error:  # noqa: BLE001 - whatever a store raises: the outcome is kept
            _log.error("late outcome of call %s waits: %s", item.event.call_id, sanitised_chain(error))
        finally:
            given_up = not taken and time.monotonic() >= item.give_up_at
            with self._lock:
                self._in_hand -= 1
                if not (taken or given_up):
                    self._kept.append(item)
                    self._start_keeper()
        if given_up:
            _log.error("late outcome of call %s of run %s was not stored", item.event.call_id, item.run_id)

    def _taken(self, run_id: str, event: ToolFinished) -> bool:
        """Whether there is nothing left to do for *event*: stored now, or not missing at all."""
        assert self._store is not None
        try:
            while True:
                run = fold(run_id, (stored.event for stored in self._store.events(run_id)))
                if not run.lacks(event):
                    _log.info("late outcome of call %s of run %s adds nothing", event.call_id, run_id)
                    return True
                if run.status is RunStatus.RUNNING:
                    return False
                try:
                    self._store.commit((AppendEvents(run.after(event), run.sequence, (event,)),))
                except LostRaceError:
                    continue
                return True
        except AgentCoreError as error:
            _log.warning("late outcome of call %s of run %s waits: %s", event.call_id, run_id, sanitised_chain(error))
            return False

    def _start_keeper(self) -> None:
        if self._keeper is None or not self._keeper.is_alive():
            self._keeper = threading.Thread(target=self._tend, name="nr-agent-core-late", daemon=True)
            self._keeper.start()

    def _tend(self) -> None:
        while True:
            self.flush()
            with self._lock:
                if not self._kept:
                    # Said under the lock: what is kept from now on starts another keeper.
                    self._keeper = None
                    return
            time.sleep(_PAUSE)


class Mailbox:
    """
    The late outcomes of a run that a segment of this process drives.
    """

    def __init__(self, late: LateOutcomes, run_id: str) -> None:
        self._late, self._run_id = late, run_id
        self._box: list[ToolFinished] = []

    def __enter__(self) -> Self:
        with self._late._lock:
            self._late._driven[self._run_id] = self._box
        return self

    def __exit__(self, *_: object) -> None:
        with self._late._lock:
            if self._late._driven.get(self._run_id) is self._box:
                del self._late._driven[self._run_id]
        for event in self.take():
            self._late.keep(self._run_id, event)

    def take(self) -> tuple[ToolFinished, ...]:
        """What came in since the last look, once."""
        if not self._box:
            return ()
        with self._late._lock:
            events = tuple(self._box)
            self._box.clear()
        return events


def _is_fact(event: ToolFinished) -> bool:
    writes = event.effect.writes or bool(event.writes)
    return event.executed and writes and event.outcome is not Outcome.UNKNOWN
