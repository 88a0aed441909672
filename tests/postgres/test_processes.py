"""
Processes that race, are killed, and fork.
"""

import multiprocessing
import os
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import nr_agent_core
from nr_agent_core.adapters.postgres import PostgresStore, connections
from nr_agent_core.domain.errors import StaleAppendError
from nr_agent_core.testing.contracts.run_script import RunScript
from nr_agent_core.testing.contracts.store_contract import opened, said
from tests.postgres.tables import texts
from tests.postgres_server import PATIENCE, Server

SPAWN = multiprocessing.get_context("spawn")
ROOT = Path(__file__).resolve().parents[2]
# The package under test, wherever it is.
PACKAGES = Path(nr_agent_core.__file__).resolve().parents[1]


@pytest.fixture
def store(store: PostgresStore) -> PostgresStore:
    """With a conversation in it."""
    opened(store, "c1")
    return store


def commit_for_ever(dsn: str, schema: str, began: Any) -> None:
    """In another process: a message and a run per commit, until somebody kills it."""
    store = PostgresStore(dsn, schema=schema)
    number = 0
    while True:
        number += 1
        store.commit([said("c1", f"m{number}", run_id=f"r{number}"), RunScript(f"r{number}").start()])
        if number == 5:
            began.set()


@pytest.mark.process
@pytest.mark.parametrize("whom", ["writer", "server"])
def test_whoever_is_killed_leaves_whole_commits(postgres: Server, store: PostgresStore, whom: str) -> None:
    """Every message has its run, every run its event, and positions have no gap (R3)."""
    began = SPAWN.Event()
    arguments = (postgres.dsn(), store._connections.schema, began)
    writer = SPAWN.Process(target=commit_for_ever, args=arguments, daemon=True)
    writer.start()
    try:
        assert began.wait(PATIENCE)
        if whom == "server":
            postgres.stop(hard=True)
            postgres.start()
    finally:
        writer.kill()
        writer.join(PATIENCE)

    said_so_far = texts(store)
    assert len(said_so_far) >= 5
    assert said_so_far == [f"m{number}" for number in range(1, len(said_so_far) + 1)]
    for number in range(1, len(said_so_far) + 1):
        assert len(store.events(f"r{number}")) == 1
    assert store.run_row(f"r{len(said_so_far) + 1}") is None


def go_on(dsn: str, schema: str, barrier: Any, answers: Any) -> None:
    """In another process: try to answer a run."""
    with closing(PostgresStore(dsn, schema=schema)) as store:
        script = RunScript("r1")
        script.start()
        change = script.answer(str(os.getpid()))
        store.run_row("r1")
        barrier.wait(PATIENCE)
        try:
            store.commit([change])
            answers.put("stored")
        except StaleAppendError:
            answers.put("stale")


@pytest.mark.process
def test_racing_processes_get_one_winner(postgres: Server, store: PostgresStore) -> None:
    """Of six processes at one event exactly one goes on (R3)."""
    store.commit([RunScript("r1").start()])
    barrier, answers = SPAWN.Barrier(6), SPAWN.Queue()
    arguments = (postgres.dsn(), store._connections.schema, barrier, answers)
    racers = [SPAWN.Process(target=go_on, args=arguments, daemon=True) for _ in range(6)]
    for racer in racers:
        racer.start()
    got = sorted(answers.get(timeout=PATIENCE) for _ in racers)
    for racer in racers:
        racer.join(PATIENCE)

    assert got == ["stale"] * 5 + ["stored"]
    assert len(store.events("r1")) == 3


PROGRAM = """
import ctypes, os, signal, sys, threading
from nr_agent_core.adapters.postgres import PostgresStore
from nr_agent_core.testing.contracts.store_contract import said

store = PostgresStore({dsn!r}, schema={schema!r}, patience=20)

def say(text):
    store.commit([said("c1", text)])

def fork():
    return {fork}

def ended(pid):
    assert os.waitpid(pid, 0)[1] == 0

{story}
"""
NOTICED, UNNOTICED = "os.fork()", "ctypes.CDLL(None).fork()"
FORKS = pytest.mark.parametrize("fork", [NOTICED, UNNOTICED], ids=["noticed", "unnoticed"])


def told(postgres: Server, store: PostgresStore, fork: str, story: str) -> subprocess.Popen[str]:
    """A process that lives through *story*."""
    program = PROGRAM.format(dsn=postgres.dsn(), schema=store._connections.schema, fork=fork, story=story)
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", program],
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(PACKAGES), str(ROOT)))},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def lived(process: subprocess.Popen[str]) -> None:
    """It came to its end, and had nothing to complain about."""
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (0, ""), (out, err)


@pytest.mark.process
@FORKS
def test_a_child_has_connections_of_its_own(postgres: Server, store: PostgresStore, fork: str) -> None:
    """Parent and child use the store side by side; neither speaks on the other's connection."""
    lived(
        told(
            postgres,
            store,
            fork,
            """
say("parent before")
child = fork()
if child == 0:
    say("child")
    grandchild = fork()
    if grandchild == 0:
        say("grandchild")
        store.close()
        os._exit(0)
    ended(grandchild)
    say("child again")
    sys.exit(0)
ended(child)
say("parent after")
store.close()
""",
        )
    )

    assert texts(store) == ["parent before", "child", "grandchild", "child again", "parent after"]


@pytest.mark.process
@FORKS
@pytest.mark.parametrize(
    "ending", ["sys.exit(0)", "os._exit(0)", "store.close(); sys.exit(0)", "del store; sys.exit(0)"]
)
def test_a_child_that_only_ends_takes_nothing_away(
    postgres: Server, store: PostgresStore, fork: str, ending: str
) -> None:
    """The parent's connection is the one it had before."""
    lived(
        told(
            postgres,
            store,
            fork,
            f"""
backend = store._connections.work(lambda db: db.info.backend_pid)
child = fork()
if child == 0:
    {ending}
    sys.exit(0)
ended(child)
assert store._connections.work(lambda db: db.info.backend_pid) == backend
say("still here")
""",
        )
    )

    assert texts(store) == ["still here"]


@pytest.mark.process
def test_a_child_does_not_keep_the_locks_of_a_dead_parent(postgres: Server, store: PostgresStore) -> None:
    """The server hears of the parent's death although a child lives on that was made amid its transaction."""
    parent = told(
        postgres,
        store,
        NOTICED,
        """
def at_work(db):
    db.execute("BEGIN")
    db.execute("SELECT 1 FROM conversation FOR UPDATE")
    if fork() == 0:
        print(os.getpid(), flush=True)
        signal.pause()
    signal.pause()

store._connections.work(at_work)
""",
    )
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    try:
        parent.kill()
        parent.wait(PATIENCE)
        store.commit([said("c1", "Not held up.")])
    finally:
        os.kill(child, signal.SIGKILL)
        parent.communicate(timeout=PATIENCE)

    assert texts(store) == ["Not held up."]


@pytest.mark.process
def test_a_store_made_before_a_fork_may_be_used_in_many_children(postgres: Server, store: PostgresStore) -> None:
    """As servers do that load the application before they fork their workers."""
    lived(
        told(
            postgres,
            store,
            NOTICED,
            """
children = []
for number in range(4):
    child = fork()
    if child == 0:
        threads = [threading.Thread(target=say, args=(f"{number}.{each}",)) for each in range(3)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        sys.exit(0)
    children.append(child)
for child in children: ended(child)
""",
        )
    )

    assert sorted(texts(store)) == sorted(f"{number}.{each}" for number in range(4) for each in range(3))


def test_a_pool_belongs_to_its_process(store: PostgresStore) -> None:
    """Asked for anew, it is the same; what another process left is not touched."""
    held = store._connections._pool()
    assert store._connections._pool() is held
    ended: list[bool] = []
    store._connections._held = held._replace(process=-1, end=lambda: ended.append(True))

    assert store._connections._pool().pool is not held.pool
    assert ended == [True]
    connections._close(held.pool, -1)
    assert not held.pool.closed
    held.end()
    assert held.pool.closed
