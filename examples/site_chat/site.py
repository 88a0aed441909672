"""
The site: pages, content elements and the page cache, in an SQLite file of its own.

It knows nothing of chats. Every change is one transaction.
"""

import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

_SCHEMA = """
CREATE TABLE pages (
    uid INTEGER PRIMARY KEY AUTOINCREMENT,
    parent INTEGER NOT NULL,
    title TEXT NOT NULL,
    description TEXT NOT NULL DEFAULT '',
    hidden INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE content (
    uid INTEGER PRIMARY KEY AUTOINCREMENT,
    page INTEGER NOT NULL REFERENCES pages (uid),
    text TEXT NOT NULL
) STRICT;
CREATE TABLE page_cache (page INTEGER PRIMARY KEY) STRICT;
CREATE TABLE carried_out (key TEXT PRIMARY KEY) STRICT;
INSERT INTO pages (uid, parent, title, description) VALUES
    (1, 0, 'Startseite', 'Willkommen'), (2, 1, 'Über uns', ''), (3, 1, 'Leistungen', 'Was wir tun');
INSERT INTO content (uid, page, text) VALUES (1, 2, 'Seit 1998 am Markt.'), (2, 2, 'Sommerfest am 12. Mai!');
INSERT INTO page_cache (page) VALUES (1), (2), (3);
"""


class Page(NamedTuple):
    """
    One page; a hidden one is a draft that visitors do not see.
    """

    uid: int
    parent: int
    title: str
    description: str
    hidden: bool

    @property
    def version(self) -> str:
        """A token that changes whenever anything on the page does."""
        return hashlib.sha256(repr(self).encode()).hexdigest()[:16]


class Content(NamedTuple):
    """
    One content element of a page.
    """

    uid: int
    page: int
    text: str


class Site:
    """
    The site in the file *path*, which is made with three pages when it does not exist.

    Each transaction has a connection of its own, so any thread and any process may use a site.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        if not path.exists():
            with closing(sqlite3.connect(path)) as connection:
                connection.executescript(_SCHEMA)

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All of what is done inside, or nothing of it when something raises."""
        with closing(sqlite3.connect(self._path, isolation_level=None, timeout=10)) as connection:
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    def pages(self, *, parent: int | None = None, title: str | None = None) -> list[Page]:
        """The pages in the order of their uids, all or those under *parent* and with *title*."""
        with self.transaction() as connection:
            rows = connection.execute(
                "SELECT uid, parent, title, description, hidden FROM pages"
                " WHERE parent = coalesce(?, parent) AND title = coalesce(?, title) ORDER BY uid",
                (parent, title),
            ).fetchall()
        return [_page(row) for row in rows]

    def content(self) -> list[Content]:
        """All content elements in the order of their uids."""
        with self.transaction() as connection:
            return [Content(*row) for row in connection.execute("SELECT uid, page, text FROM content ORDER BY uid")]

    def cached_pages(self) -> int:
        """How many pages are in the cache."""
        with self.transaction() as connection:
            return int(connection.execute("SELECT count(*) FROM page_cache").fetchone()[0])


def page_in(connection: sqlite3.Connection, uid: int) -> Page | None:
    """The page *uid* as this transaction sees it."""
    row = connection.execute("SELECT uid, parent, title, description, hidden FROM pages WHERE uid = ?", (uid,))
    found = row.fetchone()
    return None if found is None else _page(found)


def was_carried_out(connection: sqlite3.Connection, key: str) -> bool:
    """Whether the call with this *key* was carried out before."""
    return connection.execute("SELECT 1 FROM carried_out WHERE key = ?", (key,)).fetchone() is not None


def note_carried_out(connection: sqlite3.Connection, key: str) -> None:
    """
    Keep the *key* of a call in the transaction of its effect: both are stored, or neither is.

    This is what makes a write idempotent.
    """
    connection.execute("INSERT INTO carried_out (key) VALUES (?)", (key,))


def _page(row: tuple[int, int, str, str, int]) -> Page:
    uid, parent, title, description, hidden = row
    return Page(uid, parent, title, description, bool(hidden))
