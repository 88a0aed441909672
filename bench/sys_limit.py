"""
The limit: a hand-written loop that writes just the rows that a turn needs. No library, no checks.

Rows of a turn: four messages, one run (written and updated), six events, the conversation's row.

``--txns 1``: everything in one transaction at the end of the turn; a crash loses the turn. ``2``: the message and the
running run are durable before the model is asked. ``8``: every event is durable when it happens.

``--history read``: all messages of the conversation are loaded on each turn; ``cached``: they are kept.

``--writers lock``: writers of one process take turns on a lock, instead of on SQLite's own unfair wait.
"""

import json
import sqlite3
import threading
import time
import uuid
from contextlib import nullcontext
from typing import Any

from bench import common

SCHEMA = """
CREATE TABLE IF NOT EXISTS conversation(id TEXT PRIMARY KEY, status TEXT NOT NULL, updated REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS message(conv TEXT NOT NULL, seq INTEGER NOT NULL, run TEXT NOT NULL, role TEXT NOT NULL,
  body TEXT NOT NULL, PRIMARY KEY(conv, seq)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS run(id TEXT PRIMARY KEY, conv TEXT NOT NULL, status TEXT NOT NULL, started REAL, ended REAL,
  pending TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS event(run TEXT NOT NULL, seq INTEGER NOT NULL, kind TEXT NOT NULL, at REAL NOT NULL,
  body TEXT NOT NULL, PRIMARY KEY(run, seq)) WITHOUT ROWID;
"""
JOURNALS = {
    "wal_normal": ("WAL", "NORMAL"),
    "wal_full": ("WAL", "FULL"),
    "delete_full": ("DELETE", "FULL"),
    "wal_off": ("WAL", "OFF"),
}
PROCESSING = (
    "INSERT INTO conversation VALUES(?,'processing',?) "
    "ON CONFLICT(id) DO UPDATE SET status='processing', updated=excluded.updated"
)
IDLE = "UPDATE conversation SET status='idle', updated=? WHERE id=?"
COMPLETED = "UPDATE run SET status='completed', ended=? WHERE id=?"

Message = dict[str, Any]
Statement = tuple[str, tuple[Any, ...]]


def dumps(value: Any) -> str:
    """*value* as compact JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def model(history: list[Message]) -> Message:
    """The scripted model."""
    newest = history[-1]
    if newest["role"] != "user":
        return {"role": "assistant", "text": common.final_text(history[-2]["calls"][0]["args"]["uid"])}
    i = common.num_after_seite(newest["text"])
    if common.is_write(newest["text"]):
        call = {"id": f"k{i}", "name": "update_page", "args": {"uid": i, "title": f"Neuer Titel {i}"}}
    else:
        call = {"id": f"k{i}", "name": "get_page", "args": {"uid": i}}
    return {"role": "assistant", "calls": [call]}


class Limit:
    """
    The loop.
    """

    name = "limit (hand-written)"
    w3_mode, w3_shared = "threads", False

    LOCK = threading.Lock()

    def __init__(
        self, path: str, durability: str = "wal_normal", txns: str = "2", history: str = "read", writers: str = "free"
    ) -> None:
        self.guard = self.LOCK if writers == "lock" else nullcontext()
        journal, synchronous = JOURNALS[durability]
        self.db = sqlite3.connect(path, isolation_level=None, timeout=30)
        self.db.execute(f"PRAGMA journal_mode={journal}")
        self.db.execute(f"PRAGMA synchronous={synchronous}")
        if not self.db.execute("SELECT 1 FROM sqlite_master WHERE name='event'").fetchone():
            self.db.executescript(SCHEMA)
        self.txns = int(txns)
        self.cache: dict[str, list[Message]] | None = {} if history == "cached" else None

    def _load(self, conv: str) -> list[Message]:
        if self.cache is not None and conv in self.cache:
            return self.cache[conv]
        rows = self.db.execute("SELECT body FROM message WHERE conv=? ORDER BY seq", (conv,))
        history = [json.loads(body) for (body,) in rows]
        if self.cache is not None:
            self.cache[conv] = history
        return history

    def _message(self, conv: str, run: str, history: list[Message], message: Message) -> Statement:
        history.append(message)
        values = (conv, len(history), run, message["role"], dumps(message))
        return "INSERT INTO message VALUES(?,?,?,?,?)", values

    def _event(self, run: str, seq: int, kind: str, body: Message) -> Statement:
        return "INSERT INTO event VALUES(?,?,?,?,?)", (run, seq, kind, time.time(), dumps(body))

    def _flush(self, batch: list[Statement]) -> None:
        execute = self.db.execute
        with self.guard:
            execute("BEGIN IMMEDIATE")
            for sql, values in batch:
                execute(sql, values)
            execute("COMMIT")
        batch.clear()

    def _begun(self, conv: str, run: str, history: list[Message], text: str) -> list[Statement]:
        now = time.time()
        return [
            self._message(conv, run, history, {"role": "user", "text": text}),
            ("INSERT INTO run VALUES(?,?,?,?,NULL,NULL)", (run, conv, "running", now)),
            (PROCESSING, (conv, now)),
            self._event(run, 1, "run_started", {}),
        ]

    async def turn(self, conv: str, i: int) -> str:
        """Message, call, result, answer."""
        history, run = self._load(conv), uuid.uuid4().hex
        batch = self._begun(conv, run, history, common.user_text(i))
        if self.txns >= 2:
            self._flush(batch)

        def store(statement: Statement) -> None:
            batch.append(statement)
            if self.txns == 8:
                self._flush(batch)

        asked = model(history)
        batch.append(self._message(conv, run, history, asked))
        store(self._event(run, 2, "model_reply", {"tokens": 50}))
        call = asked["calls"][0]
        store(self._event(run, 3, "tool_call", call))
        brought = common.page_record(call["args"]["uid"])
        store(self._event(run, 4, "tool_result", {"id": call["id"], "ok": True}))
        store(self._message(conv, run, history, {"role": "tool", "id": call["id"], "text": brought}))
        answer = model(history)
        store(self._event(run, 5, "model_reply", {"tokens": 150}))
        store(self._message(conv, run, history, answer))
        batch.append(self._event(run, 6, "run_completed", {}))
        batch.append((COMPLETED, (time.time(), run)))
        batch.append((IDLE, (time.time(), conv)))
        self._flush(batch)
        return str(answer["text"])

    async def suspend(self, conv: str, i: int) -> None:
        """Message, and a call that waits."""
        history, run = self._load(conv), uuid.uuid4().hex
        batch = self._begun(conv, run, history, common.write_text(i))
        self._flush(batch)
        asked = model(history)
        batch.append(self._message(conv, run, history, asked))
        batch.append(self._event(run, 2, "approval_requested", asked["calls"][0]))
        batch.append(("UPDATE run SET status='waiting', pending=? WHERE id=?", (dumps(asked["calls"]), run)))
        batch.append(("UPDATE conversation SET status='waiting', updated=? WHERE id=?", (time.time(), conv)))
        self._flush(batch)

    async def approve(self, conv: str, i: int) -> str:
        """The decision durable before the tool runs, its outcome before the model is asked."""
        newest = "SELECT run FROM message WHERE conv=? ORDER BY seq DESC LIMIT 1"
        (run,) = self.db.execute(newest, (conv,)).fetchone()
        (pending,) = self.db.execute("SELECT pending FROM run WHERE id=? AND status='waiting'", (run,)).fetchone()
        call, history = json.loads(pending)[0], self._load(conv)
        batch = [
            self._event(run, 3, "approval_decided", {"approved": True}),
            ("UPDATE run SET status='running', pending=NULL WHERE id=?", (run,)),
        ]
        self._flush(batch)
        brought = common.do_write(**call["args"])
        wrote = {"record": f"pages:{call['args']['uid']}", "kind": "updated"}
        batch.append(self._event(run, 4, "tool_write", wrote))
        batch.append(self._message(conv, run, history, {"role": "tool", "id": call["id"], "text": brought}))
        self._flush(batch)
        answer = model(history)
        batch.append(self._message(conv, run, history, answer))
        batch.append(self._event(run, 5, "run_completed", {}))
        batch.append((COMPLETED, (time.time(), run)))
        batch.append((IDLE, (time.time(), conv)))
        self._flush(batch)
        return str(answer["text"])

    async def close(self) -> None:
        """Let go of the file."""
        self.db.close()


OPTIONS = [
    ("durability", "wal_normal", list(JOURNALS)),
    ("txns", "2", ["1", "2", "8"]),
    ("history", "read", ["read", "cached"]),
    ("writers", "free", ["free", "lock"]),
]

if __name__ == "__main__":
    common.main(Limit, [], OPTIONS)
