"""
Messages of queued runs that ride in the transaction of a host.
"""

from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from nr_agent_core import (
    Chat,
    InvalidValueError,
    RunStatus,
    SendOutcome,
)
from nr_agent_core.adapters.postgres import PostgresStore
from nr_agent_core.testing.contracts.run_script import RunScript
from tests.postgres.engine.tables import ANNA, jobs, status

# -------------------------------------------------------------------- in the transaction of a host


def test_a_message_is_part_of_the_hosts_transaction(
    chat: Chat, store: PostgresStore, host: psycopg.Connection[Any]
) -> None:
    """(R6) Message, run and job are there once the host commits, together with the host's own rows."""
    host.execute("CREATE TEMPORARY TABLE own(number int)")
    host.execute("INSERT INTO own VALUES (1)")

    sent = chat.send("Hi", ANNA, queued=True, connection=host)

    assert (sent.outcome, sent.status) == (SendOutcome.ACCEPTED, RunStatus.QUEUED)
    assert (store.run_row(str(sent.run_id)), store.conversation_row(sent.conversation), jobs(store)) == (None, None, [])
    host.commit()
    assert status(store, sent.run_id) is RunStatus.QUEUED
    assert [message.text for message in store.messages(sent.conversation)] == ["Hi"]
    assert jobs(store) == [{"run_id": sent.run_id}]
    assert host.execute("SELECT number FROM own").fetchall() == [(1,)]


def test_a_message_is_gone_when_the_host_rolls_back(
    chat: Chat, store: PostgresStore, host: psycopg.Connection[Any]
) -> None:
    """Nothing of it is left, and nobody was told."""
    sent = chat.send("Hi", ANNA, queued=True, connection=host)

    host.rollback()

    assert (store.run_row(str(sent.run_id)), store.conversation_row(sent.conversation), jobs(store)) == (None, None, [])


def test_what_is_refused_leaves_the_hosts_transaction_usable(
    chat: Chat, store: PostgresStore, host: psycopg.Connection[Any]
) -> None:
    """(O1) A busy conversation costs the host nothing of its own."""
    first = chat.send("Hi", ANNA, queued=True)
    second = chat.open(ANNA)
    queue = chat.runtime.wiring.queue
    assert queue is not None
    script = RunScript("second", conversation=first.conversation)
    host.execute("CREATE TEMPORARY TABLE own(number int)")

    with pytest.raises(Exception, match="busy"):
        queue.commit([script.start(queued=True)], connection=host)
    sent = chat.send("Hi", ANNA, conversation=second, queued=True, connection=host)
    host.execute("INSERT INTO own VALUES (1)")
    host.commit()

    assert status(store, sent.run_id) is RunStatus.QUEUED
    assert host.execute("SELECT count(*) FROM own").fetchone() == (1,)
    assert store.run_row("second") is None


@pytest.mark.parametrize("factory", [psycopg.Cursor, psycopg.ClientCursor])
def test_a_connection_is_left_as_it_was(
    chat: Chat, store: PostgresStore, host: psycopg.Connection[Any], factory: Any
) -> None:
    """Rows, search path and autocommit are the host's; what it does next is done as before."""
    host.row_factory = dict_row
    host.cursor_factory = factory
    host.execute("SET search_path = public")

    chat.send("Hi", ANNA, queued=True, connection=host)

    assert host.execute("SHOW search_path").fetchone() == {"search_path": "public"}
    assert host.execute("SELECT to_regclass('run') IS NULL AS hidden").fetchone() == {"hidden": True}
    host.commit()
    assert len(jobs(store)) == 1


def test_a_connection_in_a_block_of_its_own_transaction(chat: Chat, store: PostgresStore) -> None:
    """An autocommitting connection is one while a transaction is open on it, as frameworks do it."""
    with psycopg.connect(store.dsn, autocommit=True) as host:
        with host.transaction():
            sent = chat.send("Hi", ANNA, queued=True, connection=host)
        assert status(store, sent.run_id) is RunStatus.QUEUED
        with host.transaction(force_rollback=True):
            lost = chat.send("Hi", ANNA, queued=True, connection=host)
        assert status(store, lost.run_id) is None


def test_a_connection_without_a_transaction_is_refused(chat: Chat, store: PostgresStore) -> None:
    """It would commit by itself, and the host could not take it back. Nothing was stored."""
    with (
        psycopg.connect(store.dsn, autocommit=True) as host,
        pytest.raises(InvalidValueError, match="transaction open"),
    ):
        chat.send("Hi", ANNA, queued=True, connection=host)
    with psycopg.connect(store.dsn) as host:
        with pytest.raises(psycopg.Error):
            host.execute("SELECT 1 / 0")
        with pytest.raises(InvalidValueError, match="inerror"):
            chat.send("Hi", ANNA, queued=True, connection=host)
    with pytest.raises(InvalidValueError, match="psycopg connection"):
        chat.send("Hi", ANNA, queued=True, connection=object())

    assert jobs(store) == []


def test_a_message_that_starts_no_run_is_part_of_the_transaction_too(
    chat: Chat, store: PostgresStore, host: psycopg.Connection[Any]
) -> None:
    """(C4) What is delivered is stored, or taken back, with the host's own rows."""
    sent = chat.send("Hi", ANNA, queued=True)
    chat.runtime.cancel(str(sent.run_id), "anna")
    before = store.messages(sent.conversation)

    delivered = chat.send("weiter", ANNA, conversation=sent.conversation, queued=True, connection=host)
    during = store.messages(sent.conversation)
    host.rollback()

    assert delivered.outcome is SendOutcome.DELIVERED
    assert during == before == store.messages(sent.conversation)
