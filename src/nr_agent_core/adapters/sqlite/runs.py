"""
Runs and their streams, read.
"""

import itertools
import logging
import sqlite3
from collections.abc import Iterator
from typing import Any

from nr_agent_core import codec
from nr_agent_core.adapters.sqlite.reading import WRITE_COLUMNS, bounded, rows_of
from nr_agent_core.adapters.sqlite.schema import SETTLED
from nr_agent_core.domain.errors import RunUnreadableError, StoredFormError
from nr_agent_core.domain.provenance import AiRecordWritten, StoredWrite
from nr_agent_core.domain.sanitiser import sanitised_chain
from nr_agent_core.domain.tool_result import RecordWrite
from nr_agent_core.ports.run_store import RunRow, StoredEvent, UnreadableRun

RUN_COLUMNS = (
    "run.id, run.owner, run.conversation, run.status, run.sequence, run.message, run.created_at, run.lease_until, "
    "run.not_before, run.expires_at, run.reason, run.code, run.error, run.outside"
)

_ROW = f"SELECT {RUN_COLUMNS} FROM run WHERE id = ?"
# The first event comes with every answer: a stream without it is no stream (E5).
_EVENTS = "SELECT seq, kind, facts, content, at FROM event WHERE run = ? AND (seq > ? OR seq = 0) ORDER BY seq"
_CONTENTS = "SELECT seq, kind, facts, content FROM event WHERE run = ? AND content IS NOT NULL ORDER BY seq"
# The plus keeps the table's own order out: the unsettled runs are few and have an index.
_WAITING = f"""
    SELECT {RUN_COLUMNS} FROM run WHERE status NOT IN {SETTLED} AND status = 'waiting_for_approval'
    ORDER BY +number LIMIT ?
"""
_DUE_SINCE = "CASE status WHEN 'running' THEN lease_until WHEN 'queued' THEN not_before + ? ELSE expires_at END"
_DUE = f"""
    SELECT {RUN_COLUMNS}, {_DUE_SINCE} AS since FROM run WHERE status NOT IN {SETTLED} AND since <= ?
    ORDER BY since, number LIMIT ?
"""
_UNDRIVEN = f"SELECT {RUN_COLUMNS} FROM run WHERE status NOT IN {SETTLED} AND lease_until <= ? ORDER BY +number"
_FEED = f"SELECT position, run, {WRITE_COLUMNS} FROM tool_write WHERE position > ? ORDER BY position LIMIT ?"
_WRITES_OF = f"SELECT {WRITE_COLUMNS} FROM tool_write WHERE run = ? ORDER BY position"

_logger = logging.getLogger(__name__)


def run_row(db: sqlite3.Connection, run_id: str) -> RunRow | None:
    """The row beside the run's stream, or None when there is no such run."""
    found = rows_of(db, _ROW, run_id)
    return codec.read_run_row(found[0]) if found else None


def events(db: sqlite3.Connection, sealing: codec.Sealing, run_id: str, after: int) -> tuple[StoredEvent, ...]:
    """The run's events with a number above *after*; never an empty stream for an unreadable one."""
    # The row first: its sequence is at most what the stream then holds.
    known = rows_of(db, "SELECT sequence FROM run WHERE id = ?", run_id)
    if not known:
        raise RunUnreadableError(run_id, "there is no such run")
    rows = sealing.events(run_id, rows_of(db, _EVENTS, run_id, bounded(after)))
    return codec.read_stream(run_id, known[0][0], rows, after)


def contents(db: sqlite3.Connection, sealing: codec.Sealing, run_id: str) -> Iterator[Any]:
    """Number, kind, facts and content of the run's events that have content."""
    return sealing.for_redaction(run_id, rows_of(db, _CONTENTS, run_id))


def waiting_runs(db: sqlite3.Connection, limit: int) -> tuple[RunRow, ...]:
    """Runs that wait for an approval, oldest first."""
    return _readable(rows_of(db, _WAITING, bounded(max(limit, 0))))


def due_runs(db: sqlite3.Connection, now: float, queued_grace: float, limit: int) -> tuple[RunRow, ...]:
    """Runs that upkeep has to look at at the time *now*, longest overdue first."""
    return _readable(rows_of(db, _DUE, queued_grace, now, bounded(max(limit, 0))))


def unreadable_runs(db: sqlite3.Connection, now: float, limit: int) -> tuple[UnreadableRun, ...]:
    """Unsettled runs whose row is damaged, and that nobody drives at the time *now*, oldest first."""
    found = (UnreadableRun(*row[:3]) for row in rows_of(db, _UNDRIVEN, now) if not _is_readable(row))
    return tuple(itertools.islice(found, max(limit, 0)))


def writes(db: sqlite3.Connection, after: int, limit: int) -> tuple[StoredWrite, ...]:
    """The feed above position *after*. Writers take turns, so positions are in commit order (W4)."""
    rows = rows_of(db, _FEED, bounded(after), bounded(max(limit, 0)))
    return tuple([_stored_write(position, run, codec.read_write(*columns)) for position, run, *columns in rows])


def writes_of(db: sqlite3.Connection, run_id: str) -> tuple[RecordWrite, ...]:
    """The records this run wrote, in order, one entry per record, the last kind counting."""
    return codec.last_kinds([codec.read_write(*row) for row in rows_of(db, _WRITES_OF, run_id)])


def _stored_write(position: int, run: str, write: RecordWrite) -> StoredWrite:
    return StoredWrite(position, AiRecordWritten(run, write.reference, write.kind))


def _is_readable(row: Any) -> bool:
    try:
        codec.read_run_row(row[:14])
    except StoredFormError:
        return False
    return True


def _readable(rows: list[Any]) -> tuple[RunRow, ...]:
    """A damaged row must not hide the others: it is left out, and said so in the log."""
    found = []
    for row in rows:
        try:
            found.append(codec.read_run_row(row[:14]))
        except StoredFormError as error:
            _logger.warning("a run is left out of a list: %s", sanitised_chain(error))
    return tuple(found)
