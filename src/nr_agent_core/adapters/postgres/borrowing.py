"""
A transaction that somebody else opened and will end.
"""

from collections.abc import Callable
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus
from psycopg.rows import tuple_row

from nr_agent_core.domain.errors import InvalidValueError

_POINT = b"nr_agent_core"
_PATH = b"SELECT current_setting('search_path')"
_OURS = b"SELECT set_config('search_path', quote_ident(%s) || ', pg_temp', true)"
_THEIRS = b"SELECT set_config('search_path', %s, true)"
_WANTED = "a psycopg connection to the store's database, with a transaction open"


def borrowed(
    connection: object,
    schema: str,
    act: Callable[[psycopg.Connection[Any]], None],
    raise_own: Callable[[BaseException], None],
) -> None:
    """
    Have *act* done on *connection* with the tables of *schema* in sight: all of it, or nothing.

    The transaction stays open, and usable when *act* was refused; what its owner set is as it was.

    Args:
        connection: the owner's.
        schema: the store's.
        act: stores something.
        raise_own: raises the library's error for one of the database.

    Raises:
        InvalidValueError: it is no such connection. Nothing was stored.
    """
    if not isinstance(connection, psycopg.Connection):
        raise InvalidValueError("the connection of a transaction", type(connection).__name__, _WANTED)
    status = connection.info.transaction_status
    idle = status is TransactionStatus.IDLE and connection.autocommit
    if idle or status not in (TransactionStatus.IDLE, TransactionStatus.INTRANS):
        raise InvalidValueError("the connection of a transaction", f"one that is {status.name.lower()}", _WANTED)
    rows = connection.row_factory
    connection.row_factory = tuple_row
    try:
        connection.execute(b"SAVEPOINT " + _POINT)
        try:
            (path,) = connection.execute(_PATH).fetchone() or ("",)
            connection.execute(_OURS, (schema,))
            act(connection)
            connection.execute(_THEIRS, (path,))
        except BaseException:
            if not connection.broken:
                connection.execute(b"ROLLBACK TO SAVEPOINT " + _POINT)
                connection.execute(b"RELEASE SAVEPOINT " + _POINT)
            raise
        connection.execute(b"RELEASE SAVEPOINT " + _POINT)
    except (psycopg.Error, UnicodeEncodeError, OverflowError) as error:
        raise_own(error)
        raise
    finally:
        connection.row_factory = rows
