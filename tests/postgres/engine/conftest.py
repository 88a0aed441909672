"""
A store, the engine's queue over it, a chat over both, and the host's own connection.
"""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest

from nr_agent_core import (
    Chat,
)
from nr_agent_core.adapters.postgres import PostgresStore
from nr_agent_core.adapters.procrastinate import ProcrastinateRunQueue
from nr_agent_core.testing import ScriptedModel
from tests.postgres_server import Server


@pytest.fixture
def store(postgres: Server) -> Iterator[PostgresStore]:
    """A store in a schema of its own, without the engine's tables."""
    with closing(PostgresStore(postgres.dsn(), schema=postgres.schema(), patience=20)) as store:
        store.conversation_row("none")
        yield store


@pytest.fixture
def queue(store: PostgresStore) -> ProcrastinateRunQueue:
    """The queue over it, installed."""
    queue = ProcrastinateRunQueue(store, stalled_after=1.0)
    queue.install()
    return queue


@pytest.fixture
def chat(queue: ProcrastinateRunQueue) -> Chat:
    """A chat over both."""
    return Chat(store=queue.store, queue=queue, model=ScriptedModel(otherwise="Hello."))


@pytest.fixture
def host(store: PostgresStore) -> Iterator[psycopg.Connection[Any]]:
    """The host's own connection."""
    with psycopg.connect(store.dsn) as db:
        yield db
