"""
The SQLite store keeps the contracts of the stores, in a file and in memory, and whatever it is given back from.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from nr_agent_core.adapters.aes_gcm_cipher import AesGcmCipher
from nr_agent_core.adapters.sqlite import SqliteStore
from nr_agent_core.ports.unit_of_work import UnitOfWork
from nr_agent_core.testing.contracts import UnitOfWorkContract
from nr_agent_core.testing.manual_clock import ManualClock

CIPHER = AesGcmCipher({"k1": bytes(32)}, current="k1")


class SqliteContract(UnitOfWorkContract):
    def plant(self, store: UnitOfWork, run_id: str, number: int, **columns: str | None) -> None:
        """Overwrite columns of a stored event; the triggers that refuse it are taken away first."""
        with raw(store) as db:
            for name, value in columns.items():
                db.execute(f"UPDATE event SET {name} = ? WHERE run = ? AND seq = ?", (value, run_id, number))

    def plant_row(self, store: UnitOfWork, run_id: str, **columns: str | None) -> None:
        """Overwrite columns of a run's row."""
        with raw(store) as db:
            for name, value in columns.items():
                db.execute(f"UPDATE run SET {name} = ? WHERE id = ?", (value, run_id))

    def remove(self, store: UnitOfWork, run_id: str, number: int) -> None:
        """Take a stored event away."""
        with raw(store) as db:
            db.execute("DELETE FROM event WHERE run = ? AND seq = ?", (run_id, number))


class TestSqliteStore(SqliteContract):
    @pytest.fixture
    def store(self, clock: ManualClock, tmp_path: Path) -> Iterator[UnitOfWork]:
        """A store in a new file."""
        with closing(SqliteStore(tmp_path / "chat.db", clock=clock)) as store:
            yield store


class TestSqliteStoreInMemory(SqliteContract):
    @pytest.fixture
    def store(self, clock: ManualClock) -> UnitOfWork:
        """A store in memory."""
        return SqliteStore(":memory:", clock=clock)


class TestSealedSqliteStore(SqliteContract):
    @pytest.fixture
    def store(self, clock: ManualClock, tmp_path: Path) -> Iterator[UnitOfWork]:
        """A store that encrypts, in a new file."""
        with closing(SqliteStore(tmp_path / "chat.db", clock=clock, synchronous="NORMAL", cipher=CIPHER)) as store:
            yield store


class raw:  # noqa: N801 - reads as a function
    """The store's own connection, without the triggers that guard what is stored."""

    def __init__(self, store: UnitOfWork) -> None:
        self._connection = store._connections.of_this_thread()  # type: ignore[attr-defined]

    def __enter__(self) -> sqlite3.Connection:
        db: sqlite3.Connection = self._connection.__enter__()
        for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            db.execute(f"DROP TRIGGER {name}")
        return db

    def __exit__(self, *error: object) -> None:
        self._connection.__exit__(None, None, None)
