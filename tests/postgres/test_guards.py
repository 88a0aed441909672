"""
What the database itself keeps, whoever writes to it.
"""

from contextlib import closing

import psycopg
import pytest

from nr_agent_core.adapters.postgres import PostgresStore
from nr_agent_core.domain.errors import (
    AppendOnlyError,
    StoreError,
    StoreUnavailableError,
)
from nr_agent_core.testing.contracts.run_script import RunScript, wrote
from nr_agent_core.testing.contracts.store_contract import opened, said
from tests.postgres.tables import asked
from tests.postgres_server import Server


@pytest.mark.parametrize("statement", [
    "UPDATE event SET facts = '{}'", "UPDATE event SET seq = seq + 1", "UPDATE event SET content = '{}'",
    "DELETE FROM event", "DELETE FROM event WHERE seq = 0", "UPDATE message SET text = 'other'",
    "DELETE FROM message", "UPDATE tool_write SET position = position + 1", "TRUNCATE event", "TRUNCATE message",
    "TRUNCATE tool_write", "TRUNCATE run CASCADE",
])  # fmt: skip
def test_what_is_stored_is_not_changed(store: PostgresStore, statement: str) -> None:
    """Facts, messages and the feed are append-only in the database itself; content can only be forgotten (R3)."""
    opened(store, "c1")
    script = RunScript("r1", conversation="c1")
    store.commit([said("c1", "Please."), script.start(), script.propose(), script.intend(), script.outcome(wrote(1))])
    before = store.events("r1"), store.messages("c1"), store.writes(after=0, limit=9)

    with pytest.raises(AppendOnlyError):
        asked(store, statement)

    assert (store.events("r1"), store.messages("c1"), store.writes(after=0, limit=9)) == before


def test_content_can_be_forgotten_and_a_conversation_can_go(store: PostgresStore, postgres: Server) -> None:
    """Whole conversations go with their messages and runs; the feed outlives them (E2, E4)."""
    opened(store, "c1")
    script = RunScript("r1", conversation="c1")
    store.commit([said("c1", "Please."), script.start(), script.propose(), script.intend(), script.outcome(wrote(1))])
    asked(store, "UPDATE event SET content = NULL")
    assert asked(store, "SELECT count(*) FROM event WHERE content IS NOT NULL") == [(0,)]

    with psycopg.connect(postgres.dsn()) as db:
        db.execute(f"DELETE FROM {store._connections.schema}.conversation".encode())

    assert store.conversation_row("c1") is None
    assert store.run_row("r1") is None
    assert asked(store, "SELECT count(*) FROM event") == asked(store, "SELECT count(*) FROM message") == [(0,)]
    assert [entry.written.reference.uid for entry in store.writes(after=0, limit=9)] == [1]


def test_a_user_without_rights_to_the_tables_themselves_is_enough(postgres: Server, store: PostgresStore) -> None:
    """Whoever works with the store need not own its tables, and then cannot take the guards away."""
    opened(store, "c1")
    tables = store._connections.schema
    with psycopg.connect(postgres.dsn(), autocommit=True) as db:
        db.execute("CREATE ROLE clerk LOGIN")
        db.execute(f"GRANT USAGE ON SCHEMA {tables} TO clerk".encode())
        db.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {tables} TO clerk".encode())

    with closing(PostgresStore(postgres.dsn(user="clerk"), schema=tables)) as clerk:
        script = RunScript("r1", conversation="c1")
        clerk.commit([said("c1", "Please."), script.start(), script.propose(), script.intend()])
        clerk.commit([script.outcome(wrote(1)), script.answer()])
        assert clerk.due_runs(queued_grace=0, limit=9) == ()
        assert len(clerk.events("r1")) == 6
        for statement in ("ALTER TABLE event DISABLE TRIGGER ALL", "SET session_replication_role = replica"):
            with pytest.raises(StoreUnavailableError, match="may not be used"):
                asked(clerk, statement)


def test_one_unsettled_run_is_a_rule_of_the_database(store: PostgresStore) -> None:
    """Whoever writes past the store meets it too (O1)."""
    opened(store, "c1")
    store.commit([RunScript("r1", conversation="c1").start()])

    with pytest.raises(StoreError):
        asked(
            store,
            """
            INSERT INTO run(id, owner, conversation, status, sequence, created_at, lease_until, not_before, outside)
            VALUES ('r2', 'anna', 'c1', 'queued', 1, 0, 0, 0, false)
            """,
        )


def test_every_id_comes_back_as_it_was(store: PostgresStore) -> None:
    """NUL, which no column holds, in ids of every kind, and what would be its escape (P3)."""
    ids = ("a\0b", "a\x10@b", "a\x10b", "a\x10Pb")
    for each in ids:
        opened(store, each, owner=each)
        script = RunScript(each, conversation=each, owner=each)
        store.commit([said(each, each, run_id=each), script.start(), script.propose(), script.intend()])
        store.commit([script.outcome(wrote(each.replace("\0", "0").replace("\x10", "1").replace("@", "2")))])

    for each in ids:
        row = store.conversation_row(each)
        assert row is not None
        assert row.last_run == store.run_row(each)
        assert row.last_run is not None
        assert (row.owner, row.last_run.id, row.last_run.owner, row.last_run.conversation) == (each,) * 4
        assert [message.run_id for message in store.messages(each)] == [each]
        assert list(store.history(each, budget=100).writes) == [each]
        assert len(store.events(each)) == 4
        assert len(store.writes_of(each)) == 1
    assert [entry.written.correlation_id for entry in store.writes(after=0, limit=9)] == list(ids)
