"""
What the PostgreSQL store sets, what it refuses, and what it never says.
"""

import threading
import traceback
from contextlib import closing
from typing import Any

import psycopg
import pytest

from nr_agent_core.adapters.postgres import PostgresStore
from nr_agent_core.domain.errors import (
    InvalidValueError,
    StoreError,
    StoreUnavailableError,
)
from tests.postgres.tables import asked
from tests.postgres_server import Server

SECRET = "hunter2-x9"


def test_the_connection_in_use_is_set_as_promised(store: PostgresStore) -> None:
    """The settings are looked at where they work: on the store's own connection."""
    names = ("search_path", "lock_timeout", "synchronous_commit", "client_encoding", "application_name")
    assert [asked(store, f"SHOW {name}")[0][0] for name in names] == [
        f"{store._connections.schema}, pg_temp",
        "20s",
        "on",
        "UTF8",
        "nr_agent_core",
    ]


@pytest.mark.parametrize(("default", "chosen", "expected"), [
    ("on", "FULL", "on"), ("on", "NORMAL", "off"), ("off", "FULL", "on"), ("remote_apply", "FULL", "remote_apply"),
])  # fmt: skip
def test_durability_is_the_stores_choice(postgres: Server, default: str, chosen: Any, expected: str) -> None:
    """FULL waits for the disk even where the database does not by default, and never for less than that (P5)."""
    dsn = f"{postgres.dsn()} options='-c synchronous_commit={default}'"
    with closing(PostgresStore(dsn, schema=postgres.emptied_schema(), synchronous=chosen)) as store:
        assert asked(store, "SHOW synchronous_commit") == [(expected,)]


@pytest.mark.parametrize("wrong", [
    {"synchronous": "OFF"}, {"synchronous": None}, {"patience": 0}, {"patience": True}, {"patience": float("nan")},
    {"patience": 1e9}, {"connections": 0}, {"connections": True}, {"connections": 1.5}, {"schema": ""},
    {"schema": "Chat"}, {"schema": 'a"b'}, {"schema": "a" * 49}, {"schema": "pg_chat"}, {"schema": None},
    {"schema": "chat\n"}, {"schema": "ä"},
])  # fmt: skip
def test_a_setting_is_a_setting(wrong: dict[str, Any]) -> None:
    """What is none is refused before anything is connected to."""
    with pytest.raises(InvalidValueError):
        PostgresStore("host=/nowhere", **wrong)


def test_making_a_store_connects_to_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """So it may be made anywhere and anytime, before a fork too: the first use connects, and starts the threads."""
    attempts: list[str] = []

    def connect(where: str = "", **options: Any) -> None:
        attempts.append(where)
        raise psycopg.OperationalError("there is no server")

    monkeypatch.setattr(psycopg.Connection, "connect", connect)
    threads = threading.enumerate()

    with closing(PostgresStore("host=/nowhere dbname=none", patience=0.5)) as store:
        assert (attempts, threading.enumerate()) == ([], threads)
        with pytest.raises(StoreUnavailableError):
            store.run_row("r1")

    assert attempts != []


@pytest.mark.parametrize("dsn", [
    f"postgres//anna:{SECRET}@db/site", f"postgresql://anna:{SECRET[:4]}@{SECRET[4:]}@db/site",
    f"postgresql://anna:pa/{SECRET}@db/site", f"password={SECRET} nonsense", f"port={SECRET} host=db", f"{SECRET}", 7,
])  # fmt: skip
def test_a_connection_string_that_is_none_is_not_quoted(dsn: Any) -> None:
    """What is wrong with it may be its password (P9)."""
    with pytest.raises(InvalidValueError) as refused:
        PostgresStore(dsn)

    said_of_it = "".join(traceback.format_exception(refused.value))
    assert SECRET not in said_of_it
    assert SECRET[4:] not in said_of_it


def test_no_error_holds_the_password(postgres: Server, store: PostgresStore) -> None:
    """Neither when nobody answers, nor when the server refuses, nor when a statement fails; the whole chain (P9)."""
    nobody = PostgresStore(f"host=/nowhere dbname=site password={SECRET}", patience=0.1)
    unknown = PostgresStore(postgres.dsn(user="nobody_here", password=SECRET), patience=0.1)
    missing = PostgresStore(postgres.dsn(dbname="nowhere", password=SECRET), patience=0.1)
    broken = PostgresStore(postgres.dsn(password=SECRET), schema=store._connections.schema)
    for look in (
        lambda: nobody.run_row("r1"),
        lambda: unknown.run_row("r1"),
        lambda: missing.wait_for_writes(after=0, timeout=0),
        lambda: asked(broken, "SELECT nothing"),
    ):
        with pytest.raises(StoreError) as refused:
            look()
        assert SECRET not in "".join(traceback.format_exception(refused.value))
    broken.close()


def test_who_never_reached_a_server_is_told_at_once() -> None:
    """A wrong address is not waited for."""
    with pytest.raises(StoreUnavailableError, match="'site'"):
        PostgresStore("host=/nowhere dbname=site", patience=3600).conversation_row("c1")


def test_a_database_that_cannot_hold_every_text_is_refused(postgres: Server) -> None:
    """A text that another encoding lacks would be refused much later, amid a turn (P3)."""
    with psycopg.connect(postgres.dsn(), autocommit=True) as db:
        db.execute("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0")

    with pytest.raises(StoreError, match="UTF8"):
        PostgresStore(postgres.dsn(dbname="latin")).conversation_row("c1")


def test_a_missing_driver_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who forgot the extra is told which one."""
    import builtins
    import importlib
    import sys

    real = builtins.__import__

    def without(name: str, *arguments: Any) -> Any:
        if name.partition(".")[0] == "psycopg":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return real(name, *arguments)

    package = "nr_agent_core.adapters.postgres"
    for name in [name for name in sys.modules if name.startswith(package)]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", without)

    with pytest.raises(ModuleNotFoundError, match=r"nr-agent-core\[postgres\]"):
        importlib.import_module(package)
