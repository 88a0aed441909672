"""
Every form that any release stored is read, and what is newer is refused in words (E6).

A form without a file in the corpus fails here: ``python -m tests.corpus.make`` writes it.
"""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from nr_agent_core import Chat, NewerFormError, Retention, RunStatus
from nr_agent_core.adapters.sqlite import SqliteStore
from nr_agent_core.adapters.sqlite.schema import STEPS
from nr_agent_core.cli import main
from nr_agent_core.codec import dump, dump_notices, load, load_notices
from nr_agent_core.codec.forms import _forms
from nr_agent_core.domain.notices import NoticeCode
from nr_agent_core.testing.manual_clock import ManualClock
from nr_agent_core.testing.scripted_model import ScriptedModel
from tests.chat.world import ACCESS, ANNA, Host
from tests.corpus.make import CORPUS, MADE_AT, event_file, notice_file, store_file, told

EVENTS = sorted((CORPUS / "events").glob("*.json"))
NOTICES = sorted((CORPUS / "notices").glob("*.json"))
STORES = sorted((CORPUS / "sqlite").glob("*.db"))


def stem(path: Path) -> str:
    """The name of a file of the corpus, as a test id."""
    return path.stem


# --------------------------------------------------------------------------- every form has its file


def test_every_form_of_an_event_has_a_file() -> None:
    """Whoever adds or changes a form adds what it looks like; none is taken away."""
    kinds = set(_forms().by_kind)
    versions = {f"{kind}.{number}" for kind in kinds for number in _before(kind)}

    assert {path.stem for path in EVENTS} == {event_file(kind).stem for kind in kinds | versions}


def test_every_notice_has_a_file() -> None:
    """Each code with its arguments."""
    assert set(NOTICES) == {notice_file(code) for code in NoticeCode}


def test_every_schema_has_a_file() -> None:
    """A whole store of each version."""
    assert [store_file(version) for version in range(1, len(STEPS) + 1)] == STORES


def test_a_form_without_a_file_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search above sees what is new."""
    forms = _forms()
    monkeypatch.setitem(forms.by_kind, "tool.2", forms.by_kind["tool"])

    with pytest.raises(AssertionError):
        test_every_form_of_an_event_has_a_file()


def _before(kind: str) -> range:
    """The versions before this one, which a kind with a suffix has."""
    return range(2, int(kind.partition(".")[2] or 0))


# ------------------------------------------------------------------------------------- events, notices


@pytest.mark.parametrize("path", EVENTS, ids=stem)
def test_an_event_is_read(path: Path) -> None:
    """As what it was; stored again it has the newest form, which says the same (E6)."""
    stored = json.loads(path.read_text("utf-8"))

    event = load(stored["kind"], stored["facts"], stored["content"])

    again = dump(event)
    assert load(*again) == event
    assert event.kind == path.stem.partition(".")[0]
    newest = stored["kind"] == _forms().by_type[type(event)].kind
    assert (again == (stored["kind"], stored["facts"], stored["content"])) is newest


@pytest.mark.parametrize("path", NOTICES, ids=stem)
def test_notices_are_read(path: Path) -> None:
    """Code by code, with their arguments."""
    stored = json.loads(path.read_text("utf-8"))["notices"]

    notices = load_notices(stored)

    assert {notice.code.value for notice in notices} == {path.stem}
    assert dump_notices(notices) == stored


# --------------------------------------------------------------------------------------- whole stores


@pytest.fixture(params=STORES, ids=stem)
def store_copy(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A store of an earlier release or this one, as it was left."""
    copy = tmp_path / "chat.db"
    shutil.copy(request.param, copy)
    shutil.copy(request.param.with_suffix(".json"), tmp_path / "told.json")
    return copy


def test_a_store_is_read(store_copy: Path) -> None:
    """Conversations, runs, streams and the feed are what they were."""
    with closing(SqliteStore(store_copy)) as store:
        assert told(store) == json.loads(store_copy.with_name("told.json").read_text("utf-8"))
    with closing(sqlite3.connect(store_copy)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (len(STEPS),)


def test_a_store_holds_every_kind_and_status(store_copy: Path) -> None:
    """The story of the corpus leaves nothing out that could not be read."""
    runs = json.loads(store_copy.with_name("told.json").read_text("utf-8"))["runs"].values()

    kinds = {kind for run in runs for kind in run["events"]}
    assert kinds == {"started", "claimed", "model", "approval_requested", "approval", "tool_started", "tool"} | {
        *("completed", "failed", "cancelled", "requeued")
    }
    assert {run["status"] for run in runs} == {status.value for status in RunStatus}


def test_a_store_goes_on(store_copy: Path) -> None:
    """What waited is decided, what was lost is recovered, what was said is known (R2, R7)."""
    host, clock = Host(), ManualClock(MADE_AT + 150)
    model = ScriptedModel(otherwise="Done.")
    with closing(SqliteStore(store_copy, clock=clock)) as store:
        chat = Chat(store=store, model=model, tools=host.tools(), access=ACCESS)
        (item,) = chat.runtime.inbox(ANNA)
        assert item.conversation is not None
        decided = chat.decide(item.conversation, "approve", card=item.card, by=ANNA)
        assert (decided.status, host.pages) == (RunStatus.COMPLETED, ["Team"])
        clock.advance(1000)
        assert sorted(chat.upkeep().recovered) == ["run-0008", "run-queued"]
        assert chat.send("Und?", ANNA, conversation="conversation-0001").status is RunStatus.COMPLETED
        told_then = [message.text for message in model.requests[-1].messages]
        assert any("Lege eine Seite 'Team' an." in text for text in told_then)
        assert any("pages:42" in text for text in told_then)


def test_a_store_is_sound_and_can_be_kept_up(store_copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The doctor finds only what the story left undone, and retention takes what is over (O2)."""
    main(["doctor", str(store_copy), "--format", "json"])
    findings = json.loads(capsys.readouterr().out)["findings"]
    assert [each for each in findings if each["level"] == "error"] == []
    with closing(SqliteStore(store_copy, clock=ManualClock(MADE_AT + 40 * 86_400))) as store:
        assert store.purge(Retention()).conversations == 5


# ------------------------------------------------------------------------------------ what is newer


@pytest.mark.parametrize("path", EVENTS, ids=stem)
def test_a_newer_event_is_refused(path: Path) -> None:
    """By an error of its own that says which form it is, which is known, and what would do."""
    stored = json.loads(path.read_text("utf-8"))
    kind = stored["kind"].partition(".")[0]

    with pytest.raises(NewerFormError) as refused:
        load(f"{kind}.99", stored["facts"], stored["content"])

    assert (refused.value.found, refused.value.subject) == (f"{kind}.99", f"event {kind!r}")
    assert str(refused.value).endswith(": upgrade")
    assert f"{kind}.99" in str(refused.value)


def test_a_newer_notice_is_refused() -> None:
    """Likewise."""
    with pytest.raises(NewerFormError, match=r"notice is of form 'muchLater'; .*: upgrade") as refused:
        load_notices('[{"code":"muchLater","arguments":{}}]')

    assert refused.value.found == "muchLater"


def test_a_newer_store_is_refused(store_copy: Path) -> None:
    """Before a byte of it is changed; reading and writing alike."""
    with closing(sqlite3.connect(store_copy)) as db:
        db.execute(f"PRAGMA user_version = {len(STEPS) + 1}")
    before = store_copy.read_bytes()

    with closing(SqliteStore(store_copy)) as store:
        for look in (lambda: store.conversation_row("conversation-0001"), lambda: store.purge(Retention())):
            with pytest.raises(NewerFormError, match=r"schema of .* is of form \d+; .*: upgrade") as refused:
                look()
            assert (refused.value.found, refused.value.known) == (len(STEPS) + 1, len(STEPS))

    assert store_copy.read_bytes() == before
