"""
The SQLite store and its file: what it sets, what it refuses, and what it loads.
"""

import os
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from nr_agent_core.adapters.sqlite import SqliteStore, schema
from nr_agent_core.domain.errors import (
    InvalidValueError,
    NewerFormError,
    StoredFormError,
    StoreError,
    StoreUnavailableError,
)
from nr_agent_core.ports.unit_of_work import OpenConversation
from nr_agent_core.testing.contracts.store_contract import opened, said
from tests.unit.conftest import setting

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
        assert setting(store, "user_version") == len(schema.STEPS)
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
    assert setting(store, "user_version") == len(schema.STEPS)


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
