"""
The stores that every rule of the facades holds on.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from nr_agent_core.adapters.memory import MemoryStore
from nr_agent_core.adapters.sqlite import SqliteStore
from nr_agent_core.testing.manual_clock import ManualClock
from tests.chat.world import World


@pytest.fixture(params=["memory", "sqlite"])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    """An empty host over each store in turn; the file of SQLite lives in memory."""
    clock = ManualClock()
    store = MemoryStore(clock=clock) if request.param == "memory" else SqliteStore(":memory:", clock=clock)
    yield World(store, clock)
    store.close()


@pytest.fixture
def file_world(tmp_path: Path) -> Iterator[World]:
    """An empty host over a file, for damage that only a file can have."""
    clock = ManualClock()
    store = SqliteStore(tmp_path / "chat.db", clock=clock, synchronous="NORMAL")
    yield World(store, clock)
    store.close()
