"""
``nr-agent-core doctor``: damage and what is overdue are found, each named where it is.
"""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from nr_agent_core.adapters.sqlite import SqliteStore
from nr_agent_core.cli import main
from nr_agent_core.cli.doctor import sqlite_checks
from tests.unit.cli.doctor.conftest import Doctor
from tests.unit.cli.stores import LONG_AGO, begin, made, spoil

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


def test_a_lost_process_is_found_while_it_is_lost(doctor: Doctor, tmp_path: Path) -> None:
    """A run whose lease stands is somebody's."""
    path = made(tmp_path / "chat.db")
    with closing(SqliteStore(path)) as store:
        begin(store)

    assert doctor(path).bad() == []


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
