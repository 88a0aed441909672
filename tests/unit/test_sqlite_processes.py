"""
The SQLite store among forks, threads and processes on one file.

Each story runs in fresh interpreters, so that what a fork inherits is exactly what the story says.
"""

import json
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]

PREAMBLE = f"""
import json, os, sqlite3, sys, threading, time
sys.path.insert(0, {str(ROOT / "src")!r})
from nr_agent_core.adapters.sqlite import SqliteStore
from nr_agent_core.domain.conversation import MessageRole, NewMessage
from nr_agent_core.domain.errors import *
from nr_agent_core.ports.unit_of_work import AddMessages, OpenConversation
from nr_agent_core.testing.contracts.run_script import RunScript, wrote
path = sys.argv[1]

def say(store, text, conversation="c1"):
    store.commit([AddMessages(conversation, (NewMessage(MessageRole.USER, text, None, 1),))])

def texts(store, conversation="c1"):
    return [message.text for message in store.messages(conversation, limit=1_000_000)]

def tell(**answer):
    print(json.dumps(answer), flush=True)

def wait_for(pid):
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
"""


def told(story: str, path: Path, *more: str) -> dict[str, Any]:
    """What a story prints, told by a process of its own."""
    program = PREAMBLE + textwrap.dedent(story)
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", program, str(path), *more],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    answers: dict[str, Any] = {}
    for line in result.stdout.splitlines():
        answers |= json.loads(line)
    return answers


def rows(path: Path, statement: str) -> list[Any]:
    """What somebody else finds in the file."""
    db = sqlite3_connect(path)
    try:
        return db.execute(statement).fetchall()
    finally:
        db.close()


def sqlite3_connect(path: Path) -> Any:
    """A connection that has nothing to do with the store."""
    import sqlite3

    return sqlite3.connect(path)


RAW_FORK = """
import ctypes
fork = ctypes.PyDLL(None).fork  # behind Python's back: no hook runs
"""
KNOWN_FORK = "fork = os.fork"

forks = pytest.mark.parametrize("fork", [pytest.param(KNOWN_FORK, id="known"), pytest.param(RAW_FORK, id="raw")])

pytestmark = pytest.mark.process


@forks
def test_what_a_child_stores_stays_when_its_parent_closes(fork: str, tmp_path: Path) -> None:
    """A forked worker's commits are in the file although the parent, which opened it first, let go of it meanwhile."""
    answer = told(
        fork
        + """
store = SqliteStore(path)
store.commit([OpenConversation("c1", "anna")])
ready, go = os.pipe(), os.pipe()
pid = fork()
if pid == 0:
    say(store, "first")
    os.write(ready[1], b"x"); os.read(go[0], 1)
    for number in range(50):
        say(store, f"child {number}")
    os._exit(0)
os.read(ready[0], 1)
say(store, "parent")
store.close()
os.write(go[1], b"x")
wait_for(pid)
tell(seen=texts(store))
""",
        tmp_path / "chat.db",
    )

    assert answer["seen"] == ["first", "parent", *(f"child {number}" for number in range(50))]
    assert rows(tmp_path / "chat.db", "PRAGMA integrity_check") == [("ok",)]


@forks
def test_a_child_and_a_newcomer_see_each_other_after_the_parent_closed(fork: str, tmp_path: Path) -> None:
    """A process that opens the file later neither starts the log anew under the child nor misses what it stores."""
    answer = told(
        fork
        + """
import subprocess
newcomer = sys.argv[2]
store = SqliteStore(path)
store.commit([OpenConversation("c1", "anna")])
ready, go = os.pipe(), os.pipe()
pid = fork()
if pid == 0:
    for number in range(50):
        say(store, f"child {number}")
    os.write(ready[1], b"x"); os.read(go[0], 1)
    for number in range(50, 100):
        say(store, f"child {number}")
    tell(child=len(texts(store)))
    os._exit(0)
os.read(ready[0], 1)
store.close()
subprocess.run([sys.executable, "-c", newcomer, path], check=True, timeout=60)
os.write(go[1], b"x")
wait_for(pid)
tell(seen=len(texts(store)))
""",
        tmp_path / "chat.db",
        PREAMBLE + "store = SqliteStore(path)\nfor number in range(50):\n    say(store, 'newcomer')\n",
    )

    assert answer == {"child": 150, "seen": 150}
    assert rows(tmp_path / "chat.db", "PRAGMA integrity_check") == [("ok",)]


@forks
def test_a_child_holds_the_locks_that_it_relies_on(fork: str, tmp_path: Path) -> None:
    """Others find the shared locks on the database and on its log held, although the parent is gone from the file."""
    answer = told(
        fork
        + """
import fcntl
store = SqliteStore(path)
store.commit([OpenConversation("c1", "anna")])
ready, go = os.pipe(), os.pipe()
pid = fork()
if pid == 0:
    say(store, "child")
    os.write(ready[1], b"x"); os.read(go[0], 1)
    os._exit(0)
os.read(ready[0], 1)
store.close()
held = []
for name, start, length in ((path, 0x40000002, 510), (path + "-shm", 128, 1)):
    descriptor = os.open(name, os.O_RDWR)
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, length, start)
    except BlockingIOError:
        held.append(os.path.basename(name))
os.write(go[1], b"x")
wait_for(pid)
tell(held=held)
""",
        tmp_path / "chat.db",
    )

    assert answer == {"held": ["chat.db", "chat.db-shm"]}


@forks
@pytest.mark.parametrize(
    "ending", ["sys.exit(0)", "os._exit(0)", "store.close(); sys.exit(0)", "del store; sys.exit(0)"]
)
def test_a_child_that_only_ends_takes_nothing_away(fork: str, ending: str, tmp_path: Path) -> None:
    """A child neither uses nor closes what it inherited: the parent's log stays, and what is in it (E2)."""
    answer = told(
        fork
        + f"""
store = SqliteStore(path)
store.commit([OpenConversation("c1", "anna")])
other = SqliteStore(path)
say(other, "before")
log = os.stat(path + "-wal").st_ino
pid = fork()
if pid == 0:
    {ending}
wait_for(pid)
say(store, "after")
say(other, "after")
tell(seen=texts(store), other=texts(other))
""",
        tmp_path / "chat.db",
    )

    assert answer["seen"] == answer["other"] == ["before", "after", "after"]


def test_an_inherited_connection_is_never_closed(tmp_path: Path) -> None:
    """Not when the child opens its own, not when the store goes, not at the child's exit."""
    answer = told(
        RAW_FORK
        + """
store = SqliteStore(path)
store.commit([OpenConversation("c1", "anna")])
inherited = store._connections.of_this_thread()._db
before = sys.getrefcount(inherited)
pid = fork()
if pid == 0:
    import gc
    say(store, "child")
    own = store._connections.of_this_thread()._db
    store.close()
    del store
    gc.collect()
    # Still usable: it was left as it was.
    alive = inherited.execute("SELECT 1").fetchone()
    tell(apart=own is not inherited, alive=alive, held_for_ever=sys.getrefcount(inherited) == before)
    sys.exit(0)
wait_for(pid)
tell(seen=texts(store))
""",
        tmp_path / "chat.db",
    )

    assert answer == {"apart": True, "alive": [1], "held_for_ever": True, "seen": ["child"]}


def test_a_thread_at_work_does_not_lose_its_commit_to_a_fork(tmp_path: Path) -> None:
    """A fork waits for statements of other threads; both processes go on."""
    answer = told(
        """
import warnings
warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of forks beside threads, rightly
store = SqliteStore(path, synchronous="NORMAL")
store.commit([OpenConversation("c1", "anna"), OpenConversation("c2", "anna")])
stop, failed = threading.Event(), []

def work():
    number = 0
    try:
        while not stop.is_set():
            say(store, f"thread {number}"); number += 1
    except BaseException as error:
        failed.append(repr(error))
    finally:
        store.close()
    counts.append(number)

counts = []
thread = threading.Thread(target=work)
thread.start()
for number in range(10):
    pid = os.fork()
    if pid == 0:
        say(store, f"child {number}", "c2")
        os._exit(0)
    wait_for(pid)
stop.set()
thread.join(60)
tell(failed=failed, thread=len(texts(store)) == counts[0] > 0, children=texts(store, "c2"))
""",
        tmp_path / "chat.db",
    )

    assert answer == {"failed": [], "thread": True, "children": [f"child {number}" for number in range(10)]}


def test_a_database_in_memory_stays_in_its_process(tmp_path: Path) -> None:
    """A fork is told that it has none, rather than working on a copy."""
    answer = told(
        """
store = SqliteStore(":memory:")
store.commit([OpenConversation("c1", "anna")])
pid = os.fork()
if pid == 0:
    try:
        store.conversation_row("c1")
    except StoreUnavailableError as refused:
        tell(refused="fork" in str(refused))
    sys.exit(0)
wait_for(pid)
say(store, "parent")
tell(seen=texts(store))
""",
        tmp_path / "unused",
    )

    assert answer == {"refused": True, "seen": ["parent"]}


def test_a_store_made_before_a_fork_opens_nothing(tmp_path: Path) -> None:
    """A preloading server may make its store at import; its workers may all be the first to open the file."""
    answer = told(
        """
there, seen = [], 0
for attempt in range(25):
    store = SqliteStore(path + str(attempt))
    there.append(os.path.exists(path + str(attempt)))
    pids = []
    for number in range(6):
        pid = os.fork()
        if pid == 0:
            store.commit([OpenConversation(f"c{number}", "anna")])
            os._exit(0)
        pids.append(pid)
    for pid in pids:
        wait_for(pid)
    seen += sum(store.conversation_row(f"c{number}") is not None for number in range(6))
    store.close()
tell(there=any(there), seen=seen)
""",
        tmp_path / "chat.db",
    )

    assert answer == {"there": False, "seen": 150}


WORKER = """
store = SqliteStore(path, synchronous="NORMAL")
mine = f"c-{sys.argv[2]}"
store.commit([OpenConversation(mine, "anna")])
stored = 0
for number in range(15):
    script = RunScript(f"{mine}-{number}", conversation=mine)
    message = NewMessage(MessageRole.USER, f"{number}", script.run.id, 1, (), 2 * number)
    store.commit([AddMessages(mine, (message,)), script.start(message=2 * number)])
    store.commit([script.propose(), script.intend()])
    answer = NewMessage(MessageRole.ASSISTANT, "Done.", script.run.id, 1)
    store.commit([script.outcome(wrote(number + 1)), script.answer(), AddMessages(mine, (answer,))])
    assert len(store.history(mine, budget=1000).messages) == 2 * number + 2
    stored += 1
tell(**{mine: stored})
"""


def test_twelve_processes_share_a_file(tmp_path: Path) -> None:
    """Nobody is turned away, nothing is lost, and the feed has no hole that fills later (W4, R3)."""
    path = tmp_path / "chat.db"
    program = PREAMBLE + WORKER
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(path), str(number)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(12)
    ]
    ended = [worker.communicate(timeout=240) for worker in workers]

    assert [error for _, error in ended] == [""] * 12
    assert [json.loads(out) for out, _ in ended] == [{f"c-{number}": 15} for number in range(12)]
    assert rows(path, "SELECT count(*), sum(sequence) FROM run WHERE status = 'completed'") == [(180, 180 * 6)]
    assert rows(path, "SELECT count(*) FROM event") == [(180 * 6,)]
    assert rows(path, "SELECT count(*), min(position), max(position) FROM tool_write") == [(180, 1, 180)]
    assert rows(path, "SELECT count(*) FROM message") == [(360,)]
    assert rows(path, "PRAGMA integrity_check") == [("ok",)]
    assert rows(path, "PRAGMA foreign_key_check") == []


def test_racing_processes_get_one_winner(tmp_path: Path) -> None:
    """Of several processes at one event exactly one goes on; the others are told so (R3)."""
    answer = told(
        """
store = SqliteStore(path)
script = RunScript("r1")
store.commit([script.start(), script.request()])
store.close()
go, results = os.pipe(), os.pipe()
pids = []
for number in range(6):
    pid = os.fork()
    if pid == 0:
        change = script.copy().decide()
        os.read(go[0], 1)
        try:
            store.commit([change])
            os.write(results[1], b"w")
        except StaleAppendError as refused:
            os.write(results[1], b"s" if refused.found == 4 else b"?")
        os._exit(0)
    pids.append(pid)
os.write(go[1], b"x" * 6)
for pid in pids:
    wait_for(pid)
tell(outcomes="".join(sorted(os.read(results[0], 100).decode())), events=len(store.events("r1")))
""",
        tmp_path / "chat.db",
    )

    assert answer == {"outcomes": "sssssw", "events": 4}


def test_a_follower_sees_positions_in_order_while_others_write(tmp_path: Path) -> None:
    """No position appears below one that was seen already (W4)."""
    answer = told(
        """
store = SqliteStore(path, synchronous="NORMAL")
store.now()
store.writes(after=0, limit=1)
pids = []
for number in range(4):
    pid = os.fork()
    if pid == 0:
        script = RunScript(f"r{number}")
        store.commit([script.start()])
        for uid in range(1, 41):
            store.commit([script.propose(), script.intend(), script.outcome(wrote(uid), wrote(f"x{uid}"))])
        os._exit(0)
    pids.append(pid)
seen, last = [], 0
deadline = time.monotonic() + 100
while len(seen) < 320 and time.monotonic() < deadline:
    for entry in store.writes(after=last, limit=50):
        seen.append(entry.position); last = entry.position
for pid in pids:
    wait_for(pid)
everything = [entry.position for entry in store.writes(after=0, limit=1000)]
tell(same=seen == everything, gapless=everything == list(range(1, 321)))
""",
        tmp_path / "chat.db",
    )

    assert answer == {"same": True, "gapless": True}


def test_a_writer_that_is_killed_leaves_whole_commits(tmp_path: Path) -> None:
    """Whenever a process dies, a commit is there as a whole or not at all (R3)."""
    path = tmp_path / "chat.db"
    story = """
store = SqliteStore(path, synchronous="NORMAL")
store.commit([OpenConversation("c1", "anna")])
tell(ready=True)
number = 0
while True:
    script = RunScript(f"r{number}", conversation="c1")
    message = NewMessage(MessageRole.USER, "x" * 3000, script.run.id, 1)
    store.commit([AddMessages("c1", (message,)), script.start(), script.propose(), script.intend()])
    store.commit([script.outcome(wrote(1)), script.answer(), AddMessages("c1", (message,))])
    number += 1
"""
    worker = subprocess.Popen([sys.executable, "-c", PREAMBLE + story, str(path)], stdout=subprocess.PIPE, text=True)
    assert worker.stdout is not None
    assert json.loads(worker.stdout.readline()) == {"ready": True}
    while not rows(path, "SELECT count(*) FROM run WHERE sequence > 5"):
        pass
    worker.kill()
    worker.wait(30)
    worker.stdout.close()

    (counts,) = rows(
        path,
        "SELECT (SELECT count(*) FROM message), (SELECT count(*) FROM run),"
        " (SELECT count(*) FROM run WHERE sequence = 6),"
        " (SELECT count(*) FROM event), (SELECT count(*) FROM tool_write)",
    )
    messages, runs, ended, events, writes = counts
    assert messages == runs + ended
    assert events == 3 * runs + 3 * ended
    assert writes == ended
    assert runs - ended in (0, 1)
    assert rows(path, "PRAGMA integrity_check") == [("ok",)]
