"""
A worker: takes the ids of runs from the queue, and drives those that nobody drives.

What a queue brings is a hint. Whether there is anything to do is read from the store, and taking a
run over is an append like any other, so a message too many does nothing (R3, R6).
"""

import logging
import threading

from nr_agent_core.domain.errors import (
    AgentCoreError,
    InvalidValueError,
    LeaseHeldError,
    LostRaceError,
    NoQueueError,
    NotFoundError,
    RunUnreadableError,
    StoredFormError,
)
from nr_agent_core.domain.run import Run
from nr_agent_core.domain.run_status import RunStatus
from nr_agent_core.domain.sanitiser import sanitised_chain
from nr_agent_core.driver import InPlace, driven
from nr_agent_core.ports.run_queue import RunQueue, Stop
from nr_agent_core.ports.run_store import RunRow
from nr_agent_core.runtime.limits import whole_number
from nr_agent_core.runtime.recovery import QUEUED_GRACE, Recovery
from nr_agent_core.runtime.segments import Segments

_log = logging.getLogger("nr_agent_core")

LOOK_EVERY = 15.0
_AT_ONCE = 100
_MOST_THREADS = 256


class Worker:
    """
    One process's worker over one queue.

    Args:
        segments: where runs are loaded and settled.
        recovery: takes runs over.
        in_place: waits for models, tools and listeners, in the thread that drives a run.
        threads: how many runs are driven at once, at most.
        name: what threads and log lines are called.
        stop: set by whoever wants it to end; a run in hand is queued again at its next safe point.
        look_every: seconds between two looks for runs whose worker is gone (R8).

    Raises:
        NoQueueError: there is no queue to work on.
        InvalidValueError: a setting is something else.
    """

    def __init__(
        self,
        segments: Segments,
        recovery: Recovery,
        in_place: InPlace,
        *,
        threads: int,
        name: str,
        stop: Stop,
        look_every: float = LOOK_EVERY,
    ) -> None:
        queue = segments.wiring.queue
        if queue is None:
            raise NoQueueError("a worker")
        if whole_number("the threads of a worker", threads, least=1) > _MOST_THREADS:
            raise InvalidValueError("the threads of a worker", threads, f"1 to {_MOST_THREADS}")
        if not isinstance(name, str) or not name.strip():
            raise InvalidValueError("the name of a worker", name, "a text that is not blank")
        if isinstance(look_every, bool) or not isinstance(look_every, int | float) or not 0 < look_every <= 3600:
            raise InvalidValueError("the seconds between two looks", look_every, "above 0 and up to 3600")
        self._queue: RunQueue = queue
        self._segments, self._recovery, self._in_place = segments, recovery, in_place
        self._threads, self._name, self._stop, self._look_every = threads, name, stop, float(look_every)

    def work(self) -> None:
        """
        Drive what the queue brings until it is time to stop, and return once nothing is in hand.

        Raises:
            QueueNotInstalledError: the queue is not set up.
        """
        reaper = threading.Thread(target=self._reap, name=f"{self._name}-reaper", daemon=True)
        reaper.start()
        _log.info("worker %s works on %d threads", self._name, self._threads)
        try:
            self._queue.work(self.handle, threads=self._threads, name=self._name, stop=self._stop)
        finally:
            self._stop.set()
            reaper.join()
            _log.info("worker %s has stopped", self._name)

    def handle(self, run_id: str) -> None:
        """
        Drive the run if it is queued and its time has come, or if its process is gone; drop it otherwise.

        Raises:
            Exception: the run could not be driven now, and should be brought again.
        """
        try:
            row = self._segments.store.run_row(run_id)
        except StoredFormError as error:
            # Its row is damaged: as far as it can be ended, upkeep and its conversation do that.
            _log.error("run %s is dropped: %s", run_id, sanitised_chain(error))
            return
        if row is None:
            _log.warning("run %s is dropped: there is no such run in this store", run_id)
        elif row.status.settled or row.status is RunStatus.WAITING_FOR_APPROVAL:
            _log.info("run %s is dropped: it is %s", run_id, row.status.value)
        elif self._stop.is_set():
            self._queue.put(row.id, conversation=row.conversation)
        else:
            self._drive(row)

    def _drive(self, row: RunRow) -> None:
        try:
            work = self._recovery.recover(row.id, on_worker=True, stopping=self._stop.is_set)
            end = driven(work, self._in_place)
        except LeaseHeldError as held:
            if row.status is RunStatus.QUEUED:
                # It came too early, and nobody else may know of it.
                self._queue.put(row.id, conversation=row.conversation, not_before=held.until)
            else:
                _log.info("run %s is dropped: another process drives it", row.id)
        except LostRaceError as lost:
            _log.info("run %s is dropped: %s", row.id, lost)
        except NotFoundError:
            _log.info("run %s is dropped: it is gone", row.id)
        except (RunUnreadableError, StoredFormError) as error:
            _log.error("run %s cannot be driven: %s", row.id, sanitised_chain(error))
            self._end_unreadable(row)
        else:
            run = end if isinstance(end, Run) else end.run
            assert run.status is not None
            _log.info("run %s is %s", row.id, run.status.value)

    def _end_unreadable(self, row: RunRow) -> None:
        try:
            self._segments.end_unreadable(row)
        except LostRaceError as lost:
            _log.info("run %s was ended by somebody else: %s", row.id, lost)

    # -- what nobody brings -------------------------------------------------------------------

    def _reap(self) -> None:
        """Look for runs whose worker is gone, again and again."""
        while True:
            try:
                self._look()
            except Exception as error:  # noqa: BLE001 - the next look may succeed
                _log.error("worker %s could not look for runs: %s", self._name, sanitised_chain(error))
            if self._stop.wait(self._look_every):
                return

    def _look(self) -> None:
        for row in self._segments.store.due_runs(queued_grace=QUEUED_GRACE, limit=_AT_ONCE):
            try:
                if row.status is RunStatus.WAITING_FOR_APPROVAL:
                    self._segments.settle_expired(self._segments.load(row.id))
                else:
                    self._queue.put(row.id, conversation=row.conversation)
            except (RunUnreadableError, StoredFormError):
                self._end_unreadable(row)
            except AgentCoreError as error:
                _log.error("run %s was not looked after: %s", row.id, sanitised_chain(error))
