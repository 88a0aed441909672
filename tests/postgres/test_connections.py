"""
Connections and servers that end, and come back.
"""

import gc
import threading
import weakref
from contextlib import closing
from typing import Any

import psycopg
import pytest

from nr_agent_core.adapters.postgres import PostgresStore, committing
from nr_agent_core.adapters.postgres.server_time import ServerTime
from nr_agent_core.domain.errors import StaleAppendError, StoreUnavailableError
from nr_agent_core.testing.contracts.run_script import RunScript, wrote
from nr_agent_core.testing.contracts.store_contract import opened, said
from tests.postgres.tables import backends, cut, texts, until
from tests.postgres_server import PATIENCE, Server


@pytest.fixture
def store(store: PostgresStore) -> PostgresStore:
    """With a conversation in it."""
    opened(store, "c1")
    return store


def test_connections_that_were_cut_are_replaced(store: PostgresStore, postgres: Server) -> None:
    """Idle connections die unnoticed; reading and writing go on as if nothing had been."""

    def fill(depth: int) -> None:
        store._connections.work(lambda _: fill(depth - 1) if depth else None)

    for use in (lambda: store.conversation_row("c1"), lambda: store.commit([said("c1", "Hello.")])):
        fill(6)
        cut(postgres)
        use()

    assert texts(store) == ["Hello."]


def test_a_commit_that_was_cut_before_its_end_is_begun_again(
    store: PostgresStore, postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of it stands, so nothing is stored twice."""
    cuts = [True]
    real = committing.plan

    def cutting(*arguments: Any) -> Any:
        if cuts:
            cuts.pop()
            cut(postgres)
        return real(*arguments)

    monkeypatch.setattr(committing, "plan", cutting)
    store.commit([said("c1", "Hello.")])

    assert not cuts
    assert texts(store) == ["Hello."]


@pytest.mark.parametrize("stands", [False, True])
def test_a_commit_whose_end_is_unknown_is_never_begun_again(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch, *, stands: bool
) -> None:
    """The connection goes with the answer: it counts as refused, whether it stands or not (R3, P5)."""
    last_words = b"SELECT pg_terminate_backend(pg_backend_pid())"
    real = psycopg.Connection.execute

    def dying(self: Any, query: Any, *arguments: Any, **options: Any) -> Any:
        if query == b"COMMIT":
            if stands:
                real(self, query)
                self._pipeline.sync()
            return real(self, last_words)
        return real(self, query, *arguments, **options)

    with monkeypatch.context() as patched:
        patched.setattr(psycopg.Connection, "execute", dying)
        with pytest.raises(StoreUnavailableError):
            store.commit([said("c1", "Hello.")])

    assert texts(store) == (["Hello."] if stands else [])


@pytest.mark.parametrize("stands", [False, True])
def test_an_outcome_whose_commit_is_unknown_is_never_stored_twice(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch, *, stands: bool
) -> None:
    """The same for a commit that adds to the feed (R3, W3)."""
    script = RunScript("r1")
    store.commit([script.start(), script.propose(), script.intend()])
    outcome = script.copy().outcome(wrote(1))
    last_words = b"SELECT pg_terminate_backend(pg_backend_pid())"

    with monkeypatch.context() as patched:
        patched.setattr(committing, "_COMMIT", b"COMMIT;" + last_words if stands else last_words)
        with pytest.raises(StoreUnavailableError):
            store.commit([outcome])

    assert len(store.events("r1")) == (4 if stands else 3)
    assert len(store.writes(after=0, limit=9)) == stands
    if stands:
        with pytest.raises(StaleAppendError):
            store.commit([outcome])
    else:
        store.commit([outcome])
    assert [entry.position for entry in store.writes(after=0, limit=9)] == [1]


def test_a_commit_that_the_server_rolled_back_does_not_count(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An answer that is no "committed" is a refusal, even where the server calls it no error (R3)."""
    monkeypatch.setattr(committing, "_COMMIT", b"ROLLBACK")

    with pytest.raises(StoreUnavailableError):
        store.commit([said("c1", "Hello.")])

    assert texts(store) == []


def test_closing_ends_connections_and_threads(store: PostgresStore, postgres: Server) -> None:
    """Nothing is left behind; the next use begins anew."""
    before = threading.active_count()
    assert backends(postgres)
    store.close()
    store.close()

    until(lambda: not backends(postgres))
    assert threading.active_count() < before
    assert store.conversation_row("c1") is not None


def test_a_store_that_nobody_closed_leaves_nothing_behind(store: PostgresStore, postgres: Server) -> None:
    """What a host makes per request and forgets goes with it."""
    store.close()
    until(lambda: not backends(postgres))
    threads = threading.active_count()
    forgotten = PostgresStore(postgres.dsn(), schema=store._connections.schema)
    assert forgotten.conversation_row("c1") is not None
    gone = weakref.ref(forgotten)
    del forgotten
    gc.collect()

    assert gone() is None
    until(lambda: not backends(postgres))
    until(lambda: threading.active_count() <= threads)


def test_closing_in_one_thread_stops_no_other(store: PostgresStore) -> None:
    """Whoever is at work goes on; whoever waits for a connection gets one of the next pool."""
    done, failed = threading.Event(), list[BaseException]()

    def work() -> None:
        try:
            while not done.is_set():
                store.commit([said("c1", "Hello.")])
        except BaseException as error:  # noqa: BLE001 - shown by the assertion
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(10):
        before = len(texts(store))
        store.close()
        until(lambda: len(texts(store)) > before or bool(failed))  # noqa: B023 - called at once
    done.set()
    for thread in threads:
        thread.join(60)

    assert failed == []


def test_a_burst_of_writers_is_served(store: PostgresStore) -> None:
    """More threads than connections: late is fine, lost is not."""
    failed: list[BaseException] = []

    def burst(number: int) -> None:
        try:
            for each in range(5):
                store.commit([said("c1", f"{number}.{each}")])
        except BaseException as error:  # noqa: BLE001 - shown by the assertion
            failed.append(error)

    threads = [threading.Thread(target=burst, args=(number,)) for number in range(30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)

    assert failed == []
    assert sorted(texts(store)) == sorted(f"{number}.{each}" for number in range(30) for each in range(5))


def test_a_server_that_comes_back_is_used_again(postgres: Server) -> None:
    """While it is away the store says so; no restart of the process is needed, and what was committed stands."""
    with closing(PostgresStore(postgres.dsn(), schema=postgres.schema(), patience=1)) as store:
        opened(store, "c1")
        store.commit([said("c1", "Before.")])
        postgres.stop(hard=True)
        try:
            store._server_time = ServerTime()
            for use in (lambda: texts(store), lambda: store.commit([said("c1", "Never.")]), store.now):
                with pytest.raises(StoreUnavailableError):
                    use()
        finally:
            postgres.start()

        store.commit([said("c1", "After.")])
        assert texts(store) == ["Before.", "After."]


def test_a_restart_is_waited_for(postgres: Server) -> None:
    """Who reached the server before has patience with it."""
    with closing(PostgresStore(postgres.dsn(), schema=postgres.schema(), patience=PATIENCE)) as store:
        opened(store, "c1")
        postgres.stop()
        thread = threading.Thread(target=lambda: store.commit([said("c1", "Patient.")]))
        thread.start()
        try:
            until(lambda: store._connections._pool().attempts.failure is not None)
        finally:
            postgres.start()
        thread.join(60)

        assert texts(store) == ["Patient."]
