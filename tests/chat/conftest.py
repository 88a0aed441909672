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
from tests.asynchronous.blocking import BlockingChat
from tests.chat.world import World
from tests.postgres_server import Server


@pytest.fixture(params=["memory", "sqlite", "asynchronous", pytest.param("postgres", marks=pytest.mark.server)])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    """
    An empty host over each store in turn, and over the asynchronous facade.

    The file of SQLite lives in memory.
    """
    clock = ManualClock()
    store: UnitOfWork
    if request.param in ("memory", "asynchronous"):
        store = MemoryStore(clock=clock)
    elif request.param == "sqlite":
        store = SqliteStore(":memory:", clock=clock)
    else:
        server: Server = request.getfixturevalue("postgres")
        store = PostgresStore(server.dsn(), schema=server.emptied_schema(), synchronous="NORMAL", clock=clock)
    world = World(store, clock)
    if request.param == "asynchronous":
        world.facade = BlockingChat
    yield world
    store.close()


@pytest.fixture
def file_world(tmp_path: Path) -> Iterator[World]:
    """An empty host over a file, for damage that only a file can have."""
    clock = ManualClock()
    store = SqliteStore(tmp_path / "chat.db", clock=clock, synchronous="NORMAL")
    yield World(store, clock)
    store.close()
