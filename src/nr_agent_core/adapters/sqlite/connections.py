"""
Connections: one per thread and process, opened on first use, never carried across a fork.

What must happen around a fork is in :mod:`.inheritance`.

Writers of one process queue for a lock of their own, because the wait inside SQLite is unfair.
"""

import os
import sqlite3
import threading
import time
import warnings
from types import TracebackType

from nr_agent_core.adapters.sqlite.error_mapping import in_own_words
from nr_agent_core.adapters.sqlite.file_system import NetworkFileSystemWarning, network_file_system
from nr_agent_core.adapters.sqlite.inheritance import hold_inherited_locks, left_alone, watch
from nr_agent_core.adapters.sqlite.schema import bring_up_to_date, mark_sealed, require_ours
from nr_agent_core.domain.errors import StoreUnavailableError

MEMORY = ":memory:"

_writers: dict[tuple[int, str], threading.Lock] = {}


class Owned(sqlite3.Connection):
    """
    A database connection that :class:`Connection` closes, whatever the collector meets first of the two.
    """

    __slots__ = ()

    def __del__(self) -> None:
        # Its owner ends in the same collection and closes it, or leaves it alone after a fork.
        # Newer interpreters would warn here of a connection that nobody closes.
        pass


class Connection:
    """
    What one thread uses: a database connection that is opened when it is entered, and its lock.

    Errors of SQLite leave the ``with`` block in the library's own words.
    """

    __slots__ = ("__weakref__", "_db", "_source", "lock", "pid")

    def __init__(self, source: "Connections") -> None:
        self._source = source
        self._db: sqlite3.Connection | None = None
        self.lock, self.pid = threading.Lock(), os.getpid()
        watch(self)

    def __enter__(self) -> sqlite3.Connection:
        self.lock.acquire()
        return self._db or self._opened()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.lock.release()
        if error is not None:
            self._source.raise_own(error)

    def let_go(self) -> None:
        """Close the database connection, whose lock the caller holds. The next use opens another one."""
        db, self._db = self._db, None
        if db is None:
            return
        if self.pid == os.getpid():
            db.close()
        else:
            left_alone(db, self._source.file)

    def before_fork(self) -> None:
        """Be closed, so that nothing is inherited; a database in memory is not there any more once it is closed."""
        if not self._source.in_memory:
            self.let_go()

    def __del__(self) -> None:
        self.let_go()

    def _opened(self) -> sqlite3.Connection:
        try:
            self._db = self._source.connect()
        except BaseException as error:
            self.lock.release()
            self._source.raise_own(error)
            raise
        return self._db


class WriteTransaction:
    """
    One transaction that writes: all of it is durable after the ``with`` block, or none of it.

    ``durable`` says which, also where the block was interrupted.
    """

    __slots__ = ("_connection", "_db", "_source", "durable")

    def __init__(self, source: "Connections") -> None:
        self._source, self._connection = source, source.of_this_thread()
        self.durable = False

    def __enter__(self) -> sqlite3.Connection:
        source = self._source
        if not source.writer.acquire(timeout=source.patience):
            raise StoreUnavailableError(f"database {source.name!r} is locked by other threads of this process")
        try:
            self._db = self._connection.__enter__()
        except BaseException:
            source.writer.release()
            raise
        try:
            self._db.execute("BEGIN IMMEDIATE")
        except BaseException as error:
            self._end()
            source.raise_own(error)
            raise
        return self._db

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        failure = error
        try:
            if error is None:
                try:
                    self._db.execute("COMMIT")
                    self.durable = True
                except BaseException as refused:  # noqa: BLE001 - raised below, once nothing is open any more
                    failure = refused
                    # A key that is pressed while the disk writes is heard behind the commit.
                    self.durable = not isinstance(refused, sqlite3.Error) and not self._db.in_transaction
            if failure is not None:
                self._roll_back()
        finally:
            self._end()
        if failure is not None:
            self._source.raise_own(failure)
            if failure is not error:
                raise failure

    def _roll_back(self) -> None:
        try:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
        except sqlite3.Error:
            self._connection.let_go()

    def _end(self) -> None:
        self._connection.lock.release()
        self._source.writer.release()


class Connections:
    """
    The connections of one store.

    ``:memory:`` is one database for all threads of the store object, and gone for a forked process.

    Args:
        name: path of the file, or ``:memory:``.
        synchronous: ``FULL`` or ``NORMAL``.
        patience: seconds to wait for a lock before giving up.
        sealed: whether what is stored is encrypted.
    """

    def __init__(self, name: str, synchronous: str, patience: float, *, sealed: bool = False) -> None:
        self.name, self.patience, self.in_memory = name, patience, name == MEMORY
        self._synchronous, self._sealed = synchronous, sealed
        self._local = threading.local()
        self._born = os.getpid()
        self._shared = Connection(self) if self.in_memory else None
        # Said once: what a relative path means must not change with the working directory.
        self.file = name if self.in_memory else os.path.realpath(name)
        self._own_writer = threading.Lock() if self.in_memory else None
        self._network: str | None = None
        self._warned = False

    @property
    def writer(self) -> threading.Lock:
        """The lock that writers of this process queue for, one per file."""
        if self._own_writer is not None:
            return self._own_writer
        key = os.getpid(), self.file
        return _writers.get(key) or _writers.setdefault(key, threading.Lock())

    def of_this_thread(self) -> Connection:
        """What the calling thread uses in this process. Enter it to get the database connection."""
        if self._shared is not None:
            if self._born != os.getpid():
                raise StoreUnavailableError("a database in memory stays in the process that made it; this is a fork")
            return self._shared
        held: Connection | None = getattr(self._local, "held", None)
        if held is None or held.pid != os.getpid():
            held = self._local.held = Connection(self)
        return held

    def raise_own(self, error: BaseException) -> None:
        """Raise the library's error for *error*, if it is a matter of SQLite."""
        own = in_own_words(error, self.name)
        if own is not None:
            raise own from error

    def close(self) -> None:
        """Let go of the calling thread's connection. A database in memory stays until the store is gone."""
        held: Connection | None = getattr(self._local, "held", None)
        if held is not None and held.pid == os.getpid():
            with held.lock:
                held.let_go()

    def connect(self) -> sqlite3.Connection:
        """
        A new connection to a database that is ours and up to date.

        Raises:
            sqlite3.Error: as SQLite reports it.
            NewerFormError: a newer release wrote the database; it was left as it is.
            StoredFormError: it is no database of this library; it was left as it is.
        """
        if self._network is None:
            self._network = "" if self.in_memory else network_file_system(self.file) or ""
        if self._network and not self._warned:
            warnings.warn(
                f"{self.name!r} lies on a network file system ({self._network}), where locks are not kept reliably: "
                "use a local disk",
                NetworkFileSystemWarning,
                stacklevel=2,
            )
            self._warned = True
        hold_inherited_locks(self.file)
        db = sqlite3.connect(
            self.file,
            timeout=self.patience,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
            factory=Owned,
        )
        try:
            version = require_ours(db, self.name)
            db.execute("PRAGMA foreign_keys = ON")
            db.execute("PRAGMA secure_delete = ON")
            db.execute(f"PRAGMA synchronous = {self._synchronous}")
            if not self._network:
                self._write_ahead(db)
            bring_up_to_date(db, self.name, version)
            if self._sealed:
                mark_sealed(db)
        except BaseException:
            db.close()
            raise
        return db

    def _write_ahead(self, db: sqlite3.Connection) -> None:
        """
        Switch to write-ahead logging.

        The wait inside SQLite does not cover this switch when several processes try it at once.
        """
        deadline = time.monotonic() + self.patience
        while db.execute("PRAGMA journal_mode").fetchone()[0] not in ("wal", "memory"):
            try:
                db.execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
                time.sleep(0.005)
            else:
                return
