"""
Group commit in the SQLite store: whoever waits for the file goes into the next transaction together.

Each story holds one commit open until all others wait, so it is certain who shares a transaction.
"""

import functools
import gc
import linecache
import os
import sqlite3
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Self

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nr_agent_core.adapters.sqlite import SqliteStore
from nr_agent_core.adapters.sqlite.commit_group import CommitGroup, Entry, Shared
from nr_agent_core.adapters.sqlite.connections import Connections, Owned, WriteTransaction
from nr_agent_core.domain.errors import StoreUnavailableError
from tests.unit.stories import told
from tests.unit.tool_threads import wait_until


class Group:
    """
    A group over a file with one table, and the transactions that were begun in it.
    """

    def __init__(self, path: str, patience: float = 30.0) -> None:
        with closing(SqliteStore(path)) as store, store._connections.of_this_thread() as db:
            db.execute("CREATE TABLE piece(name TEXT UNIQUE)")
        self.connections = Connections(path, "FULL", patience)
        self.commits = CommitGroup(self.connections)
        self.begun: list[str] = []

    def waiting(self) -> list[Entry]:
        """Who waits now."""
        return self.commits._queue._waiting

    def stored(self) -> set[str]:
        """What is durable."""
        with closing(sqlite3.connect(self.connections.file)) as db:
            return {name for (name,) in db.execute("SELECT name FROM piece")}

    def write(self, name: str) -> None:
        """Commit one piece."""
        self.commits.commit(lambda db: self.insert(db, name))

    def insert(self, db: sqlite3.Connection, name: str) -> None:
        """One row, of a transaction that notes itself by the number of rows before it."""
        db.execute("INSERT INTO piece VALUES (?)", (name,))

    @contextmanager
    def held(self) -> Iterator[None]:
        """Inside, one commit is at work and does not end."""
        inside, go = threading.Event(), threading.Event()

        def write(db: sqlite3.Connection) -> None:
            self.insert(db, "held")
            inside.set()
            go.wait(30)

        thread = Job(lambda: self.commits.commit(write))
        inside.wait(30)
        try:
            yield
        finally:
            go.set()
            thread.join()
            assert thread.error is None


class Job(threading.Thread):
    """
    A thread that keeps what it raised.
    """

    def __init__(self, work: Callable[[], Any]) -> None:
        super().__init__(daemon=True)
        self.work, self.error = work, None
        self.start()

    def run(self) -> None:
        """Do it."""
        self.error: BaseException | None
        try:
            self.work()
        except BaseException as error:  # noqa: BLE001 - looked at by the test
            self.error = error

    def join(self, timeout: float | None = 30) -> None:
        """Wait for its end, which must come."""
        super().join(timeout)
        assert not self.is_alive(), "it hangs"


@pytest.fixture
def group(path: Path) -> Iterator[Group]:
    """A group of its own."""
    group = Group(str(path))
    yield group
    group.connections.close()


def statements_of(group: Group) -> list[str]:
    """From now on, the first words of what the calling thread's connection does."""
    seen: list[str] = []
    with group.connections.of_this_thread() as db:
        db.set_trace_callback(lambda statement: seen.append(statement.split()[0]))
    return seen


def test_all_who_wait_share_one_transaction(group: Group) -> None:
    """One commit for all of them, in the order in which they came; each returns once it is durable."""
    seen: list[list[str]] = []

    def note(name: str) -> None:
        seen.append(statements_of(group))
        group.write(name)
        assert name in group.stored()

    jobs = []
    with group.held():
        for number in range(5):
            jobs.append(Job(lambda number=number: note(str(number))))
            wait_until(lambda number=number: len(group.waiting()) == number + 1)
    for job in jobs:
        job.join()

    assert [job.error for job in jobs] == [None] * 5
    assert group.stored() == {"held", "0", "1", "2", "3", "4"}
    assert sorted(each for each in seen if each) == [["BEGIN", "SAVEPOINT", *["INSERT"] * 5, "COMMIT"]]


@given(refused=st.sets(st.integers(0, 4)))
def test_a_piece_that_is_refused_takes_nobody_with_it(
    refused: set[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whatever pieces fail: each error is raised to the thread of its piece, and the others are stored."""
    group = Group(str(tmp_path_factory.mktemp("group") / "chat.db"))
    jobs = []
    with group.held():
        for number in range(5):
            jobs.append(Job(lambda number=number: group.write("held" if number in refused else str(number))))
            wait_until(lambda number=number: len(group.waiting()) == number + 1)
    for job in jobs:
        job.join()
    group.connections.close()

    assert {number for number, job in enumerate(jobs) if job.error is not None} == refused
    assert group.stored() == {"held", *(str(number) for number in range(5) if number not in refused)}


def test_a_commit_that_the_disk_refuses_is_told_to_all(group: Group) -> None:
    """Nothing of the transaction is there, and every thread of it hears so, each by an error of its own."""
    group.connections.close()
    connect = group.connections.connect

    def small() -> sqlite3.Connection:
        db = connect()
        (pages,) = db.execute("PRAGMA page_count").fetchone()
        db.execute(f"PRAGMA max_page_count = {pages + 5}")
        return db

    group.connections.connect = small  # type: ignore[method-assign]
    with group.held():
        names = ["small", "large" * 10_000, "other"]
        jobs = []
        for number, name in enumerate(names):
            jobs.append(Job(lambda name=name: group.write(name)))
            wait_until(lambda number=number: len(group.waiting()) == number + 1)
    for job in jobs:
        job.join()

    told_to = [job for job in jobs if job.error is not None]
    assert [type(job.error) for job in told_to] == [StoreUnavailableError] * len(told_to)
    assert len({id(job.error) for job in told_to}) == len(told_to)
    assert jobs[1] in told_to
    assert group.stored() == {"held", *(name for name, job in zip(names, jobs, strict=True) if job.error is None)}


def test_a_refused_commit_leaves_nothing_of_anybody(group: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    """What fails at the very end fails for all: nobody takes itself for durable."""
    jobs = []
    with group.held():
        for number in range(3):
            jobs.append(Job(lambda number=number: group.write(str(number))))
            wait_until(lambda number=number: len(group.waiting()) == number + 1)
        deferred = (
            "CREATE TEMP TABLE late(name TEXT REFERENCES late(other) DEFERRABLE INITIALLY DEFERRED, other UNIQUE)"
        )
        write = group.waiting()[1].write

        def unfit(db: sqlite3.Connection) -> None:
            write(db)
            db.execute("PRAGMA defer_foreign_keys = ON")
            db.execute(deferred)
            db.execute("INSERT INTO late VALUES ('nobody', 'other')")

        group.waiting()[1].write = unfit
    for job in jobs:
        job.join()

    assert ["FOREIGN KEY" in str(job.error) for job in jobs] == [True] * 3
    assert group.stored() == {"held"}
    group.write("afterwards")
    assert "afterwards" in group.stored()


def test_whoever_waits_in_vain_is_never_written(path: Path) -> None:
    """Its patience is over, it is told so, and its piece is taken back: it may try again."""
    group = Group(str(path), patience=0.05)
    with group.held():
        with pytest.raises(StoreUnavailableError, match="threads"):
            group.write("impatient")
        assert group.waiting() == []

    assert group.stored() == {"held"}
    group.write("impatient")
    assert group.stored() == {"held", "impatient"}
    group.connections.close()


def test_a_leader_that_is_interrupted_leaves_the_others_one(group: Group) -> None:
    """What shared its transaction is told so, what waits behind is written by the next one."""
    entered, go = threading.Event(), threading.Event()

    def interrupted(db: sqlite3.Connection) -> None:
        group.insert(db, "interrupted")
        entered.set()
        go.wait(30)
        raise KeyboardInterrupt

    with group.held():
        first = Job(lambda: group.commits.commit(interrupted))
        wait_until(lambda: len(group.waiting()) == 1)
        second = Job(lambda: group.write("shared"))
        wait_until(lambda: len(group.waiting()) == 2)
    entered.wait(30)
    third = Job(lambda: group.write("behind"))
    wait_until(lambda: len(group.waiting()) == 1)
    go.set()
    for job in (first, second, third):
        job.join()

    assert isinstance(first.error, KeyboardInterrupt)
    assert isinstance(second.error, StoreUnavailableError)
    assert third.error is None
    assert group.stored() == {"held", "behind"}


class InterruptedWait:
    """
    A lock that is interrupted when it is waited for.
    """

    def __init__(self, before: Callable[[], object]) -> None:
        self._before = before

    def acquire(self, timeout: float) -> bool:
        """Somebody pressed a key."""
        self._before()
        raise KeyboardInterrupt

    def locked(self) -> bool:
        """Somebody waits for it."""
        return True

    def release(self) -> None:
        """Nobody hears it."""


@pytest.mark.parametrize("promoted", [False, True])
def test_whoever_is_interrupted_while_it_waits_holds_nobody_up(group: Group, promoted: bool) -> None:
    """It is taken back, also when it was about to lead, and then the next one leads."""
    queue = group.commits._queue
    leader, interrupted, behind = (Entry(lambda db: None) for _ in range(3))
    assert queue.join(leader, 1)
    queue.take(Shared(leader, WriteTransaction(group.connections)))
    followers: list[Job] = []

    def meanwhile() -> None:
        followers.append(Job(lambda: queue.join(behind, 30)))
        wait_until(lambda: len(group.waiting()) == 2)
        if promoted:
            queue.leave(leader)

    interrupted.wake = InterruptedWait(meanwhile)  # type: ignore[assignment]
    with pytest.raises(KeyboardInterrupt):
        queue.join(interrupted, 30)
    queue.leave(interrupted)

    assert group.waiting() == [behind]
    if not promoted:
        queue.leave(leader)
    followers[0].join()
    assert queue._leader is behind


class KeyPressed:
    """
    Interrupts the calling thread before the line *number* that it comes to in the module of the group, once.

    Where a ``with`` block is left, Python hears of no key before what was entered is left, too.
    """

    def __init__(self, number: int) -> None:
        self.left = number
        self._entered: set[tuple[FrameType, int]] = set()

    def __enter__(self) -> Self:
        self._before = sys.gettrace()
        sys.settrace(self._trace)
        return self

    def __exit__(self, *_: object) -> None:
        # Whatever traced before goes on: the measuring of coverage, for one.
        sys.settrace(self._before)

    def _trace(self, frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_globals.get("__name__") != CommitGroup.__module__:
            return None
        line = frame, frame.f_lineno
        if event == "line" and (line not in self._entered or not _enters(frame)):
            self._entered.add(line)
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
        return self._trace


def _enters(frame: FrameType) -> bool:
    return linecache.getline(frame.f_code.co_filename, frame.f_lineno).lstrip().startswith("with ")


def pressed_at_every_line(story: Callable[[int], None]) -> None:
    """Tell *story* with a key that is pressed at its first line, at its second one, until it is over before that."""
    for number in range(1, 400):
        with KeyPressed(number) as key:
            try:
                story(number)
            except KeyboardInterrupt:
                continue
        if key.left > 0:
            assert number > 20, "no line was seen"
            return
    pytest.fail("it never ended")


def test_a_leader_that_is_interrupted_anywhere_leaves_the_file_free(path: Path) -> None:
    """Whatever line it was at: what others write afterwards is written, at once."""
    group = Group(str(path), patience=5.0)

    def story(number: int) -> None:
        if number > 1:
            after = Job(lambda: group.write(f"after {number - 1}"))
            after.join()
            assert after.error is None
        group.write(str(number))

    pressed_at_every_line(story)
    group.connections.close()
    assert group.commits._queue._leader is None


def test_a_leader_that_is_interrupted_anywhere_lets_those_it_took_go_on(path: Path) -> None:
    """Who shares its transaction and who waits behind it come back, and are told what is so."""
    group = Group(str(path), patience=5.0)
    jobs: list[tuple[str, Job]] = []

    def write(db: sqlite3.Connection, number: int) -> None:
        group.insert(db, f"own {number}")
        behind = f"behind {number}"
        jobs.append((behind, Job(lambda: group.write(behind))))
        wait_until(lambda: len(group.waiting()) == 1)

    def story(number: int) -> None:
        inside, go, gone = threading.Event(), threading.Event(), threading.Event()

        def hold(db: sqlite3.Connection) -> None:
            inside.set()
            go.wait(30)

        def bring() -> None:
            taken = f"taken {number}"
            wait_until(lambda: gone.is_set() or len(group.waiting()) == 1)
            jobs.append((taken, Job(lambda: group.write(taken))))
            wait_until(lambda: gone.is_set() or len(group.waiting()) == 2)
            go.set()

        held = Job(lambda: group.commits.commit(hold))
        inside.wait(30)
        brought = Job(bring)
        try:
            group.commits.commit(lambda db: write(db, number))
        finally:
            gone.set()
            brought.join()
            held.join()
            assert [brought.error, held.error] == [None, None]
            for name, job in jobs:
                job.join()
                assert (job.error is None) == (name in group.stored()), (number, name, job.error)
            jobs.clear()

    pressed_at_every_line(story)
    group.connections.close()
    assert group.commits._queue._leader is None


def test_a_key_that_is_pressed_while_the_disk_writes_makes_nobody_a_liar(
    group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python hears of the key when the commit is durable: who shared it is told that it is."""
    keys: list[BaseException] = []

    class Pressed(Owned):
        def execute(self, statement: str, *arguments: Any) -> Any:
            answer = super().execute(statement, *arguments)
            if statement == "COMMIT" and keys:
                raise keys.pop()
            return answer

    def press(db: sqlite3.Connection) -> None:
        group.insert(db, "own")
        keys.append(KeyboardInterrupt())

    monkeypatch.setattr("nr_agent_core.adapters.sqlite.connections.Owned", Pressed)
    with group.held():
        first = Job(lambda: group.commits.commit(press))
        wait_until(lambda: len(group.waiting()) == 1)
        second = Job(lambda: group.write("shared"))
        wait_until(lambda: len(group.waiting()) == 2)
    first.join()
    second.join()

    assert isinstance(first.error, KeyboardInterrupt)
    assert second.error is None
    assert group.stored() == {"held", "own", "shared"}
    group.write("afterwards")


def test_a_commit_leaves_no_garbage(group: Group) -> None:
    """What was written, alone or together, is gone when it is over, without a collector."""
    gc.disable()
    try:
        kept = []
        with group.held():
            jobs = []
            for name in ("a", "b"):
                write = functools.partial(group.insert, name=name)
                kept.append(weakref.ref(write))
                jobs.append(Job(functools.partial(group.commits.commit, write)))
                wait_until(lambda name=name: len(group.waiting()) == (1 if name == "a" else 2))
            del write
        for job in jobs:
            job.join()
            job.work = None  # type: ignore[assignment]

        assert [each() for each in kept] == [None, None]
    finally:
        gc.enable()


def test_a_fork_begins_a_queue_of_its_own(tmp_path: Path) -> None:
    """A child of a process in which a commit is at work and others wait does not wait for those."""
    answer = told(
        """
import threading
from nr_agent_core.adapters.sqlite.commit_group import Entry
store = SqliteStore(path)
store.commit([OpenConversation("c1", "anna")])
queue = store._commits._queue
with queue._lock:
    queue._leader = Entry(print)  # as if a thread, which no child has, led just now
pid = os.fork()
if pid == 0:
    say(store, "child")
    os._exit(0)
wait_for(pid)
with queue._lock:
    queue._leader = None
say(store, "parent")
tell(seen=texts(store))
""",
        tmp_path / "chat.db",
    )

    assert answer["seen"] == ["child", "parent"]


def test_many_threads_lose_nothing(group: Group) -> None:
    """Sixteen threads with refused pieces among them: what was acknowledged is there, once, and nothing else."""
    kept: set[str] = {"0"}
    group.write("0")
    lock = threading.Lock()

    def work(number: int) -> None:
        for turn in range(25):
            name = "0" if turn % 5 == 4 else f"{number}-{turn}"
            try:
                group.write(name)
            except Exception:  # noqa: BLE001 - the name is there already
                assert name == "0"
            else:
                with lock:
                    kept.add(name)
        group.connections.close()

    jobs = [Job(lambda number=number: work(number)) for number in range(16)]
    for job in jobs:
        job.join()

    assert [job.error for job in jobs] == [None] * 16
    assert group.stored() == kept
    assert len(kept) == 16 * 20 + 1
    assert os.getpid() == group.commits._queue.process
    assert group.commits._queue._leader is None
