"""
What the host stores beside its messages, in transactions of its own: a ticket for each run that it had queued there.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

from tests.chaos.plan import Plan

_OPTIONS = "-c lock_timeout=1500 -c idle_in_transaction_session_timeout=20000"


class HostAwayError(Exception):
    """
    The host's own connection is gone; it does not know what became of its transaction.
    """


def made(plan: Plan) -> None:
    """The host's table, in a schema of its own."""
    with psycopg.connect(plan.dsn) as db:
        db.execute(f"CREATE SCHEMA {plan.schema}_host".encode())
        db.execute(f"CREATE TABLE {_table(plan)}(id bigserial PRIMARY KEY, run text)".encode())


def tickets(plan: Plan) -> list[str | None]:
    """The runs of all tickets; None for one that was committed without a run."""
    if plan.store != "postgres":
        return []
    with psycopg.connect(plan.dsn) as db:
        return [run for (run,) in db.execute(f"SELECT run FROM {_table(plan)} ORDER BY id".encode())]


class Ticket:
    """
    One ticket in a transaction that is open: ``connection`` is the host's.
    """

    def __init__(self, plan: Plan, connection: psycopg.Connection[Any]) -> None:
        self._plan, self.connection = plan, connection
        with _own():
            (self._number,) = connection.execute(
                f"INSERT INTO {_table(plan)} DEFAULT VALUES RETURNING id".encode()
            ).fetchone() or (0,)

    def names(self, run: str) -> None:
        """The ticket is for *run*."""
        with _own():
            statement = f"UPDATE {_table(self._plan)} SET run = %s WHERE id = %s"
            self.connection.execute(statement.encode(), (run, self._number))

    def end(self, *, stays: bool) -> None:
        """Commit, or roll back."""
        with _own():
            if stays:
                self.connection.commit()
            else:
                self.connection.rollback()


@contextmanager
def ticket(plan: Plan) -> Iterator[Ticket]:
    """A ticket in a transaction of the host's that nobody ended yet; what was not committed is gone afterwards."""
    with _own():
        connection = psycopg.connect(plan.dsn, application_name="host", connect_timeout=2, options=_OPTIONS)
    try:
        yield Ticket(plan, connection)
    finally:
        connection.close()


@contextmanager
def _own() -> Iterator[None]:
    try:
        yield
    except psycopg.Error as error:
        raise HostAwayError(str(error)) from error


def _table(plan: Plan) -> str:
    return f"{plan.schema}_host.ticket"
