"""
One file, many hands: readers beside writers, bursts beyond the wait, threads that come and go, odd file systems.
"""

import multiprocessing
import sqlite3
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from nr_agent_core import Chat, ConversationStatus, MessageRole, RunStatus, StoreUnavailableError
from nr_agent_core.adapters.memory import MemoryStore
from nr_agent_core.adapters.sqlite import NetworkFileSystemWarning, SqliteStore, file_system
from nr_agent_core.testing.scripted_model import ScriptedModel
from tests.cases.desk import ANNA, Desk
from tests.cases.sqlite_chats import PATIENCE, answering, in_a_fork


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Somebody else writes all the time."""
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        other.execute("ROLLBACK")
        other.close()


def at_once(number: int, act: Callable[[int], object]) -> None:
    """Call *act* in many threads at the same moment."""
    barrier = threading.Barrier(number)

    def run(index: int) -> None:
        barrier.wait()
        act(index)

    threads = [threading.Thread(target=run, args=(index,)) for index in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)


# ---------------------------------------------------------------------------- more than there is time for


def test_a_burst_that_cannot_be_stored_is_told_to_everybody(tmp_path: Path) -> None:
    """(R3) The wait is over: each sender gets the typed error, nothing is half there, and sending again works."""
    path = tmp_path / "chat.db"
    chat = answering(path, busy_timeout=0.1)
    conversations = [chat.open(ANNA) for _ in range(12)]
    told: list[object] = []

    def send(index: int) -> None:
        try:
            told.append(chat.send(f"message {index}", ANNA, conversation=conversations[index]))
        except StoreUnavailableError as error:
            told.append(error)

    with locked(path):
        started = time.monotonic()
        at_once(12, send)
        waited = time.monotonic() - started

    assert [type(answer) for answer in told] == [StoreUnavailableError] * 12
    assert waited < PATIENCE / 2
    assert all(chat.view(conversation, ANNA).messages == () for conversation in conversations)
    again = [chat.send(f"message {n}", ANNA, conversation=conversations[n]) for n in range(12)]
    assert {sent.status for sent in again} == {RunStatus.COMPLETED}


def test_a_burst_at_the_edge_of_the_wait_loses_nothing(tmp_path: Path) -> None:
    """(R3) Some get through and some do not: what was accepted is there with its answer, what was not was told."""
    path = tmp_path / "chat.db"
    chat = answering(path, busy_timeout=0.02, synchronous="NORMAL")
    chat.open(ANNA)
    accepted: dict[str, str] = {}
    refused: list[int] = []
    somebody_was_refused = threading.Event()

    def send(index: int) -> None:
        if index == 0:
            with locked(path):
                assert somebody_was_refused.wait(PATIENCE)
            return
        for turn in range(4):
            try:
                sent = chat.send(f"message {index}.{turn}", ANNA)
                accepted[f"message {index}.{turn}"] = sent.conversation
            except StoreUnavailableError:
                refused.append(index)
                somebody_was_refused.set()

    at_once(41, send)

    assert refused
    assert len(accepted) + len(refused) == 160
    for text, conversation in accepted.items():
        said = chat.view(conversation, ANNA).messages
        assert [(message.role, message.text) for message in said] == [
            (MessageRole.USER, text),
            (MessageRole.ASSISTANT, "Noted."),
        ]
    # A message that was refused in the middle of its turn is kept, and its run is left to whoever comes later.
    with sqlite3.connect(path) as file:
        (messages,) = file.execute("SELECT count(*) FROM message WHERE role = 'user'").fetchone()
        (unsettled,) = file.execute("SELECT count(*) FROM run WHERE status = 'running'").fetchone()
    file.close()
    assert messages == len(accepted) + unsettled


def test_a_lock_in_the_middle_of_a_turn_costs_time_and_no_message(tmp_path: Path) -> None:
    """(R8, O2) The answer could not be stored: the error rises, the message stands, upkeep brings an answer later."""
    path = tmp_path / "chat.db"
    other = sqlite3.connect(path, isolation_level=None)

    def locks(request: object) -> str:
        other.execute("BEGIN IMMEDIATE")
        return "Noted."

    chat = Chat(store=SqliteStore(path, busy_timeout=0.05), model=ScriptedModel(locks))
    conversation = chat.open(ANNA)
    with pytest.raises(StoreUnavailableError):
        chat.send("Hello there", ANNA, conversation=conversation)
    other.execute("ROLLBACK")
    other.close()

    assert chat.view(conversation, ANNA).status is ConversationStatus.PROCESSING
    assert [message.text for message in chat.view(conversation, ANNA).messages] == ["Hello there"]

    class Later:
        def now(self) -> float:
            """An hour later."""
            return time.time() + 3600

    later = answering(path, clock=Later())
    later.upkeep()
    said = later.view(conversation, ANNA).messages
    assert [message.text for message in said if message.role is MessageRole.USER] == ["Hello there"]
    assert "Noted." in [message.text for message in said]


# ---------------------------------------------------------------------------------- readers and writers


def test_readers_that_hold_on_stop_no_writer(tmp_path: Path) -> None:
    """(R3) Two readers in the middle of a statement; a whole turn is stored without waiting for them."""
    path = tmp_path / "chat.db"
    chat = answering(path, busy_timeout=0.0)
    first = chat.send("Hello there", ANNA)
    readers = [sqlite3.connect(path, isolation_level=None) for _ in range(2)]
    for reader in readers:
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM message").fetchone() == (2,)

    sent = chat.send("Hello again", ANNA, conversation=first.conversation)

    assert sent.status is RunStatus.COMPLETED
    assert all(reader.execute("SELECT count(*) FROM message").fetchone() == (2,) for reader in readers)
    for reader in readers:
        reader.close()
    assert len(chat.view(first.conversation, ANNA).messages) == 4


def _sending(path: Path, number: int, turns: int, answers: Any) -> None:
    chat = answering(path)
    conversation = None
    for turn in range(turns):
        conversation = chat.send(f"message {number}.{turn}", ANNA, conversation=conversation).conversation
    answers.put((number, conversation))
    chat.close()


@pytest.mark.process
def test_processes_that_begin_at_once_on_a_file_that_is_not_there(tmp_path: Path) -> None:
    """(R3) Who comes first makes the schema; nobody is turned away and every message has its answer."""
    spawn = multiprocessing.get_context("spawn")
    path, answers = tmp_path / "chat.db", spawn.Queue()
    processes = [spawn.Process(target=_sending, args=(path, n, 5, answers), daemon=True) for n in range(4)]
    for process in processes:
        process.start()
    done = dict(answers.get(timeout=PATIENCE) for _ in processes)
    for process in processes:
        process.join(PATIENCE)

    assert sorted(done) == [0, 1, 2, 3]
    chat = answering(path)
    for number, conversation in done.items():
        said = [message.text for message in chat.view(conversation, ANNA).messages]
        assert said[::2] == [f"message {number}.{turn}" for turn in range(5)]
        assert said[1::2] == ["Noted."] * 5


# ------------------------------------------------------------------------------ memory, threads, settings


@pytest.mark.parametrize("make", [lambda: SqliteStore(":memory:"), MemoryStore], ids=["sqlite", "memory"])
def test_a_store_in_memory_is_one_for_all_threads(make: Callable[[], Any]) -> None:
    """(O1) What one thread stored another one decides on; many at once lose nothing."""
    desk = Desk(store=make())
    waiting: list[Any] = []
    at_once(8, lambda index: waiting.append(desk.waiting(f"Publish note {index}")))

    at_once(8, lambda index: desk.decide(waiting[index].conversation))

    assert len(desk.published) == 8
    assert len(set(desk.published)) == 8
    assert len(desk.chat.runtime.writes()) == 8


def test_threads_that_come_and_go_leave_no_connection(tmp_path: Path) -> None:
    """A server that makes a thread per request does not run out of files."""
    chat = answering(tmp_path / "chat.db")
    conversation = chat.send("Hello there", ANNA).conversation
    folder = Path("/proc/self/fd")
    if not folder.exists():
        pytest.skip("open files cannot be counted here")
    at_once(4, lambda index: chat.view(conversation, ANNA))
    before = len(list(folder.iterdir()))

    for _ in range(10):
        at_once(4, lambda index: chat.view(conversation, ANNA))

    assert len(list(folder.iterdir())) <= before + 3


def settings_in_use(chat: Chat) -> list[Any]:
    """What the connection is set to that the chat really uses."""
    names = ("busy_timeout", "journal_mode", "synchronous", "foreign_keys", "secure_delete")
    with chat.runtime.segments.store._connections.of_this_thread() as db:  # type: ignore[attr-defined]
        return [db.execute(f"PRAGMA {name}").fetchone()[0] for name in names]


@pytest.mark.parametrize("after", ["first use", "a refused write", "a checkpoint", "a fork", "closing", "a full turn"])
def test_whatever_happened_the_connection_waits_as_it_was_told_to(tmp_path: Path, after: str) -> None:
    """No probe and no failure leaves a shorter wait or less durability behind."""
    path = tmp_path / "chat.db"
    chat = answering(path, busy_timeout=0.25)
    conversation = chat.open(ANNA)
    match after:
        case "a refused write":
            with locked(path), pytest.raises(StoreUnavailableError):
                chat.open(ANNA)
        case "a checkpoint":
            chat.runtime.segments.store.checkpoint()  # type: ignore[attr-defined]
        case "a fork":
            in_a_fork(lambda: True)
        case "closing":
            chat.close()
        case "a full turn":
            chat.send("Hello there", ANNA, conversation=conversation)

    assert settings_in_use(chat) == [250, "wal", 2, 1, 1]


@pytest.mark.parametrize("kind", ["nfs4", "cifs", "virtiofs", "9p", "fuse.sshfs", "vboxsf"])
def test_a_share_is_warned_of_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """A host that makes the warning an error gets no file at all; one that goes on gets no shared memory."""
    mounts = tmp_path / "mounts"
    mounts.write_text(f"1 0 0:1 / {tmp_path} rw - {kind} share:/x rw\n")
    monkeypatch.setattr(file_system, "MOUNTS", mounts)
    path = tmp_path / "chat.db"

    chat = answering(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            with pytest.raises(NetworkFileSystemWarning):
                chat.send("Hello there", ANNA)
            assert not path.exists()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        conversation = chat.send("Hello there", ANNA).conversation
        at_once(3, lambda index: chat.view(conversation, ANNA))

    assert [warning.category for warning in warned] == [NetworkFileSystemWarning]
    assert settings_in_use(chat)[1] == "delete"
    assert not (tmp_path / "chat.db-wal").exists()
