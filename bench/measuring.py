"""
What is measured: durations, the size of a store, and what a system does with SQLite.
"""

import functools
import sqlite3
import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

Figures = dict[str, Any]


def pct(values: Iterable[float], q: float) -> float:
    """The *q* quantile."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(q * len(ordered)))]


def stats(ms: Sequence[float]) -> Figures:
    """What is said about a list of durations."""
    return {
        "median_ms": round(statistics.median(ms), 3),
        "p99_ms": round(pct(ms, 0.99), 3),
        "turns_per_s": round(1000 * len(ms) / sum(ms), 1),
    }


def store_size(path: str) -> int:
    """Bytes of a SQLite file and what lies beside it."""
    files = (Path(path + suffix) for suffix in ("", "-wal", "-shm", "-journal"))
    return sum(file.stat().st_size for file in files if file.exists())


class SqliteProbe:
    """
    Counts connections, commits and statements of this process, and reads the PRAGMAs really in force.
    """

    def __init__(self) -> None:
        self.connections = self.commits = self.statements = 0
        self.pragmas: set[tuple[str, str]] = set()
        self.last: sqlite3.Connection | None = None

    def install(self) -> None:
        """From now on every connection is watched."""
        real, probe = sqlite3.connect, self

        @functools.cache
        def watched(kind: type[sqlite3.Connection]) -> type[sqlite3.Connection]:
            def close(connection: sqlite3.Connection) -> None:
                probe.note(connection)
                kind.close(connection)

            return type("Watched", (kind,), {"close": close})

        def connect(*arguments: Any, **options: Any) -> sqlite3.Connection:
            options["factory"] = watched(options.get("factory", sqlite3.Connection))
            connection = real(*arguments, **options)
            probe.connections += 1
            probe.last = connection
            connection.set_trace_callback(probe.trace)
            return connection

        sqlite3.connect = connect  # type: ignore[assignment]

    def trace(self, sql: str) -> None:
        """One more statement."""
        self.statements += 1
        if sql.lstrip().upper().startswith(("COMMIT", "END")):
            self.commits += 1

    def note(self, connection: sqlite3.Connection) -> None:
        """Read the PRAGMAs of a connection that is still open."""
        try:
            connection.set_trace_callback(None)
            (journal,) = connection.execute("PRAGMA journal_mode").fetchone()
            (level,) = connection.execute("PRAGMA synchronous").fetchone()
        except sqlite3.Error:
            return
        self.pragmas.add((journal, ("OFF", "NORMAL", "FULL", "EXTRA")[level]))
