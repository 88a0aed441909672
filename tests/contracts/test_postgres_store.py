"""
The PostgreSQL store keeps the contracts of the stores.
"""

from collections.abc import Iterator
from contextlib import closing

import pytest

from nr_agent_core.adapters.aes_gcm_cipher import AesGcmCipher
from nr_agent_core.adapters.postgres import PostgresStore
from nr_agent_core.ports.unit_of_work import UnitOfWork
from nr_agent_core.testing.contracts import UnitOfWorkContract
from nr_agent_core.testing.manual_clock import ManualClock
from tests.postgres_server import Server, unguarded

CIPHER = AesGcmCipher({"k1": bytes(32)}, current="k1")


class PostgresContract(UnitOfWorkContract):
    def plant(self, store: UnitOfWork, run_id: str, number: int, **columns: str | None) -> None:
        """Overwrite columns of a stored event; the triggers that refuse it are switched off."""
        for name, value in columns.items():
            unguarded(store, f"UPDATE event SET {name} = %s WHERE run = %s AND seq = %s", value, run_id, number)

    def plant_row(self, store: UnitOfWork, run_id: str, **columns: str | None) -> None:
        """Overwrite columns of a run's row."""
        for name, value in columns.items():
            unguarded(store, f"UPDATE run SET {name} = %s WHERE id = %s", value, run_id)

    def remove(self, store: UnitOfWork, run_id: str, number: int) -> None:
        """Take a stored event away."""
        unguarded(store, "DELETE FROM event WHERE run = %s AND seq = %s", run_id, number)


class TestPostgresStore(PostgresContract):
    @pytest.fixture
    def store(self, clock: ManualClock, postgres: Server) -> Iterator[UnitOfWork]:
        """A store whose tables are empty."""
        with closing(PostgresStore(postgres.dsn(), schema=postgres.emptied_schema(), clock=clock)) as store:
            yield store


class TestSealedPostgresStore(PostgresContract):
    @pytest.fixture
    def store(self, clock: ManualClock, postgres: Server) -> Iterator[UnitOfWork]:
        """A store that encrypts, whose tables are empty."""
        schema = postgres.emptied_schema()
        with closing(PostgresStore(postgres.dsn(), schema=schema, clock=clock, cipher=CIPHER)) as store:
            yield store
