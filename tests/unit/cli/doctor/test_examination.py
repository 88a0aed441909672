"""
``nr-agent-core doctor``: what is looked at and how it is told, without changing anything.
"""

from contextlib import closing
from pathlib import Path

import pytest

from nr_agent_core.adapters.sqlite import SqliteStore
from nr_agent_core.cli.doctor import run_checks
from nr_agent_core.testing.contracts.store_contract import said
from tests.unit.cli.conftest import Run
from tests.unit.cli.doctor.conftest import Doctor
from tests.unit.cli.stores import LONG_AGO, made, spoil


def files(folder: Path) -> dict[str, bytes]:
    """Every file in a folder, byte by byte."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


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


def test_the_newest_are_read_unless_all_are_asked_for(
    doctor: Doctor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is unsettled is always read; of what is over, so many."""
    path = made(tmp_path / "chat.db")
    monkeypatch.setattr(run_checks, "NEWEST", 1)

    assert "2 runs read" in doctor(path).text("runs")
    assert "3 runs read" in doctor(path, "--all").text("runs")
