"""
``nr-agent-core upkeep``: over a store alone, and over an application.
"""

import argparse
import json
import logging
import re
import shlex
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from nr_agent_core import RunReason, RunStatus
from nr_agent_core.adapters.sqlite import SqliteStore
from nr_agent_core.cli import main
from nr_agent_core.cli.program import COMMANDS
from tests.unit.cli.conftest import ROOT, Run
from tests.unit.cli.stores import LONG_AGO, made, spoil

NOTHING = {"recovered": [], "expired": [], "failed": [], "left": []}

APPLICATION = '''
from nr_agent_core import Chat, RoleAccess, ToolEffect, ToolResult, tool
from nr_agent_core.adapters.sqlite import SqliteStore
from nr_agent_core.testing import ScriptedModel


@tool(effect=ToolEffect.NON_IDEMPOTENT_WRITE)
def save_page(title: str) -> ToolResult:
    """Save a page."""
    return ToolResult.text("Saved.")


def make_chat():
    return Chat(store=SqliteStore("chat.db"), model=ScriptedModel(otherwise="Done."), tools=[save_page],
                access=RoleAccess(owner_decides=True))


class Nested:
    runtime = make_chat().runtime


def fails():
    raise RuntimeError("password=geheim-4711 at postgresql://u:geheim-4711@h/d")


number = 5
bare = None


def storeless():
    from nr_agent_core import Runtime
    return Runtime(store=None, model=ScriptedModel())
'''


def upkeep(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, dict[str, object]]:
    """Exit code and report of one call."""
    code = main(["upkeep", *map(str, words), "--format", "json"])
    return code, json.loads(capsys.readouterr().out)


def test_what_is_past_its_window_goes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By default after thirty days, and a card after ninety; what was written is still told (O2)."""
    path = made(tmp_path / "chat.db", at=LONG_AGO)

    code, report = upkeep(capsys, path)

    assert code == 0
    purged = {"conversations": 1, "messages": 2, "runs": 2, "events": 9, "writes": 0}
    assert report == {"dry_run": False, **NOTHING, "expired": ["r-waits"], "purged": purged}
    with closing(SqliteStore(path)) as store:
        row = store.run_row("r-waits")
        assert row is not None
        assert (row.status, row.reason) == (RunStatus.CANCELLED, RunReason.APPROVAL_EXPIRED)
        assert store.conversation_row("over") is None
        assert len(store.writes(after=0, limit=9)) == 1
        assert len(store.messages("waits")) == 2


def test_windows_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each option is a window of its own; the word "ever" keeps."""
    path = made(tmp_path / "chat.db", at=LONG_AGO)
    ever = ("--conversation-days", "ever", "--run-days", "ever", "--waiting-days", "ever")

    code, report = upkeep(capsys, path, *ever)
    assert (code, report["expired"], set(report["purged"].values())) == (0, [], {0})  # type: ignore[attr-defined]

    code, report = upkeep(capsys, path, "--conversation-days", "ever", "--waiting-days", "ever", "--writes-up-to", 9)
    assert report["purged"] == {"conversations": 0, "messages": 0, "runs": 1, "events": 3, "writes": 0}
    code, report = upkeep(capsys, path, "--waiting-days", "ever", "--write-days", "0.5")
    assert report["purged"] == {"conversations": 1, "messages": 2, "runs": 1, "events": 6, "writes": 1}


@pytest.mark.parametrize("window", [("--run-days", "0"), ("--write-days", "31"), ("--writes-up-to", "-1")])
def test_a_window_that_is_none_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], window: tuple[str, str]
) -> None:
    """Before anything is opened."""
    path = made(tmp_path / "chat.db", at=LONG_AGO)
    before = path.read_bytes()

    assert main(["upkeep", str(path), *window]) == 2

    assert "of a retention" in capsys.readouterr().err
    assert path.read_bytes() == before


@pytest.mark.parametrize("damaged", [False, True])
def test_a_dry_run_tells_what_the_next_one_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], damaged: bool
) -> None:
    """The same counts and ids, and nothing is changed (O2)."""
    path = made(tmp_path / "chat.db", at=LONG_AGO, lost=True)
    if damaged:
        spoil(path, "UPDATE run SET code = 'E1' WHERE id = 'r-waits'")
    rows = dump(path)

    code, foretold = upkeep(capsys, path, "--dry-run")

    assert dump(path) == rows
    assert (code, foretold.pop("dry_run")) == (1, True)
    assert foretold["failed" if damaged else "expired"] == ["r-waits"]
    again, report = upkeep(capsys, path)
    assert (again, report.pop("dry_run")) == (1, False)
    assert report == foretold


def test_what_needs_the_application_is_left(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A run that could be gone on with is not ended by somebody who cannot (O2); one that nobody can read is."""
    path = made(tmp_path / "chat.db", at=LONG_AGO, lost=True)

    code, report = upkeep(capsys, path)
    assert (code, report["left"], report["failed"]) == (1, ["r-lost"], [])
    with closing(SqliteStore(path)) as store:
        row = store.run_row("r-lost")
        assert row is not None
        assert row.status is RunStatus.RUNNING

    spoil(path, "UPDATE event SET facts = '{}' WHERE run = 'r-lost'")
    logging.disable(logging.ERROR)
    try:
        code, report = upkeep(capsys, path)
    finally:
        logging.disable(logging.NOTSET)
    assert (code, report["left"], report["failed"]) == (0, [], ["r-lost"])


@pytest.mark.process
@pytest.mark.parametrize("name", ["application:make_chat", "application:Nested.runtime"])
def test_an_application_recovers(run: Run, tmp_path: Path, name: str) -> None:
    """Its model and tools go on with what was left (R7)."""
    made(tmp_path / "chat.db", at=LONG_AGO, lost=True)
    (tmp_path / "application.py").write_text(APPLICATION)

    foretold = run("upkeep", "--app", name, "--dry-run")
    ended = run("upkeep", "--app", name)

    assert foretold.code == 0, foretold.err
    assert foretold.out.startswith("Nothing was changed.")
    assert "runs gone on with (1): r-lost" in foretold.out
    assert ended.code == 0, ended.err
    assert "runs gone on with (1): r-lost" in ended.out
    assert "rows deleted: conversations 1, messages 2, runs 2, events 9" in ended.out
    assert run("upkeep", "--app", name).out == "Nothing was due.\n"
    assert run("upkeep", "--app", name, "--dry-run").out == "Nothing would happen by now.\n"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("application", "module:attribute"),
        (":make_chat", "module:attribute"),
        ("nowhere_at_all:make_chat", "nowhere_at_all"),
        ("application:nothing", "nothing"),
        ("application:number", "is a int"),
        ("application:bare", "is a NoneType"),
        ("application:fails", "RuntimeError"),
        ("application:storeless", "no store"),
    ],
)
def test_an_application_that_is_none_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, text: str
) -> None:
    """In one line, without a traceback, and without what its own errors may hold (F3)."""
    (tmp_path / "application.py").write_text(APPLICATION)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(__import__("sys").modules, "application", raising=False)

    assert main(["upkeep", "--app", name]) == 2

    captured = capsys.readouterr()
    assert captured.err.startswith("nr-agent-core upkeep: ")
    assert captured.err.count("\n") == 1
    assert text in captured.err
    assert "geheim" not in captured.err


@pytest.mark.parametrize("words", [[], ["chat.db", "--app", "a:b"], ["a.db", "b.db"], ["nowhere.db"]])
def test_one_store_is_named(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    """A store or an application; a file that is not there is not made."""
    assert main(["upkeep", *words]) == 2

    assert capsys.readouterr().err.startswith("nr-agent-core upkeep: ")
    assert not Path("nowhere.db").exists()


@pytest.mark.parametrize("version", [0, 99])
def test_a_store_of_another_release_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], version: int
) -> None:
    """This command brings nothing up to date: its application does (E6)."""
    path = tmp_path / "chat.db"
    if version:
        made(path, at=LONG_AGO)
        spoil(path, f"PRAGMA user_version = {version}")
    else:
        with closing(sqlite3.connect(path)) as db:
            db.execute("VACUUM")
    before = path.read_bytes()

    assert main(["upkeep", str(path)]) == 2

    assert capsys.readouterr().err.count("\n") == 1
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", ["upkeep", "doctor"])
def test_every_option_is_explained(name: str) -> None:
    """An option that nobody explains is not found; and what is explained exists."""
    how_to = (ROOT / "docs" / "how-to" / "upkeep.md").read_text("utf-8")
    parser = argparse.ArgumentParser()
    (command,) = (command for command in COMMANDS if command.name == name)
    command.declare(parser)

    options = set(re.findall(r"--[a-z-]+", parser.format_usage())) - {"--help"}

    assert len(options) > 3
    assert [option for option in sorted(options) if option not in how_to] == []
    shown = re.findall(rf"^\$ nr-agent-core {name} (.*)$", how_to, re.MULTILINE)
    assert len(shown) > 1
    for words in shown:
        parser.parse_args(shlex.split(words))


def dump(path: Path) -> list[str]:
    """All rows, as statements."""
    with closing(sqlite3.connect(path)) as db:
        return list(db.iterdump())
