"""
Forks: no connection is open across one, and one that is inherited nonetheless is left alone.
"""

import os
import sqlite3
import threading
import time
import weakref
from typing import Protocol

_PATIENCE = 5.0
"""Seconds that a fork waits, at most, for statements of other threads."""


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


_watched: "weakref.WeakSet[Inheritable]" = weakref.WeakSet()
_guard = threading.Lock()
_held: list[Inheritable] = []
_registered = False


def watch(connection: Inheritable) -> None:
    """From now on *connection* stands still while this process forks."""
    global _registered  # noqa: PLW0603 - a hook of the process is registered once and never taken back
    with _guard:
        _watched.add(connection)
        if not _registered and hasattr(os, "register_at_fork"):
            os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
            _registered = True


def left_alone(db: sqlite3.Connection) -> None:
    """
    Keep an inherited connection from ever being closed in this process, not even at its exit.

    Closing it would take away, or write back, what the process that opened it still works with.
    """
    import ctypes

    # One reference that is never given back.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(db))


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
    global _guard, _watched
    inherited = list(_watched)
    _guard, _watched = threading.Lock(), weakref.WeakSet()
    _held.clear()
    for connection in inherited:
        connection.let_go()
