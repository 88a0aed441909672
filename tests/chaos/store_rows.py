"""
The names that a store holds, read behind its back: its own lists never show what it has lost sight of.
"""

import sqlite3
from contextlib import closing
from pathlib import Path

import psycopg

from tests.chaos.plan import Plan


def names_of(folder: Path, plan: Plan, table: str) -> list[str]:
    """The ids of all rows of *table*."""
    if plan.store == "sqlite":
        with closing(sqlite3.connect(folder / "chat.db")) as file:
            return [name for (name,) in file.execute(f"SELECT id FROM {table} ORDER BY id")]
    with psycopg.connect(plan.dsn) as db:
        return [name for (name,) in db.execute(f"SELECT id FROM {plan.schema}.{table} ORDER BY id".encode())]
