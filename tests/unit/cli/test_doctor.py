"""
``nr-agent-core doctor``: what is the matter with a store, without changing anything.
"""

import json
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from nr_agent_core.adapters.sqlite import SqliteStore
from nr_agent_core.cli import main
from nr_agent_core.cli.doctor import run_checks, sqlite_checks
from nr_agent_core.testing.contracts.store_contract import said
from tests.unit.cli.conftest import Run
from tests.unit.cli.stores import LONG_AGO, begin, made, spoil

SECRET = "geheim-4711"


class Said:
    """What one examination said."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def findings(self) -> list[tuple[str, str, str]]:
        """Level, check and text of each finding."""
        return [(each["level"], each["check"], each["text"]) for each in json.loads(self.out)["findings"]]

    def bad(self) -> list[tuple[str, str]]:
        """Level and check of what wants attention."""
        return [(level, check) for level, check, _ in self.findings if level in {"warning", "error"}]

    def text(self, check: str) -> str:
        """All that was found out about one thing."""
        return "\n".join(text for _, name, text in self.findings if name == check)


Doctor = Callable[..., Said]


@pytest.fixture
def doctor(capsys: pytest.CaptureFixture[str]) -> Doctor:
    """Examines a store, in this process."""

    def examine(*words: object, form: str = "json") -> Said:
        code = main(["doctor", *map(str, words), "--format", form])
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err + captured.out
        return Said(code, captured.out, captured.err)

    return examine


def files(folder: Path) -> dict[str, bytes]:
    """Every file in a folder, byte by byte."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


# ------------------------------------------------------------------------------------- sound stores


def test_a_sound_store_wants_no_attention(doctor: Doctor, tmp_path: Path) -> None:
    """Everything is looked at, nothing is found, and what is said in chats is not shown."""
    path = made(tmp_path / "chat.db")

    said = doctor(path)

    assert (said.code, said.err, said.bad()) == (0, "", [])
    checks = {check for _, check, _ in said.findings}
    assert checks >= {"schema", "journal", "file system", "integrity", "orphans", "leases", "queue", "approvals"}
    assert checks >= {"runs", "messages", "feed", "conversations"}
    assert "2 conversations with 3 messages, 3 runs" in said.text("rows")
    assert "synchronous" in said.text("journal")
    assert "Geheimnis" not in said.out


@pytest.mark.parametrize("in_use", [False, True])
def test_nothing_is_changed(doctor: Doctor, tmp_path: Path, in_use: bool) -> None:
    """No byte of the file changes and no file comes or goes, whether somebody uses the store or not."""
    path = made(tmp_path / "chat.db", at=LONG_AGO, lost=True)
    with closing(SqliteStore(path)) as store:
        if in_use:
            store.commit([said("over", "Hello.")])
        else:
            store.close()
        before = files(tmp_path)
        assert ("chat.db-wal" in before) is in_use

        told = doctor(path, "--all")

        assert f"{5 if in_use else 4} messages" in told.text("rows")
        after = files(tmp_path)
    # The index of the log is where a reader says up to where it reads.
    before.pop("chat.db-shm", None)
    after.pop("chat.db-shm", None)
    assert after == before


def test_findings_for_people(doctor: Doctor, tmp_path: Path) -> None:
    """A table where rich is installed, lines elsewhere; the same words in both."""
    path = made(tmp_path / "chat.db", at=LONG_AGO, lost=True)

    table, text = doctor(path, form="table"), doctor(path, form="text")

    assert table.code == text.code == 1
    for said_there in (table.out, text.out):
        assert "r-lost" in said_there
        assert "warning" in said_there
        assert "warnings" in said_there.splitlines()[-1]


@pytest.mark.process
def test_without_rich_there_are_lines(run: Run, tmp_path: Path) -> None:
    """The command needs no extra; the table does."""
    made(tmp_path / "chat.db")

    ended = run("doctor", "chat.db", without="rich")
    refused = run("doctor", "chat.db", "--format", "table", without="rich")

    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines()[-1] == "Nothing wants attention."
    assert refused.code == 2
    assert "nr-agent-core[cli]" in refused.err


def test_an_id_moves_no_cursor(doctor: Doctor, tmp_path: Path) -> None:
    """Ids come from hosts: what is in them is shown, not interpreted."""
    path = made(tmp_path / "chat.db", at=LONG_AGO, lost=True)
    spoil(path, "PRAGMA foreign_keys = OFF", "UPDATE run SET id = 'x' || char(27) || '[2J' WHERE id = 'r-lost'")

    for form in ("table", "text"):
        assert "\x1b[2J" not in doctor(path, form=form).out


# ----------------------------------------------------------------------------------- what is found

DAMAGES: list[tuple[str, str, list[tuple[str, str]]]] = [
    ("a row", "UPDATE run SET code = 'E1' WHERE id = 'r-waits'", [("error", "runs"), ("warning", "conversations")]),
    ("a settled row", "UPDATE run SET reason = 'why' WHERE id = 'r-over'", [("error", "runs")]),
    ("a status", "UPDATE run SET status = 'paused' WHERE id = 'r-waits'",
     [("error", "runs"), ("warning", "conversations")]),
    ("a stream", "UPDATE event SET facts = '{}' WHERE run = 'r-over' AND seq = 2", [("error", "runs")]),
    ("content", "UPDATE event SET content = '{' WHERE run = 'r-waits' AND seq = 1",
     [("error", "runs"), ("warning", "conversations")]),
    ("a beginning", "DELETE FROM event WHERE run = 'r-bare' AND seq = 0", [("error", "runs")]),
    ("a row that disagrees", "UPDATE run SET status = 'completed' WHERE id = 'r-waits'", [("error", "runs")]),
    ("a newer event", "UPDATE event SET kind = 'model.7' WHERE run = 'r-over' AND kind = 'model'", [("error", "runs")]),
    ("a notice", "UPDATE message SET notices = '[]' WHERE conversation = 'over' AND position = 1",
     [("error", "messages")]),
    ("a newer notice", """UPDATE message SET notices = '[{"code":"later","arguments":{}}]' WHERE position = 1""",
     [("error", "messages")]),
    ("an entry", "UPDATE tool_write SET kind = 'moved'", [("error", "feed")]),
    ("an orphaned event", "INSERT INTO event VALUES ('nobody', 0, 'started', 0, '{}', NULL)", [("error", "orphans")]),
    ("an orphaned message", "DELETE FROM conversation WHERE id = 'over'", [("error", "orphans"), ("error", "orphans")]),
    ("a gap", "DELETE FROM message WHERE conversation = 'over' AND position = 0", [("error", "orphans")]),
    ("a guard", "DROP INDEX tool_write_of_run", [("error", "schema")]),
    ("the journal", "PRAGMA journal_mode = DELETE", [("warning", "journal")]),
]  # fmt: skip


@pytest.mark.parametrize(("what", "statement", "bad"), DAMAGES, ids=[damage[0] for damage in DAMAGES])
def test_damage_is_found(doctor: Doctor, tmp_path: Path, what: str, statement: str, bad: list[tuple[str, str]]) -> None:
    """Each kind of damage is one finding, named where it is, and nothing else is found."""
    path = made(tmp_path / "chat.db")
    spoil(path, statement)

    said = doctor(path)

    assert said.code == 1
    assert said.bad() == bad, said.findings
    assert "Geheimnis" not in said.out


def test_a_newer_form_is_named_as_such(doctor: Doctor, tmp_path: Path) -> None:
    """Whoever runs an older release is told to upgrade, not that there is damage (E6)."""
    path = made(tmp_path / "chat.db")
    spoil(path, "UPDATE event SET kind = 'model.7' WHERE run = 'r-over' AND kind = 'model'")

    assert "upgrade" in doctor(path).text("runs")
    assert "model.7" in doctor(path).text("runs")


@pytest.mark.parametrize(
    ("queued", "change", "check"),
    [
        (False, None, "leases"),
        (True, None, "queue"),
        (False, "UPDATE run SET expires_at = 5 WHERE id = 'r-waits'", "approvals"),
    ],
)
def test_what_is_overdue_is_found(doctor: Doctor, tmp_path: Path, queued: bool, change: str | None, check: str) -> None:
    """Runs that nobody drives, takes up or ends, and the conversations that are stuck with them (O1, O2)."""
    path = made(tmp_path / "chat.db", at=LONG_AGO, lost=change is None, queued=queued)
    if change:
        spoil(path, change)

    said = doctor(path)

    run_id = "r-waits" if change else "r-lost"
    assert said.bad() == [("warning", check), ("warning", "conversations")]
    assert run_id in said.text(check)
    assert "days" in said.text(check)
    assert ("waits" if change else "lost") in said.text("conversations")
    assert "90 days" in said.text("approvals")


def test_damaged_pages_are_found(doctor: Doctor, tmp_path: Path) -> None:
    """Bytes that a disk lost are told in words; what else can be read is looked at all the same."""
    path = made(tmp_path / "chat.db")
    with closing(sqlite3.connect(path)) as db:
        (root,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'tool_write_of_run'").fetchone()
        (size,) = db.execute("PRAGMA page_size").fetchone()
    with path.open("r+b") as file:
        file.seek((root - 1) * size)
        file.write(b"\xff" * size)

    said = doctor(path)

    assert said.code == 1
    assert ("error", "integrity") in said.bad()
    assert "3 messages read, all sound" in said.text("messages")


def test_every_page_may_be_damaged(doctor: Doctor, tmp_path: Path) -> None:
    """Whichever page is lost, it is said, and never by a traceback."""
    path = made(tmp_path / "chat.db")
    whole = path.read_bytes()
    size = 4096
    for page in range(len(whole) // size):
        for junk in (b"\0", b"\xff"):
            path.write_bytes(whole[: page * size] + junk * size + whole[(page + 1) * size :])
            said = doctor(path, form="text")
            # A page that holds nothing yet may hold anything.
            assert said.code in {1, 2} or page > 1, (page, junk)
            assert said.out or said.err


def test_a_network_file_system_is_found(doctor: Doctor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Locks do not hold across machines."""
    path = made(tmp_path / "chat.db")
    monkeypatch.setattr(sqlite_checks, "network_file_system", lambda path: "nfs4")

    said = doctor(path)

    assert said.bad() == [("error", "file system")]
    assert "nfs4" in said.text("file system")


def test_a_run_that_was_given_up_wants_no_attention(
    doctor: Doctor, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What upkeep ended because nobody could read it is noted, and is no finding any more (O2)."""
    path = made(tmp_path / "chat.db")
    spoil(path, "UPDATE event SET facts = '{}' WHERE run = 'r-waits' AND seq = 1")
    assert doctor(path).code == 1

    assert main(["upkeep", str(path)]) == 0
    assert "r-waits" in capsys.readouterr().out

    said_after = doctor(path)
    assert (said_after.code, said_after.bad()) == (0, [])
    assert "could not be read and were ended" in said_after.text("runs")


def test_the_newest_are_read_unless_all_are_asked_for(
    doctor: Doctor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is unsettled is always read; of what is over, so many."""
    path = made(tmp_path / "chat.db")
    monkeypatch.setattr(run_checks, "NEWEST", 1)

    assert "2 runs read" in doctor(path).text("runs")
    assert "3 runs read" in doctor(path, "--all").text("runs")


# ------------------------------------------------------------------------- what cannot be looked at


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


def test_a_lost_process_is_found_while_it_is_lost(doctor: Doctor, tmp_path: Path) -> None:
    """A run whose lease stands is somebody's."""
    path = made(tmp_path / "chat.db")
    with closing(SqliteStore(path)) as store:
        begin(store)

    assert doctor(path).bad() == []
