"""
What the contract of the queues works with: a site, its workers in threads, its workers in processes.
"""

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, Self

from nr_agent_core.domain.errors import LostRaceError
from nr_agent_core.domain.run import fold
from nr_agent_core.domain.run_events import RunCancelled
from nr_agent_core.domain.run_status import RunReason
from nr_agent_core.ports.run_queue import RunQueue
from nr_agent_core.ports.unit_of_work import AppendEvents, UnitOfWork

PATIENCE = float(os.environ.get("NR_PATIENCE", "60"))
"""Seconds after which a test gives up waiting for something that must come."""

_SPAWN = multiprocessing.get_context("spawn")


class QueueSite(Protocol):
    """
    How a store and the queue over it are made, in any process: it is pickled.
    """

    def store(self) -> UnitOfWork:
        """A store, the same tables for all that this site makes."""
        ...

    def queue(self, store: UnitOfWork) -> RunQueue:
        """The queue over *store*, set up, that notices within a few seconds that a worker is gone."""
        ...


class Worker:
    """
    A worker in a thread of the test.

    Args:
        queue: whose runs are handled.
        handle: what is done with a run, beside noting it.
        threads: how many are handled at once.
    """

    def __init__(self, queue: RunQueue, handle: Callable[[str], None], *, threads: int = 1) -> None:
        self._queue, self._handle, self._threads = queue, handle, threads
        self._stop, self._changed = threading.Event(), threading.Condition()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self.handled: list[str] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        assert self.join(), "the worker did not end"

    def stop(self) -> None:
        """Tell it to end."""
        self._stop.set()

    def join(self) -> bool:
        """Wait for its end; whether it came."""
        self._thread.join(PATIENCE)
        return not self._thread.is_alive()

    def until(self, *run_ids: str) -> None:
        """Wait until all of these were brought."""
        with self._changed:
            came = self._changed.wait_for(lambda: set(run_ids) <= set(self.handled), PATIENCE)
        assert came, f"brought were {self.handled}, not all of {run_ids}"

    def _work(self) -> None:
        self._queue.work(self._note, threads=self._threads, name="contract", stop=self._stop)

    def _note(self, run_id: str) -> None:
        with self._changed:
            self.handled.append(run_id)
            self._changed.notify_all()
        self._handle(run_id)


def settle(store: UnitOfWork, run_id: str) -> None:
    """End a run, unless somebody was first."""
    try:
        run = fold(run_id, (stored.event for stored in store.events(run_id)))
        if not run.settled:
            cancelled = RunCancelled(RunReason.CANCELLED)
            store.commit([AppendEvents(run.after(cancelled), run.sequence, (cancelled,))])
    except LostRaceError:
        return


def work_apart(site: QueueSite, folder: Path, *, dies: bool = False) -> Any:
    """
    A worker in a process of its own: it notes each run in a file of *folder*, and ends it.

    Args:
        site: where it works.
        folder: where it notes what it was brought, until a file ``stop`` is there.
        dies: whether it kills itself when it was brought its first run, before it ends it.
    """
    process = _SPAWN.Process(target=_work_apart, args=(site, folder, dies), daemon=True)
    process.start()
    return process


def _work_apart(site: QueueSite, folder: Path, dies: bool) -> None:
    store = site.store()
    stop = threading.Event()

    def handle(run_id: str) -> None:
        (folder / f"{run_id}.{os.getpid()}").touch()
        if dies:
            os.kill(os.getpid(), signal.SIGKILL)
        settle(store, run_id)

    def watch() -> None:
        wait_until((folder / "stop").exists)
        stop.set()

    threading.Thread(target=watch, daemon=True).start()
    site.queue(store).work(handle, threads=2, name="apart", stop=stop)
    store.close()


def wait_until(holds: Callable[[], bool]) -> None:
    """Until *holds* does."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, "what a test waited for never came"
        time.sleep(0.01)
