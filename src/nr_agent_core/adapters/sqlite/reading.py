"""
What every read has in common.
"""

import sqlite3
from typing import Any, Final

from nr_agent_core import codec
from nr_agent_core.domain.conversation import Message, MessageRole
from nr_agent_core.domain.errors import StoredFormError
from nr_agent_core.domain.tool_result import RecordReference, RecordWrite, WriteKind

MESSAGE_COLUMNS: Final = "position, role, text, run, at, tokens, notices"
WRITE_COLUMNS: Final = "record_table, record_uid, uid_type, kind"
_LARGEST = 2**63 - 1


def rows_of(db: sqlite3.Connection, statement: str, *values: object) -> list[Any]:
    """
    The rows that *statement* finds. What no column can hold is not there.
    """
    try:
        return db.execute(statement, values).fetchall()
    except UnicodeEncodeError:
        return []


def bounded(number: int) -> int:
    """
    *number*, or the nearest one that SQLite can compare with.
    """
    return min(max(number, -1), _LARGEST)


def read_message(row: Any) -> Message:
    """
    The message in a row of :data:`MESSAGE_COLUMNS`.

    Raises:
        StoredFormError: the row is damaged.
    """
    position, role, text, run, at, tokens, notices = row[:7]
    return Message(
        position,
        codec.member(MessageRole, role, "role of a message"),
        codec.restore_nul(text),
        run,
        at,
        tokens,
        codec.load_notices(notices) if notices is not None else (),
    )


def read_write(table: str, uid: str, uid_type: str, kind: str) -> RecordWrite:
    """
    The record in :data:`WRITE_COLUMNS`, and what became of it.

    Raises:
        StoredFormError: the row is damaged.
    """
    try:
        known: int | str = {"int": int, "str": str}[uid_type](uid)
        return RecordWrite(RecordReference(table, known), codec.member(WriteKind, kind, "entry of the feed"))
    except (KeyError, ValueError):
        raise StoredFormError("entry of the feed", "it names no record") from None


def last_kinds(writes: list[RecordWrite]) -> tuple[RecordWrite, ...]:
    """
    One entry per record, in order, the last kind counting (M5).
    """
    kinds = {write.reference: write for write in writes}
    return tuple(kinds.values())
