"""
A queue that a test empties by hand, and a worker without threads.
"""

import threading
from collections.abc import Callable, Sequence
from typing import Any

from nr_agent_core import Chat
from nr_agent_core.domain.errors import InvalidValueError
from nr_agent_core.ports.run_queue import Stop, queued_by
from nr_agent_core.ports.unit_of_work import Change, UnitOfWork
from nr_agent_core.runtime.worker import Worker
from tests.chat.world import World


class QueueAtHand:
    """
    Keeps what was put, in order, with the time it is put for.
    """

    def __init__(self, store: UnitOfWork) -> None:
        self._store = store
        self.waiting: list[tuple[str, float]] = []

    @property
    def store(self) -> UnitOfWork:
        """The store whose runs it keeps."""
        return self._store

    def commit(self, changes: Sequence[Change], *, connection: Any | None = None) -> None:
        """Store, then keep."""
        if connection is not None:
            raise InvalidValueError("the connection", connection, "none")
        self._store.commit(changes)
        self.waiting += [(run.id, run.not_before) for run in queued_by(changes)]

    def put(self, run_id: str, *, conversation: str | None, not_before: float = 0.0) -> None:
        """Keep."""
        self.waiting.append((run_id, not_before))

    def work(self, handle: Callable[[str], None], *, threads: int, name: str, stop: Stop) -> None:
        """Hand over all that is kept, once, whatever its time."""
        taken, self.waiting = self.waiting, []
        for run_id, _ in taken:
            handle(run_id)


def worker(chat: Chat, stop: threading.Event | None = None) -> Worker:
    """The worker of a chat, for a test that hands it the runs."""
    runtime = chat.runtime
    event = stop or threading.Event()
    return Worker(runtime.segments, runtime.recovery, runtime.in_place, threads=1, name="hand", stop=event)


def drive(chat: Chat) -> None:
    """Have a worker take what waits now."""
    queue = chat.runtime.wiring.queue
    assert isinstance(queue, QueueAtHand)
    queue.work(worker(chat).handle, threads=1, name="hand", stop=threading.Event())


def queue_chat(world: World, *answers: Any, **parts: Any) -> Any:
    """A process with a queue at hand."""
    return world.chat(*answers, queue=QueueAtHand(world.store), **parts)


def waiting_in(chat: Any) -> list[tuple[str, float]]:
    """What the queue of a chat keeps."""
    queue: QueueAtHand = chat.runtime.wiring.queue
    return queue.waiting
