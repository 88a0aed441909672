"""
Forks: a connection belongs to the process that opened it.

The child of a fork must neither use nor close what it inherits: both would speak on the parent's
connection. It must not keep it open either: the server would not notice the parent's death, and
leave its locks in place. So the child lets go of the sockets without a word.
"""

import os
import threading
import weakref

import psycopg

_process = os.getpid()
_connections: "weakref.WeakSet[psycopg.Connection[object]]" = weakref.WeakSet()
_guard = threading.Lock()
_inherited: list[object] = []
_registered = False


def watch(connection: "psycopg.Connection[object]") -> None:
    """From now on no child of this process keeps the socket of *connection*."""
    global _registered  # noqa: PLW0603 - a hook of the process is registered once and never taken back
    notice_fork()
    with _guard:
        _connections.add(connection)
        if not _registered and hasattr(os, "register_at_fork"):
            # Held across a fork, so that the child finds the list whole.
            os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
            _registered = True


def notice_fork() -> None:
    """Begin anew in a process whose making Python did not notice."""
    if _process != os.getpid():
        _in_child()


def left_alone(inherited: object) -> None:
    """Keep an inherited pool from ever being taken down in this process: its threads and locks are not here."""
    _inherited.append(inherited)


def _before() -> None:
    _guard.acquire()


def _in_parent() -> None:
    _guard.release()


def _in_child() -> None:
    global _process, _guard, _connections
    connections = list(_connections)
    _process, _guard, _connections = os.getpid(), threading.Lock(), weakref.WeakSet()
    if not connections:
        return
    _inherited.extend(connections)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for connection in connections:
        try:
            # The number stays taken, so that nothing else ever gets it.
            os.dup2(nowhere, connection.pgconn.socket, inheritable=False)
        except (psycopg.Error, OSError):
            continue
    os.close(nowhere)
