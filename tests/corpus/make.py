"""
Writes what the corpus lacks: one file for each form that this release stores.

    python -m tests.corpus.make

A file that is there is never written again: it is what that release stored. So a form that changes
gets a new file beside the old one, and an old one is read for ever.
"""

import json
import sqlite3
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

from nr_agent_core import FailureClass, ProviderError
from nr_agent_core.adapters.sqlite import SqliteStore
from nr_agent_core.adapters.sqlite.schema import STEPS
from nr_agent_core.codec import dump, dump_notices
from nr_agent_core.domain.notices import Notice, NoticeCode
from nr_agent_core.testing.contracts.run_script import RunScript
from nr_agent_core.testing.contracts.store_contract import opened, said
from nr_agent_core.testing.crashing import WorkerDied
from nr_agent_core.testing.manual_clock import ManualClock
from tests.chat.world import ANNA, CREATE, World
from tests.docs.reference import SAMPLES as NOTICES
from tests.unit.stored_events import SAMPLES as EVENTS

CORPUS = Path(__file__).parent
MADE_AT = 1_700_000_000.0


def event_file(kind: str) -> Path:
    """Where the form of an event is: a kind without a suffix is version 1."""
    return CORPUS / "events" / (f"{kind}.json" if "." in kind else f"{kind}.1.json")


def notice_file(code: NoticeCode) -> Path:
    """Where the notices of one code are."""
    return CORPUS / "notices" / f"{code.value}.json"


def store_file(version: int) -> Path:
    """Where the SQLite file of one schema version is; what it holds is beside it, as JSON."""
    return CORPUS / "sqlite" / f"schema-{version}.db"


def main() -> int:
    """Write what is missing, and say what."""
    for event in EVENTS.values():
        kind, facts, content = dump(event)
        _write(event_file(kind), {"kind": kind, "facts": facts, "content": content})
    for code in NoticeCode:
        stored = dump_notices(tuple(Notice(code, arguments) for arguments in NOTICES[code]))
        _write(notice_file(code), {"code": code.value, "notices": stored})
    if not store_file(len(STEPS)).exists():
        make_store(store_file(len(STEPS)))
    return 0


def make_store(path: Path) -> None:
    """The file of a store with runs in every state, and what it holds, as it is read today."""
    path.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "chat.db"
        clock = ManualClock(MADE_AT)
        with closing(SqliteStore(made, clock=clock)) as store:
            play(World(store, clock))
            assert store.checkpoint()
        with closing(sqlite3.connect(made)) as db:
            db.execute("VACUUM")
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        path.write_bytes(made.read_bytes())
        with closing(SqliteStore(made)) as store:
            _write(path.with_suffix(".json"), told(store))
    print(f"wrote {path.relative_to(CORPUS)}")


def play(world: World) -> None:
    """A story in which every kind of event, and every status, comes to be."""
    clock = world.clock
    approved = world.chat(CREATE, "Created: pages:42.", "Saved everything.")
    sent = approved.send("Lege eine Seite 'Team' an.", ANNA)
    approved.decide(sent.conversation, "approve", card=approved.view(sent.conversation, ANNA).card, by=ANNA)
    approved.send("Und noch eine 'Büro' \U0001f600.", ANNA, conversation=sent.conversation)
    clock.advance(60)
    denied = world.chat(CREATE, "As you like.")
    sent = denied.send("Lege eine Seite an.", ANNA)
    denied.decide(sent.conversation, "deny", card=denied.view(sent.conversation, ANNA).card, by=ANNA)
    clock.advance(60)
    broken = world.chat(model_options={"otherwise": ProviderError("it is down", FailureClass.CONNECTION)})
    broken.send("Bist du da?", ANNA)
    cancelled, sent = world.waiting()
    cancelled.cancel(sent.conversation, ANNA)
    unsure = world.chat(CREATE, "I cannot tell.", tools=world.host.tools(execute=_breaks))
    sent = unsure.send("Lege eine Seite an.", ANNA)
    unsure.decide(sent.conversation, "approve", card=unsure.view(sent.conversation, ANNA).card, by=ANNA)
    world.chat("A bare answer.").runtime.start("Ohne Gespräch.", "anna", instructions="Be brief.")
    dying = world.chat(WorkerDied())
    world.dies(lambda: dying.send("Wer macht das fertig?", ANNA))
    opened(world.store, "queued")
    script = RunScript("run-queued", conversation="queued")
    world.store.commit(
        [said("queued", "Später.", run_id="run-queued"), script.start(queued=True, text=None, message=0)]
    )
    world.store.commit([script.claim()])
    world.store.commit([script.requeue(not_before=clock.now() + 30)])
    world.waiting(rules={"approval_expiry": 3600.0})


def told(store: SqliteStore) -> dict[str, Any]:
    """What a store holds, as the library reads it."""
    with store._connections.of_this_thread() as db:
        conversations = [row[0] for row in db.execute("SELECT id FROM conversation ORDER BY id")]
        runs = [row[0] for row in db.execute("SELECT id FROM run ORDER BY number")]
    return {
        "conversations": {name: _conversation(store, name) for name in conversations},
        "runs": {run_id: _run(store, run_id) for run_id in runs},
        "feed": [
            [entry.position, entry.written.correlation_id, str(entry.written.reference), entry.written.kind.value]
            for entry in store.writes(after=0, limit=1000)
        ],
    }


def _conversation(store: SqliteStore, name: str) -> list[Any]:
    return [
        [message.role.value, message.text, message.run_id, [notice.code.value for notice in message.notices]]
        for message in store.messages(name, limit=1000)
    ]


def _run(store: SqliteStore, run_id: str) -> dict[str, Any]:
    row = store.run_row(run_id)
    assert row is not None
    return {
        "status": row.status.value,
        "reason": row.reason and row.reason.value,
        "code": row.code and row.code.value,
        "events": [stored.event.kind for stored in store.events(run_id)],
    }


def _breaks(arguments: object, context: object) -> object:
    raise RuntimeError("the connection broke after sending")


def _write(path: Path, content: dict[str, Any]) -> None:
    if path.exists():
        return
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(content, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    print(f"wrote {path.relative_to(CORPUS)}")


if __name__ == "__main__":
    sys.exit(main())
