"""
The queue of the engine: its tables, a run and its job in one transaction, jobs of dead workers.
"""

import asyncio
import threading
import time
from contextlib import closing
from typing import Any

import procrastinate
import psycopg
import pytest

from nr_agent_core import (
    Chat,
    FailureClass,
    InvalidValueError,
    ProviderError,
    QueueNotInstalledError,
    RunStatus,
)
from nr_agent_core.adapters.memory import MemoryStore
from nr_agent_core.adapters.postgres import PostgresStore
from nr_agent_core.adapters.procrastinate import ProcrastinateRunQueue
from nr_agent_core.adapters.procrastinate.crew import Crew
from nr_agent_core.adapters.procrastinate.jobs import free_job
from nr_agent_core.testing import ScriptedModel
from nr_agent_core.testing.contracts.queue_site import PATIENCE, Worker, settle, wait_until
from nr_agent_core.testing.contracts.run_script import RunScript
from nr_agent_core.testing.contracts.store_contract import opened
from tests.postgres.engine.tables import ANNA, behind, jobs, status
from tests.postgres_server import Server

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

    wait_until(lambda: status(store, sent.run_id) is RunStatus.COMPLETED)
    stop.set()
    working.join(PATIENCE)

    assert jobs(store) == []
    with psycopg.connect(store.dsn) as db:
        left = db.execute(f"SELECT count(*) FROM {store.schema}.procrastinate_workers".encode()).fetchone()
    assert left == (0,)


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
    wait_until(lambda: status(store, sent.run_id) is RunStatus.COMPLETED)
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


def test_a_job_is_freed_once_however_many_found_it(store: PostgresStore, queue: ProcrastinateRunQueue) -> None:
    """Whoever looked before another one freed it does not take it from the worker that has it by now."""
    queue.commit([RunScript("r1").start(queued=True)])
    behind(store, "UPDATE procrastinate_jobs SET status = 'doing'")
    app = procrastinate.App(connector=Crew(
        store.dsn, store.schema, str, put=lambda *_: None, threads=1, name="", stop=threading.Event(), stalled_after=1.0
    )._connector())  # fmt: skip

    async def found_by_two() -> None:
        async with app.open_async():
            (first,) = await app.job_manager.get_stalled_jobs(seconds_since_heartbeat=1)
            (second,) = await app.job_manager.get_stalled_jobs(seconds_since_heartbeat=1)
            await free_job(app, first)
            assert jobs(store, "status::text") == ["todo"]
            await free_job(app, second)
            behind(store, "UPDATE procrastinate_jobs SET status = 'doing'")
            await free_job(app, second)
            assert jobs(store, "status::text") == ["doing"]
            queue.put("r1", conversation=None)
            await free_job(app, second)
            assert jobs(store, "status::text") == ["doing", "todo"]

    asyncio.run(found_by_two())


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
        wait_until(lambda: status(store, "r1") is RunStatus.CANCELLED)
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
    assert status(store, "r2") is RunStatus.CANCELLED
