"""
The SQLite store among forks.

Each story runs in fresh interpreters, so that what a fork inherits is exactly what the story says.
"""

from pathlib import Path

import pytest

from tests.unit.stories import PREAMBLE, rows, told

pytestmark = pytest.mark.process

RAW_FORK = """
import ctypes
fork = ctypes.PyDLL(None).fork  # behind Python's back: no hook runs
"""
KNOWN_FORK = "fork = os.fork"

forks = pytest.mark.parametrize("fork", [pytest.param(KNOWN_FORK, id="known"), pytest.param(RAW_FORK, id="raw")])


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
