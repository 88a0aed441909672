"""
The store in a PostgreSQL database.
"""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import psycopg

from nr_agent_core import codec
from nr_agent_core.adapters.postgres import conversations, purge, runs
from nr_agent_core.adapters.postgres.borrowing import borrowed
from nr_agent_core.adapters.postgres.committing import Beside, Commit, server_now
from nr_agent_core.adapters.postgres.connections import Connections, Session
from nr_agent_core.adapters.postgres.following import wait_for_writes
from nr_agent_core.adapters.postgres.history import TableSource
from nr_agent_core.adapters.postgres.server_time import ServerTime
from nr_agent_core.domain.conversation import Message
from nr_agent_core.domain.errors import InvalidValueError
from nr_agent_core.domain.provenance import StoredWrite
from nr_agent_core.domain.tool_result import RecordWrite
from nr_agent_core.ports.clock import Clock
from nr_agent_core.ports.conversation_store import ConversationRow, History
from nr_agent_core.ports.run_store import RunRow, StoredEvent, UnreadableRun
from nr_agent_core.ports.unit_of_work import Change

if TYPE_CHECKING:
    from nr_agent_core.ports.content_cipher import ContentCipher, Rotation
    from nr_agent_core.ports.retention import Purged, Retention

_T = TypeVar("_T")
_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,47}", re.ASCII)


class PostgresStore:
    """
    Conversations and runs in one PostgreSQL database (:class:`~nr_agent_core.ports.unit_of_work.UnitOfWork`).

    Any number of threads, processes and machines may use the database. It is connected to on first
    use, so a store may be made before a process forks; no connection is ever carried across a fork.
    A server that was away is used again once it is back.

    Args:
        dsn: how to reach the database, as libpq understands it: a URL, or words such as
            ``host=db dbname=site``. What it leaves out comes from libpq's environment. It is in no
            error's text.
        schema: where the tables are, made on first use; nothing else may be in it. Lower-case
            letters, digits and underscores, at most 48.
        synchronous: ``FULL`` keeps every commit through a crash of the server; ``NORMAL`` may lose
            the last ones then (never through a crash of this process), and is faster.
        patience: seconds to wait for a connection, a lock, or a server that went away, before
            StoreUnavailableError.
        connections: how many this process has at one time, at most.
        clock: of stamps, leases and expiry; the server's clock by default, so that machines whose
            clocks differ agree (R8).
        cipher: encrypts the content of runs and messages (E7). Once the tables were used with one, content is
            not stored in them without one; what was stored before is read as it is, until :meth:`rotate`.

    Raises:
        InvalidValueError: a setting is something else. Nothing was connected to.
    """

    def __init__(
        self,
        dsn: str,
        *,
        schema: str = "nr_agent_core",
        synchronous: Literal["FULL", "NORMAL"] = "FULL",
        patience: float = 30.0,
        connections: int = 10,
        clock: Clock | None = None,
        cipher: "ContentCipher | None" = None,
    ) -> None:
        if not isinstance(schema, str) or not _SCHEMA.fullmatch(schema) or schema.startswith("pg_"):
            raise InvalidValueError(
                "the schema of a store", schema, "1 to 48 lower-case letters, digits and underscores, not pg_..."
            )
        if synchronous not in ("FULL", "NORMAL"):
            raise InvalidValueError("synchronous", synchronous, "FULL or NORMAL")
        if isinstance(patience, bool) or not 0 < patience <= 3600:
            raise InvalidValueError("the patience of a store", patience, "above 0 and up to 3600 seconds")
        if isinstance(connections, bool) or not isinstance(connections, int) or not 1 <= connections <= 1000:
            raise InvalidValueError("the connections of a store", connections, "1 to 1000")
        self._sealing = codec.Sealing(cipher)
        self._connections = Connections(
            dsn,
            schema=schema,
            lazy=synchronous == "NORMAL",
            patience=float(patience),
            most=connections,
            sealed=self._sealing.seals,
        )
        self._clock, self._server_time = clock, ServerTime()
        self._windows, self._process = codec.Windows(), os.getpid()

    @property
    def schema(self) -> str:
        """The schema of the tables."""
        return self._connections.schema

    @property
    def dsn(self) -> str:
        """How to reach the database, for what shares it; it may hold a password, so it is shown to nobody."""
        return self._connections.dsn

    def now(self) -> float:
        """The store's time, seconds since 1970-01-01 UTC."""
        if self._clock is not None:
            return self._clock.now()
        known = self._server_time.now()
        if known is None:
            known = self._read(server_now)
            self._server_time.learn(known)
        return known

    def close(self) -> None:
        """Close the connections of this process, those at work once they are done; the next use opens others."""
        self._connections.close()

    # ------------------------------------------------------------------------------------ writing

    def commit(
        self,
        changes: Sequence[Change],
        *,
        beside: Beside | None = None,
        connection: psycopg.Connection[Any] | None = None,
    ) -> None:
        """
        Store all *changes* in one durable transaction, or none (see the port for errors).

        Args:
            changes: what is stored.
            beside: called inside the transaction, with its connection, for what else of this database
                is to be stored with it. May be called again when the transaction has to begin anew.
            connection: the caller's own connection to this database, with a transaction open: the
                changes become part of it, durable once it is committed. Never for what a tool did (R6).

        Raises:
            InvalidValueError: *connection* is none that could be used. Nothing was stored.
        """
        stored = codec.with_redaction([codec.columns_of(change) for change in changes], self._contents)
        if not stored and beside is None:
            return
        commit = Commit(stored, self._clock, self._server_time.learn, self._sealing, beside)
        if connection is None:
            self._connections.work(commit, spoilt=lambda: commit.ending)
        else:
            # The tables have to be there before somebody else's transaction can use them.
            self._read(lambda _: None)
            borrowed(connection, self.schema, commit.within, self._connections.raise_own)

    def rotate(self, *, chunk: int = 500) -> "Rotation":
        """
        Bring all content under the current key of the cipher, in transactions of *chunk* pieces at most (E7).

        What was stored before there was a cipher is encrypted. Runs at work or waiting and all
        messages take part; nobody has to stop. Interrupted, it is simply called again.

        Raises:
            InvalidValueError: this store has no cipher, or *chunk* is no number from 1.
            ContentKeyError: the current key cannot be used now.
        """
        from nr_agent_core.adapters.postgres.rotation import TableRotation
        from nr_agent_core.codec.rotation import rotate

        return rotate(TableRotation(self._connections), self._sealing, chunk)

    def _contents(self, run_id: str) -> Iterator[Any]:
        return self._read(lambda db: runs.contents(db, self._sealing, run_id))

    # ------------------------------------------------------------------------------------- upkeep

    def purge(self, retention: "Retention", *, limit: int = 200) -> "Purged":
        """Delete one portion of what is past its window, in one transaction (see the port for what is kept)."""
        gone = self._read(lambda db: purge.portion(db, retention.bounds(self._time_of(db)), limit))
        if gone.runs or gone.conversations:
            # What was read of them says more than what is stored now.
            self._windows = codec.Windows()
        return gone

    def purgeable(self, retention: "Retention") -> "Purged":
        """What :meth:`purge` would delete by now if it were called to the end."""
        return self._read(lambda db: purge.everything(db, retention.bounds(self._time_of(db))))

    def tidy(self) -> None:
        """Nothing: the server's autovacuum takes care of what was deleted or forgotten."""

    # ------------------------------------------------------------------------------ conversations

    def conversation_row(self, conversation: str) -> ConversationRow | None:
        """The conversation with its last run, or None when there is none."""
        return self._read(lambda db: conversations.conversation_row(db, conversation))

    def messages(self, conversation: str, *, before: int | None = None, limit: int = 50) -> tuple[Message, ...]:
        """The newest *limit* messages below position *before* (None: from the end), oldest first."""
        return self._read(lambda db: conversations.messages(db, self._sealing, conversation, before, limit))

    def history(self, conversation: str, *, budget: int) -> History:
        """The newest messages that fit into *budget*, at least one, and the records their runs wrote."""
        if self._process != os.getpid():
            # What was read stays right in a fork; its lock may be held by a thread that is not there.
            self._windows, self._process = codec.Windows(), os.getpid()
        return self._read(lambda db: self._windows.history(TableSource(db, self._sealing), conversation, budget))

    # --------------------------------------------------------------------------------------- runs

    def run_row(self, run_id: str) -> RunRow | None:
        """The row beside the run's stream, or None when there is no such run."""
        return self._read(lambda db: runs.run_row(db, run_id))

    def events(self, run_id: str, *, after: int = -1) -> tuple[StoredEvent, ...]:
        """The run's events with a number above *after*, in order; never an empty stream for an unreadable one."""
        return self._read(lambda db: runs.events(db, self._sealing, run_id, after))

    def waiting_runs(self, *, limit: int) -> tuple[RunRow, ...]:
        """Runs that wait for an approval, oldest first."""
        return self._read(lambda db: runs.waiting_runs(db, limit))

    def due_runs(self, *, queued_grace: float, limit: int) -> tuple[RunRow, ...]:
        """Runs that upkeep has to look at now, longest overdue first; those that somebody changes now are left out."""
        now = None if self._clock is None else self._clock.now()
        return self._read(lambda db: runs.due_runs(db, now, queued_grace, limit))

    def unreadable_runs(self, *, limit: int) -> tuple[UnreadableRun, ...]:
        """Unsettled runs whose row is damaged and says no lease that stands, oldest first."""
        return self._read(lambda db: runs.unreadable_runs(db, self._time_of(db), limit))

    def writes(self, *, after: int, limit: int) -> tuple[StoredWrite, ...]:
        """The durable feed above position *after*, in commit order."""
        return self._read(lambda db: runs.writes(db, after, limit))

    def writes_of(self, run_id: str) -> tuple[RecordWrite, ...]:
        """The records this run wrote, in order, one entry per record, the last kind counting."""
        return self._read(lambda db: runs.writes_of(db, run_id))

    def wait_for_writes(self, *, after: int, timeout: float) -> bool:
        """
        Wait until the feed holds an entry above position *after*, on a connection of its own.

        Args:
            after: the last position that the follower knows.
            timeout: seconds to wait, at most.

        Returns:
            Whether there is one; ask :meth:`writes` for it. False: the time is over.

        Raises:
            StoreUnavailableError: the database cannot be reached, or went away meanwhile.
        """
        return wait_for_writes(self._connections, after, timeout)

    def _time_of(self, db: Session) -> float:
        return server_now(db) if self._clock is None else self._clock.now()

    def _read(self, look: Callable[[Session], _T]) -> _T:
        return self._connections.work(look)
