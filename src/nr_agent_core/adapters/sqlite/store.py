"""
The store in one SQLite file.
"""

import os
import sqlite3
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

from nr_agent_core import codec
from nr_agent_core.adapters.sqlite import conversations, runs
from nr_agent_core.adapters.sqlite.appending import next_position, store_change
from nr_agent_core.adapters.sqlite.commit_group import CommitGroup
from nr_agent_core.adapters.sqlite.connections import Connections, WriteTransaction
from nr_agent_core.adapters.sqlite.history import FileSource
from nr_agent_core.defaults.clock import SystemClock
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

_MOMENT = 500
"""Milliseconds."""


class SqliteStore:
    """
    Conversations and runs in one SQLite file (:class:`~nr_agent_core.ports.unit_of_work.UnitOfWork`).

    Any number of threads and processes of one machine may use the file. It is opened on first use,
    so a store may be made before a process forks; no connection is ever carried across a fork.

    Args:
        path: the file, made on first use; its directory must exist. ``:memory:`` is one database
            for all threads of this object, lost with it, and refused in a forked process.
        synchronous: ``FULL`` keeps every commit through a loss of power; ``NORMAL`` may lose the
            last ones then (never through a crash of the process), for about a ninth of the time.
        busy_timeout: seconds to wait for other writers, in this process and then in others,
            before StoreUnavailableError.
        clock: of stamps, leases and expiry; the machine's clock by default.
        cipher: encrypts the content of runs and messages (E7). Once a file was used with one, content is not
            stored in it without one; what was stored before is read as it is, until :meth:`rotate`.

    Raises:
        InvalidValueError: a setting is something else. No file was touched.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        synchronous: Literal["FULL", "NORMAL"] = "FULL",
        busy_timeout: float = 30.0,
        clock: Clock | None = None,
        cipher: "ContentCipher | None" = None,
    ) -> None:
        name = os.fspath(path)
        if not isinstance(name, str) or not name or "\0" in name:
            raise InvalidValueError("the path of a store", name, "the path of a file, or ':memory:'")
        if synchronous not in ("FULL", "NORMAL"):
            raise InvalidValueError("synchronous", synchronous, "FULL or NORMAL")
        if isinstance(busy_timeout, bool) or not 0 <= busy_timeout <= 3600:
            raise InvalidValueError("the busy timeout", busy_timeout, "0 to 3600 seconds")
        self._clock: Clock = clock or SystemClock()
        self._sealing = codec.Sealing(cipher)
        self._connections = Connections(name, synchronous, float(busy_timeout), sealed=self._sealing.seals)
        self._commits = CommitGroup(self._connections)
        self._windows, self._process = codec.Windows(), os.getpid()

    def now(self) -> float:
        """The store's time, seconds since 1970-01-01 UTC."""
        return self._clock.now()

    def close(self) -> None:
        """Close the calling thread's connection; the next use opens another one."""
        self._connections.close()

    def checkpoint(self) -> bool:
        """
        Write back the write-ahead log and cut it to nothing, so that forgotten content is gone from both files.

        Returns:
            Whether that was possible; False while others read or write. Nothing is lost either way.
        """
        with self._connections.of_this_thread() as db:
            (busy, _, _) = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        return not busy

    # ------------------------------------------------------------------------------------ writing

    def commit(self, changes: Sequence[Change]) -> None:
        """Store all *changes* in one durable transaction, or none (see the port for errors)."""
        stored = codec.with_redaction([codec.columns_of(change) for change in changes], self._contents)
        if not stored:
            return

        def write(db: sqlite3.Connection) -> None:
            # Read once nobody else can write: leases and stamps are as of now, not as of the wait before.
            now = self._clock.now()
            for columns in self._sealing.seal(stored, lambda conversation: next_position(db, conversation)):
                store_change(db, columns, now)

        self._commits.commit(write)

    def rotate(self, *, chunk: int = 500) -> "Rotation":
        """
        Bring all content under the current key of the cipher, in transactions of *chunk* pieces at most (E7).

        What was stored before there was a cipher is encrypted. Runs at work or waiting and all
        messages take part; nobody has to stop. Interrupted, it is simply called again.

        Raises:
            InvalidValueError: this store has no cipher, or *chunk* is no number from 1.
            ContentKeyError: the current key cannot be used now.
        """
        from nr_agent_core.adapters.sqlite.rotation import FileRotation
        from nr_agent_core.codec.rotation import rotate

        return rotate(FileRotation(self._connections), self._sealing, chunk)

    def _contents(self, run_id: str) -> Iterator[Any]:
        with self._connections.of_this_thread() as db:
            return runs.contents(db, self._sealing, run_id)

    # ------------------------------------------------------------------------------------- upkeep

    def purge(self, retention: "Retention", *, limit: int = 200) -> "Purged":
        """Delete one portion of what is past its window, in one transaction (see the port for what is kept)."""
        from nr_agent_core.adapters.sqlite import purge

        with WriteTransaction(self._connections) as db:
            gone = purge.portion(db, retention.bounds(self._clock.now()), limit)
        if gone.runs or gone.conversations:
            # What was read of them says more than what is stored now.
            self._windows = codec.Windows()
        return gone

    def purgeable(self, retention: "Retention") -> "Purged":
        """What :meth:`purge` would delete by now if it were called to the end."""
        from nr_agent_core.adapters.sqlite import purge

        with self._connections.of_this_thread() as db:
            return purge.everything(db, retention.bounds(self._clock.now()))

    def tidy(self) -> None:
        """Cut the write-ahead log to nothing if nobody reads or writes for a moment; see :meth:`checkpoint`."""
        with self._connections.of_this_thread() as db:
            # Whoever waits here keeps writers waiting.
            db.execute(f"PRAGMA busy_timeout = {min(int(self._connections.patience * 1000), _MOMENT)}")
            try:
                db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            finally:
                db.execute(f"PRAGMA busy_timeout = {int(self._connections.patience * 1000)}")

    # ------------------------------------------------------------------------------ conversations

    def conversation_row(self, conversation: str) -> ConversationRow | None:
        """The conversation with its last run, or None when there is none."""
        with self._connections.of_this_thread() as db:
            return conversations.conversation_row(db, conversation)

    def messages(self, conversation: str, *, before: int | None = None, limit: int = 50) -> tuple[Message, ...]:
        """The newest *limit* messages below position *before* (None: from the end), oldest first."""
        with self._connections.of_this_thread() as db:
            return conversations.messages(db, self._sealing, conversation, before, limit)

    def history(self, conversation: str, *, budget: int) -> History:
        """The newest messages that fit into *budget*, at least one, and the records their runs wrote."""
        if self._process != os.getpid():
            # What was read stays right in a fork; its lock may be held by a thread that is not there.
            self._windows, self._process = codec.Windows(), os.getpid()
        with self._connections.of_this_thread() as db:
            return self._windows.history(FileSource(db, self._sealing), conversation, budget)

    # --------------------------------------------------------------------------------------- runs

    def run_row(self, run_id: str) -> RunRow | None:
        """The row beside the run's stream, or None when there is no such run."""
        with self._connections.of_this_thread() as db:
            return runs.run_row(db, run_id)

    def events(self, run_id: str, *, after: int = -1) -> tuple[StoredEvent, ...]:
        """The run's events with a number above *after*, in order; never an empty stream for an unreadable one."""
        with self._connections.of_this_thread() as db:
            return runs.events(db, self._sealing, run_id, after)

    def waiting_runs(self, *, limit: int) -> tuple[RunRow, ...]:
        """Runs that wait for an approval, oldest first."""
        with self._connections.of_this_thread() as db:
            return runs.waiting_runs(db, limit)

    def due_runs(self, *, queued_grace: float, limit: int) -> tuple[RunRow, ...]:
        """Runs that upkeep has to look at now, longest overdue first."""
        with self._connections.of_this_thread() as db:
            return runs.due_runs(db, self._clock.now(), queued_grace, limit)

    def unreadable_runs(self, *, limit: int) -> tuple[UnreadableRun, ...]:
        """Unsettled runs whose row is damaged and says no lease that stands, oldest first."""
        with self._connections.of_this_thread() as db:
            return runs.unreadable_runs(db, self._clock.now(), limit)

    def writes(self, *, after: int, limit: int) -> tuple[StoredWrite, ...]:
        """The durable feed above position *after*, in commit order."""
        with self._connections.of_this_thread() as db:
            return runs.writes(db, after, limit)

    def writes_of(self, run_id: str) -> tuple[RecordWrite, ...]:
        """The records this run wrote, in order, one entry per record, the last kind counting."""
        with self._connections.of_this_thread() as db:
            return runs.writes_of(db, run_id)
