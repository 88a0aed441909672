"""
Both queues keep the contract of the queues.
"""

from pathlib import Path

import pytest

from nr_agent_core.testing.contracts import RunQueueContract
from nr_agent_core.testing.contracts.queue_site import QueueSite
from tests.contracts.queue_sites import PollingSite, PostgresSite, SqliteSite
from tests.postgres_server import Server

pytestmark = pytest.mark.process


class TestThreadRunQueue(RunQueueContract):
    @pytest.fixture
    def site(self, tmp_path: Path) -> QueueSite:
        """A SQLite file of its own."""
        return SqliteSite(tmp_path / "chat.db")


class TestThreadRunQueueOnPostgres(RunQueueContract):
    @pytest.fixture
    def site(self, postgres: Server) -> QueueSite:
        """A schema of its own."""
        return PollingSite(postgres.dsn(), postgres.schema())


class TestProcrastinateRunQueue(RunQueueContract):
    @pytest.fixture
    def site(self, postgres: Server) -> QueueSite:
        """A schema of its own, with the engine's tables."""
        return PostgresSite(postgres.dsn(), postgres.schema())
