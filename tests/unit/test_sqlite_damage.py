"""
The SQLite store guards its rows and tells of damage and failures in its own words.
"""

import sqlite3
from pathlib import Path

import pytest

from nr_agent_core.adapters.sqlite import SqliteStore
from nr_agent_core.adapters.sqlite.error_mapping import in_own_words
from nr_agent_core.domain.errors import (
    AppendOnlyError,
    NewerFormError,
    StoredFormError,
    StoreError,
    StoreUnavailableError,
)
from nr_agent_core.domain.run_status import RunStatus
from nr_agent_core.ports.unit_of_work import LetGo
from nr_agent_core.testing.contracts.run_script import RunScript, wrote
from nr_agent_core.testing.contracts.store_contract import opened, said, status_of
from nr_agent_core.testing.manual_clock import ManualClock

# --------------------------------------------------------------------------------- what is guarded


def test_what_is_stored_is_not_changed(store: SqliteStore) -> None:
    """Facts, messages and the feed are append-only in the database itself; content can only be forgotten (R3)."""
    opened(store, "c1")
    script = RunScript("r1", conversation="c1")
    store.commit([said("c1", "Save it.", run_id="r1"), script.start(text="Save it.")])
    store.commit([script.propose(), script.intend(), script.outcome(wrote(1))])
    refused = [
        *(f"UPDATE event SET {column} = {column}" for column in ("run", "seq", "kind", "at", "facts")),
        "UPDATE event SET content = '{}' WHERE content IS NULL",
        "UPDATE event SET content = '{}' WHERE content IS NOT NULL",
        "DELETE FROM event",
        "UPDATE message SET text = 'x'",
        "UPDATE message SET notices = NULL",
        "DELETE FROM message",
        "UPDATE tool_write SET kind = 'updated'",
    ]
    for statement in refused:
        with pytest.raises(AppendOnlyError), store._connections.of_this_thread() as db:
            db.execute(statement)

    with store._connections.of_this_thread() as db:
        assert db.execute("UPDATE event SET content = NULL WHERE content IS NOT NULL").rowcount > 0


def test_a_run_and_a_conversation_can_go_as_a_whole(store: SqliteStore) -> None:
    """What retention takes away goes with all its parts, except the feed."""
    opened(store, "c1", "c2")
    for conversation in ("c1", "c2"):
        script = RunScript(f"r-{conversation}", conversation=conversation)
        store.commit([said(conversation, "Save it."), script.start(), script.propose(), script.intend()])
        store.commit([script.outcome(wrote(1)), script.answer()])
    with store._connections.of_this_thread() as db:
        db.execute("DELETE FROM run WHERE id = 'r-c1'")
        db.execute("DELETE FROM conversation WHERE id = 'c2'")
        counts = [db.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in ("run", "event", "message")]

    assert counts == [0, 0, 1]
    assert len(store.writes(after=0, limit=10)) == 2
    assert store.history("c2", budget=100).messages == ()


def test_a_position_of_the_feed_is_never_used_again(store: SqliteStore) -> None:
    """A follower keeps its place even when the newest entries were taken away (W4)."""
    script = RunScript("r1")
    store.commit([script.start(), script.propose(), script.intend(), script.outcome(wrote(1), wrote(2))])
    with store._connections.of_this_thread() as db:
        db.execute("DELETE FROM tool_write")
    store.commit([script.propose(), script.intend(), script.outcome(wrote(3))])

    assert [entry.position for entry in store.writes(after=0, limit=10)] == [3]


def test_forgotten_content_is_gone_byte_by_byte(store: SqliteStore, path: Path) -> None:
    """After a run has settled and the log was written back, neither file holds what it was about (E4)."""
    secret = "Geheimnis-4711-" * 300
    script = RunScript("r1")
    store.commit([script.start(text=secret), script.propose(), script.intend()])
    store.commit([script.outcome(wrote(1))])
    files = [path, path.with_name("chat.db-wal")]
    assert any(b"Geheimnis-4711" in file.read_bytes() for file in files)

    store.commit([script.answer()])

    assert store.checkpoint()
    assert not any(b"Geheimnis-4711" in file.read_bytes() for file in files)
    assert files[1].stat().st_size == 0


def test_a_log_in_use_is_not_cut(store: SqliteStore, path: Path) -> None:
    """While somebody reads, the log stays; nothing is lost either way."""
    opened(store, "c1")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN")
    other.execute("SELECT count(*) FROM conversation").fetchone()
    store.commit([said("c1", "Hello.")])

    assert not store.checkpoint()

    other.execute("ROLLBACK")
    other.close()
    assert store.checkpoint()
    assert len(store.messages("c1")) == 1


# -------------------------------------------------------------------------------- damaged rows


def spoil(store: SqliteStore, statement: str) -> None:
    """Change a row behind the store's back."""
    with store._connections.of_this_thread() as db:
        for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            db.execute(f"DROP TRIGGER {name}")
        db.execute(statement)


@pytest.mark.parametrize(
    "change", ["status = 'paused'", "reason = 'why'", "code = 'E1'", "outside = 7", "sequence = 0"]
)
def test_a_damaged_row_is_never_read_as_a_default(store: SqliteStore, change: str) -> None:
    """Neither alone nor with its conversation, which can let go of it; and it hides no other row (E6, C5)."""
    clock = ManualClock()
    store = SqliteStore(store._connections.name, clock=clock)
    opened(store, "c1")
    damaged, sound = RunScript("damaged", conversation="c1", lease_for=1), RunScript("sound", lease_for=1)
    store.commit([damaged.start(), sound.start()])
    spoil(store, f"UPDATE run SET {change} WHERE id = 'damaged'")
    clock.advance(100)

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
    store.close()


@pytest.mark.parametrize(
    "change",
    [
        "role = 'system'",
        "notices = '[]'",
        "notices = '{}'",
        "notices = 'no'",
        """notices = '[{"code":"nothingSaved"}]'""",
        """notices = '[{"code":5,"arguments":{}}]'""",
        "text = 'a' || char(16) || 'x'",
        "text = 'a' || char(16)",
    ],
)
def test_a_damaged_message_is_damage(store: SqliteStore, change: str) -> None:
    """A message is read as strictly as an event (E6)."""
    opened(store, "c1")
    store.commit([said("c1", "Hello.")])
    spoil(store, f"UPDATE message SET {change}")

    with pytest.raises(StoredFormError):
        store.messages("c1")
    with pytest.raises(StoredFormError):
        store.history("c1", budget=10)


def test_a_newer_notice_is_named_as_such(store: SqliteStore) -> None:
    """A notice of a later release is not passed over (E6)."""
    opened(store, "c1")
    store.commit([said("c1", "Hello.")])
    spoil(store, """UPDATE message SET notices = '[{"code":"muchLater","arguments":{}}]'""")

    with pytest.raises(NewerFormError):
        store.messages("c1")


@pytest.mark.parametrize("change", ["uid_type = 'float'", "record_uid = 'x'", "kind = 'moved'", "record_table = 'a b'"])
def test_a_damaged_entry_of_the_feed_is_damage(store: SqliteStore, change: str) -> None:
    """An entry that names no record is not told as another one (E6)."""
    script = RunScript("r1")
    store.commit([script.start(), script.propose(), script.intend(), script.outcome(wrote(1))])
    spoil(store, f"UPDATE tool_write SET {change}")

    with pytest.raises(StoredFormError):
        store.writes(after=0, limit=10)
    with pytest.raises(StoredFormError):
        store.writes_of("r1")


def test_a_stream_longer_than_its_row_takes_nothing_more(store: SqliteStore) -> None:
    """Row and stream disagree: that is damage, and nothing is put on top; letting go still works (C5)."""
    script = RunScript("r1")
    store.commit([script.start(), script.request()])
    spoil(store, "UPDATE run SET sequence = 2")
    behind = RunScript("r1")
    behind.start()
    behind.propose()

    with pytest.raises(StoredFormError):
        store.commit([behind.intend()])

    store.commit([LetGo("r1")])
    assert [entry.number for entry in store.events("r1")] == [0, 1, 2, 3]
    assert status_of(store, "r1") is RunStatus.CANCELLED


@pytest.mark.parametrize("kind", ["", "Tool", "tool.1", "tool.0", "tool.02", "tool.", "tool.x", ".2", "tool 2"])
def test_a_kind_that_is_no_name_of_a_form_is_damage(store: SqliteStore, kind: str) -> None:
    """Only what a later release could have written is called newer (E6)."""
    script = RunScript("r1")
    store.commit([script.start(), script.request()])
    spoil(store, f"UPDATE event SET kind = '{kind}' WHERE seq = 1")

    with pytest.raises(StoredFormError) as refused:
        store.events("r1")
    assert not isinstance(refused.value, NewerFormError)


# -------------------------------------------------------------------------------------- failures


def test_a_full_disk_is_told_and_nothing_is_half_stored(store: SqliteStore) -> None:
    """The commit is refused as a whole; with space again the store goes on."""
    opened(store, "c1")
    with store._connections.of_this_thread() as db:
        (pages,) = db.execute("PRAGMA page_count").fetchone()
        db.execute(f"PRAGMA max_page_count = {pages + 2}")

    with pytest.raises(StoreUnavailableError, match="full"):
        store.commit([said("c1", "small"), said("c1", "x" * 100_000)])

    assert store.messages("c1") == ()
    with store._connections.of_this_thread() as db:
        assert not db.in_transaction
        db.execute("PRAGMA max_page_count = 1000000")
    store.commit([said("c1", "x" * 100_000)])
    assert len(store.messages("c1")) == 1


def test_an_interrupt_leaves_nothing_open(store: SqliteStore) -> None:
    """Whatever breaks out of a commit, neither a transaction nor a lock stays."""
    opened(store, "c1")

    class Interrupting(ManualClock):
        def now(self) -> float:
            raise KeyboardInterrupt

    real, store._clock = store._clock, Interrupting()
    with pytest.raises(KeyboardInterrupt):
        store.commit([said("c1", "Hello.")])

    store._clock = real
    store.commit([said("c1", "Hello again.")])
    assert [message.text for message in store.messages("c1")] == ["Hello again."]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (sqlite3.SQLITE_BUSY, StoreUnavailableError),
        (sqlite3.SQLITE_BUSY_SNAPSHOT, StoreUnavailableError),
        (sqlite3.SQLITE_LOCKED, StoreUnavailableError),
        (sqlite3.SQLITE_IOERR_FSYNC, StoreUnavailableError),
        (sqlite3.SQLITE_READONLY_DIRECTORY, StoreUnavailableError),
        (sqlite3.SQLITE_CANTOPEN, StoreUnavailableError),
        (sqlite3.SQLITE_FULL, StoreUnavailableError),
        (sqlite3.SQLITE_NOMEM, StoreUnavailableError),
        (sqlite3.SQLITE_CORRUPT_INDEX, StoredFormError),
        (sqlite3.SQLITE_NOTADB, StoredFormError),
        (sqlite3.SQLITE_CONSTRAINT_TRIGGER, AppendOnlyError),
        (sqlite3.SQLITE_ERROR, StoreError),
    ],
)
def test_every_report_of_sqlite_has_its_own_words(code: int, expected: type[StoreError]) -> None:
    """What SQLite says becomes an error of the library, named after its file."""
    error = sqlite3.OperationalError("as SQLite says it")
    error.sqlite_errorcode = code

    own = in_own_words(error, "chat.db")

    assert type(own) is expected
    assert "chat.db" in str(own)


def test_what_is_no_matter_of_sqlite_keeps_its_words() -> None:
    """Other exceptions pass."""
    assert in_own_words(KeyError("x"), "chat.db") is None
    assert in_own_words(KeyboardInterrupt(), "chat.db") is None
