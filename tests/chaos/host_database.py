"""
The host's own database, apart from the store: what tools really did, by key, written by the tools themselves.
"""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from nr_agent_core import ToolContext, ToolEffect

_SCHEMA = """
    CREATE TABLE IF NOT EXISTS attempt(
        id INTEGER PRIMARY KEY, key TEXT, tool TEXT, effect TEXT, run TEXT, call TEXT, life TEXT);
    CREATE INDEX IF NOT EXISTS attempt_by_key ON attempt(key);
    CREATE TABLE IF NOT EXISTS written(
        id INTEGER PRIMARY KEY AUTOINCREMENT, attempt INTEGER, key TEXT, tool TEXT, effect TEXT, run TEXT, call TEXT,
        record TEXT, life TEXT);
    CREATE INDEX IF NOT EXISTS written_by_key ON written(key);
    CREATE TABLE IF NOT EXISTS standing(key TEXT PRIMARY KEY, word TEXT);
"""


class Attempt(NamedTuple):
    """
    A tool was entered with this key: an execution, whatever came of it.
    """

    id: int
    key: str
    tool: str
    effect: str
    run: str
    call: str
    life: str


class Written(NamedTuple):
    """
    Something really happened. ``record`` is None for what is no record.
    """

    id: int
    attempt: int
    key: str
    tool: str
    effect: str
    run: str
    call: str
    record: str | None
    life: str


class HostDatabase:
    """
    One file for all processes; a connection per thread.
    """

    def __init__(self, folder: Path, life: str) -> None:
        self._path, self._life, self._local = folder / "host.db", life, threading.local()
        self._db.executescript(_SCHEMA)

    @property
    def _db(self) -> sqlite3.Connection:
        db: sqlite3.Connection | None = getattr(self._local, "db", None)
        if db is None:
            db = self._local.db = sqlite3.connect(self._path, timeout=5.0, isolation_level=None)
            db.execute("PRAGMA journal_mode = WAL")
            # What a killed process wrote stands; a loss of power is not part of this.
            db.execute("PRAGMA synchronous = OFF")
        return db

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """One transaction that writes."""
        db = self._db
        db.execute("BEGIN IMMEDIATE")
        try:
            yield db
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise

    def entered(self, tool: str, effect: ToolEffect, context: ToolContext) -> tuple[int, int]:
        """A tool is executed: the number of the attempt, and how many there are with its key by now."""
        values = (context.key, tool, effect.value, context.run_id, context.call_id, self._life)
        with self.transaction() as db:
            made = db.execute(
                "INSERT INTO attempt(key, tool, effect, run, call, life) VALUES (?, ?, ?, ?, ?, ?)", values
            )
            (times,) = db.execute("SELECT count(*) FROM attempt WHERE key = ?", (context.key,)).fetchone()
        assert made.lastrowid is not None
        return made.lastrowid, times

    def write(self, db: sqlite3.Connection, attempt: int, record: str | None) -> int:
        """Something happens in the transaction of *db*; its number."""
        made = db.execute(
            "INSERT INTO written(attempt, key, tool, effect, run, call, record, life)"
            " SELECT id, key, tool, effect, run, call, ?, ? FROM attempt WHERE id = ?",
            (record, self._life, attempt),
        )
        assert made.lastrowid is not None
        return made.lastrowid

    def name(self, db: sqlite3.Connection, number: int, record: str) -> None:
        """What happened under *number* is this record."""
        db.execute("UPDATE written SET record = ? WHERE id = ?", (record, number))

    def word_on(self, db: sqlite3.Connection, key: str, word: str) -> str:
        """What counts for *key*: *word*, if nobody was first."""
        db.execute("INSERT OR IGNORE INTO standing VALUES (?, ?)", (key, word))
        (counts,) = db.execute("SELECT word FROM standing WHERE key = ?", (key,)).fetchone()
        return str(counts)

    def attempts(self) -> list[Attempt]:
        """All of them, in order."""
        return [Attempt(*row) for row in self._db.execute("SELECT * FROM attempt ORDER BY id")]

    def written(self, key: str | None = None) -> list[Written]:
        """All that happened, in order; with *key* what happened under it."""
        found = self._db.execute("SELECT * FROM written WHERE ?1 IS NULL OR key = ?1 ORDER BY id", (key,))
        return [Written(*row) for row in found]
