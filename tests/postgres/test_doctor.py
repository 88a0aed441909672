"""
``nr-agent-core doctor`` and ``upkeep`` over a PostgreSQL database.
"""

import json
from contextlib import closing
from typing import Any

import psycopg
import pytest

from nr_agent_core.adapters.postgres import PostgresStore
from nr_agent_core.cli import main
from nr_agent_core.cli.doctor import postgres_checks
from nr_agent_core.cli.stores.tables import PostgresTables
from nr_agent_core.domain.run_status import RunStatus
from nr_agent_core.testing.contracts.store_contract import status_of
from tests.postgres.tables import asked
from tests.postgres_server import Server, unguarded
from tests.unit.cli.stores import begin, fill

Findings = list[tuple[str, str, str]]


@pytest.fixture
def filled(store: PostgresStore) -> PostgresStore:
    """A store with runs in every state."""
    fill(store)
    return store


def doctor(capsys: pytest.CaptureFixture[str], server: Server, schema: str, *words: str) -> tuple[int, Findings]:
    """Exit code and findings of one examination."""
    code = main(["doctor", server.dsn(), "--schema", schema, *words, "--format", "json"])
    captured = capsys.readouterr()
    assert captured.err == ""
    return code, [(each["level"], each["check"], each["text"]) for each in json.loads(captured.out)["findings"]]


def bad(findings: Findings) -> list[tuple[str, str]]:
    """What wants attention."""
    return [(level, check) for level, check, _ in findings if level in {"warning", "error"}]


def text(findings: Findings, check: str) -> str:
    """All that was found out about one thing."""
    return "\n".join(said for _, name, said in findings if name == check)


def test_a_sound_store_wants_no_attention(
    filled: PostgresStore, postgres: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    """Server, settings, schema, guards, feed and rows are looked at, and nothing is changed."""
    before = everything(filled)

    code, findings = doctor(capsys, postgres, filled._connections.schema, "--follower", "0")

    assert (code, bad(findings)) == (0, [])
    assert "PostgreSQL" in text(findings, "server")
    assert "fsync on" in text(findings, "settings")
    assert "all triggers" in text(findings, "guards")
    assert "newest position 1; the follower has 1 entries to go" in text(findings, "feed")
    assert "3 runs read, all sound" in text(findings, "runs")
    assert everything(filled) == before


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("UPDATE run SET code = 'E1' WHERE id = 'r-waits'", [("error", "runs"), ("warning", "conversations")]),
        ("UPDATE event SET facts = '{}' WHERE run = 'r-over' AND seq = 2", [("error", "runs")]),
        ("UPDATE event SET kind = 'model.7' WHERE run = 'r-over' AND kind = 'model'", [("error", "runs")]),
        ("UPDATE message SET notices = '[]' WHERE conversation = 'over'", [("error", "messages")]),
        ("UPDATE message SET run = chr(16)", [("error", "messages")]),
        ("UPDATE run SET owner = chr(16) WHERE id = 'r-over'", [("error", "runs")]),
        ("UPDATE tool_write SET kind = 'moved'", [("error", "feed")]),
        ("UPDATE feed SET position = 0", [("error", "feed")]),
        ("DELETE FROM feed", [("error", "feed")]),
        ("INSERT INTO event VALUES ('nobody', 0, 'started', 0, '{}', NULL)", [("error", "orphans")]),
        ("UPDATE run SET lease_until = 0, status = 'running' WHERE id = 'r-waits'",
         [("warning", "leases"), ("error", "runs"), ("warning", "conversations")]),
        ("UPDATE run SET expires_at = 5 WHERE id = 'r-waits'",
         [("warning", "approvals"), ("warning", "conversations")]),
    ],
)  # fmt: skip
def test_damage_is_found(
    filled: PostgresStore,
    postgres: Server,
    capsys: pytest.CaptureFixture[str],
    statement: str,
    found: list[tuple[str, str]],
) -> None:
    """Each kind of damage is found where it is, and nothing else is."""
    unguarded(filled, statement)
    try:
        code, findings = doctor(capsys, postgres, filled._connections.schema)
    finally:
        if "feed" in statement:
            unguarded(filled, "DELETE FROM feed")
            unguarded(filled, "INSERT INTO feed VALUES (true, 1)")

    assert (code, sorted(bad(findings))) == (1, sorted(found)), findings


def test_a_guard_that_was_switched_off_is_found(
    postgres: Server, fresh: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever owns the tables can switch off what keeps them; that is said."""
    with closing(PostgresStore(postgres.dsn(), schema=fresh)) as store:
        store.conversation_row("none")
        asked(store, "ALTER TABLE event DISABLE TRIGGER event_stays")

        code, findings = doctor(capsys, postgres, fresh)

    assert (code, bad(findings)) == (1, [("error", "guards")])
    assert "event_stays" in text(findings, "guards")


def test_a_transaction_that_stands_still_is_found(
    filled: PostgresStore, postgres: Server, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others wait for its rows."""
    monkeypatch.setattr(postgres_checks, "_LONG", 0.0)
    with closing(filled._connections.apart()) as other:
        other.execute("BEGIN")
        other.execute("SELECT 1 FROM feed FOR UPDATE")

        code, findings = doctor(capsys, postgres, filled._connections.schema)

    assert (code, bad(findings)) == (1, [("warning", "transactions")])
    assert "idle in transaction" in text(findings, "transactions")


def test_a_follower_that_is_ahead_is_found(
    filled: PostgresStore, postgres: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    """After a restore, positions are given once more (W4)."""
    code, findings = doctor(capsys, postgres, filled._connections.schema, "--follower", "7")

    assert (code, bad(findings)) == (1, [("error", "feed")])
    assert "older backup" in text(findings, "feed")


@pytest.mark.parametrize(
    ("setting", "level"),
    [("fsync", "error"), ("full_page_writes", "error"), ("autovacuum", "warning"), ("synchronous_commit", "note")],
)
def test_a_server_that_may_lose_something_is_found(
    filled: PostgresStore,
    postgres: Server,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    setting: str,
    level: str,
) -> None:
    """What spares the disk spares the intents of harmful writes, too; what the store sets itself is a note."""
    real = PostgresTables.ask

    def ask(self: PostgresTables, statement: str, *values: object) -> list[Any]:
        rows = real(self, statement, *values)
        return (
            [(name, "off" if name == setting else said) for name, said in rows] if "pg_settings" in statement else rows
        )

    monkeypatch.setattr(PostgresTables, "ask", ask)

    code, findings = doctor(capsys, postgres, filled._connections.schema)

    assert (level, "settings") in [(found, check) for found, check, said in findings if f"{setting} is off" in said]
    assert code == (0 if level == "note" else 1)


def test_a_schema_that_is_not_there_yet(postgres: Server, fresh: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The server is looked at; nothing is made."""
    code, findings = doctor(capsys, postgres, fresh)

    assert (code, bad(findings)) == (0, [])
    assert "the first use makes it" in text(findings, "schema")
    with psycopg.connect(postgres.dsn()) as db:
        assert db.execute("SELECT to_regnamespace(%s)", (fresh,)).fetchone() == (None,)


@pytest.mark.parametrize("way", ["newer", "foreign", "another database"])
def test_what_cannot_be_looked_at_is_told(
    postgres: Server, fresh: str, capsys: pytest.CaptureFixture[str], way: str
) -> None:
    """One line, exit code 2, and everything as it was."""
    dsn = postgres.dsn()
    with psycopg.connect(dsn) as db:
        db.execute(f"CREATE SCHEMA {fresh}".encode())
        if way == "newer":
            db.execute(f"CREATE TABLE {fresh}.schema_version AS SELECT true AS one, 99 AS version".encode())
        else:
            db.execute(f"CREATE TABLE {fresh}.invoice(number int)".encode())
    if way == "another database":
        dsn = postgres.dsn(dbname="nowhere")

    for command in ("doctor", "upkeep"):
        assert main([command, dsn, "--schema", fresh]) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.count("\n") == 1
        wanted = {"newer": "upgrade", "foreign": "another application", "another database": "nowhere"}
        assert wanted[way] in captured.err
        assert str(postgres.folder) not in captured.err


def test_upkeep_over_a_database(filled: PostgresStore, postgres: Server, capsys: pytest.CaptureFixture[str]) -> None:
    """Foretold first, then done, by the server's clock (O2, R8)."""
    begin(filled)
    unguarded(filled, "UPDATE run SET lease_until = 0 WHERE id = 'r-lost'")
    for table, column in (("conversation", "created_at"), ("message", "at"), ("run", "created_at"), ("event", "at")):
        unguarded(filled, f"UPDATE {table} SET {column} = {column} - 100 * 86400")
    words = ["upkeep", postgres.dsn(), "--schema", filled._connections.schema, "--format", "json"]

    assert main([*words, "--dry-run"]) == 1
    foretold = json.loads(capsys.readouterr().out)
    assert main(words) == 1
    done = json.loads(capsys.readouterr().out)

    purged = {"conversations": 1, "messages": 2, "runs": 2, "events": 9, "writes": 0}
    assert done == {**foretold, "dry_run": False}
    assert (done["expired"], done["left"], done["purged"]) == (["r-waits"], ["r-lost"], purged)
    assert status_of(filled, "r-lost") is RunStatus.RUNNING


def everything(store: PostgresStore) -> list[object]:
    """All rows."""
    tables = ("conversation", "message", "run", "event", "tool_write", "feed", "schema_version")
    return [sorted(map(repr, asked(store, f"SELECT * FROM {table}"))) for table in tables]
