"""
Waiting for the feed. The server says that something came, and up to which position; what came is in the feed.
"""

import time
from typing import Any

import psycopg
from psycopg import sql

from nr_agent_core.adapters.postgres.connections import Connections
from nr_agent_core.adapters.postgres.reading import bounded

_THERE = b"SELECT EXISTS (SELECT FROM tool_write WHERE position > %s)"


def wait_for_writes(connections: Connections, after: int, timeout: float) -> bool:
    """
    Whether the feed holds an entry above position *after*, at the latest after *timeout* seconds.

    The connection is not one of the pool: it would keep listening there.
    """
    deadline = time.monotonic() + timeout
    with connections.apart() as db:
        try:
            # Listening before looking: what is committed in between is heard of.
            db.execute(sql.SQL("LISTEN {}").format(sql.Identifier(f"{connections.schema}.writes")))
            while not _is_there(db, after):
                left = deadline - time.monotonic()
                if left <= 0:
                    return False
                for _ in db.notifies(timeout=left, stop_after=1):
                    pass
        except psycopg.Error as error:
            connections.raise_own(error)
            raise
    return True


def _is_there(db: psycopg.Connection[Any], after: int) -> bool:
    found = db.execute(_THERE, (bounded(after),)).fetchone()
    return found is not None and bool(found[0])
