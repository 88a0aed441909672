"""
The statements of a commit. Each runs inside a transaction that somebody else opened.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import assert_never

from nr_agent_core import codec
from nr_agent_core.adapters.sqlite.schema import SETTLED
from nr_agent_core.domain.errors import (
    ConversationBusyError,
    IllegalMoveError,
    InvalidValueError,
    LeaseHeldError,
    NotFoundError,
    StaleAppendError,
    StoredFormError,
)
from nr_agent_core.domain.run_status import RunStatus
from nr_agent_core.ports.unit_of_work import OpenConversation

_OPEN = "INSERT INTO conversation(id, owner, created_at) VALUES (?, ?, ?) ON CONFLICT(id) DO NOTHING"
# Written as the first row of an order: an aggregate here would walk the whole conversation.
_NEXT = "SELECT coalesce((SELECT position FROM message WHERE conversation = ? ORDER BY position DESC LIMIT 1), -1) + 1"
# One statement finds the next position, compares it with the expected one and takes it.
_ADD = f"""
    INSERT INTO message(conversation, position, role, run, at, tokens, notices, text)
    SELECT ?, next, ?, ?, ?, ?, ?, ? FROM ({_NEXT} AS next) WHERE ? IS NULL OR next = ?
"""
_BEGIN = f"""
    INSERT INTO run(id, owner, conversation, status, sequence, message, created_at,
                    lease_until, not_before, expires_at, reason, code, error, outside, declined)
    SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?
    WHERE ? IS NULL OR NOT EXISTS (SELECT 1 FROM run WHERE conversation = ? AND status NOT IN {SETTLED})
"""
_GO_ON = """
    UPDATE run SET status = ?, sequence = ?, lease_until = coalesce(?, lease_until),
                   not_before = coalesce(?, not_before), expires_at = ?,
                   reason = ?, code = ?, error = ?, outside = ?, declined = coalesce(?, declined)
    WHERE id = ? AND sequence = ?
"""
# The one place where a lease is read (R8).
_CLAIM = _GO_ON + "AND (status = 'queued' AND not_before <= ? OR status = 'running' AND lease_until <= ?)"
_EVENTS = "INSERT INTO event(run, seq, kind, at, facts, content) VALUES "
_EVENT = "(?, ?, ?, ?, ?, ?)"
_AT_ONCE = 32
"""Events of one statement; a segment brings a handful."""
_WRITE = """
    INSERT INTO tool_write(run, conversation, seq, record_table, record_uid, uid_type, kind)
    VALUES (?, ?, ?, ?, ?, ?, ?)
"""
_FORGET = "UPDATE event SET content = NULL WHERE run = ? AND content IS NOT NULL"
_REDACT = "UPDATE event SET content = ? WHERE run = ? AND seq = ?"
_STANDING = "SELECT sequence, status, not_before, lease_until FROM run WHERE id = ?"
# Whatever made the row unreadable is mended with it.
_END = """
    UPDATE run SET sequence = ?, status = ?, reason = ?, code = ?, error = ?, outside = ?,
                   lease_until = 0.0, expires_at = NULL
    WHERE id = ?
"""


def store_change(db: sqlite3.Connection, columns: codec.ChangeColumns, now: float) -> None:
    """
    Store one change at the time *now* (see the port for what is refused, and how).
    """
    match columns:
        case codec.AppendColumns():
            _append(db, columns, now)
        case codec.AddColumns(conversation, messages, expected):
            if expected is not None:
                _require_length(db, conversation, expected)
            for message in messages:
                _add(db, conversation, message, now)
        case OpenConversation(conversation, owner):
            if not db.execute(_OPEN, (conversation, owner, now)).rowcount:
                raise ConversationBusyError(conversation)
        case codec.LetGoColumns():
            _let_go(db, columns, now)
        case _:
            assert_never(columns)


@contextmanager
def rewriting(db: sqlite3.Connection) -> Iterator[None]:
    """Content that is there may be rewritten inside, in a transaction that somebody else opened."""
    db.execute("INSERT INTO mark VALUES ('rewriting')")
    yield
    db.execute("DELETE FROM mark WHERE name = 'rewriting'")


def next_position(db: sqlite3.Connection, conversation: str) -> int:
    """The position of the next message of *conversation*."""
    return int(db.execute(_NEXT, (conversation,)).fetchone()[0])


def _raise_refusal_of_plain(error: sqlite3.IntegrityError) -> None:
    if error.sqlite_errorcode == sqlite3.SQLITE_CONSTRAINT_TRIGGER:
        raise error


def _add(db: sqlite3.Connection, conversation: str, message: codec.MessageColumns, now: float) -> None:
    expected = message.expected
    row = (message.role, message.run_id, now, message.tokens, message.notices, message.text)
    values = (conversation, *row, conversation, expected, expected)
    try:
        if db.execute(_ADD, values).rowcount:
            return
    except sqlite3.IntegrityError as error:
        _raise_refusal_of_plain(error)
    _require_conversation(db, conversation)
    following = next_position(db, conversation)
    if expected is None or expected < following:
        raise ConversationBusyError(conversation)
    raise InvalidValueError(f"the position of a message in {conversation!r}", expected, f"{following}")


def _require_length(db: sqlite3.Connection, conversation: str, expected: int) -> None:
    _require_conversation(db, conversation)
    if next_position(db, conversation) != expected:
        raise ConversationBusyError(conversation)


def _require_conversation(db: sqlite3.Connection, conversation: str) -> None:
    if db.execute("SELECT 1 FROM conversation WHERE id = ?", (conversation,)).fetchone() is None:
        raise NotFoundError("conversation", conversation)


def _append(db: sqlite3.Connection, columns: codec.AppendColumns, now: float) -> None:
    run = columns.run
    if columns.expected == 0:
        _begin(db, columns, now)
    else:
        _go_on(db, columns, now)
        if columns.forgets:
            db.execute(_FORGET, (run.id,))
        if columns.redacted:
            with rewriting(db):
                db.executemany(_REDACT, [(content, run.id, number) for number, content in columns.redacted])
    try:
        for start in range(0, len(columns.events), _AT_ONCE):
            values: list[object] = []
            for number, kind, facts, content in columns.events[start : start + _AT_ONCE]:
                values += (run.id, number, kind, now, facts, content)
            db.execute(_EVENTS + ", ".join([_EVENT] * (len(values) // 6)), values)
    except sqlite3.IntegrityError as error:
        _raise_refusal_of_plain(error)
        raise StoredFormError(f"run {run.id!r}", "its stream is longer than its row says") from None
    for number, write in columns.writes:
        db.execute(_WRITE, (run.id, run.conversation, number, *codec.write_columns(write)))


def _state(columns: codec.AppendColumns, now: float) -> list[object]:
    state = list(codec.state_at(columns, now))
    state[5] = state[5] and codec.escape_nul(state[5])
    return state


def _begin(db: sqlite3.Connection, columns: codec.AppendColumns, now: float) -> None:
    run = columns.run
    until, due, *state = _state(columns, now)
    values = (
        *(run.id, run.owner, run.conversation, columns.status.value, run.sequence, run.message, now),
        *(until or 0.0, due or 0.0, *state),
        *(run.conversation, run.conversation),
    )
    try:
        if db.execute(_BEGIN, values).rowcount:
            return
    except sqlite3.IntegrityError:
        pass
    standing = db.execute(_STANDING, (run.id,)).fetchone()
    if standing is not None:
        raise StaleAppendError(run.id, 0, standing[0])
    conversation = run.conversation or ""
    _require_conversation(db, conversation)
    raise ConversationBusyError(conversation)


def _go_on(db: sqlite3.Connection, columns: codec.AppendColumns, now: float) -> None:
    run, expected = columns.run, columns.expected
    values = (columns.status.value, run.sequence, *_state(columns, now), run.id, expected)
    changed = db.execute(_CLAIM, (*values, now, now)) if columns.claims else db.execute(_GO_ON, values)
    if changed.rowcount:
        return
    standing = db.execute(_STANDING, (run.id,)).fetchone()
    if standing is None or standing[0] != expected:
        raise StaleAppendError(run.id, expected, 0 if standing is None else standing[0])
    _, status, not_before, lease_until = standing
    if status not in (RunStatus.QUEUED.value, RunStatus.RUNNING.value):
        raise IllegalMoveError(run.id, status, "claimed")
    raise LeaseHeldError(run.id, not_before if status == RunStatus.QUEUED.value else lease_until)


def _let_go(db: sqlite3.Connection, columns: codec.LetGoColumns, now: float) -> None:
    run_id = columns.run_id
    # A row that is damaged itself is unsettled as long as it does not say that it is settled.
    found = db.execute(f"SELECT sequence FROM run WHERE id = ? AND status NOT IN {SETTLED}", (run_id,)).fetchone()
    if found is None:
        return
    (stored,) = db.execute("SELECT coalesce(max(seq) + 1, 0) FROM event WHERE run = ?", (run_id,)).fetchone()
    number = max(found[0], stored)
    code, error = columns.code and columns.code.value, columns.error and codec.escape_nul(columns.error)
    said = (columns.status.value, columns.reason.value, code, error, columns.outside)
    db.execute(_END, (number + 1, *said, run_id))
    db.execute(_FORGET, (run_id,))
    db.execute(_EVENTS + _EVENT, (run_id, number, columns.kind, now, columns.facts, None))
