"""
What a job of the engine says: the id of a run, and nothing else.
"""

import datetime as dt
from typing import Any, Final, LiteralString, Protocol

import procrastinate
import psycopg
from procrastinate import exceptions
from procrastinate import sql as engine
from procrastinate.jobs import Job, Status

from nr_agent_core.domain.errors import QueueNotInstalledError
from nr_agent_core.ports.unit_of_work import UnitOfWork

QUEUE: Final = "nr_agent_core"
TASK: Final = "nr_agent_core.drive"

_MISSING = {"42P01", "42883", "42704", "3F000"}
"""A table, function, type or schema that is not there."""

_SERVER_TIME = b"SELECT extract(epoch FROM clock_timestamp())::float8"
_SAME_TIME = 1.0

# Every retry counts, so a job that was freed since it was looked at is not met here: it may be in living hands by now.
_HELD = """
    WITH held AS (
        SELECT 1 FROM procrastinate_jobs
        WHERE id = %(job_id)s AND status = 'doing' AND attempts = %(attempts)s FOR UPDATE
    )
"""


def _on_held(name: str) -> Any:
    return f"{_HELD} {engine.queries[name].rstrip().rstrip(';')} FROM held"


_AGAIN: LiteralString = _on_held("retry_job")
_OVER: LiteralString = _on_held("finish_job")

# Only ever used on connections of the store, so it is never opened.
_APP: Final = procrastinate.App(connector=procrastinate.SyncPsycopgConnector())


class EngineStore(UnitOfWork, Protocol):
    """
    A store in a PostgreSQL database whose transactions can hold jobs, too.
    """

    @property
    def schema(self) -> str:
        """The schema of its tables, and of the engine's."""
        ...

    @property
    def dsn(self) -> str:
        """How to reach the database."""
        ...

    def commit(self, changes: Any, *, beside: Any = None, connection: Any = None) -> None:
        """Store *changes*, with what *beside* does on the transaction's connection."""
        ...


def put_job(
    db: psycopg.Connection[Any], schema: str, run_id: str, *, lock: str | None, due: dt.datetime | None
) -> None:
    """
    A job for a run, in the transaction of *db*; none when one waits already.

    Args:
        db: a connection that sees the engine's tables.
        schema: where they are.
        run_id: the run.
        lock: no two jobs of one lock are in hand at once; None: this one waits for its time first.
        due: not before; None: at once.

    Raises:
        QueueNotInstalledError: the tables are not there. The transaction is of no use any more.
    """
    deferrer = _APP.configure_task(
        TASK,
        allow_unknown=True,
        queue=QUEUE,
        lock=lock,
        queueing_lock=run_id,
        schedule_at=due,
        connection=db,
    )
    try:
        # A job that is there already must not cost the transaction.
        with db.transaction():
            deferrer.defer(run_id=run_id)
    except exceptions.AlreadyEnqueued:
        return
    except exceptions.ConnectorException as error:
        raise _own(error, schema) from error
    except psycopg.Error as error:
        raise _own(error, schema) from error


async def free_job(app: procrastinate.App, job: Job) -> None:
    """
    Take *job*, as it was found, from a worker that is gone, and have its run brought again.

    When somebody else freed it since, or it ended, nothing happens.

    Raises:
        ConnectorException: the database could not be asked. Nothing happened.
    """
    found: dict[str, Any] = {"job_id": job.id, "attempts": job.attempts}
    unchanged = {"new_priority": None, "new_queue_name": None, "new_lock": None}
    ask = app.connector.execute_query_all_async
    try:
        await ask(_AGAIN, **found, **unchanged, retry_at=dt.datetime.now(dt.UTC))
    except exceptions.UniqueViolation:
        # Another job of the run waits already.
        await ask(_OVER, **found, status=Status.FAILED.value, delete_job=True)


def _own(error: BaseException, schema: str) -> BaseException:
    """The server's error, as the store knows it; that of missing tables in our own words."""
    cause = error if isinstance(error, psycopg.Error) else error.__cause__ or error.__context__
    if not isinstance(cause, psycopg.Error):
        return error
    if cause.sqlstate in _MISSING:
        return QueueNotInstalledError(schema, cause.sqlstate or "")
    return cause


def ahead_of_server(db: psycopg.Connection[Any], now: float) -> float:
    """
    How many seconds a store whose clock says *now* is ahead of the server, whose time is the engine's.

    It is 0 for a store that keeps the server's time, which knows it to a few milliseconds.
    """
    (server,) = db.execute(_SERVER_TIME).fetchone() or (now,)
    ahead = now - float(server)
    return ahead if abs(ahead) > _SAME_TIME else 0.0


def time_of(at: float) -> dt.datetime:
    """Seconds since 1970 as the engine takes them."""
    return dt.datetime.fromtimestamp(at, dt.UTC)
