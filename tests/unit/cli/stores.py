"""
A store in a file for the tests of commands: runs in every state, and ways to damage them.
"""

import sqlite3
from contextlib import closing
from pathlib import Path

from nr_agent_core.adapters.sqlite import SqliteStore
from nr_agent_core.domain.conversation import MessageRole
from nr_agent_core.domain.notices import Notice, NoticeCode
from nr_agent_core.ports.unit_of_work import UnitOfWork
from nr_agent_core.testing.contracts.run_script import RunScript, wrote
from nr_agent_core.testing.contracts.store_contract import opened, said
from nr_agent_core.testing.manual_clock import ManualClock

LONG_AGO = 1_000_000_000.0


def fill(store: UnitOfWork) -> None:
    """Two conversations: one is over, in one a card waits; and a run of its own that is over."""
    opened(store, "over", "waits")
    done, waiting = RunScript("r-over", conversation="over"), RunScript("r-waits", conversation="waits")
    store.commit([said("over", "Save it.", run_id="r-over"), done.start(), done.propose(), done.intend()])
    answer = said(
        "over", "Geheimnis", role=MessageRole.ASSISTANT, run_id="r-over", notices=(Notice(NoticeCode.NOTHING_SAVED),)
    )
    store.commit([done.outcome(wrote(1)), done.answer(), answer])
    store.commit([said("waits", "Save it.", run_id="r-waits"), waiting.start(), waiting.request()])
    bare = RunScript("r-bare")
    store.commit([bare.start(), bare.answer()])


def begin(store: UnitOfWork, *, queued: bool = False) -> None:
    """A run whose process is gone, or that no worker took up, in a conversation of its own."""
    opened(store, "lost")
    script = RunScript("r-lost", conversation="lost")
    store.commit([said("lost", "Hello?", run_id="r-lost"), script.start(queued=queued, text=None, message=0)])


def made(path: Path, *, at: float | None = None, lost: bool = False, queued: bool = False) -> Path:
    """The file of such a store, made now or at another time."""
    clock = None if at is None else ManualClock(at)
    with closing(SqliteStore(path, clock=clock)) as store:
        fill(store)
        if lost or queued:
            begin(store, queued=queued)
    return path


def spoil(path: Path, *statements: str) -> None:
    """Change the file behind the store's back, without its guards."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        guards = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in guards:
            db.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            db.execute(statement)
        for _, sql in guards:
            db.execute(sql)
