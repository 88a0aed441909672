"""
The queue of the engine: a run and its job in one transaction, also in the host's; jobs of dead workers.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from nr_agent_core import (
    Chat,
    FailureClass,
    InvalidValueError,
    ProviderError,
    QueueNotInstalledError,
    Reader,
    RunStatus,
    SendOutcome,
)
from nr_agent_core.adapters.memory import MemoryStore
from nr_agent_core.adapters.postgres import PostgresStore
from nr_agent_core.adapters.procrastinate import ProcrastinateRunQueue
from nr_agent_core.testing import ScriptedModel
from nr_agent_core.testing.contracts.queue_site import PATIENCE, Worker, settle, wait_until
from nr_agent_core.testing.contracts.run_script import RunScript
from nr_agent_core.testing.contracts.store_contract import opened
from tests.postgres_server import Server

ANNA = Reader("anna")


@pytest.fixture
def store(postgres: Server) -> Iterator[PostgresStore]:
    """A store in a schema of its own, without the engine's tables."""
    with closing(PostgresStore(postgres.dsn(), schema=postgres.schema(), patience=20)) as store:
        store.conversation_row("none")
        yield store


@pytest.fixture
def queue(store: PostgresStore) -> ProcrastinateRunQueue:
    """The queue over it, installed."""
    queue = ProcrastinateRunQueue(store, stalled_after=1.0)
    queue.install()
    return queue


@pytest.fixture
def chat(queue: ProcrastinateRunQueue) -> Chat:
    """A chat over both."""
    return Chat(store=queue.store, queue=queue, model=ScriptedModel(otherwise="Hello."))


@pytest.fixture
def host(store: PostgresStore) -> Iterator[psycopg.Connection[Any]]:
    """The host's own connection."""
    with psycopg.connect(store.dsn) as db:
        yield db


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


# ------------------------------------------------------------------------------------- setting up


def test_without_its_tables_nothing_is_queued(store: PostgresStore) -> None:
    """A typed error that says what to do, and nothing was stored."""
    queue = ProcrastinateRunQueue(store)
    chat = Chat(store=store, queue=queue, model=ScriptedModel("Hello."))
    conversation = chat.open(ANNA)

    with pytest.raises(QueueNotInstalledError, match="install"):
        chat.send("Hi", ANNA, conversation=conversation, queued=True)
    with pytest.raises(QueueNotInstalledError, match="install"):
        chat.work()

    assert store.messages(conversation) == ()
    assert chat.send("Hi", ANNA, conversation=conversation).status is RunStatus.COMPLETED


def test_the_tables_are_made_once(store: PostgresStore) -> None:
    """Installing again changes nothing; several at once make them once."""
    queue = ProcrastinateRunQueue(store)
    made: list[bool] = []
    threads = [threading.Thread(target=lambda: made.append(queue.install())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)

    assert sorted(made) == [False, False, False, True]
    assert queue.install() is False


def test_tables_of_another_release_are_said_to_be_so(chat: Chat, store: PostgresStore) -> None:
    """They are neither used nor changed."""
    behind(store, "ALTER FUNCTION procrastinate_fetch_job_v2 RENAME TO procrastinate_fetch_job_v0")

    with pytest.raises(QueueNotInstalledError, match="another release"):
        chat.work()


@pytest.mark.parametrize("seconds", [0, True, "10", 3601])
def test_settings_that_cannot_be_are_refused(store: PostgresStore, seconds: Any) -> None:
    """At the start."""
    with pytest.raises(InvalidValueError):
        ProcrastinateRunQueue(store, stalled_after=seconds)


def test_a_store_of_another_kind_is_refused() -> None:
    """The queue is in the store's database; there must be one."""
    with pytest.raises(InvalidValueError, match="a PostgresStore"):
        ProcrastinateRunQueue(MemoryStore())  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------- jobs


def test_a_job_holds_the_id_of_a_run_and_nothing_else(chat: Chat, store: PostgresStore) -> None:
    """What a run is about is in its store, under the store's rules."""
    sent = chat.send("A secret: swordfish.", ANNA, queued=True)

    columns = "args, lock, queueing_lock, queue_name, task_name, scheduled_at"
    assert jobs(store, columns) == [
        ({"run_id": sent.run_id}, f"conversation {sent.conversation}", sent.run_id, "nr_agent_core",
         "nr_agent_core.drive", None)
    ]  # fmt: skip


def test_a_job_is_gone_once_its_run_was_driven(chat: Chat, store: PostgresStore) -> None:
    """The engine keeps no history: the stream does."""
    sent = chat.send("Hi", ANNA, queued=True)
    stop = threading.Event()
    working = threading.Thread(target=lambda: chat.work(stop=stop))
    working.start()

    wait_until(lambda: _status(store, sent.run_id) is RunStatus.COMPLETED)
    stop.set()
    working.join(PATIENCE)

    assert jobs(store) == []
    with psycopg.connect(store.dsn) as db:
        left = db.execute(f"SELECT count(*) FROM {store.schema}.procrastinate_workers".encode()).fetchone()
    assert left == (0,)


def _status(store: PostgresStore, run_id: str | None) -> RunStatus | None:
    row = store.run_row(str(run_id))
    return None if row is None else row.status


def test_a_retry_is_a_job_for_its_time(store: PostgresStore, queue: ProcrastinateRunQueue) -> None:
    """(R8) Thirty seconds later, without a lock while it waits; then it waits its turn."""
    down = ProviderError("away", FailureClass.SERVER_ERROR)
    chat = Chat(store=store, queue=queue, model=ScriptedModel(down, "Hello."))
    sent = chat.send("Hi", ANNA, queued=True)
    stop = threading.Event()
    working = threading.Thread(target=lambda: chat.work(stop=stop))
    working.start()
    wait_until(lambda: len(store.events(str(sent.run_id))) == 3)
    wait_until(lambda: len(jobs(store)) == 1)

    ((args, lock, wait),) = jobs(store, "args, lock, extract(epoch FROM scheduled_at)::float8")
    row = store.run_row(str(sent.run_id))
    assert row is not None
    assert (args, lock) == ({"run_id": sent.run_id}, None)
    assert abs(wait - row.not_before) < 0.01
    assert 25 < wait - store.now() <= 30

    # Its time comes, for the engine and for the run.
    behind(store, "UPDATE run SET not_before = 0")
    behind(store, "UPDATE procrastinate_jobs SET scheduled_at = now()")
    wait_until(lambda: _status(store, sent.run_id) is RunStatus.COMPLETED)
    stop.set()
    working.join(PATIENCE)


@pytest.mark.parametrize("shift", [-1000.0, 1000.0])
def test_a_retry_waits_its_time_by_the_servers_clock(postgres: Server, shift: float) -> None:
    """
    (R8) The engine keeps the server's time, whatever the store's clock says.

    A job for a moment that is past for the server would come, find that it came too early, and be put again at once.
    """

    class Shifted:
        def now(self) -> float:
            return time.time() + shift

    with closing(PostgresStore(postgres.dsn(), schema=postgres.schema(), clock=Shifted())) as store:
        queue = ProcrastinateRunQueue(store)
        queue.install()

        queue.put("r1", conversation=None, not_before=store.now() + 30)

        (wait,) = jobs(store, "extract(epoch FROM scheduled_at - clock_timestamp())::float8")
    assert 20 < wait <= 30.5


def test_a_run_that_was_not_handled_gets_a_new_job_after_a_pause(
    store: PostgresStore, queue: ProcrastinateRunQueue
) -> None:
    """Not the engine's retry, which cannot be stored while another job of the run waits."""
    queue.commit([RunScript("r1").start(queued=True)])

    def fail(_: str) -> None:
        raise RuntimeError("not today")

    with Worker(queue, fail) as worker:
        worker.until("r1")
        wait_until(lambda: jobs(store, "status::text, lock") == [("todo", None)])

    ((wait,),) = [(each,) for each in jobs(store, "extract(epoch FROM scheduled_at)::float8")]
    assert 25 < wait - store.now() <= 30


def test_a_commit_that_finds_a_job_of_the_run_stands(store: PostgresStore, queue: ProcrastinateRunQueue) -> None:
    """One job waits; the transaction that would have added another one is stored all the same."""
    script = RunScript("r1")
    queue.commit([script.start(queued=True)])
    queue.commit([script.claim()])

    queue.commit([script.requeue(not_before=0.0)])

    assert len(store.events("r1")) == 3
    assert len(jobs(store)) == 1


# ------------------------------------------------------------------------------ jobs left in hand


def test_a_job_of_a_dead_worker_that_another_job_of_its_run_replaced_is_freed(
    store: PostgresStore, queue: ProcrastinateRunQueue
) -> None:
    """It cannot go back into the queue, where the other one waits; in hand it would keep the conversation for ever."""
    opened(store, "c1")
    queue.commit([RunScript("r1", conversation="c1").start(queued=True)])
    behind(store, "UPDATE procrastinate_jobs SET status = 'doing'")
    queue.put("r1", conversation="c1")
    assert jobs(store, "status::text") == ["doing", "todo"]

    with Worker(queue, lambda run_id: settle(store, run_id)) as worker:
        worker.until("r1")

    assert set(worker.handled) == {"r1"}
    assert jobs(store) == []


def test_a_job_whose_end_could_not_be_stored_is_ended_by_its_worker(
    store: PostgresStore, queue: ProcrastinateRunQueue
) -> None:
    """Its worker lives and gives signs, so nobody else would ever take the job for left."""
    queue.commit([RunScript("r1").start(queued=True)])
    behind(
        store,
        """
        CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN RAISE EXCEPTION 'the end of a job is not stored'; END $$
        """,
    )
    behind(store, "CREATE TRIGGER refused BEFORE DELETE ON procrastinate_jobs EXECUTE FUNCTION refuse()")

    with Worker(queue, lambda run_id: settle(store, run_id)) as worker:
        worker.until("r1")
        wait_until(lambda: _status(store, "r1") is RunStatus.CANCELLED)
        wait_until(lambda: jobs(store, "status::text") == ["doing"])
        behind(store, "DROP TRIGGER refused ON procrastinate_jobs")
        wait_until(lambda: jobs(store) == [])
    assert set(worker.handled) == {"r1"}


def test_a_worker_outlives_its_connections(store: PostgresStore, queue: ProcrastinateRunQueue) -> None:
    """A server that ends all connections is come back to; runs that were queued meanwhile are handled."""
    queue.commit([RunScript("r1").start(queued=True)])
    with Worker(queue, lambda run_id: settle(store, run_id)) as worker:
        worker.until("r1")
        with psycopg.connect(store.dsn, autocommit=True) as db:
            db.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
            )
        queue.commit([RunScript("r2").start(queued=True)])
        worker.until("r2")
    assert _status(store, "r2") is RunStatus.CANCELLED


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
    assert _status(store, sent.run_id) is RunStatus.QUEUED
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

    assert _status(store, sent.run_id) is RunStatus.QUEUED
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
        assert _status(store, sent.run_id) is RunStatus.QUEUED
        with host.transaction(force_rollback=True):
            lost = chat.send("Hi", ANNA, queued=True, connection=host)
        assert _status(store, lost.run_id) is None


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
