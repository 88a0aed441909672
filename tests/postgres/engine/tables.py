"""
The engine's tables, looked at and changed behind its back.
"""

from typing import Any

import psycopg

from nr_agent_core import (
    Reader,
    RunStatus,
)
from nr_agent_core.adapters.postgres import PostgresStore

ANNA = Reader("anna")


def jobs(store: PostgresStore, columns: str = "args") -> list[Any]:
    """The jobs that are there."""
    with psycopg.connect(store.dsn) as db:
        found = db.execute(f"SELECT {columns} FROM {store.schema}.procrastinate_jobs ORDER BY id".encode()).fetchall()
    return [row[0] if len(row) == 1 else row for row in found]


def behind(store: PostgresStore, statement: str, *values: object) -> None:
    """Change something of the engine behind its back."""
    with psycopg.connect(store.dsn) as db:
        db.execute(f"SET search_path = {store.schema}".encode())
        db.execute(statement.encode(), values)


def status(store: PostgresStore, run_id: str | None) -> RunStatus | None:
    """What the store says of a run; None when it has none."""
    row = store.run_row(str(run_id))
    return None if row is None else row.status
