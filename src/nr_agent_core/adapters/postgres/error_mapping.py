"""
What PostgreSQL reports, in the library's own errors: the one place where the two meet.
"""

import psycopg
from psycopg_pool import PoolClosed, PoolTimeout, TooManyRequests

from nr_agent_core.adapters.postgres.schema import APPEND_ONLY, PLAIN_REFUSED
from nr_agent_core.domain.errors import (
    AgentCoreError,
    AppendOnlyError,
    ContentKeyError,
    InvalidValueError,
    StoredFormError,
    StoreError,
    StoreUnavailableError,
)

# By the whole state, then by its class, the first two characters.
_UNAVAILABLE = {
    "25006": "takes no writes: it is a copy, or was made read-only",
    "25P03": "ended a transaction that stood still too long",
    "3D000": "is not there",
    "42501": "may not be used like this by its user",
    "40001": "was too busy: transactions kept overtaking each other",
    "40P01": "was too busy: transactions kept waiting for each other",
    "53100": "cannot grow: the disk is full",
    "53300": "takes no more connections",
    "55P03": "is locked by another transaction",
    "57014": "was told to give up the statement",
    "57P01": "is being stopped",
    "57P02": "stopped after a failure of its server",
    "57P03": "is not ready yet",
    "57P05": "ended an idle connection",
    "08": "cannot be reached",
    "28": "may not be used by this user",
    "53": "has too little of something",
    "55": "is in use",
    "57": "was interrupted",
    "58": "cannot be read or written",
}
_DAMAGED = {"XX001": "its pages are damaged", "XX002": "an index is damaged"}
_REPEATABLE = {"40001", "40P01"}
# A server that was made a copy takes no writes; another one of the connection string may.
_LOST = {"25006", "57P01", "57P02", "57P03", "57P05", "25P03"}
_STALE = {"0A000", "26000"}
_CHANGED = {"3F000", "42P01", "42703", "42883"}


def in_own_words(error: BaseException, name: str) -> AgentCoreError | None:
    """
    The library's error for what was raised about the database *name*; None for what is no matter of PostgreSQL.

    Neither a statement, nor a value, nor anything of the connection string but *name* is in its text.
    """
    if isinstance(error, UnicodeEncodeError):
        return InvalidValueError("a value to be stored", "half a surrogate pair", "text that UTF-8 can hold")
    if isinstance(error, OverflowError):
        return InvalidValueError("a value to be stored", "a number", "at most 64 bits")
    if isinstance(error, PoolTimeout | PoolClosed | TooManyRequests):
        return StoreUnavailableError(f"database {name} had no connection to spare in time")
    if not isinstance(error, psycopg.Error):
        return None
    state = error.sqlstate
    if state is None:
        # Said by the client: what it says may quote the connection string.
        if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
            return StoreUnavailableError(f"database {name} cannot be reached, or the connection broke")
        if isinstance(error, psycopg.DataError):
            return InvalidValueError("a value to be stored", "a value", "what a column can hold")
        return StoreError(f"database {name}: {type(error).__name__}")
    if state == PLAIN_REFUSED:
        return ContentKeyError(f"content is encrypted in database {name}, and this store has no cipher")
    if state == APPEND_ONLY:
        return AppendOnlyError(f"database {name}: {error.diag.message_primary}")
    if state in _DAMAGED:
        return StoredFormError(f"database {name}", _DAMAGED[state])
    if state[:2] in {"22", "54"}:
        return InvalidValueError("a value to be stored", f"a value that is refused ({state})", "what a column can hold")
    why = _UNAVAILABLE.get(state) or _UNAVAILABLE.get(state[:2])
    if why is not None:
        return StoreUnavailableError(f"database {name} {why} ({state})")
    return StoreError(f"database {name}: {type(error).__name__} ({state})")


def is_repeatable(error: psycopg.Error) -> bool:
    """Whether the server rolled a transaction back that may well succeed the next time."""
    return error.sqlstate in _REPEATABLE


def is_lost(error: psycopg.Error) -> bool:
    """Whether the connection, not the statement, was at fault."""
    return error.sqlstate in _LOST or (error.sqlstate is None and isinstance(error, psycopg.OperationalError))


def is_stale(error: psycopg.Error) -> bool:
    """Whether a statement that was prepared is not there any more, or was prepared for other tables."""
    return error.sqlstate in _STALE


def is_changed(error: psycopg.Error) -> bool:
    """Whether the tables are not what they were when the connection was set up."""
    return error.sqlstate in _CHANGED
