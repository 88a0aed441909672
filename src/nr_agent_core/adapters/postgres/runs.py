"""
Runs and their streams, read.
"""

import itertools
import logging
from collections.abc import Iterator
from typing import Any

import psycopg

from nr_agent_core import codec
from nr_agent_core.adapters.postgres.reading import RUN_COLUMNS, WRITE_COLUMNS, bounded, restored, rows_of, run_columns
from nr_agent_core.adapters.postgres.schema import SETTLED
from nr_agent_core.domain.errors import RunUnreadableError, StoredFormError
from nr_agent_core.domain.provenance import AiRecordWritten, StoredWrite
from nr_agent_core.domain.sanitiser import sanitised_chain
from nr_agent_core.domain.tool_result import RecordWrite
from nr_agent_core.ports.run_store import RunRow, StoredEvent, UnreadableRun

_ROW = f"SELECT {RUN_COLUMNS} FROM run WHERE id = %s"
# Row and stream in one look; the first event comes with every answer: a stream without it is no stream (E5).
_EVENTS = """
    SELECT run.sequence, event.seq, event.kind, event.facts, event.content, event.at
    FROM run LEFT JOIN event ON event.run = run.id AND (event.seq > %s OR event.seq = 0)
    WHERE run.id = %s ORDER BY event.seq
"""
_CONTENTS = "SELECT seq, kind, facts, content FROM event WHERE run = %s AND content IS NOT NULL ORDER BY seq"
_WAITING = f"""
    SELECT {RUN_COLUMNS} FROM run WHERE status NOT IN {SETTLED} AND status = 'waiting_for_approval'
    ORDER BY number LIMIT %s
"""
_DUE_SINCE = "CASE status WHEN 'running' THEN lease_until WHEN 'queued' THEN not_before + %s ELSE expires_at END"
# A run that somebody changes at this moment is theirs, and nobody waits for them here.
_DUE = f"""
    SELECT {RUN_COLUMNS} FROM run
    WHERE status NOT IN {SETTLED}
        AND {_DUE_SINCE} <= coalesce(%s::float8, extract(epoch FROM clock_timestamp())::float8)
    ORDER BY {_DUE_SINCE}, number LIMIT %s
    FOR SHARE SKIP LOCKED
"""
_UNDRIVEN = f"SELECT {RUN_COLUMNS} FROM run WHERE status NOT IN {SETTLED} AND lease_until <= %s ORDER BY number"
_FEED = f"SELECT position, run, {WRITE_COLUMNS} FROM tool_write WHERE position > %s ORDER BY position LIMIT %s"
_WRITES_OF = f"SELECT {WRITE_COLUMNS} FROM tool_write WHERE run = %s ORDER BY position"

_logger = logging.getLogger(__name__)


def run_row(db: psycopg.Connection[Any], run_id: str) -> RunRow | None:
    """The row beside the run's stream, or None when there is no such run."""
    found = rows_of(db, _ROW, codec.escape_nul(run_id))
    return codec.read_run_row(run_columns(found[0])) if found else None


def events(db: psycopg.Connection[Any], sealing: codec.Sealing, run_id: str, after: int) -> tuple[StoredEvent, ...]:
    """The run's events with a number above *after*; never an empty stream for an unreadable one."""
    rows = rows_of(db, _EVENTS, bounded(after), codec.escape_nul(run_id))
    if not rows:
        raise RunUnreadableError(run_id, "there is no such run")
    stream = [] if rows[0][1] is None else [row[1:] for row in rows]
    return codec.read_stream(run_id, rows[0][0], sealing.events(run_id, stream), after)


def contents(db: psycopg.Connection[Any], sealing: codec.Sealing, run_id: str) -> Iterator[Any]:
    """Number, kind, facts and content of the run's events that have content."""
    return sealing.for_redaction(run_id, rows_of(db, _CONTENTS, codec.escape_nul(run_id)))


def waiting_runs(db: psycopg.Connection[Any], limit: int) -> tuple[RunRow, ...]:
    """Runs that wait for an approval, oldest first."""
    return _readable(rows_of(db, _WAITING, bounded(max(limit, 0))))


def due_runs(db: psycopg.Connection[Any], now: float | None, queued_grace: float, limit: int) -> tuple[RunRow, ...]:
    """Runs that upkeep has to look at at the time *now* (None: the server's), longest overdue first."""
    return _readable(rows_of(db, _DUE, queued_grace, now, queued_grace, bounded(max(limit, 0))))


def unreadable_runs(db: psycopg.Connection[Any], now: float, limit: int) -> tuple[UnreadableRun, ...]:
    """Unsettled runs whose row is damaged, and that nobody drives at the time *now*, oldest first."""
    found = (_unreadable(row) for row in rows_of(db, _UNDRIVEN, now) if not _is_readable(row))
    return tuple(itertools.islice((run for run in found if run is not None), max(limit, 0)))


def writes(db: psycopg.Connection[Any], after: int, limit: int) -> tuple[StoredWrite, ...]:
    """The feed above position *after*. Whoever adds to it holds it until the commit, so positions are in order (W4)."""
    rows = rows_of(db, _FEED, bounded(after), bounded(max(limit, 0)))
    return tuple([_stored_write(position, run, codec.read_write(*record)) for position, run, *record in rows])


def writes_of(db: psycopg.Connection[Any], run_id: str) -> tuple[RecordWrite, ...]:
    """The records this run wrote, in order, one entry per record, the last kind counting."""
    rows = rows_of(db, _WRITES_OF, codec.escape_nul(run_id))
    return codec.last_kinds([codec.read_write(*row) for row in rows])


def _stored_write(position: int, run: str, write: RecordWrite) -> StoredWrite:
    return StoredWrite(position, AiRecordWritten(codec.restore_nul(run), write.reference, write.kind))


def _is_readable(row: Any) -> bool:
    try:
        codec.read_run_row(run_columns(row))
    except StoredFormError:
        return False
    return True


def _unreadable(row: Any) -> UnreadableRun | None:
    run_id, owner, conversation = row[:3]
    try:
        return UnreadableRun(codec.restore_nul(run_id), owner, restored(conversation))
    except StoredFormError as error:
        # Nothing that could be named is called so.
        _logger.warning("a run cannot be named: %s", sanitised_chain(error))
        return None


def _readable(rows: list[Any]) -> tuple[RunRow, ...]:
    """A damaged row must not hide the others: it is left out, and said so in the log."""
    found = []
    for row in rows:
        try:
            found.append(codec.read_run_row(run_columns(row)))
        except StoredFormError as error:
            _logger.warning("a run is left out of a list: %s", sanitised_chain(error))
    return tuple(found)
