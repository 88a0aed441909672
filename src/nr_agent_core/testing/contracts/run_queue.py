"""
What every queue must do, workers that are killed included.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from nr_agent_core.domain.errors import NotFoundError
from nr_agent_core.ports.run_queue import RunQueue
from nr_agent_core.ports.unit_of_work import UnitOfWork
from nr_agent_core.testing.contracts.queue_site import PATIENCE, QueueSite, Worker, settle, wait_until, work_apart
from nr_agent_core.testing.contracts.run_script import RunScript
from nr_agent_core.testing.contracts.store_contract import opened, said


class RunQueueContract:
    """
    Subclass it and give it a fixture ``site``: how a store and the queue over it are made, in any process.

    The site is pickled, so it is an object of a module; see ``QueueSite`` in
    :mod:`nr_agent_core.testing.contracts.queue_site`.
    """

    @pytest.fixture
    def site(self, tmp_path: Path) -> QueueSite:
        """The site under test. To be overridden."""
        raise NotImplementedError(f"{type(self).__name__} must override the fixture 'site' ({tmp_path})")

    @pytest.fixture
    def store(self, site: QueueSite) -> Iterator[UnitOfWork]:
        """The site's store in this process."""
        with closing(site.store()) as store:
            yield store

    @pytest.fixture
    def queue(self, site: QueueSite, store: UnitOfWork) -> RunQueue:
        """The site's queue in this process."""
        return site.queue(store)

    def test_the_queue_knows_its_store(self, queue: RunQueue, store: UnitOfWork) -> None:
        """A runtime can tell whether its queue is over its own store."""
        assert queue.store is store

    def test_what_a_commit_leaves_queued_is_brought(self, queue: RunQueue, store: UnitOfWork) -> None:
        """Storing a queued run is all it takes: a worker gets its id (R6)."""
        _queued(queue, "r1")

        with Worker(queue, lambda run_id: settle(store, run_id)) as worker:
            worker.until("r1")
            _queued(queue, "r2")
            worker.until("r2")

        assert worker.handled == ["r1", "r2"]

    def test_a_run_that_is_not_queued_is_not_brought(self, queue: RunQueue, store: UnitOfWork) -> None:
        """What its own process drives is nobody else's to take (R6)."""
        queue.commit([RunScript("driven").start()])
        _queued(queue, "last")

        with Worker(queue, lambda run_id: settle(store, run_id)) as worker:
            worker.until("last")

        assert "driven" not in worker.handled

    def test_a_commit_that_is_refused_brings_nothing(self, queue: RunQueue, store: UnitOfWork) -> None:
        """A run and its message to a worker are stored together or not at all (R3)."""
        with pytest.raises(NotFoundError):
            queue.commit([RunScript("refused").start(queued=True), said("nowhere", "Hello")])
        _queued(queue, "last")

        with Worker(queue, lambda run_id: settle(store, run_id)) as worker:
            worker.until("last")

        assert worker.handled == ["last"]
        assert store.run_row("refused") is None

    def test_a_run_that_was_put_more_than_once_is_brought_once(self, queue: RunQueue, store: UnitOfWork) -> None:
        """While a run waits here, putting it again adds nothing."""
        _queued(queue, "r1")
        for _ in range(3):
            queue.put("r1", conversation=None)
        _queued(queue, "last")

        with Worker(queue, lambda run_id: settle(store, run_id)) as worker:
            worker.until("r1", "last")

        assert worker.handled.count("r1") == 1

    def test_a_run_is_not_brought_before_its_time(self, queue: RunQueue, store: UnitOfWork) -> None:
        """A run that is queued for later comes then, not now, and not never (R8)."""
        times: list[float] = []
        script = RunScript("later")
        queue.commit([script.start()])
        due = store.now() + 1.0
        queue.commit([script.requeue(not_before=due)])

        def handle(run_id: str) -> None:
            times.append(store.now())
            settle(store, run_id)

        with Worker(queue, handle) as worker:
            worker.until("later")

        assert min(times) >= due - 0.001

    def test_a_run_that_waits_for_its_time_stands_in_nobodys_way(self, queue: RunQueue, store: UnitOfWork) -> None:
        """A run that was cancelled while it waited does not keep the next one of its conversation waiting."""
        opened(store, "c1")
        script = RunScript("cancelled", conversation="c1")
        queue.commit([script.start()])
        queue.commit([script.requeue(not_before=store.now() + 3600)])
        settle(store, "cancelled")
        _queued(queue, "next", conversation="c1")

        with Worker(queue, lambda run_id: settle(store, run_id)) as worker:
            worker.until("next")

        assert "cancelled" not in worker.handled

    def test_runs_of_one_conversation_are_handled_in_turn(self, queue: RunQueue, store: UnitOfWork) -> None:
        """While one is in hand the next one of its conversation waits; others go on."""
        opened(store, "c1", "c2")
        release = threading.Event()

        def handle(run_id: str) -> None:
            if run_id == "first":
                assert release.wait(PATIENCE)
            settle(store, run_id)

        _queued(queue, "first", conversation="c1")
        with Worker(queue, handle, threads=2) as worker:
            worker.until("first")
            settle(store, "first")
            _queued(queue, "second", conversation="c1")
            _queued(queue, "other", conversation="c2")
            worker.until("other")
            before = list(worker.handled)
            release.set()
            worker.until("second")

        assert before == ["first", "other"]

    def test_several_runs_are_in_hand_at_once(self, queue: RunQueue, store: UnitOfWork) -> None:
        """As many as there are threads, of as many conversations."""
        meeting = threading.Barrier(3)

        def handle(run_id: str) -> None:
            meeting.wait(PATIENCE)
            settle(store, run_id)

        for number in range(3):
            _queued(queue, f"r{number}")
        with Worker(queue, handle, threads=3) as worker:
            worker.until("r0", "r1", "r2")

    def test_a_handling_that_raises_costs_nobody_else_anything(self, queue: RunQueue, store: UnitOfWork) -> None:
        """The thread goes on with the next run, and the one that was not handled is not forgotten."""

        def handle(run_id: str) -> None:
            if run_id == "broken":
                raise RuntimeError("not today")
            settle(store, run_id)

        _queued(queue, "broken")
        with Worker(queue, handle) as worker:
            worker.until("broken")
            _queued(queue, "sound")
            worker.until("sound")

        assert worker.handled == ["broken", "sound"]

    def test_a_worker_that_is_told_to_stop_waits_for_what_is_in_hand(self, queue: RunQueue, store: UnitOfWork) -> None:
        """It takes nothing more, and ends once nothing is in hand."""
        release = threading.Event()

        def handle(run_id: str) -> None:
            assert release.wait(PATIENCE)
            settle(store, run_id)

        _queued(queue, "r1")
        with Worker(queue, handle) as worker:
            worker.until("r1")
            worker.stop()
            _queued(queue, "r2")
            release.set()
            assert worker.join()

        assert worker.handled == ["r1"]
        with Worker(queue, lambda run_id: settle(store, run_id)) as another:
            another.until("r2")

    def test_a_run_whose_worker_was_killed_is_brought_to_another(
        self, site: QueueSite, queue: RunQueue, store: UnitOfWork, tmp_path: Path
    ) -> None:
        """A process that dies amid a run, by SIGKILL, takes nothing with it."""
        opened(store, "c1")
        _queued(queue, "r1", conversation="c1")
        dying = work_apart(site, tmp_path, dies=True)
        dying.join(PATIENCE)
        assert dying.exitcode == -signal.SIGKILL

        with Worker(queue, lambda run_id: settle(store, run_id)) as worker:
            worker.until("r1")
            wait_until(lambda: _is_settled(store, "r1"))
            _queued(queue, "r2", conversation="c1")
            worker.until("r2")

    def test_a_killed_worker_beside_others_loses_nothing(
        self, site: QueueSite, queue: RunQueue, store: UnitOfWork, tmp_path: Path
    ) -> None:
        """Two processes, one of which is killed: every run is ended, in the end."""
        names = [f"r{number}" for number in range(12)]
        dying = work_apart(site, tmp_path, dies=True)
        for name in names[:6]:
            _queued(queue, name)
        dying.join(PATIENCE)
        living = work_apart(site, tmp_path)
        for name in names[6:]:
            _queued(queue, name)

        wait_until(lambda: all(_is_settled(store, name) for name in names))

        (tmp_path / "stop").touch()
        living.join(PATIENCE)
        assert (dying.exitcode, living.exitcode) == (-signal.SIGKILL, 0)
        assert {path.stem for path in tmp_path.glob("r*.*")} == set(names)


def _queued(queue: RunQueue, run_id: str, *, conversation: str | None = None) -> None:
    queue.commit([RunScript(run_id, conversation=conversation).start(queued=True)])


def _is_settled(store: UnitOfWork, run_id: str) -> bool:
    row = store.run_row(run_id)
    assert row is not None
    return row.status.settled
