"""
A SQLite file: its place, its settings, its pages.
"""

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from nr_agent_core.adapters.sqlite.file_system import network_file_system
from nr_agent_core.adapters.sqlite.schema import STEPS
from nr_agent_core.cli.doctor.findings import Check, Finding, Level, listed
from nr_agent_core.cli.stores.tables import SqliteTables

_LARGE_LOG: Final = 64 * 2**20
_LARGE_SHARE: Final = 0.5


class SqliteChecks:
    """
    Looks at the file.
    """

    def __init__(self, tables: SqliteTables) -> None:
        self._tables, self._path = tables, Path(tables.path)

    def all(self) -> list[tuple[str, Check]]:
        """All checks, in order."""
        return [
            ("file", self._file),
            ("file system", self._place),
            ("schema", self._schema),
            ("journal", self._journal),
            ("integrity", self._integrity),
        ]

    def _file(self) -> Iterator[Finding]:
        size = self._path.stat().st_size
        pages, free = (self._tables.ask(f"PRAGMA {name}")[0][0] for name in ("page_count", "freelist_count"))
        log = Path(f"{self._path}-wal")
        length = log.stat().st_size if log.exists() else 0
        yield Finding(Level.NOTE, "file", f"{_bytes(size)}, {free} of {pages} pages free, log {_bytes(length)}")
        if pages and free / pages > _LARGE_SHARE and size > _LARGE_LOG:
            yield Finding(Level.NOTE, "file", "most of it is free: VACUUM gives that back while nobody writes")
        if length > _LARGE_LOG:
            yield Finding(
                Level.WARNING,
                "file",
                "the write-ahead log is large: does a reader hold it, or does nobody call upkeep?",
            )

    def _place(self) -> Iterator[Finding]:
        kind = network_file_system(str(self._path.resolve()))
        if kind:
            text = f"it lies on a network file system ({kind}), where locks are not kept reliably: use a local disk"
            yield Finding(Level.ERROR, "file system", text)
        else:
            yield Finding(Level.FINE, "file system", "no network file system is known to hold it")

    def _schema(self) -> Iterator[Finding]:
        version = self._tables.version
        if version < len(STEPS):
            text = f"version {version}; its next use by this release brings it to version {len(STEPS)}"
            yield Finding(Level.NOTE, "schema", text)
        else:
            yield Finding(Level.FINE, "schema", f"version {version}, the newest that this release knows")
        with contextlib.closing(_made(version)) as made:
            expected, there = _names(made), _names(self._tables.db)
        missing = sorted(expected - there)
        if missing:
            shown = listed([name for _, name in missing])
            yield Finding(Level.ERROR, "schema", f"tables, indexes or guards were taken away: {shown}")

    def _journal(self) -> Iterator[Finding]:
        mode = _journal_mode(self._path)
        if mode != "wal":
            text = f"the journal mode is {mode}, not wal: readers and writers wait for each other"
            yield Finding(Level.WARNING, "journal", f"{text}; the store switches it on, but on network file systems")
        else:
            yield Finding(Level.FINE, "journal", "write-ahead log")
        text = "synchronous (FULL unless the store was made with NORMAL) and secure_delete (ON) are of each connection"
        yield Finding(Level.NOTE, "journal", f"{text} of the store and in no file")

    def _integrity(self) -> Iterator[Finding]:
        said = [row[0] for row in self._tables.ask("PRAGMA integrity_check(20)")]
        if said == ["ok"]:
            yield Finding(Level.FINE, "integrity", "pages and indexes are sound")
        else:
            for line in said:
                yield Finding(Level.ERROR, "integrity", str(line).splitlines()[0][:200])
            yield Finding(Level.ERROR, "integrity", "restore a backup; the file is damaged")


def _journal_mode(path: Path) -> str:
    """As the file says it: a look at a file that is in nobody's hands has no journal at all."""
    with path.open("rb") as file:
        return "wal" if file.read(20)[18:19] == b"\x02" else "delete"


def _made(version: int) -> sqlite3.Connection:
    db = sqlite3.connect(":memory:", isolation_level=None)
    for statement in (statement for step in STEPS[:version] for statement in step):
        db.execute(statement)
    return db


def _names(db: sqlite3.Connection) -> set[tuple[str, str]]:
    with contextlib.suppress(sqlite3.DatabaseError):
        return set(db.execute("SELECT type, name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'").fetchall())
    return set()


def _bytes(number: int) -> str:
    for size, name in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if number >= size:
            return f"{number / size:.1f} {name}"
    return f"{number} bytes"
