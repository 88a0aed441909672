"""
The queue of threads, where the contract of the queues leaves a choice.
"""

import logging
import threading
from typing import Any

import pytest

from nr_agent_core.adapters.memory import MemoryStore
from nr_agent_core.adapters.thread_run_queue import ThreadRunQueue
from nr_agent_core.domain.errors import InvalidValueError, StoreUnavailableError
from nr_agent_core.testing.contracts.queue_site import PATIENCE, Worker, settle, wait_until
from nr_agent_core.testing.contracts.run_script import RunScript
from nr_agent_core.testing.manual_clock import ManualClock


def queued(store: MemoryStore, run_id: str) -> None:
    """A run that another process queued."""
    store.commit([RunScript(run_id).start(queued=True)])


def test_without_a_worker_nothing_is_kept() -> None:
    """The store knows of it; a process that only queues does not grow."""
    queue = ThreadRunQueue(MemoryStore())
    for number in range(10):
        queue.commit([RunScript(f"r{number}").start(queued=True)])

    assert queue._waiting == {}


def test_a_failed_run_comes_again_after_a_pause() -> None:
    """Not at once, and not never; looking into the store does not bring it sooner."""
    clock = ManualClock()
    store = MemoryStore(clock=clock)
    queue = ThreadRunQueue(store, look_every=0.01)
    queued(store, "r1")
    fails = [True]

    def handle(run_id: str) -> None:
        if run_id == "r1" and fails:
            fails.clear()
            raise RuntimeError("not today")
        settle(store, run_id)

    with Worker(queue, handle) as worker:
        worker.until("r1")
        for name in ("r2", "r3"):
            queued(store, name)
            worker.until(name)
        assert worker.handled.count("r1") == 1
        clock.advance(30.0)
        wait_until(lambda: worker.handled.count("r1") == 2)


def test_a_store_that_is_away_is_asked_again(caplog: pytest.LogCaptureFixture) -> None:
    """A worker outlives a store that cannot be asked for a while."""
    store = MemoryStore()
    away = threading.Event()
    away.set()

    class Away:
        def __getattr__(self, name: str) -> Any:
            return getattr(store, name)

        def due_runs(self, **given: Any) -> Any:
            if away.is_set():
                raise StoreUnavailableError("away")
            return store.due_runs(**given)

        def now(self) -> float:
            if away.is_set():
                raise StoreUnavailableError("away")
            return store.now()

    queue = ThreadRunQueue(Away(), look_every=0.01)  # type: ignore[arg-type]
    queued(store, "r1")
    with caplog.at_level(logging.WARNING, "nr_agent_core"), Worker(queue, lambda run_id: settle(store, run_id)) as one:
        wait_until(lambda: "could not be asked" in caplog.text)
        assert one.handled == []
        away.clear()
        one.until("r1")
    assert one.handled == ["r1"]


def test_two_workers_of_one_process_share_the_work() -> None:
    """What one has in hand the other one is not brought."""
    store = MemoryStore()
    queue = ThreadRunQueue(store, look_every=0.01)
    release = threading.Event()

    def handle(run_id: str) -> None:
        assert release.wait(PATIENCE)
        settle(store, run_id)

    with Worker(queue, handle) as one, Worker(queue, handle) as two:
        queued(store, "r1")
        queued(store, "r2")
        wait_until(lambda: len(one.handled) + len(two.handled) == 2)
        release.set()

    assert sorted(one.handled + two.handled) == ["r1", "r2"]


@pytest.mark.parametrize("seconds", [0, -1, True, "1", 3601])
def test_an_interval_that_cannot_be_is_refused(seconds: Any) -> None:
    """At the start."""
    with pytest.raises(InvalidValueError):
        ThreadRunQueue(MemoryStore(), look_every=seconds)
