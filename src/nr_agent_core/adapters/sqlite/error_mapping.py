"""
What SQLite reports, in the library's own errors: the one place where the two meet.
"""

import sqlite3

from nr_agent_core.adapters.sqlite.schema import PLAIN_REFUSED
from nr_agent_core.domain.errors import (
    AgentCoreError,
    AppendOnlyError,
    ContentKeyError,
    InvalidValueError,
    StoredFormError,
    StoreError,
    StoreUnavailableError,
)

_WHAT = {
    sqlite3.SQLITE_BUSY: "is locked by another process",
    sqlite3.SQLITE_LOCKED: "is locked by another connection",
    sqlite3.SQLITE_FULL: "cannot grow: the disk is full",
    sqlite3.SQLITE_IOERR: "cannot be read or written",
    sqlite3.SQLITE_READONLY: "may not be written",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened; its directory must exist and be writable",
    sqlite3.SQLITE_PERM: "may not be used",
    sqlite3.SQLITE_PROTOCOL: "is locked in a way that other processes do not keep to",
    sqlite3.SQLITE_NOMEM: "needs more memory than there is",
    sqlite3.SQLITE_NOLFS: "is larger than its file system can hold",
    sqlite3.SQLITE_INTERRUPT: "was interrupted",
    sqlite3.SQLITE_AUTH: "may not be used like this",
}
_DAMAGED = {
    sqlite3.SQLITE_CORRUPT: "its pages are damaged",
    sqlite3.SQLITE_NOTADB: "it is no database",
    sqlite3.SQLITE_FORMAT: "it is no database of a known format",
}


def in_own_words(error: BaseException, name: str) -> AgentCoreError | None:
    """
    The library's error for what SQLite raised about the file *name*; None for what is no matter of SQLite.

    Neither a statement nor a value is in its text.
    """
    if isinstance(error, UnicodeEncodeError):
        return InvalidValueError("a value to be stored", "half a surrogate pair", "text that UTF-8 can hold")
    if isinstance(error, OverflowError):
        return InvalidValueError("a value to be stored", "a number", "at most 64 bits")
    if not isinstance(error, sqlite3.Error):
        return None
    extended = getattr(error, "sqlite_errorcode", 0)
    code = extended & 0xFF
    if extended == sqlite3.SQLITE_CONSTRAINT_TRIGGER:
        if str(error) == PLAIN_REFUSED:
            return ContentKeyError(PLAIN_REFUSED)
        return AppendOnlyError(f"database {name!r}: {error}")
    if code in _DAMAGED:
        return StoredFormError(f"database {name!r}", _DAMAGED[code])
    if code in _WHAT:
        return StoreUnavailableError(f"database {name!r} {_WHAT[code]} ({error})")
    return StoreError(f"database {name!r}: {type(error).__name__}: {error}")
