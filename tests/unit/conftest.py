"""
A SQLite store in a file of its own, for the tests of that store.
"""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from nr_agent_core.adapters.sqlite import SqliteStore


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the store's file will be."""
    return tmp_path / "chat.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    """A store that gives up after a tenth of a second."""
    with closing(SqliteStore(path, busy_timeout=0.1)) as store:
        yield store


def setting(store: SqliteStore, name: str) -> Any:
    """What the connection in use is really set to."""
    with store._connections.of_this_thread() as db:
        return db.execute(f"PRAGMA {name}").fetchone()[0]
