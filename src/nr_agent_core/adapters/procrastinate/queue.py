"""
The queue: jobs beside the runs that they are for.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any

import psycopg
from procrastinate import schema as engine_schema

from nr_agent_core.adapters.procrastinate.crew import Crew
from nr_agent_core.adapters.procrastinate.jobs import EngineStore, ahead_of_server, put_job, time_of
from nr_agent_core.domain.errors import InvalidValueError, QueueNotInstalledError
from nr_agent_core.domain.sanitiser import sanitised_chain
from nr_agent_core.ports.run_queue import Stop, queued_by
from nr_agent_core.ports.unit_of_work import Change, UnitOfWork

_log = logging.getLogger("nr_agent_core")

_AGAIN = 5.0
_INSTALLED = b"""
    SELECT to_regclass('procrastinate_jobs') IS NOT NULL,
        to_regproc('procrastinate_defer_jobs_v1') IS NOT NULL AND to_regproc('procrastinate_fetch_job_v2') IS NOT NULL
"""
_ALONE = b"SELECT pg_advisory_xact_lock(hashtextextended('nr_agent_core engine ' || current_schema(), 0))"


class ProcrastinateRunQueue:
    """
    Brings queued runs to workers by jobs of procrastinate (:class:`~nr_agent_core.ports.run_queue.RunQueue`).

    The engine's tables are in the schema of the store, so that a run and its job are stored in one
    transaction. Any number of processes and machines may queue and work.

    Args:
        store: a :class:`~nr_agent_core.adapters.postgres.PostgresStore`.
        stalled_after: seconds after which a worker that gave no sign is taken for gone, and its jobs
            are brought again. A third of it is how often a worker gives one.

    Raises:
        InvalidValueError: the store is no such store, or *stalled_after* no number of seconds from 1.
    """

    def __init__(self, store: EngineStore, *, stalled_after: float = 30.0) -> None:
        if not hasattr(store, "dsn") or not hasattr(store, "schema"):
            raise InvalidValueError("the store of the queue", type(store).__name__, "a PostgresStore")
        if (
            isinstance(stalled_after, bool)
            or not isinstance(stalled_after, int | float)
            or not 1 <= stalled_after <= 3600
        ):
            raise InvalidValueError("the seconds until a worker is taken for gone", stalled_after, "1 to 3600")
        self._store, self._stalled_after = store, float(stalled_after)

    @property
    def store(self) -> UnitOfWork:
        """The store whose runs it brings."""
        return self._store

    def install(self) -> bool:
        """
        Make the engine's tables in the store's schema, if they are not there.

        Returns:
            Whether they were made now.

        Raises:
            StoreError: the database cannot be reached, or its user may not make tables. Nothing was made.
        """
        made = False

        def make(db: psycopg.Connection[Any]) -> None:
            nonlocal made
            db.execute(_ALONE)
            made = not _tables(db)[0]
            if made:
                db.execute(engine_schema.SchemaManager.get_schema().encode())

        self._store.commit((), beside=make)
        return made

    def commit(self, changes: Sequence[Change], *, connection: Any | None = None) -> None:
        """Store all *changes* and the jobs of the runs that they leave queued, in one transaction."""
        runs = tuple(queued_by(changes))
        if not runs and connection is None:
            self._store.commit(changes)
            return

        def put(db: psycopg.Connection[Any]) -> None:
            for run in runs:
                self._put(db, run.id, run.conversation, run.not_before)

        self._store.commit(changes, beside=put if runs else None, connection=connection)

    def put(self, run_id: str, *, conversation: str | None, not_before: float = 0.0) -> None:
        """Store a job for the run, unless one waits already."""
        self._store.commit((), beside=lambda db: self._put(db, run_id, conversation, not_before))

    def _put(self, db: psycopg.Connection[Any], run_id: str, conversation: str | None, not_before: float) -> None:
        now = self._store.now()
        later = not_before > now
        # A job that waits for its time would keep every later one of its lock waiting, too.
        lock = None if later else f"run {run_id}" if conversation is None else f"conversation {conversation}"
        due = time_of(not_before - ahead_of_server(db, now)) if later else None
        put_job(db, self._store.schema, run_id, lock=lock, due=due)

    def work(self, handle: Callable[[str], None], *, threads: int, name: str, stop: Stop) -> None:
        """Bring runs to *handle* until *stop* is set; a database that goes away is waited for."""
        self._require_installed()
        while True:
            try:
                asyncio.run(self._crew(handle, threads, name, stop).work())
            except Exception as error:  # noqa: BLE001 - whatever the engine met, the runs are in the store
                _log.error("worker %s lost its queue: %s", name, sanitised_chain(error))
            if stop.wait(0.0 if stop.is_set() else _AGAIN):
                return

    def _crew(self, handle: Callable[[str], None], threads: int, name: str, stop: Stop) -> Crew:
        return Crew(
            self._store.dsn,
            self._store.schema,
            handle,
            put=self._put_known,
            threads=threads,
            name=name,
            stop=stop,
            stalled_after=self._stalled_after,
        )

    def _put_known(self, run_id: str, delay: float) -> None:
        """A job for a run, with the lock of its conversation."""
        row = self._store.run_row(run_id)
        conversation = None if row is None else row.conversation
        self.put(run_id, conversation=conversation, not_before=self._store.now() + delay if delay else 0.0)

    def _require_installed(self) -> None:
        found: list[tuple[bool, bool]] = []
        self._store.commit((), beside=lambda db: found.append(_tables(db)))
        there, fitting = found[-1]
        if not (there and fitting):
            missing = "its functions are those of another release" if there else "there are none"
            raise QueueNotInstalledError(self._store.schema, missing)


def _tables(db: psycopg.Connection[Any]) -> tuple[bool, bool]:
    """Whether the engine's tables are there, and whether they are those of this release of it."""
    found = db.execute(_INSTALLED).fetchone()
    assert found is not None
    return bool(found[0]), bool(found[1])
