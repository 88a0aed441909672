"""
Whose time it is, and who waits for whom.
"""

import threading
from contextlib import closing

import psycopg
import pytest

from nr_agent_core.adapters.postgres import PostgresStore, committing, connections
from nr_agent_core.adapters.postgres.appending import Step
from nr_agent_core.domain.errors import (
    StoreUnavailableError,
)
from nr_agent_core.testing.contracts.run_script import RunScript
from nr_agent_core.testing.contracts.store_contract import opened, said
from nr_agent_core.testing.manual_clock import ManualClock
from tests.postgres.tables import asked, other, wait_until_blocked
from tests.postgres_server import Server


def test_leases_and_stamps_are_in_the_servers_time(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Machines whose clocks differ agree, because nobody asks them (R8)."""
    monkeypatch.setattr(committing, "hold", lambda _: Step(b"SELECT 5000.5::float8", ()))
    script = RunScript("r1", lease_for=60)
    store.commit([script.start()])

    row = store.run_row("r1")
    assert row is not None
    assert (row.created_at, row.lease_until, store.events("r1")[0].at) == (5000.5, 5060.5, 5000.5)
    assert 5000.5 <= store.now() < 5060


def test_the_servers_clock_is_the_default(store: PostgresStore) -> None:
    """What the store says is what the server says, at most a moment apart."""
    before, now, after = asked(store, _NOW)[0][0], store.now(), asked(store, _NOW)[0][0]

    assert before - 1 <= now <= after + 1


_NOW = "SELECT extract(epoch FROM clock_timestamp())::float8"


def test_what_is_due_is_due_by_the_servers_clock(store: PostgresStore) -> None:
    """A lease that expired on the server has expired (R8, O2)."""
    script, standing = RunScript("r1", lease_for=0.0), RunScript("r2", lease_for=100.0)
    store.commit([script.start(), standing.start()])

    assert [row.id for row in store.due_runs(queued_grace=300, limit=9)] == ["r1"]


def test_stamps_are_of_the_commit_and_not_of_the_wait_before_it(store: PostgresStore, postgres: Server) -> None:
    """Who had to wait for a conversation gets leases and stamps as of now (R8)."""
    clock = ManualClock()
    with closing(PostgresStore(postgres.dsn(), schema=store._connections.schema, clock=clock)) as late:
        opened(late, "c1")
        with closing(other(store)) as holder, holder.transaction():
            holder.execute("SELECT 1 FROM conversation FOR UPDATE")
            thread = threading.Thread(target=lambda: late.commit([said("c1", "Late.")]))
            thread.start()
            wait_until_blocked(store)
            clock.advance(100)
        thread.join(60)

        assert late.messages("c1")[0].at == clock.now()


def test_a_conversation_that_is_held_is_waited_for_and_then_told(hasty: PostgresStore, store: PostgresStore) -> None:
    """A bounded wait, then an error; the change counts as refused and can be tried again (R3)."""
    opened(store, "c1")
    with closing(other(store)) as holder, holder.transaction():
        holder.execute("SELECT 1 FROM conversation FOR UPDATE")
        with pytest.raises(StoreUnavailableError, match="locked"):
            hasty.commit([said("c1", "Hello.")])
        assert hasty.messages("c1") == ()

    hasty.commit([said("c1", "Hello.")])
    assert len(store.messages("c1")) == 1


def test_conversations_do_not_wait_for_each_other(hasty: PostgresStore, store: PostgresStore) -> None:
    """Nor does anybody who reads."""
    opened(store, "c1", "c2")
    store.commit([said("c1", "Committed.")])
    with closing(other(store)) as holder, holder.transaction():
        holder.execute("SELECT 1 FROM conversation WHERE id = 'c1' FOR UPDATE")
        hasty.commit([said("c2", "Hello."), RunScript("r1", conversation="c2").start()])
        assert [message.text for message in hasty.messages("c1")] == ["Committed."]
        assert hasty.conversation_row("c1") is not None


def test_threads_wait_for_a_connection_and_are_told(store: PostgresStore, postgres: Server) -> None:
    """Connections are bounded, and so is the wait for one."""
    lean = PostgresStore(postgres.dsn(), schema=store._connections.schema, connections=1, patience=0.2)
    with closing(lean):

        def inside(_: object) -> None:
            with pytest.raises(StoreUnavailableError, match="connection"):
                lean.conversation_row("c1")

        lean._connections.work(inside)
        assert lean.conversation_row("c1") is None


def test_upkeep_leaves_out_what_somebody_changes_at_this_moment(store: PostgresStore) -> None:
    """It neither waits for them nor takes what is theirs (R8, O2)."""
    one, another = RunScript("r1", lease_for=0.0), RunScript("r2", lease_for=0.0)
    store.commit([one.start(), another.start()])
    with closing(other(store)) as holder, holder.transaction():
        holder.execute("UPDATE run SET lease_until = lease_until WHERE id = 'r1'")

        assert [row.id for row in store.due_runs(queued_grace=0, limit=9)] == ["r2"]

    assert [row.id for row in store.due_runs(queued_grace=0, limit=9)] == ["r1", "r2"]


def test_a_transaction_that_stands_still_is_ended(hasty: PostgresStore) -> None:
    """A process that was stopped amid a commit does not hold up the others for ever."""
    opened(hasty, "c1")
    stopped = hasty._connections.apart()
    stopped.execute("BEGIN")
    stopped.execute("SELECT 1 FROM conversation FOR UPDATE")

    for _ in range(50):
        try:
            hasty.commit([said("c1", "Hello.")])
            break
        except StoreUnavailableError:
            continue

    assert len(hasty.messages("c1")) == 1
    with pytest.raises(psycopg.Error, match="idle-in-transaction"):
        stopped.execute("SELECT 1")
    stopped.close()


def test_commits_that_cross_do_not_lock_each_other_out(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever order the changes of a commit have, rows are taken in one order; all land at the first try."""
    opened(store, "c1", "c2")
    monkeypatch.setattr(connections, "_TRIES", 1)
    failed: list[BaseException] = []

    def cross(first: str, second: str) -> None:
        try:
            for _ in range(20):
                store.commit([said(first, "Hello."), said(second, "Hello.")])
        except BaseException as error:  # noqa: BLE001 - shown by the assertion
            failed.append(error)

    threads = [threading.Thread(target=cross, args=order) for order in (("c1", "c2"), ("c2", "c1")) * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)

    assert failed == []
    for conversation in ("c1", "c2"):
        positions = [message.position for message in store.messages(conversation, limit=1000)]
        assert positions == list(range(80))
