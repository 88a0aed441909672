"""
What the host itself keeps about its chats: which conversations there are, beside what the library stores.
"""

import json
import time
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from examples.site_chat.labels import Labels
from examples.site_chat.site import Site
from nr_agent_core import StoredWrite

_SCHEMA = """
CREATE TABLE IF NOT EXISTS chat_list (
    id TEXT PRIMARY KEY, owner TEXT NOT NULL, title TEXT NOT NULL, at REAL NOT NULL
) STRICT
"""
_TITLE = 60


class Listed(NamedTuple):
    """
    One conversation in the list.
    """

    id: str
    owner: str
    title: str
    at: float


class ChatList:
    """
    The conversations of everybody, by owner, newest first.
    """

    def __init__(self, site: Site) -> None:
        self._site = site
        with site.transaction() as connection:
            connection.execute(_SCHEMA)

    def add(self, conversation: str, owner: str, text: str) -> None:
        """*owner* opened *conversation* with *text*."""
        title = " ".join(text.split())
        title = title if len(title) <= _TITLE else f"{title[: _TITLE - 1]}…"
        with self._site.transaction() as connection:
            connection.execute(
                "INSERT OR IGNORE INTO chat_list (id, owner, title, at) VALUES (?, ?, ?, ?)",
                (conversation, owner, title, time.time()),
            )

    def owner(self, conversation: str) -> str | None:
        """Whose *conversation* is."""
        with self._site.transaction() as connection:
            row = connection.execute("SELECT owner FROM chat_list WHERE id = ?", (conversation,)).fetchone()
        return None if row is None else str(row[0])

    def of(self, owner: str | None, *, limit: int = 30) -> list[Listed]:
        """The newest conversations of *owner*; None: of everybody."""
        with self._site.transaction() as connection:
            rows = connection.execute(
                "SELECT id, owner, title, at FROM chat_list WHERE owner = coalesce(?, owner) ORDER BY at DESC LIMIT ?",
                (owner, limit),
            ).fetchall()
        return [Listed(*row) for row in rows]


class Written(NamedTuple):
    """
    One write of an AI, as it was announced: which record, in which way, by which run.
    """

    reference: str
    kind: str
    run: str


class RecordList(Labels):
    """
    The labels of the site, also as a list with every write, newest first.
    """

    def position(self) -> int:
        """Up to where the feed was read."""
        with self._site.transaction() as connection:
            return int(connection.execute("SELECT coalesce(max(position), 0) FROM ai_feed").fetchone()[0])

    def take(self, page: Sequence[StoredWrite]) -> None:
        """Keep a *page* of the feed, and then that it was read: what comes twice is dropped."""
        if not page:
            return
        for stored in page:
            self.heard(stored.written)
        with self._site.transaction() as connection:
            connection.execute("INSERT INTO ai_feed (position) VALUES (?)", (page[-1].position,))

    def by_run(self, runs: Collection[str]) -> Mapping[str, list[Written]]:
        """The writes of *runs*, in their order."""
        found: dict[str, list[Written]] = {}
        with self._site.transaction() as connection:
            rows = connection.execute(
                "SELECT reference, kind, correlation_id FROM ai_write"
                " WHERE correlation_id IN (SELECT value FROM json_each(?)) ORDER BY rowid",
                (json.dumps(sorted(runs)),),
            )
            for row in rows:
                found.setdefault(row[2], []).append(Written(*row))
        return found

    def entries(self, *, run: str | None = None, reference: str | None = None, limit: int = 200) -> list[Written]:
        """The writes, of one *run* or *reference* if it is named."""
        with self._site.transaction() as connection:
            rows = connection.execute(
                "SELECT reference, kind, correlation_id FROM ai_write"
                " WHERE correlation_id = coalesce(?, correlation_id) AND reference = coalesce(?, reference)"
                " ORDER BY rowid DESC LIMIT ?",
                (run, reference, limit),
            ).fetchall()
        return [Written(*row) for row in rows]
