"""
Forks: no connection is open across one, and one that is inherited nonetheless is left alone.

A fork that Python knows of waits for statements at work and closes all connections first. A fork
made behind its back, by a server written in C for instance, inherits them. The child must neither
use nor close them, and SQLite in the child takes the locks of the parent for its own: it would
work on without any, and lose its commits once the parent closes the file. So the child takes
those locks itself before it opens the file.
"""

import atexit
import os
import sqlite3
import threading
import time
import weakref
from typing import Protocol

_PATIENCE = 5.0
"""Seconds that a fork waits, at most, for statements of other threads."""

# Where SQLite keeps its shared lock on a database, and on the shared memory of its log.
_DATABASE_LOCK = 0x4000_0002, 510
_LOG_LOCK = 128, 1


class Inheritable(Protocol):
    """
    What must not be at work while a process forks.
    """

    lock: threading.Lock

    def before_fork(self) -> None:
        """Let go of what a child must not inherit. The lock is held."""
        ...

    def let_go(self) -> None:
        """Close it, or leave it alone when another process opened it."""
        ...


_process = os.getpid()
_watched: "weakref.WeakSet[Inheritable]" = weakref.WeakSet()
_guard = threading.Lock()
_held: list[Inheritable] = []
_inherited: set[str] = set()
_registered = False


def watch(connection: Inheritable) -> None:
    """From now on *connection* stands still while this process forks."""
    global _registered  # noqa: PLW0603 - a hook of the process is registered once and never taken back
    notice_fork()
    with _guard:
        _watched.add(connection)
        if not _registered and hasattr(os, "register_at_fork"):
            os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
            # What was inherited must be known before the interpreter takes everything down.
            atexit.register(notice_fork)
            _registered = True


def notice_fork() -> None:
    """Begin anew in a process whose making Python did not notice."""
    if _process != os.getpid():
        _in_child()


def left_alone(db: sqlite3.Connection, name: str) -> None:
    """
    Keep an inherited connection to the file *name* from ever being closed in this process, not even at its exit.

    Closing it would take away, or write back, what the process that opened it still works with.
    """
    import ctypes

    # One reference that is never given back.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(db))
    _inherited.add(name)


def hold_inherited_locks(name: str) -> None:
    """
    Take the locks on the file *name* that SQLite believes this process to hold, if it inherited a connection to it.

    They are kept as long as the process lives: closing any descriptor of the file would drop them.
    """
    if name not in _inherited:
        return
    import fcntl

    for path, (start, length) in ((name, _DATABASE_LOCK), (name + "-shm", _LOG_LOCK)):
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        fcntl.lockf(descriptor, fcntl.LOCK_SH, length, start)
    _inherited.discard(name)


def _before() -> None:
    _guard.acquire()
    deadline = time.monotonic() + _PATIENCE
    for connection in list(_watched):
        # Held until the fork is over, so that nobody opens it again meanwhile.
        if connection.lock.acquire(timeout=max(deadline - time.monotonic(), 0.0)):
            connection.before_fork()
            _held.append(connection)


def _in_parent() -> None:
    while _held:
        _held.pop().lock.release()
    _guard.release()


def _in_child() -> None:
    # What the parent's threads held is nobody's here.
    global _process, _guard, _watched
    connections = list(_watched)
    _process, _guard, _watched = os.getpid(), threading.Lock(), weakref.WeakSet()
    _held.clear()
    for connection in connections:
        connection.let_go()
