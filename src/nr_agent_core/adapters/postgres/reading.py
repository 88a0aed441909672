"""
What every read has in common.
"""

from collections.abc import Sequence
from typing import Any, Final

import psycopg

from nr_agent_core import codec

MESSAGE_COLUMNS: Final = "position, role, text, run, at, tokens, notices"
WRITE_COLUMNS: Final = "record_table, record_uid, uid_type, kind"
RUN_COLUMNS: Final = (
    "run.id, run.owner, run.conversation, run.status, run.sequence, run.message, run.created_at, run.lease_until, "
    "run.not_before, run.expires_at, run.reason, run.code, run.error, run.outside"
)
_LARGEST = 2**63 - 1
_RUN_OF_MESSAGE = 3


def rows_of(db: psycopg.Connection[Any], statement: str, *values: object) -> list[Any]:
    """
    The rows that *statement* finds. What no column can hold is not there.
    """
    try:
        return db.execute(statement.encode(), values).fetchall()
    except UnicodeEncodeError:
        return []


def bounded(number: int) -> int:
    """
    *number*, or the nearest one that a column can be compared with.
    """
    return min(max(number, -1), _LARGEST)


def restored(text: str | None) -> str | None:
    """
    The id, or None, that a column holds: NUL, which no column can hold, is written in two characters (P3).
    """
    return text if text is None else codec.restore_nul(text)


def message_row(row: Sequence[Any]) -> Sequence[Any]:
    """
    A row that begins with :data:`MESSAGE_COLUMNS`, with the run's id as it was given.
    """
    run = row[_RUN_OF_MESSAGE]
    if run is None or "\x10" not in run:
        return row
    return (*row[:_RUN_OF_MESSAGE], codec.restore_nul(run), *row[_RUN_OF_MESSAGE + 1 :])


def run_columns(row: Sequence[Any]) -> list[Any]:
    """
    :data:`RUN_COLUMNS` of a row that begins with them, with ids as they were given.
    """
    run_id, owner, conversation, *rest = row[:14]
    return [restored(run_id), restored(owner), restored(conversation), *rest]
