"""
Connections: a pool per store and process, made on first use, never carried across a fork.

What must happen around a fork is in :mod:`.inheritance`.
"""

import os
import re
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.types.numeric import Int8Dumper
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from nr_agent_core.adapters.postgres.error_mapping import in_own_words, is_changed, is_lost, is_repeatable, is_stale
from nr_agent_core.adapters.postgres.inheritance import left_alone, notice_fork, watch
from nr_agent_core.adapters.postgres.schema import bring_up_to_date, mark_sealed
from nr_agent_core.domain.errors import InvalidValueError, StoreError, StoreUnavailableError

_T = TypeVar("_T")
_TURN, _TURN_WHILE_AWAY = 1.0, 0.25
"""Seconds after which somebody who waits for a connection asks anew whether one can be opened by now."""
_TRIES = 4
"""How often one piece of work is begun, at most, on a connection that was there when it began."""

_OLDEST = 12_00_00
_AT_IN_PATH = re.compile(r"\w+://[^/]*/[^?]*@")

# Temporary tables come last: none may take the place of one of ours.
_SETTINGS = """
    SELECT set_config('search_path', quote_ident(%(schema)s) || ', pg_temp', false),
        set_config('default_transaction_isolation', 'read committed', false),
        set_config('default_transaction_read_only', 'off', false),
        set_config('lock_timeout', %(patience)s, false),
        set_config('idle_in_transaction_session_timeout', %(idle)s, false),
        set_config('synchronous_commit', CASE
            WHEN %(lazy)s THEN 'off'
            WHEN current_setting('synchronous_commit') = 'off' THEN 'on'
            ELSE current_setting('synchronous_commit') END, false)
"""

_making: dict[int, threading.Lock] = {}
"""By process: the lock of a parent may be held for ever by a thread that is not there."""


class Attempts:
    """
    What became of a pool's attempts to connect.
    """

    failure: BaseException | None = None
    """Why the last one failed; None: it did not."""
    connected = False
    """Whether one of them ever succeeded."""


class Session(psycopg.Connection[tuple[Any, ...]]):
    """
    A connection, and whether it was set up.
    """

    ready = False

    @classmethod
    def connect(cls, *args: Any, attempts: Attempts | None = None, **options: Any) -> "Session":  # type: ignore[override]
        """A new connection of this process."""
        noted = attempts or Attempts()
        try:
            session = super().connect(*args, **options)
        except BaseException as error:
            noted.failure = error
            raise
        noted.failure, noted.connected = None, True
        watch(session)
        return session


class Connections:
    """
    The connections of one store.

    Args:
        dsn: how to reach the database, as libpq understands it.
        schema: where the tables are.
        lazy: whether a commit need not wait for the disk.
        patience: seconds to wait for a connection, and for a lock, before giving up.
        most: connections of one process at one time.
        sealed: whether what is stored is encrypted.

    Raises:
        InvalidValueError: the connection string is none. It is not quoted: it may hold a password.
    """

    def __init__(self, dsn: str, *, schema: str, lazy: bool, patience: float, most: int, sealed: bool = False) -> None:
        self._conninfo, database = understood(dsn, patience)
        self.name = f"{database!r} (schema {schema!r})"
        self.schema, self.patience = schema, patience
        self.dsn = self._conninfo
        self._most, self._sealed = most, sealed
        milliseconds = str(max(int(patience * 1000), 1))
        self._settings = {
            "schema": schema,
            "patience": milliseconds,
            "idle": str(max(int(patience * 2000), 1000)),
            "lazy": lazy,
        }
        self._held: _Held | None = None

    def work(self, act: Callable[[Session], _T], *, spoilt: Callable[[], bool] = lambda: False) -> _T:
        """
        What *act* returns with a connection that is set up; begun again when the connection turns
        out to be gone, or the server rolled back what may succeed the next time.

        Args:
            act: leaves no transaction open that it could end.
            spoilt: whether what *act* did may stand, so that it must not be begun again.

        Raises:
            StoreError: the database could not do it.
        """
        deadline, tries = time.monotonic() + self.patience, _TRIES
        while True:
            pool, session = self._take(deadline)
            used_before = session.ready
            try:
                return act(self._ready(session))
            except psycopg.Error as error:
                lost = is_lost(error) or session.broken
                # One that lay idle may have been cut long ago; the next may be another of them.
                tries -= not (lost and used_before)
                self._let_go(session, error, lost=lost)
                again = lost or is_stale(error) or is_repeatable(error)
                if not again or not tries or spoilt() or time.monotonic() > deadline:
                    self.raise_own(error)
                    raise
            except (UnicodeEncodeError, OverflowError) as error:
                self.raise_own(error)
                raise
            finally:
                pool.putconn(session)

    def raise_own(self, error: BaseException) -> None:
        """Raise the library's error for *error*, if it is a matter of PostgreSQL."""
        own = in_own_words(error, self.name)
        if own is not None:
            raise own from error

    def apart(self) -> Session:
        """A new connection of its own, set up, to be closed by the caller."""
        try:
            session = Session.connect(self._conninfo, autocommit=True)
        except psycopg.Error as error:
            raise StoreUnavailableError(f"database {self.name} cannot be reached") from error
        try:
            return self._ready(session)
        except psycopg.Error as error:
            session.close()
            self.raise_own(error)
            raise
        except BaseException:
            session.close()
            raise

    def close(self) -> None:
        """Close all connections of this process; those at work, once they are done. The next use opens others."""
        with _lock():
            held, self._held = self._held, None
        if held is not None:
            held.end()

    # ------------------------------------------------------------------------------------ the pool

    @staticmethod
    def _let_go(session: Session, error: psycopg.Error, *, lost: bool) -> None:
        """What was prepared for other tables does not work any more; what the tables are is looked at again."""
        if lost or is_stale(error):
            session.close()
        elif is_changed(error):
            session.ready = False

    def _take(self, deadline: float) -> tuple[ConnectionPool[Session], Session]:
        """A connection that nobody else has, as soon as there is one."""
        while True:
            held = self._pool()
            left = deadline - time.monotonic()
            turn = _TURN if held.attempts.connected and held.attempts.failure is None else _TURN_WHILE_AWAY
            try:
                return held.pool, held.pool.getconn(timeout=max(min(left, turn), 0.001))
            except PoolClosed:
                # Closed by another thread; the next one is open.
                if left <= 0:
                    raise StoreUnavailableError(f"database {self.name} was closed by other threads") from None
            except PoolTimeout as error:
                failure = held.attempts.failure
                # Who never reached it is told at once; who did waits for it to come back.
                if left <= turn or (failure is not None and not held.attempts.connected):
                    what = "cannot be reached" if failure else "has no connection to spare: all are in use"
                    raise StoreUnavailableError(f"database {self.name} {what}") from (failure or error)

    def _pool(self) -> "_Held":
        notice_fork()
        held = self._held
        if held is not None and held.process == os.getpid():
            return held
        with _lock():
            held = self._held
            if held is not None and held.process == os.getpid():
                return held
            if held is not None:
                held.end()
            attempts = Attempts()
            pool = ConnectionPool(
                self._conninfo,
                connection_class=Session,
                kwargs={"autocommit": True, "attempts": attempts},
                min_size=0,
                max_size=self._most,
                open=True,
                # Whoever waits asks again, so that nobody sleeps through the server's return.
                reconnect_timeout=0.0,
                num_workers=1,
                name="nr_agent_core",
            )
            # Its threads end with the store, or with the process, even if nobody closes it.
            end = weakref.finalize(self, _close, pool, os.getpid())
            self._held = _Held(os.getpid(), pool, attempts, end)
            return self._held

    def _ready(self, session: Session) -> Session:
        """The connection, set up for a schema that is ours and up to date."""
        if session.ready:
            return session
        if session.info.server_version < _OLDEST:
            raise StoreError(f"database {self.name} is of an older server: PostgreSQL 12 or later is needed")
        if session.info.parameter_status("server_encoding") != "UTF8":
            raise StoreError(f"database {self.name} does not hold every text: its encoding must be UTF8")
        session.adapters.register_dumper(int, Int8Dumper)
        session.execute(_SETTINGS, self._settings)
        bring_up_to_date(session, self.schema)
        if self._sealed:
            mark_sealed(session, self.schema)
        session.ready = True
        return session


class _Held(NamedTuple):
    """
    The pool of a process. ``end`` closes it, or leaves it alone in any other process.
    """

    process: int
    pool: ConnectionPool[Session]
    attempts: Attempts
    end: Callable[[], object]


def understood(dsn: str, patience: float) -> tuple[str, str]:
    """
    The connection string with what this library adds to it, and the name of the database.

    Raises:
        InvalidValueError: it is none. It is not quoted.
    """
    wanted = "a connection string that libpq understands; quote special characters in its password"
    if not isinstance(dsn, str):
        raise InvalidValueError("the connection string", type(dsn).__name__, wanted)
    try:
        given = conninfo_to_dict(dsn)
        ports = str(given.get("port") or "").split(",")
        # What libpq would take for a host, a port or a database may be the rest of a password.
        misread = "@" in str(given.get("host") or "") or not all(not port or port.isdecimal() for port in ports)
        if misread or _AT_IN_PATH.match(dsn):
            raise InvalidValueError("the connection string", "another text", wanted)
    except (psycopg.Error, ValueError) as error:
        if isinstance(error, InvalidValueError):
            raise
        raise InvalidValueError("the connection string", "another text", wanted) from None
    added: dict[str, Any] = {
        "client_encoding": "UTF8",
        "fallback_application_name": "nr_agent_core",
        "connect_timeout": str(max(int(patience), 2)),
        # A network that was cut is noticed.
        "tcp_user_timeout": str(max(int(patience * 1000), 1000)),
        **given,
    }
    return make_conninfo(**added), str(given.get("dbname") or os.environ.get("PGDATABASE") or "default")


def _lock() -> threading.Lock:
    return _making.setdefault(os.getpid(), threading.Lock())


def _close(pool: ConnectionPool[Session], process: int) -> None:
    if process == os.getpid():
        pool.close(timeout=1.0)
    else:
        left_alone(pool)
