"""
The names that a store holds, read behind its back: its own lists never show what it has lost sight of.
"""

import sqlite3
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import psycopg

from nr_agent_core import Chat, RunReason
from tests.chaos.plan import Plan


def names_of(folder: Path, plan: Plan, table: str) -> list[str]:
    """The ids of all rows of *table*."""
    if plan.store == "sqlite":
        with closing(sqlite3.connect(folder / "chat.db")) as file:
            return [name for (name,) in file.execute(f"SELECT id FROM {table} ORDER BY id")]
    with psycopg.connect(plan.dsn) as db:
        return [name for (name,) in db.execute(f"SELECT id FROM {plan.schema}.{table} ORDER BY id".encode())]


def undone(folder: Path, plan: Plan) -> list[str]:
    """The runs that are queued or at work, and the jobs of the queue."""
    runs = "SELECT id FROM run WHERE status IN ('queued', 'running')"
    if plan.store == "sqlite":
        with closing(sqlite3.connect(folder / "chat.db")) as file:
            return [name for (name,) in file.execute(runs)]
    with psycopg.connect(plan.dsn) as db:
        db.execute(f"SET search_path = {plan.schema}".encode())
        found = db.execute(f"{runs} UNION ALL SELECT 'job of ' || (args->>'run_id') FROM procrastinate_jobs".encode())
        return [name for (name,) in found]


def hasten(plan: Plan) -> None:
    """
    Jobs that wait for their time need not wait any more: the engine keeps the server's time, which does not leap.
    """
    if plan.store == "postgres":
        with _engine(plan) as db:
            db.execute(
                "UPDATE procrastinate_jobs SET scheduled_at = NULL WHERE scheduled_at IS NOT NULL AND status = 'todo'"
            )


def lose_jobs(plan: Plan, seconds: float) -> int:
    """For so long, or until the server is away, delete every job that nobody took yet; how many were deleted."""
    until, lost = time.monotonic() + seconds, 0
    with suppress(psycopg.OperationalError), _engine(plan) as db:
        while time.monotonic() < until:
            # What a worker is about to take is its own.
            lost += db.execute(
                "DELETE FROM procrastinate_jobs WHERE id IN"
                " (SELECT id FROM procrastinate_jobs WHERE status = 'todo' FOR UPDATE SKIP LOCKED)"
            ).rowcount
            time.sleep(0.01)
    return lost


def _engine(plan: Plan) -> psycopg.Connection[Any]:
    """A connection that sees the engine's tables, as its triggers do."""
    options = f"-c search_path={plan.schema} -c statement_timeout=2000"
    return psycopg.connect(plan.dsn, connect_timeout=2, autocommit=True, options=options)


def has_expired(chat: Chat, conversation: str) -> bool:
    """Whether the last run of a conversation ended because nobody decided in time."""
    store = chat.runtime.wiring.store
    row = store.conversation_row(conversation) if store is not None else None
    return row is not None and row.last_run is not None and row.last_run.reason is RunReason.APPROVAL_EXPIRED
