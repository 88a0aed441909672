"""
The SQLite store and its file: what it sets, what it refuses, what it guards and what it leaves behind.
"""

import gc
import os
import sqlite3
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from nr_agent_core.adapters.sqlite import NetworkFileSystemWarning, SqliteStore, connections, file_system, schema
from nr_agent_core.adapters.sqlite.error_mapping import in_own_words
from nr_agent_core.adapters.sqlite.file_system import network_file_system
from nr_agent_core.domain.errors import (
    AppendOnlyError,
    InvalidValueError,
    NewerFormError,
    StoredFormError,
    StoreError,
    StoreUnavailableError,
)
from nr_agent_core.domain.run_status import RunStatus
from nr_agent_core.ports.unit_of_work import LetGo, OpenConversation
from nr_agent_core.testing.contracts.run_script import RunScript, wrote
from nr_agent_core.testing.contracts.store_contract import opened, said, status_of
from nr_agent_core.testing.manual_clock import ManualClock


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the store's file will be."""
    return tmp_path / "chat.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    """A store that gives up after a tenth of a second."""
    with closing(SqliteStore(path, busy_timeout=0.1)) as store:
        yield store


def setting(store: SqliteStore, name: str) -> Any:
    """What the connection in use is really set to."""
    with store._connections.of_this_thread() as db:
        return db.execute(f"PRAGMA {name}").fetchone()[0]


# ------------------------------------------------------------------------------------- settings


def test_the_connection_in_use_is_set_as_promised(store: SqliteStore) -> None:
    """The settings are looked at where they work: on the store's own connection."""
    names = ("journal_mode", "synchronous", "foreign_keys", "secure_delete", "busy_timeout")
    assert [setting(store, name) for name in names] == ["wal", 2, 1, 1, 100]
    assert setting(store, "user_version") == len(schema.STEPS)
    assert setting(store, "application_id") == schema.APPLICATION_ID


def test_less_durability_is_a_choice(path: Path) -> None:
    """NORMAL by choice, nothing below it."""
    with closing(SqliteStore(path, synchronous="NORMAL")) as store:
        assert setting(store, "synchronous") == 1
    for wrong in ("OFF", "full", "", None, 2):
        with pytest.raises(InvalidValueError):
            SqliteStore(path, synchronous=wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", ["", b"chat.db", "a\0b"])
def test_a_path_is_a_path(wrong: Any) -> None:
    """An empty path would be a database that is gone with its connection."""
    with pytest.raises(InvalidValueError):
        SqliteStore(wrong)


@pytest.mark.parametrize("wrong", [-1, True, float("nan"), float("inf"), 1e9])
def test_a_wait_is_bounded(path: Path, wrong: Any) -> None:
    """Nobody waits for ever."""
    with pytest.raises(InvalidValueError):
        SqliteStore(path, busy_timeout=wrong)


def test_the_file_comes_into_being_on_first_use(path: Path) -> None:
    """Making a store touches nothing, so it may be made anywhere and anytime."""
    store = SqliteStore(path)
    assert not path.exists()

    assert store.conversation_row("c1") is None

    assert path.exists()
    store.close()


def test_a_relative_path_is_meant_from_where_it_was_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A change of the working directory does not make another database."""
    monkeypatch.chdir(tmp_path)
    store = SqliteStore("chat.db")
    opened(store, "c1")
    store.close()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")

    assert store.conversation_row("c1") is not None
    store.close()
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_the_machines_clock_is_the_default(path: Path) -> None:
    """Without a clock the store tells the machine's time."""
    before = time.time()
    assert before <= SqliteStore(path).now() <= time.time()


# --------------------------------------------------------------------------------- refused files


def test_a_missing_directory_is_told(tmp_path: Path) -> None:
    """Directories are the host's to make."""
    with pytest.raises(StoreUnavailableError, match="directory"):
        SqliteStore(tmp_path / "none" / "chat.db").conversation_row("c1")


def test_a_directory_is_no_database(tmp_path: Path) -> None:
    """A directory cannot be opened as one."""
    with pytest.raises(StoreUnavailableError):
        SqliteStore(tmp_path).conversation_row("c1")


def test_a_file_of_something_else_is_no_database(path: Path) -> None:
    """It is refused and left as it is."""
    path.write_bytes(b"not a database, but long enough to look like something" * 100)
    before = path.read_bytes()

    with pytest.raises(StoredFormError):
        SqliteStore(path).conversation_row("c1")

    assert path.read_bytes() == before


@pytest.mark.parametrize("version", [0, 1, 99])
def test_the_database_of_another_application_is_left_alone(path: Path, version: int) -> None:
    """Whatever version it calls itself, no table of ours is put into it."""
    other = sqlite3.connect(path)
    other.executescript(f"CREATE TABLE run(id TEXT); PRAGMA user_version = {version}; PRAGMA journal_mode = DELETE;")
    other.close()
    before = path.read_bytes()

    with pytest.raises(StoredFormError, match="another application"):
        SqliteStore(path).commit([OpenConversation("c1", "anna")])

    assert path.read_bytes() == before


def test_a_newer_schema_is_left_alone(store: SqliteStore, path: Path) -> None:
    """A release that does not know the schema neither reads nor writes it (E6)."""
    opened(store, "c1")
    store.close()
    newer = sqlite3.connect(path)
    newer.execute(f"PRAGMA user_version = {len(schema.STEPS) + 1}")
    newer.close()

    for use in (lambda: store.conversation_row("c1"), lambda: opened(store, "c2")):
        with pytest.raises(NewerFormError) as refused:
            use()
        assert (refused.value.found, refused.value.known) == (len(schema.STEPS) + 1, len(schema.STEPS))


def test_an_older_schema_is_brought_up_to_date(store: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps that are missing are taken in order, once, and what was stored stays."""
    opened(store, "c1")
    store.close()
    further = (
        ("CREATE TABLE further(x INTEGER) STRICT",),
        ("INSERT INTO further VALUES (1)", "INSERT INTO further VALUES (2)"),
    )
    monkeypatch.setattr(schema, "STEPS", schema.STEPS + further)

    for _ in range(2):
        assert store.conversation_row("c1") is not None
        with store._connections.of_this_thread() as db:
            assert db.execute("SELECT x FROM further").fetchall() == [(1,), (2,)]
        assert setting(store, "user_version") == 3
        store.close()


def test_a_step_that_fails_leaves_the_schema_as_it_was(
    store: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All missing steps are taken, or none."""
    opened(store, "c1")
    store.close()
    with monkeypatch.context() as patched:
        patched.setattr(schema, "STEPS", (*schema.STEPS, ("CREATE TABLE further(x)", "CREATE TABLE further(x)")))
        with pytest.raises(StoreError):
            store.conversation_row("c1")

    assert store.conversation_row("c1") is not None
    assert setting(store, "user_version") == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="permissions do not bind the superuser")
def test_an_unreadable_file_is_told(store: SqliteStore, path: Path) -> None:
    """A file that may not be read is unavailable, not empty."""
    opened(store, "c1")
    store.close()
    path.chmod(0)

    with pytest.raises(StoreUnavailableError):
        store.conversation_row("c1")


def test_a_damaged_file_is_told(store: SqliteStore, path: Path) -> None:
    """Pages that make no sense are damage, not an empty conversation (E6)."""
    opened(store, "c1")
    for number in range(50):
        store.commit([said("c1", f"{number}" * 500)])
    store.checkpoint()
    store.close()
    data = bytearray(path.read_bytes())
    for page in range(4096, len(data), 4096):
        data[page : page + 200] = b"\xff" * 200
    path.write_bytes(data)

    with pytest.raises(StoredFormError):
        store.messages("c1", limit=100)


# --------------------------------------------------------------------------------------- waiting


def test_a_locked_file_is_waited_for_and_then_told(store: SqliteStore, path: Path) -> None:
    """A bounded wait, then an error; the change counts as refused and can be tried again (R3)."""
    opened(store, "c1")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    began = time.monotonic()

    with pytest.raises(StoreUnavailableError, match="locked"):
        store.commit([said("c1", "Hello.")])

    assert time.monotonic() - began >= 0.1
    assert store.messages("c1") == ()
    other.execute("ROLLBACK")
    other.close()
    store.commit([said("c1", "Hello.")])
    assert len(store.messages("c1")) == 1


def test_threads_wait_for_each_other_and_are_told(store: SqliteStore) -> None:
    """The queue of a process is bounded like the wait for others."""
    opened(store, "c1")
    with store._connections.writer, pytest.raises(StoreUnavailableError, match="threads"):
        store.commit([said("c1", "Hello.")])

    store.commit([said("c1", "Hello.")])


def test_stamps_are_of_the_commit_and_not_of_the_wait_before_it(path: Path) -> None:
    """Who had to wait gets leases and stamps as of now (R8)."""
    clock = ManualClock()
    store = SqliteStore(path, clock=clock)
    opened(store, "c1")
    waiting = threading.Event()

    class Announcing:
        def acquire(self, timeout: float) -> bool:
            waiting.set()
            return real.acquire(timeout=timeout)

        def release(self) -> None:
            real.release()

    real = store._connections.writer
    key = (os.getpid(), store._connections.file)
    connections._writers[key] = Announcing()  # type: ignore[assignment]
    try:
        with real:
            thread = threading.Thread(target=lambda: (store.commit([said("c1", "Late.")]), store.close()))
            thread.start()
            assert waiting.wait(30)
            clock.advance(100)
        thread.join(30)
    finally:
        connections._writers[key] = real

    assert store.messages("c1")[0].at == clock.now()
    store.close()


def test_two_stores_of_a_process_queue_for_one_file(path: Path, tmp_path: Path) -> None:
    """One writer a file, however often and under whatever name it was opened; another file is not concerned."""
    (tmp_path / "link.db").symlink_to(path)
    one, same, other = SqliteStore(path), SqliteStore(tmp_path / "link.db"), SqliteStore(tmp_path / "other.db")

    assert one._connections.writer is same._connections.writer
    assert one._connections.writer is not other._connections.writer


def test_readers_do_not_wait_for_a_writer(store: SqliteStore, path: Path) -> None:
    """What was committed is read while somebody else writes."""
    opened(store, "c1")
    store.commit([said("c1", "Committed.")])
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    other.execute("INSERT INTO conversation VALUES ('c2', 'berta', 0.0)")

    assert [message.text for message in store.messages("c1")] == ["Committed."]
    assert store.conversation_row("c2") is None
    assert len(store.history("c1", budget=10).messages) == 1

    other.execute("COMMIT")
    other.close()
    assert store.conversation_row("c2") is not None


def test_a_burst_of_writers_is_served(path: Path) -> None:
    """Late is fine, lost is not: many threads at once, each message is there."""
    store = SqliteStore(path, synchronous="NORMAL")
    opened(store, "c1")
    failed: list[BaseException] = []

    def burst(number: int) -> None:
        try:
            for each in range(10):
                store.commit([said("c1", f"{number}.{each}")])
        except BaseException as error:  # noqa: BLE001 - shown by the assertion
            failed.append(error)
        finally:
            store.close()

    threads = [threading.Thread(target=burst, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)

    assert failed == []
    texts = [message.text for message in store.messages("c1", limit=1000)]
    assert sorted(texts) == sorted(f"{number}.{each}" for number in range(20) for each in range(10))
    store.close()


# ----------------------------------------------------------------------------------- connections


def test_each_thread_has_its_connection_and_leaves_none_behind(store: SqliteStore) -> None:
    """A thread that ends without closing takes its connection with it."""
    opened(store, "c1")
    seen: list[Any] = []

    def look() -> None:
        store.conversation_row("c1")
        seen.append(store._connections.of_this_thread()._db)

    thread = threading.Thread(target=look)
    thread.start()
    thread.join(30)

    assert seen[0] is not store._connections.of_this_thread()._db
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        seen[0].execute("SELECT 1")


def test_closing_concerns_the_calling_thread_alone(store: SqliteStore) -> None:
    """Others go on."""
    opened(store, "c1")
    mine = store._connections.of_this_thread()._db
    thread = threading.Thread(target=store.close)
    thread.start()
    thread.join(30)
    assert store._connections.of_this_thread()._db is mine

    store.close()

    assert store._connections.of_this_thread()._db is None
    assert store.conversation_row("c1") is not None


@pytest.mark.skipif(sys.version_info < (3, 13), reason="older interpreters say nothing of open connections")
def test_a_store_in_a_cycle_is_closed_before_its_connection_is_collected(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A traceback, for instance, holds a store and its connection in a cycle; the collector finds nothing open."""
    reports: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", reports.append)
    store = SqliteStore(path)
    with store._connections.of_this_thread() as db:
        cycle = [db, store]
    cycle.append(cycle)  # type: ignore[arg-type]

    del db, store, cycle
    gc.collect()

    assert [str(report.exc_value) for report in reports] == []


def test_memory_is_one_database_for_all_threads() -> None:
    """What one thread stores another reads, also while both write."""
    store = SqliteStore(":memory:")
    opened(store, "c1")

    def write() -> None:
        for _ in range(20):
            store.commit([said("c1", "Hello.")])
        store.close()

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert [message.position for message in store.messages("c1", limit=1000)] == list(range(80))


def test_two_stores_in_memory_are_two_databases() -> None:
    """An object is a database."""
    one, other = SqliteStore(":memory:"), SqliteStore(":memory:")
    opened(one, "c1")

    assert other.conversation_row("c1") is None


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


# ------------------------------------------------------------------------------ network file systems


def mountinfo(tmp_path: Path, *mounts: tuple[str, str]) -> Path:
    """A list of mounts as the kernel writes it."""
    lines = [
        f"{number} 1 0:{number} / {place} rw,relatime shared:1 master:2 - {kind} source rw"
        for number, (place, kind) in enumerate(mounts, 20)
    ]
    file = tmp_path / "mountinfo"
    file.write_text("\n".join(["", "nonsense", *lines]) + "\n", encoding="utf-8")
    return file


@pytest.mark.parametrize(
    "kind",
    [
        *("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "virtiofs", "vboxsf", "vmhgfs", "fuse.vmhgfs-fuse", "prl_fs"),
        *("fuse.sshfs", "fuse.rclone", "fuse.s3fs", "ceph", "fuse.glusterfs", "lustre", "afs", "fuse.grpcfuse"),
    ],
)
def test_file_systems_that_reach_other_machines_are_known(kind: str, tmp_path: Path) -> None:
    """Shares of the network and bridges out of a virtual machine alike."""
    mounts = mountinfo(tmp_path, ("/", "ext4"), ("/srv", kind))

    assert network_file_system("/srv/a/chat.db", mounts) == kind
    assert network_file_system("/srv", mounts) == kind
    assert network_file_system("/srvx/chat.db", mounts) is None


@pytest.mark.parametrize(
    "kind", ["ext4", "xfs", "btrfs", "zfs", "tmpfs", "overlay", "fuseblk", "fuse.mergerfs", "apfs", "ntfs3", "f2fs"]
)
def test_local_file_systems_are_no_reason_to_warn(kind: str, tmp_path: Path) -> None:
    """A warning that is always there is none."""
    assert network_file_system("/srv/chat.db", mountinfo(tmp_path, ("/", "ext4"), ("/srv", kind))) is None


def test_the_nearest_mount_counts(tmp_path: Path) -> None:
    """The longest place wins, among equal ones the last; blanks in a place are written as octals."""
    mounts = mountinfo(
        tmp_path,
        ("/", "nfs4"),
        ("/srv", "ext4"),
        ("/srv/share\\040one", "cifs"),
        ("/srv/twice", "nfs"),
        ("/srv/twice", "ext4"),
    )

    assert network_file_system("/home/chat.db", mounts) == "nfs4"
    assert network_file_system("/srv/chat.db", mounts) is None
    assert network_file_system("/srv/share one/chat.db", mounts) == "cifs"
    assert network_file_system("/srv/twice/chat.db", mounts) is None
    assert network_file_system("/srv/chat.db", tmp_path / "none") is None


def test_a_warning_comes_before_the_first_write(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once per store, before there is a file; and the log that needs shared memory is not used there."""
    monkeypatch.setattr(file_system, "MOUNTS", mountinfo(tmp_path, ("/", "virtiofs")))
    store = SqliteStore(path)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(NetworkFileSystemWarning, match="virtiofs"):
            opened(store, "c1")
    assert not path.exists()

    with pytest.warns(NetworkFileSystemWarning):
        opened(store, "c1")
    store.close()
    opened(store, "c2")
    assert setting(store, "journal_mode") == "delete"
    store.close()


# ---------------------------------------------------------------------------------------- import


def test_importing_the_store_loads_no_converter() -> None:
    """The converter and what is needed around forks come on first use."""
    program = "import sys, nr_agent_core.adapters.sqlite, nr_agent_core.adapters.memory; print(*sys.modules)"
    source = str(Path(__file__).resolve().parents[2] / "src")
    result = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {source!r}); {program}"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    assert not {"cattrs", "ctypes", "fcntl", "asyncio"} & set(result.stdout.split())
