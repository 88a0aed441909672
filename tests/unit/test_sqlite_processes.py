"""
The SQLite store among processes on one file.

Each story runs in fresh interpreters, as workers of a host do.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.stories import PREAMBLE, rows, told

pytestmark = pytest.mark.process


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
