"""
The queue of a chaos: the one that belongs to the store, watched, so that it is known who had a run in hand when.
"""

import logging
from collections.abc import Callable, Sequence
from typing import Any

from nr_agent_core.adapters.procrastinate import ProcrastinateRunQueue
from nr_agent_core.adapters.thread_run_queue import ThreadRunQueue
from nr_agent_core.ports.run_queue import RunQueue, Stop
from nr_agent_core.ports.unit_of_work import Change, UnitOfWork
from tests.chaos.life import Life
from tests.chaos.plan import Plan

STALLED_AFTER = 1.5
"""Seconds of real time without a sign after which the engine takes a worker for gone."""
LOOK_EVERY = 0.2
_FREED = "job %s of run %s, of a worker that is gone"


def queue_of(plan: Plan, store: Any) -> RunQueue:
    """The engine on PostgreSQL, threads on SQLite."""
    if plan.store == "postgres":
        return ProcrastinateRunQueue(store, stalled_after=STALLED_AFTER)
    return ThreadRunQueue(store, look_every=LOOK_EVERY)


class WatchedQueue:
    """
    A queue that tells, in the life's file, which run is taken, let go of, and freed although somebody else has it.
    """

    def __init__(self, queue: RunQueue, life: Life) -> None:
        self._queue, self._life = queue, life

    @property
    def store(self) -> UnitOfWork:
        """As the queue's."""
        return self._queue.store

    def commit(self, changes: Sequence[Change], *, connection: Any | None = None) -> None:
        """As the queue does."""
        self._queue.commit(changes, connection=connection)

    def put(self, run_id: str, *, conversation: str | None, not_before: float = 0.0) -> None:
        """As the queue does."""
        self._queue.put(run_id, conversation=conversation, not_before=not_before)

    def work(self, handle: Callable[[str], None], *, threads: int, name: str, stop: Stop) -> None:
        """As the queue does, watched."""

        def watched(run_id: str) -> None:
            self._tell("taken", run_id)
            try:
                handle(run_id)
            finally:
                self._tell("left", run_id)

        ear = _Ear(lambda run_id: self._tell("freed", run_id))
        logger = logging.getLogger("nr_agent_core")
        logger.addHandler(ear)
        try:
            self._queue.work(watched, threads=threads, name=name, stop=stop)
        finally:
            logger.removeHandler(ear)

    def _tell(self, what: str, run_id: str) -> None:
        self._life.hand(what, run_id)


class _Ear(logging.Handler):
    """
    Hears that the engine's worker is about to free a job that another worker has.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        super().__init__(logging.WARNING)
        self._tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        """Tell of it before it happens."""
        if str(record.msg).startswith(_FREED):
            assert isinstance(record.args, tuple)
            self._tell(str(record.args[1]))
