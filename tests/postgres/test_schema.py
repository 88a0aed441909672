"""
The tables come into being, are brought up to date, and are left alone where they are not ours.
"""

import threading
from contextlib import closing

import psycopg
import pytest

from nr_agent_core.adapters.postgres import PostgresStore, schema
from nr_agent_core.domain.errors import (
    AgentCoreError,
    NewerFormError,
    StoredFormError,
    StoreError,
)
from nr_agent_core.testing.contracts.store_contract import opened
from tests.postgres.tables import asked
from tests.postgres_server import Server


def test_the_tables_come_into_being_on_first_use(postgres: Server, fresh: str) -> None:
    """A schema that is not there is made; one that is there and empty is used."""
    for _ in range(2):
        with closing(PostgresStore(postgres.dsn(), schema=fresh)) as store:
            assert store.conversation_row("c1") is None
            assert asked(store, "SELECT version FROM schema_version") == [(len(schema.STEPS),)]
    empty = postgres.schema()
    with psycopg.connect(postgres.dsn()) as db:
        db.execute(f"CREATE SCHEMA {empty}".encode())
    with closing(PostgresStore(postgres.dsn(), schema=empty)) as store:
        assert store.conversation_row("c1") is None


def test_the_tables_of_another_application_are_left_alone(postgres: Server, fresh: str) -> None:
    """No table of ours is put beside them."""
    with psycopg.connect(postgres.dsn()) as db:
        db.execute(f"CREATE SCHEMA {fresh}".encode())
        db.execute(f"CREATE TABLE {fresh}.run(id text)".encode())

    with (
        closing(PostgresStore(postgres.dsn(), schema=fresh)) as store,
        pytest.raises(StoredFormError, match="another application"),
    ):
        opened(store, "c1")

    with psycopg.connect(postgres.dsn()) as db:
        found = db.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", (fresh,)).fetchall()
    assert found == [("run",)]


def test_a_newer_schema_is_left_alone(postgres: Server, fresh: str) -> None:
    """A release that does not know the schema neither reads nor writes it (E6)."""
    with closing(PostgresStore(postgres.dsn(), schema=fresh)) as store:
        opened(store, "c1")
        asked(store, "UPDATE schema_version SET version = version + 1")
        store.close()

        for use in (lambda: store.conversation_row("c1"), lambda: opened(store, "c2")):
            with pytest.raises(NewerFormError) as refused:
                use()
            assert (refused.value.found, refused.value.known) == (len(schema.STEPS) + 1, len(schema.STEPS))


def test_an_older_schema_is_brought_up_to_date(postgres: Server, fresh: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps that are missing are taken in order, once, and what was stored stays."""
    with closing(PostgresStore(postgres.dsn(), schema=fresh)) as store:
        opened(store, "c1")
        store.close()
        further = (
            ("CREATE TABLE further(x bigint)",),
            ("INSERT INTO further VALUES (1)", "INSERT INTO further VALUES (2)"),
        )
        monkeypatch.setattr(schema, "STEPS", schema.STEPS + further)

        for _ in range(2):
            assert store.conversation_row("c1") is not None
            assert asked(store, "SELECT x FROM further ORDER BY x") == [(1,), (2,)]
            assert asked(store, "SELECT version FROM schema_version") == [(len(schema.STEPS),)]
            store.close()


def test_a_step_that_fails_leaves_the_schema_as_it_was(
    postgres: Server, fresh: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All missing steps are taken, or none."""
    with closing(PostgresStore(postgres.dsn(), schema=fresh)) as store:
        opened(store, "c1")
        store.close()
        with monkeypatch.context() as patched:
            twice = ("CREATE TABLE further(x bigint)", "CREATE TABLE further(x bigint)")
            patched.setattr(schema, "STEPS", (*schema.STEPS, twice))
            with pytest.raises(StoreError):
                store.conversation_row("c1")

        assert store.conversation_row("c1") is not None
        assert asked(store, "SELECT to_regclass('further')") == [(None,)]


def test_many_may_make_the_tables_at_once(postgres: Server, fresh: str) -> None:
    """One makes them, the others find them made; nobody fails."""
    barrier, failed = threading.Barrier(8), []

    def use() -> None:
        with closing(PostgresStore(postgres.dsn(), schema=fresh)) as store:
            barrier.wait(60)
            try:
                store.conversation_row("c1")
            except AgentCoreError as error:
                failed.append(error)

    threads = [threading.Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert failed == []


def test_tables_that_were_taken_away_are_told_and_made_anew(postgres: Server, fresh: str) -> None:
    """What went wrong once is looked at again; no restart is needed."""
    with closing(PostgresStore(postgres.dsn(), schema=fresh)) as store:
        opened(store, "c1")
        with psycopg.connect(postgres.dsn()) as db:
            db.execute(f"DROP SCHEMA {fresh} CASCADE".encode())

        with pytest.raises(StoreError):
            store.conversation_row("c1")

        assert store.conversation_row("c1") is None


def test_a_column_more_does_not_disturb_those_at_work(postgres: Server, fresh: str) -> None:
    """What was prepared before another process took a step is prepared again, and nobody is told (E6)."""
    with closing(PostgresStore(postgres.dsn(), schema=fresh, connections=1)) as store:
        for _ in range(12):
            assert asked(store, "SELECT * FROM conversation WHERE id = %s", "c1") == []
        with psycopg.connect(postgres.dsn()) as db:
            db.execute(f"ALTER TABLE {fresh}.conversation ADD COLUMN further bigint".encode())

        assert asked(store, "SELECT * FROM conversation WHERE id = %s", "c1") == []
