"""
Rows that are damaged, and rows that are many.
"""

from typing import Any

import psycopg
import pytest

from nr_agent_core.adapters.postgres import PostgresStore
from nr_agent_core.domain.conversation import MessageRole
from nr_agent_core.domain.errors import (
    StoredFormError,
)
from nr_agent_core.domain.run_status import RunStatus
from nr_agent_core.ports.unit_of_work import LetGo
from nr_agent_core.testing.contracts.run_script import RunScript, wrote
from nr_agent_core.testing.contracts.store_contract import opened, said, status_of
from tests.postgres.tables import asked
from tests.postgres_server import unguarded


@pytest.mark.parametrize("change", ["status = 'paused'", "reason = 'why'", "code = 'E1'", "sequence = 0"])
def test_a_damaged_row_is_never_read_as_a_default(store: PostgresStore, change: str) -> None:
    """Neither alone nor with its conversation, which can let go of it; and it hides no other row (E6, C5)."""
    opened(store, "c1")
    damaged, sound = RunScript("damaged", conversation="c1", lease_for=0), RunScript("sound", lease_for=0)
    store.commit([damaged.start(), sound.start()])
    unguarded(store, f"UPDATE run SET {change}, expires_at = 0 WHERE id = 'damaged'")

    with pytest.raises(StoredFormError):
        store.run_row("damaged")
    row = store.conversation_row("c1")
    assert row is not None
    assert (row.last_run, row.unreadable_run) == (None, "damaged")
    assert [row.id for row in store.due_runs(queued_grace=0, limit=10)] == ["sound"]

    store.commit([LetGo("damaged")])
    assert status_of(store, "damaged") is RunStatus.CANCELLED
    store.commit([RunScript("next", conversation="c1").start()])
    assert status_of(store, "next") is RunStatus.RUNNING


@pytest.mark.parametrize(
    "change", ["role = 'system'", "notices = '[]'", "notices = 'no'", "text = 'a' || chr(16)", "run = chr(16)"]
)
def test_a_damaged_message_is_damage(store: PostgresStore, change: str) -> None:
    """A message is read as strictly as an event (E6)."""
    opened(store, "c1")
    store.commit([said("c1", "Hello.", role=MessageRole.USER)])
    unguarded(store, f"UPDATE message SET {change}")

    with pytest.raises(StoredFormError):
        store.messages("c1")
    with pytest.raises(StoredFormError):
        store.history("c1", budget=10)


def test_a_stream_longer_than_its_row_takes_nothing_more(store: PostgresStore) -> None:
    """Row and stream disagree: that is damage, and nothing is put on top; letting go still works (C5)."""
    script = RunScript("r1")
    store.commit([script.start(), script.request()])
    unguarded(store, "UPDATE run SET sequence = 2")
    behind = RunScript("r1")
    behind.start()
    behind.propose()

    with pytest.raises(StoredFormError):
        store.commit([behind.intend()])

    store.commit([LetGo("r1")])
    assert [entry.number for entry in store.events("r1")] == [0, 1, 2, 3]


def test_history_reads_as_far_back_as_it_needs(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """In pages, none of which is longer than what was read before it (R11)."""
    from nr_agent_core.adapters.postgres import history

    opened(store, "c1")
    store.commit([said("c1", *(f"m{number}" for number in range(300)), tokens=1)])
    read: list[int] = []
    original = history.rows_of

    def counting(*arguments: Any) -> list[Any]:
        rows = original(*arguments)
        read.append(len(rows))
        return rows

    monkeypatch.setattr(history, "rows_of", counting)

    assert len(store.history("c1", budget=5).messages) == 5
    assert sum(read) == 32
    store._windows = type(store._windows)()
    read.clear()
    assert len(store.history("c1", budget=100).messages) == 100
    assert sum(read) == 32 + 64 + 128
    store._windows = type(store._windows)()
    assert store.history("c1", budget=1000).complete


def crowded(store: PostgresStore) -> None:
    """Three thousand rows in every table, and statistics that say so."""
    opened(store, "c1")
    unguarded(store, "INSERT INTO conversation SELECT 'x' || n, 'anna', 0 FROM generate_series(1, 3000) AS n")
    unguarded(
        store,
        """
        INSERT INTO run(id, owner, conversation, status, sequence, created_at, lease_until, not_before, outside)
        SELECT 'x' || n, 'anna', 'x' || n, 'completed', 1, 0, 0, 0, false FROM generate_series(1, 3000) AS n
        """,
    )
    for conversation in ("'x' || n", "'c1'"):
        unguarded(
            store,
            f"""
            INSERT INTO message SELECT {conversation}, n, 'user', 'x' || n, 0, 10, NULL, 'text'
            FROM generate_series(0, 3000) AS n WHERE n > 0 OR {conversation} = 'c1'
            """,
        )
    unguarded(
        store, "INSERT INTO event SELECT 'x' || n, 0, 'started', 0, '{}', NULL FROM generate_series(1, 3000) AS n"
    )
    unguarded(
        store,
        """
        INSERT INTO tool_write SELECT n, 'x' || n, 'c1', 0, 'pages', '1', 'int', 'created'
        FROM generate_series(1, 3000) AS n
        """,
    )
    unguarded(store, "UPDATE feed SET position = 3000")
    for table in ("conversation", "run", "message", "event", "tool_write"):
        asked(store, f"ANALYZE {table}")


def whole_turn(store: PostgresStore, number: int) -> None:
    """Everything that a turn asks of the store, with a cold history at its end."""
    store.conversation_row("c1")
    store.history("c1", budget=200)
    script = RunScript(f"r{number}", conversation="c1")
    store.commit([said("c1", "Please.", run_id=script.run.id), script.start(), script.propose(), script.intend()])
    store.commit([script.outcome(wrote(1)), script.answer(), said("c1", "Done.", run_id=script.run.id)])
    store.messages("c1", limit=5)
    store.events(script.run.id)
    store.run_row(script.run.id)
    store.writes(after=2990, limit=5)
    store.writes_of(script.run.id)
    store.waiting_runs(limit=5)
    store.due_runs(queued_grace=0.0, limit=5)
    store._windows = type(store._windows)()
    store.history("c1", budget=200)
    store.commit([LetGo(script.run.id)])


def test_no_statement_walks_a_table(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every statement of a turn finds its rows by an index, however much there is (R11)."""
    crowded(store)
    seen: list[tuple[bytes, Any]] = []
    real = psycopg.Connection.execute

    def noting(self: Any, query: Any, params: Any = None, **options: Any) -> Any:
        seen.append((query, params))
        return real(self, query, params, **options)

    with monkeypatch.context() as patched:
        patched.setattr(psycopg.Connection, "execute", noting)
        for number in range(2):
            whole_turn(store, number)

    checked = 0
    for query, params in seen:
        if query.lstrip().startswith((b"SELECT", b"WITH", b"INSERT", b"UPDATE")) and b"set_config" not in query:
            plan = [line for (line,) in asked(store, f"EXPLAIN {query.decode()}", *(params or ()))]
            assert not [line for line in plan if "Seq Scan" in line and "feed" not in line], (query, plan)
            checked += 1
    assert checked > 40
