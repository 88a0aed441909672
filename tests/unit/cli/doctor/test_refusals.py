"""
``nr-agent-core doctor``: what cannot be looked at is told in one line, and no password in any.
"""

import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from nr_agent_core.cli import main
from tests.unit.cli.doctor.conftest import Doctor
from tests.unit.cli.stores import made, spoil

SECRET = "geheim-4711"


def nothing(path: Path) -> None:
    """No file."""


def folder(path: Path) -> None:
    """A directory."""
    path.mkdir()


def empty(path: Path) -> None:
    """An empty file."""
    path.touch()


def letter(path: Path) -> None:
    """A file of something else."""
    path.write_text("Dear Sir or Madam, ..." * 100)


def foreign(path: Path) -> None:
    """A database of another application."""
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE invoice(number INTEGER)")


def newer(path: Path) -> None:
    """A store of a later release."""
    made(path)
    spoil(path, "PRAGMA user_version = 99")


def cut(path: Path) -> None:
    """A file that was copied by half."""
    made(path)
    path.write_bytes(path.read_bytes()[:5000])


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (nothing, "there is no file"),
        (folder, "is a directory"),
        (empty, "is empty"),
        (letter, "is no SQLite database"),
        (foreign, "another application"),
        (newer, "upgrade"),
        (cut, "damaged"),
    ],
)
def test_what_cannot_be_looked_at_is_told(
    doctor: Doctor, tmp_path: Path, make: Callable[[Path], Any], text: str
) -> None:
    """One line on standard error, exit code 2, and the file as it was."""
    path = tmp_path / "chat.db"
    make(path)
    before = path.read_bytes() if path.is_file() else None

    said = doctor(path)

    assert (said.code, said.out) == (2, "")
    assert text in said.err
    assert said.err.count("\n") == 1
    assert (path.read_bytes() if path.is_file() else None) == before


def test_a_locked_file_is_told(doctor: Doctor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody who lets nobody read is named as the reason."""
    from nr_agent_core.cli.stores import tables

    monkeypatch.setattr(tables, "_PATIENCE", 0.05)
    path = made(tmp_path / "chat.db")
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = DELETE")
        db.execute("BEGIN EXCLUSIVE")
        told = doctor(path)
        db.execute("ROLLBACK")

    assert told.code == 2
    assert "locked" in told.err


@pytest.mark.parametrize(
    "words",
    [
        ("postgresql://chat:" + SECRET + "@localhost:1/site",),
        ("host=localhost port=1 dbname=site user=chat password=" + SECRET,),
        ("host=localhost", "port=1", "dbname=site", "password=" + SECRET),
        ("host=localhost", "port=1", "dbname=site", "password", SECRET),
        ("postgresql://chat:" + SECRET + "@localhost:1/site", "more"),
        ("postgresql://chat:" + SECRET + "@a/b@localhost:1/site",),
        ("postgresql://chat:p@ss/" + SECRET + "@localhost:port/site",),
        ("no_word=" + SECRET,),
    ],
)
@pytest.mark.parametrize("command", ["doctor", "upkeep"])
def test_a_password_is_never_shown(capsys: pytest.CaptureFixture[str], command: str, words: tuple[str, ...]) -> None:
    """Neither where the server cannot be reached, nor where the words are no connection string."""
    assert main([command, *words, "--format", "json"]) == 2

    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"nr-agent-core {command}: ")
    assert SECRET not in captured.err
    assert captured.err.count("\n") == 1


def test_without_psycopg_a_database_is_not_looked_at(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The extra is named."""
    for name in [name for name in sys.modules if name.startswith("nr_agent_core.adapters.postgres")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "psycopg", None)

    assert main(["doctor", "postgresql://localhost/site"]) == 2
    assert "psycopg" in capsys.readouterr().err
