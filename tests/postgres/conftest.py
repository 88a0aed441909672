"""
Stores on the tables of one private server.
"""

from collections.abc import Iterator
from contextlib import closing

import pytest

from nr_agent_core.adapters.postgres import PostgresStore
from tests.postgres_server import Server


@pytest.fixture
def store(postgres: Server) -> Iterator[PostgresStore]:
    """A store whose tables are empty, and that gives up soon."""
    with closing(PostgresStore(postgres.dsn(), schema=postgres.emptied_schema(), patience=20)) as store:
        yield store


@pytest.fixture
def hasty(store: PostgresStore, postgres: Server) -> Iterator[PostgresStore]:
    """Another process on the same tables, one that gives up after a fifth of a second."""
    with closing(PostgresStore(postgres.dsn(), schema=store._connections.schema, patience=0.2)) as hasty:
        yield hasty


@pytest.fixture
def fresh(postgres: Server) -> str:
    """The name of a schema that is not there yet."""
    return postgres.schema()
