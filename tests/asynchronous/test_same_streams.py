"""
However a turn is driven, awaited or streamed, what is stored of it is the same.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nr_agent_core import FailureClass, ModelAnswer, ProviderError
from nr_agent_core.adapters.memory import MemoryStore
from nr_agent_core.adapters.postgres import PostgresStore
from nr_agent_core.adapters.sqlite import SqliteStore
from nr_agent_core.ports.unit_of_work import UnitOfWork
from nr_agent_core.testing import ManualClock, call, round_of
from tests.asynchronous.desk import WAYS, Desk, stored
from tests.postgres_server import Server

CALLS = st.builds(lambda name, n: call(name, n=n), st.sampled_from(["search", "save", "unknown"]), st.integers(1, 3))
ROUNDS = st.builds(lambda calls, text: round_of(*calls, text=text), st.lists(CALLS, min_size=1, max_size=3), st.text())
ENDS = st.one_of(
    st.text(min_size=1, max_size=20),
    st.builds(ProviderError, st.just("it failed"), st.sampled_from(FailureClass)),
    st.just(ModelAnswer("", finish_reason="stop")),
)
SCRIPTS = st.tuples(st.lists(ROUNDS, max_size=3), ENDS).map(lambda parts: (*parts[0], parts[1]))


@contextmanager
def memory() -> Iterator[UnitOfWork]:
    """A store in memory."""
    yield MemoryStore(ManualClock())


@contextmanager
def sqlite() -> Iterator[UnitOfWork]:
    """A store in a file of SQLite, in memory."""
    with closing(SqliteStore(":memory:", clock=ManualClock())) as store:
        yield store


def told(makes: Any, script: tuple[Any, ...], **options: Any) -> list[Any]:
    """What is stored and heard, by each way to tell the story."""
    results = []
    for way in WAYS:
        with makes() as store:
            desk = Desk(store, script, **options)
            conversation = way(desk)
            messages = store.messages(conversation, limit=1000)
            feed = store.writes(after=0, limit=1000)
            results.append((stored(store, conversation), messages, feed, desk.executed, desk.heard))
    return results


@pytest.mark.parametrize("makes", [memory, sqlite])
@given(script=SCRIPTS, in_loop=st.booleans(), streams=st.booleans())
def test_every_way_to_drive_a_turn_stores_the_same(
    makes: Any, script: tuple[Any, ...], in_loop: bool, streams: bool
) -> None:
    """(R2, V9) Events with their numbers and times, messages, feed, executions, announcements: equal one by one."""
    first, *others = told(makes, script, in_loop=in_loop, streams=streams)

    assert len(first[0]) == 1
    for other in others:
        assert other == first


@pytest.mark.server
def test_every_way_stores_the_same_on_a_server(postgres: Server) -> None:
    """(R2, V9) The same over PostgreSQL, for one story with everything in it."""
    script = (round_of(call("search", n=1), call("save", n=1), text="A moment."), call("search", n=2), "All is saved.")

    @contextmanager
    def server() -> Iterator[UnitOfWork]:
        schema = postgres.emptied_schema()
        with closing(PostgresStore(postgres.dsn(), schema=schema, synchronous="NORMAL", clock=ManualClock())) as store:
            yield store

    first, *others = told(server, script)

    assert others == [first] * 3
