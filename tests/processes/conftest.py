"""Every store in turn; nothing outlives its test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.postgres_server import Server
from tests.processes.host import Host, end_all
from tests.processes.queue_host import QueueHost


@pytest.fixture(autouse=True)
def _ended() -> Iterator[None]:
    yield
    end_all()


@pytest.fixture(params=["sqlite", "postgres"])
def base(request: pytest.FixtureRequest, tmp_path: Path) -> Host:
    """A host on each store, as it is set up unless a test says otherwise."""
    if request.param == "sqlite":
        return Host(folder=tmp_path)
    server: Server = request.getfixturevalue("postgres")
    return Host(folder=tmp_path, dsn=server.dsn(), schema=server.schema())


@pytest.fixture(params=["sqlite", "postgres"])
def host(request: pytest.FixtureRequest, tmp_path: Path) -> QueueHost:
    """A host with a queue on each store: threads on SQLite, the engine on PostgreSQL."""
    if request.param == "sqlite":
        return QueueHost(folder=tmp_path)
    server: Server = request.getfixturevalue("postgres")
    host = QueueHost(folder=tmp_path, dsn=server.dsn(), schema=server.schema())
    host.install()
    return host
