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
    """

    __slots__ = ("failure", "leads", "wake", "write")

    def __init__(self, write: Write) -> None:
        self.write = write
        self.failure: BaseException | None = None
        self.leads = False
        self.wake = threading.Lock()
        self.wake.acquire()


class CommitQueue:
    """
    Who waits in one process, and whether somebody leads: at most one does, and never nobody while others wait.
    """

    def __init__(self, process: int) -> None:
        self.process = process
        self._lock = threading.Lock()
        self._waiting: list[Entry] = []
        self._led = False

    def join(self, entry: Entry, patience: float) -> bool:
        """
        Wait until *entry* is written or refused, or has to lead.

        Returns:
            Whether its thread has to lead now.

        Raises:
            StoreUnavailableError: nobody took it in time. It will not be written.
        """
        with self._lock:
            self._waiting.append(entry)
            entry.leads = not self._led
            self._led = True
        if not entry.leads:
            self._wait(entry, patience)
        return entry.leads

    def _wait(self, entry: Entry, patience: float) -> None:
        woken = False
        try:
            woken = entry.wake.acquire(timeout=patience)
        except BaseException:  # the thread was interrupted, and nobody may count on it
            if self.withdraw(entry) and entry.leads:
                self.hand_over()
            raise
        if not woken:
            if self.withdraw(entry, unless_leading=True):
                raise StoreUnavailableError("the database is locked by other threads of this process")
            entry.wake.acquire()  # it was taken: what comes of it is known soon

    def take(self) -> Sequence[Entry]:
        """Everything that waits, in the order in which it came."""
        with self._lock:
            taken, self._waiting = self._waiting, []
        return taken

    def withdraw(self, entry: Entry, *, unless_leading: bool = False) -> bool:
        """Take *entry* back; False when it was taken before."""
        with self._lock:
            if entry not in self._waiting or (unless_leading and entry.leads):
                return False
            self._waiting.remove(entry)
            return True

    def hand_over(self) -> None:
        """Let the one lead that waits longest, if anybody waits."""
        with self._lock:
            self._led = bool(self._waiting)
            if self._led:
                self._waiting[0].leads = True
                self._waiting[0].wake.release()


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
        if queue.join(entry, self._connections.patience):
            self._lead(queue, entry)
        if (failure := entry.failure) is not None:
            entry.failure = None
            self._connections.raise_own(failure)
            raise failure

    def _lead(self, queue: CommitQueue, own: Entry) -> None:
        taken: Sequence[Entry] = ()
        try:
            with WriteTransaction(self._connections) as db:
                taken = queue.take()
                _perform(db, taken)
        except BaseException as error:
            queue.withdraw(own)
            for entry in taken:
                entry.failure = _shared(error)
            raise
        finally:
            # First the next one, so that its wait for the file and their way home overlap.
            queue.hand_over()
            for entry in taken:
                if entry is not own:
                    entry.leads = False
                    entry.wake.release()


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


def _shared(error: BaseException) -> BaseException:
    """What a thread is told of the *error* that another one met on behalf of all; one object for each thread."""
    if isinstance(error.__cause__, sqlite3.Error):
        return error.__cause__  # each makes its own words of it
    return StoreUnavailableError("the transaction was given up: the thread that led it was interrupted")
