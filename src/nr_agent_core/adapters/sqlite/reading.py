"""
What every read has in common.
"""

import sqlite3
from typing import Any, Final

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
