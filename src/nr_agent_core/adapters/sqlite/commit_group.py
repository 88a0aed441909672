"""
Group commit: what threads of one process want written while one of them writes goes into the next transaction together.

A commit costs the time of the disk, however much is in it. Whoever comes while nobody commits leads: it waits for the
file and takes everything that has come up by then. Each piece stands or falls by itself, and all of them are durable
before anybody returns.
"""

import os
import sqlite3
import threading
from collections.abc import Callable, Sequence
from typing import TypeAlias

from nr_agent_core.adapters.sqlite.connections import Connections, WriteTransaction
from nr_agent_core.domain.errors import StoreUnavailableError

Write: TypeAlias = Callable[[sqlite3.Connection], None]


class Entry:
    """
    What one thread wants written, and what came of it.

    ``shared`` is the transaction that took it, ``failure`` why this piece alone was refused there.
    """

    __slots__ = ("failure", "shared", "wake", "write")

    def __init__(self, write: Write) -> None:
        self.write = write
        self.failure: BaseException | None = None
        self.shared: Shared | None = None
        self.wake = threading.Lock()
        self.wake.acquire()

    def be_woken(self) -> None:
        """Let its thread go on. Once more does no harm."""
        if self.wake.locked():
            self.wake.release()


class Shared:
    """
    One transaction: who leads it, who is in it, and what it was given up for.
    """

    __slots__ = ("entries", "error", "leader", "transaction")

    def __init__(self, leader: Entry, transaction: WriteTransaction) -> None:
        self.leader, self.transaction = leader, transaction
        self.entries: list[Entry] = []
        self.error: BaseException | None = None


class CommitQueue:
    """
    Who waits in one process, and who leads: at most one does, and never nobody while others wait.

    A thread may be interrupted between any two lines. So whatever ends the part of one is done by
    :meth:`leave`, which may be called again, and who leads is told by one name.
    """

    def __init__(self, process: int) -> None:
        self.process = process
        self._lock = threading.Lock()
        self._waiting: list[Entry] = []
        self._leader: Entry | None = None

    def join(self, entry: Entry, patience: float) -> bool:
        """
        Wait until *entry* is written or refused, or has to lead.

        Whoever is interrupted here has to :meth:`leave`.

        Returns:
            Whether its thread has to lead now.

        Raises:
            StoreUnavailableError: nobody took it in time. It will not be written.
        """
        with self._lock:
            self._waiting.append(entry)
            if self._leader is None:
                self._leader = entry
        if self._leader is not entry and not entry.wake.acquire(timeout=patience):
            if self._withdraw(entry):
                raise StoreUnavailableError("the database is locked by other threads of this process")
            entry.wake.acquire()  # it was taken: what comes of it is known soon
        return self._leader is entry

    def take(self, shared: Shared) -> Sequence[Entry]:
        """Everything that waits, in the order in which it came: it is in the transaction *shared* from now on."""
        with self._lock:
            for entry in self._waiting:
                entry.shared = shared
            shared.entries, self._waiting = self._waiting, []
        return shared.entries

    def leave(self, entry: Entry) -> None:
        """
        Want nothing more: *entry* waits no more. If it led, the one leads that waits longest, and those it took go on.
        """
        with self._lock:
            if entry in self._waiting:
                self._waiting.remove(entry)
            if self._leader is entry:
                self._leader = self._waiting[0] if self._waiting else None
            if self._leader is not None:
                self._leader.be_woken()
        # First the next one, so that its wait for the file and their way home overlap.
        if entry.shared is not None and entry.shared.leader is entry:
            for taken in entry.shared.entries:
                if taken is not entry:
                    taken.be_woken()

    def _withdraw(self, entry: Entry) -> bool:
        """Take *entry* back; False when it was taken before, or has to lead."""
        with self._lock:
            if entry not in self._waiting or self._leader is entry:
                return False
            self._waiting.remove(entry)
            return True


class CommitGroup:
    """
    The transactions of one store in this process.

    Args:
        connections: of the store.
    """

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._queue = CommitQueue(os.getpid())

    def commit(self, write: Write) -> None:
        """
        Have *write* called within a transaction, and return once that is durable.

        *write* may be called in another thread, after and before pieces of others, and a second time when one of
        those failed and all were taken back. What it raises is raised here, and then nothing of it is stored.

        Raises:
            StoreUnavailableError: the file is held by others, or its disk refuses. Nothing of *write* is stored,
                unless the disk refused to tell.
        """
        queue = self._queue
        if queue.process != os.getpid():
            # Those who wait in the queue that was inherited are not in this process.
            queue = self._queue = CommitQueue(os.getpid())
        entry = Entry(write)
        try:
            if queue.join(entry, self._connections.patience):
                self._lead(queue, entry)
            self._tell(entry)
        except BaseException:
            queue.leave(entry)
            raise
        finally:
            entry.shared = None  # no ring is left that keeps the connection from being let go

    def _lead(self, queue: CommitQueue, own: Entry) -> None:
        transaction = WriteTransaction(self._connections)
        shared = Shared(own, transaction)
        try:
            with transaction as db:
                _perform(db, queue.take(shared))
        except BaseException as error:
            shared.error = error
            raise
        finally:
            queue.leave(own)

    def _tell(self, entry: Entry) -> None:
        """Raise what *entry* was refused for, if it was."""
        shared, failure = entry.shared, entry.failure
        if failure is None and (shared is None or not shared.transaction.durable):
            failure = _of_all(None if shared is None else shared.error)
        if failure is not None:
            entry.failure = None
            self._connections.raise_own(failure)
            raise failure


def _perform(db: sqlite3.Connection, taken: Sequence[Entry]) -> None:
    if len(taken) == 1:
        taken[0].write(db)
        return
    db.execute("SAVEPOINT taken")
    try:
        for entry in taken:
            entry.write(db)
    except Exception:
        if not db.in_transaction:  # SQLite took back all of it
            raise
        db.execute("ROLLBACK TO taken")
        _perform_apart(db, taken)


def _perform_apart(db: sqlite3.Connection, taken: Sequence[Entry]) -> None:
    for entry in taken:
        db.execute("SAVEPOINT entry")
        try:
            entry.write(db)
        except Exception as error:
            if not db.in_transaction:
                raise
            db.execute("ROLLBACK TO entry")
            entry.failure = error
        db.execute("RELEASE entry")


def _of_all(error: BaseException | None) -> BaseException:
    """What a thread is told of the *error* that another one met on behalf of all; one object for each thread."""
    if error is not None and isinstance(error.__cause__, sqlite3.Error):
        return error.__cause__  # each makes its own words of it
    return StoreUnavailableError("the transaction was given up: the thread that led it was interrupted")
