"""
The PostgreSQL store keeps the contracts of the stores.
"""

from collections.abc import Iterator
from contextlib import closing

import pytest

from nr_agent_core.adapters.postgres import PostgresStore
from nr_agent_core.ports.unit_of_work import UnitOfWork
from nr_agent_core.testing.contracts import UnitOfWorkContract
from nr_agent_core.testing.manual_clock import ManualClock
from tests.postgres_server import Server, unguarded


class TestPostgresStore(UnitOfWorkContract):
    @pytest.fixture
    def store(self, clock: ManualClock, postgres: Server) -> Iterator[UnitOfWork]:
        """A store whose tables are empty."""
        with closing(PostgresStore(postgres.dsn(), schema=postgres.emptied_schema(), clock=clock)) as store:
            yield store

    def plant(self, store: UnitOfWork, run_id: str, number: int, **columns: str | None) -> None:
        """Overwrite columns of a stored event; the triggers that refuse it are switched off."""
        for name, value in columns.items():
            unguarded(store, f"UPDATE event SET {name} = %s WHERE run = %s AND seq = %s", value, run_id, number)

    def remove(self, store: UnitOfWork, run_id: str, number: int) -> None:
        """Take a stored event away."""
        unguarded(store, "DELETE FROM event WHERE run = %s AND seq = %s", run_id, number)
