"""
The tables of a store, opened to be read only: nothing is made, brought up to date or changed.
"""

import contextlib
import sqlite3
import time
from pathlib import Path
from typing import Any, Final, Protocol
from urllib.parse import quote

from nr_agent_core.cli.stores.address import POSTGRES, StoreAddress, UnusableError
from nr_agent_core.domain.errors import AgentCoreError

_PATIENCE: Final = 5.0
_MAGIC: Final = b"SQLite format 3\0"
_WAL: Final = 2


class Tables(Protocol):
    """
    What both kinds of store are asked, in statements that both understand; values stand for question marks.
    """

    @property
    def name(self) -> str:
        """What the store is called in texts."""
        ...

    @property
    def version(self) -> int:
        """The version of its schema; 0: no tables yet."""
        ...

    @property
    def newest_version(self) -> int:
        """The version that this release makes."""
        ...

    def now(self) -> float:
        """The store's time."""
        ...

    def ask(self, statement: str, *values: object) -> list[Any]:
        """
        The rows that *statement* finds.

        Raises:
            StoreError: in the library's own words, without values.
        """
        ...

    def run_columns(self, row: Any) -> Any:
        """The columns of a run's row, with its ids as they were given."""
        ...

    def message_columns(self, row: Any) -> Any:
        """The columns of a message's row, with its run's id as it was given."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


def opened(address: StoreAddress) -> "SqliteTables | PostgresTables":
    """
    The tables at *address*.

    Raises:
        UnusableError: they cannot be read: not there, locked, damaged from its first page on, a newer
            release's, or somebody else's.
    """
    try:
        return PostgresTables(address) if address.kind == POSTGRES else SqliteTables(address.where)
    except AgentCoreError as error:
        raise UnusableError(str(error)) from error
    except ModuleNotFoundError as error:
        raise UnusableError(error.msg) from error


class SqliteTables:
    """
    The tables in a SQLite file. The file is not touched, and no other file is made beside it.
    """

    def __init__(self, path: str) -> None:
        from nr_agent_core.adapters.sqlite import schema

        self.path, self.name = path, f"database {path!r}"
        self.newest_version = len(schema.STEPS)
        with self._own_words():
            self.db = sqlite3.connect(_uri(Path(path)), uri=True, timeout=_PATIENCE, isolation_level=None)
        try:
            with self._own_words():
                self.db.execute("PRAGMA query_only = ON")
                self.version = schema.require_ours(self.db, path)
        except BaseException:
            self.db.close()
            raise

    def now(self) -> float:
        """The machine's time."""
        return time.time()

    def ask(self, statement: str, *values: object) -> list[Any]:
        """The rows that *statement* finds."""
        with self._own_words():
            return self.db.execute(statement, values).fetchall()

    def run_columns(self, row: Any) -> Any:
        """As they are."""
        return row

    def message_columns(self, row: Any) -> Any:
        """As they are."""
        return row

    def close(self) -> None:
        """Close the file."""
        self.db.close()

    @contextlib.contextmanager
    def _own_words(self) -> Any:
        from nr_agent_core.adapters.sqlite.error_mapping import in_own_words

        try:
            yield
        except sqlite3.Error as error:
            own = in_own_words(error, self.path)
            assert own is not None
            raise own from error


def _uri(path: Path) -> str:
    """
    A file in write-ahead mode without its log is in nobody's hands: it is read as it lies there. SQLite
    would make the log and one more file first.
    """
    try:
        with path.open("rb") as file:
            head = file.read(20)
    except IsADirectoryError:
        raise UnusableError(f"{str(path)!r} is a directory, not a file") from None
    except OSError as error:
        raise UnusableError(f"file {str(path)!r} cannot be read: {error.strerror}") from None
    if not head:
        raise UnusableError(f"file {str(path)!r} is empty: no store was made in it yet")
    if not head.startswith(_MAGIC):
        raise UnusableError(f"file {str(path)!r} is no SQLite database")
    alone = head[18:19] == bytes([_WAL]) and not Path(f"{path}-wal").exists()
    return f"file:{quote(str(path.resolve()))}?mode=ro" + ("&immutable=1" if alone else "")


class PostgresTables:
    """
    The tables in a schema of a PostgreSQL database, on a connection that can only read.
    """

    def __init__(self, address: StoreAddress) -> None:
        import psycopg

        from nr_agent_core.adapters.postgres import PostgresStore, connections, error_mapping, schema

        PostgresStore(address.where, schema=address.schema)  # refuses what cannot be right, and connects to nothing
        conninfo, database = connections.understood(address.where, _PATIENCE)
        self.schema, self.name = address.schema, f"database {database!r} (schema {address.schema!r})"
        self.newest_version, self._own_words = len(schema.STEPS), error_mapping.in_own_words
        self._errors = psycopg.Error
        try:
            self.db = psycopg.connect(conninfo, autocommit=True)
        except psycopg.Error as error:
            raise self._own(error) from error
        try:
            self.db.execute("SET default_transaction_read_only = on")
            self.db.execute(
                "SELECT set_config('search_path', quote_ident(%s) || ', pg_temp', false), "
                "set_config('lock_timeout', '5000', false)",
                (address.schema,),
            )
            self.version = schema.require_ours(self.db, address.schema)
        except psycopg.Error as error:
            self.db.close()
            raise self._own(error) from error
        except BaseException:
            self.db.close()
            raise

    def now(self) -> float:
        """The server's time."""
        return float(self.ask("SELECT extract(epoch FROM clock_timestamp())::float8")[0][0])

    def ask(self, statement: str, *values: object) -> list[Any]:
        """The rows that *statement* finds."""
        try:
            # Without values nothing is bound, and a per cent sign is one.
            return self.db.execute(statement.replace("?", "%s").encode(), values or None).fetchall()
        except self._errors as error:
            raise self._own(error) from error

    def run_columns(self, row: Any) -> Any:
        """NUL, which no column can hold, is given back."""
        from nr_agent_core.adapters.postgres.reading import run_columns

        return run_columns(row)

    def message_columns(self, row: Any) -> Any:
        """NUL, which no column can hold, is given back."""
        from nr_agent_core.adapters.postgres.reading import message_row

        return message_row(row)

    def close(self) -> None:
        """Close the connection."""
        self.db.close()

    def _own(self, error: Exception) -> AgentCoreError:
        own = self._own_words(error, self.name.removeprefix("database "))
        assert own is not None
        return own
