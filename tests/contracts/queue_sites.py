"""
Sites for the contract of the queues, as they travel to other processes.
"""

from pathlib import Path

import attrs

from nr_agent_core.adapters.postgres import PostgresStore
from nr_agent_core.adapters.procrastinate import ProcrastinateRunQueue
from nr_agent_core.adapters.sqlite import SqliteStore
from nr_agent_core.adapters.thread_run_queue import ThreadRunQueue
from nr_agent_core.ports.run_queue import RunQueue
from nr_agent_core.ports.unit_of_work import UnitOfWork


@attrs.frozen
class SqliteSite:
    """A SQLite file, and the queue of threads."""

    path: Path

    def store(self) -> UnitOfWork:
        """A store of the file."""
        return SqliteStore(self.path)

    def queue(self, store: UnitOfWork) -> RunQueue:
        """The queue over it."""
        return ThreadRunQueue(store, look_every=0.1)


@attrs.frozen
class PostgresSite:
    """A schema of a server, and the queue of the engine."""

    dsn: str
    schema: str

    def store(self) -> UnitOfWork:
        """A store of the schema."""
        return PostgresStore(self.dsn, schema=self.schema)

    def queue(self, store: UnitOfWork) -> RunQueue:
        """The queue over it, installed."""
        assert isinstance(store, PostgresStore)
        queue = ProcrastinateRunQueue(store, stalled_after=2.0)
        queue.install()
        return queue


@attrs.frozen
class PollingSite(PostgresSite):
    """A schema of a server, and the queue of threads: no engine."""

    def queue(self, store: UnitOfWork) -> RunQueue:
        """The queue over it."""
        return ThreadRunQueue(store, look_every=0.1)
