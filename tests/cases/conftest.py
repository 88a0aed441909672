"""
A file and a schema, for tests that read what is stored itself.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from nr_agent_core.adapters.postgres import PostgresStore
from nr_agent_core.adapters.sqlite import SqliteStore
from tests.cases.stored_places import Place
from tests.postgres_server import Server, unguarded


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Place]:
    """A new file, read as its bytes."""
    path = tmp_path / "chat.db"

    def dump() -> bytes:
        return b"".join(each.read_bytes() for each in sorted(tmp_path.iterdir()))

    def behind(statement: str, *values: object) -> None:
        with closing(sqlite3.connect(path, isolation_level=None)) as db:
            for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
                db.execute(f"DROP TRIGGER {name}")
            db.execute(statement, values)

    place = Place(lambda **parts: SqliteStore(path, synchronous="NORMAL", **parts), dump, behind)
    place.path = path  # type: ignore[attr-defined]
    yield place
    place.close()


@pytest.fixture
def database(postgres: Server) -> Iterator[Place]:
    """A new schema, read as a dump of all its tables."""
    name = postgres.schema()

    def dump() -> bytes:
        with psycopg.connect(postgres.dsn()) as db:
            found = db.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", (name,)).fetchall()
            rows = [db.execute(f"SELECT * FROM {name}.{table}".encode()).fetchall() for (table,) in found]
        return "\n".join(_shown(cell) for table in rows for row in table for cell in row).encode()

    def behind(statement: str, *values: object) -> None:
        with closing(PostgresStore(postgres.dsn(), schema=name)) as store:
            unguarded(store, statement.replace("?", "%s"), *values)

    place = Place(
        lambda **parts: PostgresStore(postgres.dsn(), schema=name, synchronous="NORMAL", **parts), dump, behind
    )
    place.dsn, place.name = postgres.dsn(), name  # type: ignore[attr-defined]
    yield place
    place.close()
    with psycopg.connect(postgres.dsn()) as db:
        db.execute(f"DROP SCHEMA IF EXISTS {name} CASCADE".encode())


@pytest.fixture(params=["file", "database"])
def place(request: pytest.FixtureRequest) -> Place:
    """Each of them in turn."""
    found: Place = request.getfixturevalue(request.param)
    return found


def _shown(cell: object) -> str:
    return cell.decode("latin-1") if isinstance(cell, bytes) else str(cell)
