"""
The stores that every rule of the facades holds on.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from nr_agent_core.adapters.memory import MemoryStore
from nr_agent_core.adapters.postgres import PostgresStore
from nr_agent_core.adapters.sqlite import SqliteStore
from nr_agent_core.ports.unit_of_work import UnitOfWork
from nr_agent_core.testing.manual_clock import ManualClock
from tests.chat.world import World
from tests.postgres_server import Server


@pytest.fixture(params=["memory", "sqlite", pytest.param("postgres", marks=pytest.mark.server)])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    """An empty host over each store in turn; the file of SQLite lives in memory."""
    clock = ManualClock()
    store: UnitOfWork
    if request.param == "memory":
        store = MemoryStore(clock=clock)
    elif request.param == "sqlite":
        store = SqliteStore(":memory:", clock=clock)
    else:
        server: Server = request.getfixturevalue("postgres")
        store = PostgresStore(server.dsn(), schema=server.emptied_schema(), synchronous="NORMAL", clock=clock)
    yield World(store, clock)
    store.close()


@pytest.fixture
def file_world(tmp_path: Path) -> Iterator[World]:
    """An empty host over a file, for damage that only a file can have."""
    clock = ManualClock()
    store = SqliteStore(tmp_path / "chat.db", clock=clock, synchronous="NORMAL")
    yield World(store, clock)
    store.close()
