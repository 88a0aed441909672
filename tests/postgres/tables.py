"""
What the tests of the PostgreSQL store ask the server, and do behind the store's back.
"""

import time
from collections.abc import Callable
from contextlib import closing
from typing import Any

import psycopg

from nr_agent_core.adapters.postgres import PostgresStore
from tests.postgres_server import PATIENCE, Server


def asked(store: PostgresStore, statement: str, *values: object) -> list[Any]:
    """What the store's own connection answers."""

    def ask(db: psycopg.Connection[Any]) -> list[Any]:
        found = db.execute(statement.encode(), values)
        return found.fetchall() if found.description else []

    return store._connections.work(ask)


def other(store: PostgresStore) -> psycopg.Connection[Any]:
    """A connection of somebody else to the store's tables, that does not give up."""
    db = store._connections.apart()
    db.execute("SET lock_timeout = 0")
    return db


def wait_until_blocked(store: PostgresStore) -> None:
    """Until some transaction waits for a lock."""
    wait_for(store, "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")


def wait_for(store: PostgresStore, question: str) -> None:
    """Until the answer to *question* is a number above 0."""
    with closing(store._connections.apart()) as db:
        until(lambda: db.execute(question.encode()).fetchall() != [(0,)])


def texts(store: PostgresStore) -> list[str]:
    """What was said."""
    return [message.text for message in store.messages("c1", limit=1000)]


def until(true: Callable[[], bool]) -> None:
    """Until *true* is."""
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.005)


def backends(postgres: Server, where: str = "application_name = 'nr_agent_core'") -> set[int]:
    """The server's processes for connections of the library."""
    with psycopg.connect(postgres.dsn(), application_name="watch") as db:
        return {pid for (pid,) in db.execute(f"SELECT pid FROM pg_stat_activity WHERE {where}".encode())}


def cut(postgres: Server, where: str = "application_name = 'nr_agent_core'") -> None:
    """End every connection of the library, or those that *where* says, from the server's side."""
    there = backends(postgres, where)
    with psycopg.connect(postgres.dsn(), application_name="watch") as db:
        db.execute("SELECT pg_terminate_backend(pid) FROM unnest(%s::int[]) AS cut(pid)", (list(there),))
    until(lambda: not there & backends(postgres, where))
