"""
A queue in the memory of a process, for stores that have no engine beside them.
"""

import logging
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from nr_agent_core.domain.errors import AgentCoreError, InvalidValueError
from nr_agent_core.domain.run_status import RunStatus
from nr_agent_core.domain.sanitiser import sanitised_chain
from nr_agent_core.ports.run_queue import PAUSE, Stop, queued_by
from nr_agent_core.ports.unit_of_work import Change, UnitOfWork

_log = logging.getLogger("nr_agent_core")

_AT_ONCE = 1000


class _Waiting(NamedTuple):
    """
    A run that waits for a thread; the conversation, or the run itself where it has none, is what it holds.
    """

    not_before: float
    holds: str


class ThreadRunQueue:
    """
    Brings queued runs to threads of this process (:class:`~nr_agent_core.ports.run_queue.RunQueue`).

    It keeps nothing: a run that was queued by another process, or by one that died, is found in the
    store. So any number of processes may work on one store, and the process that queues need not be
    the one that works.

    Args:
        store: the store of the runs.
        look_every: seconds between two looks into the store for runs that others queued.

    Raises:
        InvalidValueError: *look_every* is no number of seconds above 0.
    """

    def __init__(self, store: UnitOfWork, *, look_every: float = 1.0) -> None:
        if isinstance(look_every, bool) or not isinstance(look_every, int | float) or not 0 < look_every <= 3600:
            raise InvalidValueError("the seconds between two looks", look_every, "above 0 and up to 3600")
        self._store, self._look_every = store, float(look_every)
        self._changed = threading.Condition()
        self._waiting: dict[str, _Waiting] = {}
        self._in_hand: dict[str, str] = {}
        self._working = 0

    @property
    def store(self) -> UnitOfWork:
        """The store whose runs it brings."""
        return self._store

    def commit(self, changes: Sequence[Change], *, connection: Any | None = None) -> None:
        """Store all *changes*; the threads of this process hear at once of what they leave queued."""
        if connection is not None:
            raise InvalidValueError(
                "the connection of a queued message", type(connection).__name__, "none: this queue shares no database"
            )
        self._store.commit(changes)
        for run in queued_by(changes):
            self.put(run.id, conversation=run.conversation, not_before=run.not_before)

    def put(self, run_id: str, *, conversation: str | None, not_before: float = 0.0) -> None:
        """Have a stored run brought to a thread of this process; without one, the store knows of it."""
        with self._changed:
            if not self._working:
                return
            known = self._waiting.get(run_id)
            if known is None or known.not_before > not_before:
                self._waiting[run_id] = _Waiting(not_before, conversation or run_id)
                self._changed.notify_all()

    def work(self, handle: Callable[[str], None], *, threads: int, name: str, stop: Stop) -> None:
        """Bring runs to *handle* until *stop* is set, and return once nothing is in hand."""
        with self._changed:
            self._working += 1
        crew = [
            threading.Thread(target=self._attend, args=(handle, stop), name=f"{name}-{number}", daemon=True)
            for number in range(threads)
        ]
        for thread in crew:
            thread.start()
        try:
            while True:
                self._look()
                if stop.wait(self._look_every):
                    break
        finally:
            # Also where a signal breaks the wait: nobody goes on without whoever looks after them.
            stop.set()
            with self._changed:
                self._changed.notify_all()
            for thread in crew:
                thread.join()
            with self._changed:
                self._working -= 1
                if not self._working:
                    self._waiting.clear()

    def _look(self) -> None:
        """Runs that another process queued, or one that died; those that are known here stay as they are."""
        try:
            due = self._store.due_runs(queued_grace=0.0, limit=_AT_ONCE)
        except AgentCoreError as error:
            _log.warning("the store could not be asked for queued runs: %s", sanitised_chain(error))
            return
        with self._changed:
            known = {*self._waiting, *self._in_hand.values()}
            for row in due:
                if row.status is RunStatus.QUEUED and row.id not in known:
                    self._waiting[row.id] = _Waiting(0.0, row.conversation or row.id)
            self._changed.notify_all()

    def _attend(self, handle: Callable[[str], None], stop: Stop) -> None:
        while not stop.is_set():
            taken = self._take()
            if taken is None:
                continue
            run_id, waited = taken
            again = False
            try:
                handle(run_id)
            except Exception as error:  # noqa: BLE001 - whatever it was, the run is brought again
                _log.error("run %s was not handled and comes again: %s", run_id, sanitised_chain(error))
                again = True
            finally:
                self._let_go(run_id, waited, again=again)

    def _take(self) -> tuple[str, _Waiting] | None:
        """The next run whose time has come and whose conversation is free; None after a while without."""
        now = self._now()
        with self._changed:
            for run_id, waiting in self._waiting.items():
                if waiting.not_before <= now and waiting.holds not in self._in_hand:
                    del self._waiting[run_id]
                    self._in_hand[waiting.holds] = run_id
                    return run_id, waiting
            coming = [each.not_before - now for each in self._waiting.values() if each.not_before > now]
            self._changed.wait(min([self._look_every, *coming]))
        return None

    def _let_go(self, run_id: str, waited: _Waiting, *, again: bool) -> None:
        due = self._now() + PAUSE
        with self._changed:
            del self._in_hand[waited.holds]
            if again:
                self._waiting.setdefault(run_id, _Waiting(due, waited.holds))
            self._changed.notify_all()

    def _now(self) -> float:
        """The store's time; a store that is away for the moment says that nothing but the undated is due."""
        try:
            return self._store.now()
        except AgentCoreError:
            return 0.0
