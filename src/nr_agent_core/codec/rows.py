"""
Rows of a store beside its streams, as every store in SQL has them: written and read in one way.
"""

from collections.abc import Sequence
from typing import Any

from nr_agent_core.codec.columns import AppendColumns
from nr_agent_core.codec.forms import load, load_notices, member, restore_nul
from nr_agent_core.domain.conversation import Message, MessageRole
from nr_agent_core.domain.errors import RunUnreadableError, StoredFormError
from nr_agent_core.domain.run_events import Started
from nr_agent_core.domain.run_status import RunStatus
from nr_agent_core.domain.tool_result import RecordReference, RecordWrite, WriteKind
from nr_agent_core.ports.run_store import StoredEvent


def read_message(row: Any) -> Message:
    """
    The message in a row that begins with position, role, text, run, at, tokens, notices.

    Raises:
        StoredFormError: the row is damaged.
    """
    position, role, text, run, at, tokens, notices = row[:7]
    return Message(
        position,
        member(MessageRole, role, "role of a message"),
        restore_nul(text),
        run,
        at,
        tokens,
        load_notices(notices) if notices is not None else (),
    )


def read_write(table: str, uid: str, uid_type: str, kind: str) -> RecordWrite:
    """
    The record in an entry of the feed, and what became of it.

    Raises:
        StoredFormError: the row is damaged.
    """
    try:
        known: int | str = {"int": int, "str": str}[uid_type](uid)
        return RecordWrite(RecordReference(table, known), member(WriteKind, kind, "entry of the feed"))
    except (KeyError, ValueError):
        raise StoredFormError("entry of the feed", "it names no record") from None


def write_columns(write: RecordWrite) -> tuple[str, str, str, str]:
    """What :func:`read_write` reads."""
    # As text, with its type beside it: a number may be larger than any column.
    uid = write.reference.uid
    return write.reference.table, str(uid), type(uid).__name__, write.kind.value


def last_kinds(writes: list[RecordWrite]) -> tuple[RecordWrite, ...]:
    """
    One entry per record, in order, the last kind counting (M5).
    """
    kinds = {write.reference: write for write in writes}
    return tuple(kinds.values())


def read_stream(run_id: str, sequence: int, rows: Sequence[Any], after: int) -> tuple[StoredEvent, ...]:
    """
    The events above *after* of a run at *sequence*, from rows of number, kind, facts, content and time
    in order, which hold the first event of the stream in any case.

    Raises:
        RunUnreadableError: the stream does not begin with ``started``, or an event is missing (E5).
        StoredFormError: an event is damaged or newer (E6).
    """
    if not rows or rows[0][0] != 0 or rows[0][1].partition(".")[0] != Started.kind:
        raise RunUnreadableError(run_id, "its stream does not begin with 'started'")
    first = max(after, -1) + 1
    shown = rows[1:] if after >= 0 else rows
    if [row[0] for row in shown] != list(range(first, max(first + len(shown), sequence))):
        raise RunUnreadableError(run_id, "an event of its stream is missing")
    return tuple([StoredEvent(number, load(kind, facts, content), at) for number, kind, facts, content, at in shown])


def state_at(columns: AppendColumns, now: float) -> tuple[Any, ...]:
    """
    What the row of a run says after an append at the time *now*: lease, due time, expiry, reason,
    code, error, whether from outside, denied tools. None of lease and due time: as it was.
    """
    run, lease = columns.run, columns.lease_for
    until, due = None, None
    if lease is not None:
        until = now + lease if columns.status is RunStatus.RUNNING else 0.0
        due = max(run.not_before, now) if columns.status is RunStatus.QUEUED else run.not_before
    return (
        until,
        due,
        columns.expires_at,
        run.reason and run.reason.value,
        run.code and run.code.value,
        run.error,
        run.outside,
        # The names of tools hold no blanks.
        columns.declined and " ".join(columns.declined),
    )
