"""
The memory store keeps the contracts of the stores.
"""

import attrs
import pytest

from nr_agent_core.adapters.memory import MemoryStore
from nr_agent_core.ports.unit_of_work import UnitOfWork
from nr_agent_core.testing.contracts import UnitOfWorkContract
from nr_agent_core.testing.manual_clock import ManualClock


class TestMemoryStore(UnitOfWorkContract):
    @pytest.fixture
    def store(self, clock: ManualClock) -> UnitOfWork:
        """An empty store."""
        return MemoryStore(clock=clock)

    def plant(self, store: UnitOfWork, run_id: str, number: int, **columns: str | None) -> None:
        """Overwrite columns of a stored event."""
        run = store._state.runs[run_id]  # type: ignore[attr-defined]
        run.events = tuple(attrs.evolve(row, **columns) if row.number == number else row for row in run.events)

    def remove(self, store: UnitOfWork, run_id: str, number: int) -> None:
        """Take a stored event away."""
        run = store._state.runs[run_id]  # type: ignore[attr-defined]
        run.events = tuple(row for row in run.events if row.number != number)
