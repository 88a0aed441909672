"""
One commit: all statements of a plan in one transaction, or none.

First all of them are sent at once, the end of the transaction included unless the feed comes before
it. If one of them is refused, nothing stays, and they are sent once more, one by one, so that the
first that is refused says why.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import psycopg
from psycopg.pq import TransactionStatus

from nr_agent_core import codec
from nr_agent_core.adapters.postgres.appending import feed, guarded, hold, plan, positions
from nr_agent_core.adapters.postgres.error_mapping import is_lost
from nr_agent_core.adapters.postgres.schema import REFUSED
from nr_agent_core.ports.clock import Clock

_BEGIN = b"BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
_COMMIT = b"COMMIT"
_NOW = b"SELECT extract(epoch FROM clock_timestamp())::float8"


Beside: TypeAlias = Callable[[psycopg.Connection[Any]], None]


class Commit:
    """
    The changes of one commit, and how far it came.

    Args:
        stored: what is stored.
        clock: tells the time of the commit; None: the server does.
        learn: is told the server's time at the moment it came.
        sealing: encrypts what is stored, once its place is known.
        beside: is called inside the transaction, before its end, with what else is to be in it.
    """

    __slots__ = (
        *("_beside", "_clock", "_feed", "_held", "_learn", "_sealed", "_sealing", "_stored"),
        *("at", "ending"),
    )

    def __init__(
        self,
        stored: Sequence[codec.ChangeColumns],
        clock: Clock | None,
        learn: Callable[[float], None],
        sealing: codec.Sealing,
        beside: Beside | None = None,
    ) -> None:
        self._stored, self._clock, self._learn, self._beside = stored, clock, learn, beside
        self._sealing, self._sealed = sealing, stored
        self._held, self._feed = hold(stored), feed(stored)
        self.ending = False
        """Whether the server was asked to keep it and has not refused: from then on it may stand."""
        self.at = 0.0
        """The time of the commit."""

    def __call__(self, db: psycopg.Connection[Any]) -> None:
        """Store all changes."""
        for act in (self._at_once, self._one_by_one):
            self.ending = False
            try:
                act(db)
            except psycopg.Error as error:
                # What the server refused does not stand; of what it did not answer nobody knows.
                self.ending = self.ending and (is_lost(error) or db.broken)
                if error.sqlstate != REFUSED:
                    raise
            else:
                return
            finally:
                _undo(db)
        raise AssertionError("one by one, a statement that is refused says why")

    def _at_once(self, db: psycopg.Connection[Any]) -> None:
        ended: psycopg.Cursor[Any] | None = None
        failure: psycopg.Error | None = None
        try:
            with db.pipeline():
                try:
                    ended = self._send(db)
                except psycopg.Error as error:
                    # Kept from the pipeline, which logs a warning about what it breaks off.
                    failure = error
        except psycopg.Error as error:
            failure = failure or error
        if failure is not None:
            raise failure
        _require_kept(ended or self._last(db))

    def _send(self, db: psycopg.Connection[Any]) -> psycopg.Cursor[Any] | None:
        """Everything up to the end of the transaction, whose answer comes later; None: something comes before it."""
        db.execute(_BEGIN)
        self._hold(db)
        for steps in plan(self._sealed, self.at):
            db.execute(*guarded(steps))
        return None if self._feed or self._beside else self._end(db)

    def _one_by_one(self, db: psycopg.Connection[Any]) -> None:
        db.execute(_BEGIN)
        self._steps(db)
        _require_kept(self._last(db))

    def within(self, db: psycopg.Connection[Any]) -> None:
        """Store all changes in the transaction that stands open on *db*, and leave its end to its owner."""
        self._steps(db)
        if self._feed is not None:
            db.execute(self._feed.statement, self._feed.values)
        if self._beside is not None:
            self._beside(db)

    def _steps(self, db: psycopg.Connection[Any]) -> None:
        self._hold(db)
        for step in itertools.chain.from_iterable(plan(self._sealed, self.at)):
            cursor = db.execute(step.statement, step.values)
            if step.refuse is not None and cursor.rowcount < step.least:
                step.refuse(db)

    def _last(self, db: psycopg.Connection[Any]) -> psycopg.Cursor[Any]:
        if self._beside is not None:
            self._beside(db)
        return self._end(db)

    def _end(self, db: psycopg.Connection[Any]) -> psycopg.Cursor[Any]:
        """The end of the transaction, in one message with what is added to the feed."""
        self.ending = True
        if self._feed is None:
            return db.execute(_COMMIT)
        cursor = psycopg.ClientCursor(db)
        cursor.execute(self._feed.statement + b";" + _COMMIT, self._feed.values)
        while cursor.nextset():
            pass
        return cursor

    def _hold(self, db: psycopg.Connection[Any]) -> None:
        """Wait until nobody else can change what is changed here, and read the time."""
        held = db.execute(self._held.statement, self._held.values)
        conversations = self._sealing.positions(self._stored)
        # Asked behind the hold: what is next is known once nobody else can add.
        asked = db.execute(*positions(conversations)[:2]) if conversations else None
        server = _number(held)
        self._learn(server)
        following = dict(zip(conversations, (row[0] for row in asked or ()), strict=True))
        self._sealed = self._sealing.seal(self._stored, following.__getitem__)
        self.at = server if self._clock is None else self._clock.now()


def server_now(db: psycopg.Connection[Any]) -> float:
    """The server's time, seconds since 1970-01-01 UTC."""
    return _number(db.execute(_NOW))


def _number(cursor: psycopg.Cursor[Any]) -> float:
    found = cursor.fetchone()
    assert found is not None  # noqa: S101 - a row without a table
    return float(found[0])


def _require_kept(ended: psycopg.Cursor[Any]) -> None:
    """A transaction that failed is rolled back by its commit, without an error."""
    if ended.statusmessage != "COMMIT":
        raise psycopg.OperationalError("the end of a transaction was answered with something else")


def _undo(db: psycopg.Connection[Any]) -> None:
    """Leave no transaction open. One that cannot be ended is gone with its connection."""
    if db.info.transaction_status in (TransactionStatus.INTRANS, TransactionStatus.INERROR):
        try:
            # Not as a statement: this also forgets what was to be prepared and was not reached.
            db.rollback()
        except psycopg.Error:
            db.close()
