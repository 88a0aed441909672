"""
The way from a queued run to a worker.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from nr_agent_core.domain.run import Run
from nr_agent_core.domain.run_events import ToolFinished
from nr_agent_core.domain.run_status import RunStatus
from nr_agent_core.ports.unit_of_work import AppendEvents, Change, UnitOfWork

PAUSE = 30.0
"""Seconds after which a run is brought again whose handling failed."""


class Stop(Protocol):
    """
    Whether a worker is to end; a ``threading.Event`` is one.
    """

    def is_set(self) -> bool:
        """Whether it is to end."""
        ...

    def set(self) -> None:
        """From now on it is."""
        ...

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is to end, or *timeout* seconds; whether it is."""
        ...


class RunQueue(Protocol):
    """
    Brings the id of a run, and nothing else, to a worker: again and again until the run is settled.

    The stored run is the truth. What is brought may have been settled, cancelled or taken by another
    worker meanwhile: whoever handles it looks at the store first. A run that is waiting here is here
    once, however often it was put. Of one conversation no two runs are handled at once.

    Every implementation must pass ``nr_agent_core.testing.contracts.RunQueueContract``.
    """

    @property
    def store(self) -> UnitOfWork:
        """The store whose runs it brings."""
        ...

    def commit(self, changes: Sequence[Change], *, connection: Any | None = None) -> None:
        """
        Store all *changes*, and see to it that each run which they leave queued is brought, not
        before its time. Where store and queue share a database both happen in one transaction.

        Args:
            changes: see :meth:`~nr_agent_core.ports.unit_of_work.UnitOfWork.commit`.
            connection: the host's own, with a transaction open in the store's database: the changes
                become part of it, and nobody is brought a run before the host commits.

        Raises:
            InvalidValueError: nothing can be stored on this *connection*. Nothing was stored.
            QueueNotInstalledError: the queue is not set up. Nothing was stored.
            AgentCoreError: what the store raises. Nothing was put.
        """
        ...

    def put(self, run_id: str, *, conversation: str | None, not_before: float = 0.0) -> None:
        """
        Have a stored run brought to a worker, not before *not_before* in the store's time.

        A run that waits here already is left where it is.

        Raises:
            StoreError: that cannot be done now.
        """
        ...

    def work(self, handle: Callable[[str], None], *, threads: int, name: str, stop: Stop) -> None:
        """
        Bring runs to *handle*, each in one of so many threads, until *stop* is set.

        Returns once nothing is in hand any more. A run whose handling raised comes again after a
        pause; so does one whose process died.

        Args:
            handle: takes the id of a run.
            threads: how many runs are handled at once, at most.
            name: what threads and log lines are called.
            stop: set by whoever wants the worker to end.

        Raises:
            QueueNotInstalledError: the queue is not set up.
        """
        ...


def queued_by(changes: Sequence[Change]) -> Iterator[Run]:
    """
    The runs that *changes* leave queued and that nobody was told of: late outcomes move no run.
    """
    for change in changes:
        if (
            isinstance(change, AppendEvents)
            and change.run.status is RunStatus.QUEUED
            and not isinstance(change.events[-1], ToolFinished)
        ):
            yield change.run
