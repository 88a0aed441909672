"""
Retention beside others who write at the same time.
"""

from contextlib import closing

import pytest

from nr_agent_core.adapters.postgres import PostgresStore
from nr_agent_core.adapters.postgres import purge as purging
from nr_agent_core.ports.retention import Purged, Retention
from nr_agent_core.testing.contracts.run_script import RunScript
from nr_agent_core.testing.contracts.store_contract import opened, said
from tests.postgres_server import unguarded

SOON = Retention(conversation_days=1e-9, run_days=1e-9)


@pytest.mark.parametrize("statement", ["INSERT INTO message VALUES ('c1', 0, 'user', NULL, 1e12, 1, NULL, 'x')", None])
def test_what_somebody_changes_now_is_passed_over(
    store: PostgresStore, hasty: PostgresStore, statement: str | None
) -> None:
    """A conversation that a commit holds is neither waited for nor deleted; the next purge looks again (O2)."""
    opened(store, "c1", "c2")
    with closing(store._connections.apart()) as other:
        other.execute("BEGIN")
        other.execute("SELECT 1 FROM conversation WHERE id = 'c1' FOR NO KEY UPDATE")
        if statement:
            other.execute(statement.encode())
        assert hasty.purge(SOON) == Purged(conversations=1)
        other.execute("COMMIT")

    assert hasty.purge(SOON) == (Purged() if statement else Purged(conversations=1))


def test_what_came_between_the_look_and_the_lock_is_seen(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """A message that was committed after the candidates were found keeps its conversation (O2)."""
    opened(store, "c1")
    script = RunScript("bare")
    store.commit([script.start()])
    store.commit([script.cancel()])
    real = purging._ids

    def ids(db: object, statement: str, *arguments: object, **values: object) -> list[str]:
        found = real(db, statement, *arguments, **values)  # type: ignore[arg-type]
        if statement is purging._HOLD_CONVERSATIONS:
            # As if it had come before the lock: by somebody whom locks do not stop.
            db.execute("INSERT INTO message VALUES ('c1', 0, 'user', NULL, 1e12, 1, NULL, 'x')")  # type: ignore[attr-defined]
        return found

    monkeypatch.setattr(purging, "_ids", ids)

    assert store.purge(SOON) == Purged(runs=1, events=2)
    assert len(store.messages("c1")) == 1


def test_two_purges_at_once_share_the_work(store: PostgresStore, hasty: PostgresStore) -> None:
    """What one of them holds is the business of that one."""
    for number in range(3):
        script = RunScript(f"r{number}")
        store.commit([script.start()])
        store.commit([script.cancel()])
    with closing(store._connections.apart()) as other:
        other.execute("BEGIN")
        other.execute("SELECT 1 FROM run WHERE id = 'r1' FOR UPDATE")
        assert hasty.purge(SOON).runs == 2
        other.execute("ROLLBACK")

    assert hasty.purge(SOON).runs == 1


def test_a_name_that_cannot_be_read_is_passed_over(store: PostgresStore) -> None:
    """An id with an escape that was never written names nothing that could be ended; others are found (E6)."""
    for run_id in ("r1", "r2"):
        store.commit([RunScript(run_id, lease_for=0).start()])
    unguarded(store, "UPDATE run SET code = 'E1'")
    unguarded(store, "UPDATE run SET id = chr(16) WHERE id = 'r1'")

    assert [run.id for run in store.unreadable_runs(limit=9)] == ["r2"]


def test_messages_count_for_a_portion(store: PostgresStore) -> None:
    """A conversation goes with all its messages; many of them make a portion of their own."""
    opened(store, "c1")
    store.commit([said("c1", *(f"m{number}" for number in range(500)))])

    assert store.purge(SOON, limit=10) == Purged(conversations=1, messages=500, more=True)
    assert store.purge(SOON, limit=10) == Purged()
