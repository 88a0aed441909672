"""
The comparison notices: one turn that is in order is changed in one place, behind everybody's back.
"""

import json
import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from nr_agent_core import Chat, Reader, RoleAccess
from nr_agent_core.ports.unit_of_work import OpenConversation
from nr_agent_core.testing import ScriptedModel
from nr_agent_core.testing.scripted_model import call
from tests.chaos.clock import LeapingClock
from tests.chaos.comparison import Comparison
from tests.chaos.life import Life, store_of
from tests.chaos.plan import Plan
from tests.chaos.toolbox import CLAIM, Toolbox
from tests.chaos.workers import FOLLOWED, SEEN

ANNA = Reader("anna")


def turn(folder: Path, *, tool: str = "pay") -> Plan:
    """One approved write, an answer, and what the processes would have left of it in their files."""
    plan = Plan(seed=1, store="sqlite", seconds=1.0, workers=1, began=time.time())
    plan.write(folder)
    clock = LeapingClock.made(folder / "clock", plan.began)
    life = Life(folder, 0, 0, harried=False)
    store = store_of(folder, plan, clock, patience=5.0)
    store.commit([OpenConversation("c0000", ANNA.id)])
    chat = Chat(
        store=store,
        model=ScriptedModel(call(tool, way="plain", number=1), CLAIM, call("look", way="plain", number=2), CLAIM),
        tools=Toolbox(life).tools(),
        access=RoleAccess(owner_decides=True),
        bus=life,
    )
    chat.send("Task 1.", ANNA, conversation="c0000")
    card = chat.view("c0000", ANNA).card
    assert card is not None
    chat.decide("c0000", "approve", card=card, by=ANNA)
    accepted = {"outcome": "accepted", "run": card.run_id}
    life.tell("send", **accepted)
    life.tell("decide", **accepted, digest=card.digest, choice="approve", where="chat")
    chat.send("Task 2.", ANNA, conversation="c0000")
    life.tell("ended", left=chat.close())
    return plan


def changed(folder: Path, name: str, *statements: str) -> None:
    """Change a database; what guards it is taken away first."""
    with closing(sqlite3.connect(folder / name)) as db, db:
        for (trigger,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            db.execute(f"DROP TRIGGER {trigger}")
        for statement in statements:
            assert db.execute(statement).rowcount, statement


def added(folder: Path, name: str, line: object) -> None:
    """One line more in a file."""
    with (folder / name).open("a") as file:
        file.write(f"{json.dumps(line)}\n")


AGAIN = "INSERT INTO {0}({1}) SELECT {1} FROM {0}"
LAST = "(SELECT run FROM message WHERE position = 3)"
ATTEMPT, WRITTEN = "key, tool, effect, run, call, life", "attempt, key, tool, effect, run, call, record, life"


def chat(*statements: str) -> Callable[[Path], None]:
    """Something else in the store."""
    return lambda folder: changed(folder, "chat.db", *statements)


def host(*statements: str) -> Callable[[Path], None]:
    """Something else in the host's database."""
    return lambda folder: changed(folder, "host.db", *statements)


def file(name: str, line: object) -> Callable[[Path], None]:
    """Something more in a file."""
    return lambda folder: added(folder, name, line)


TAMPERED: dict[str, tuple[Callable[[Path], None], str]] = {
    "executed twice": (host(AGAIN.format("attempt", ATTEMPT)), "was executed 2 times"),
    "written twice": (
        host(AGAIN.format("attempt", ATTEMPT), AGAIN.format("written", WRITTEN), "UPDATE written SET attempt = id"),
        "happened twice under one key",
    ),
    "executed for nobody": (host("UPDATE attempt SET run = 'none'"), "executed for a run that is not there"),
    "executed unapproved": (host("UPDATE attempt SET call = '7.0' WHERE tool = 'pay'"), "was executed unapproved"),
    "executed unannounced": (host("UPDATE attempt SET call = '0.7' WHERE tool = 'pay'"), "without an intent"),
    "repeated by itself": (
        host("UPDATE attempt SET effect = 'idempotent_write'", AGAIN.format("attempt", ATTEMPT)),
        "was executed 2 times without a takeover",
    ),
    "tried again": (chat("UPDATE run SET message = 0"), "tried again although its run wrote"),
    "a turn in a turn": (
        chat("UPDATE message SET run = NULL WHERE position = 1"), "began before run",
    ),
    "another record": (host("UPDATE written SET record = 'pages:9'"), "lost: "),
    "nothing happened": (host("DELETE FROM written"), "is stored and never happened"),
    "never announced": (lambda folder: os.truncate(folder / "heard-0.0", 0), "was stored and never announced"),
    "announced, not stored": (file("heard-0.0", ["r", "pages:9", "created"]), "which lived, and is not stored"),
    "a gap in the feed": (chat("UPDATE tool_write SET position = 7"), "the positions of the feed have gaps"),
    "a write less in the feed": (chat("DELETE FROM tool_write"), "feed and stream differ"),
    "a gap in a stream": (chat("DELETE FROM event WHERE kind = 'tool_started'"), "the stream cannot be read"),
    "left at work": (
        chat(
            f"DELETE FROM event WHERE kind = 'completed' AND run = {LAST}",
            f"UPDATE run SET sequence = sequence - 1, status = 'running' WHERE id = {LAST}",
        ),
        "a run was left running",
    ),
    "an end not told": (
        chat("DELETE FROM message WHERE position = 3"), "the end of a run was told 0 times",
    ),
    "a wrong notice": (
        chat("""UPDATE message SET notices = (SELECT notices FROM message WHERE position = 3) WHERE position = 1"""),
        "nothingSaved beside a run that wrote",
    ),
    "no notice": (chat("UPDATE message SET notices = NULL WHERE position = 3"), "has no notice"),
    "a message that changed": (file(SEEN, ["c0000", 0, "another"]), "message 0 of c0000 changed"),
    "a follower saw a gap": (file(FOLLOWED, [2, "r", "pages:9", "created"]), "a follower saw 2 after 0"),
    "a decision that is not there": (
        file("acts-0.0", {"act": "decide", "outcome": "accepted", "run": "r", "digest": "d", "choice": "deny"}),
        "a decision was accepted and the stream says None",
    ),
    "a run that is not there": (
        file("acts-0.0", {"act": "send", "outcome": "accepted", "run": "r"}), "was told of a run that is not there",
    ),
    "another error": (file("acts-0.0", {"act": "raised", "error": "OSError()"}), "OSError()"),
    "outcomes left": (file("acts-0.0", {"act": "ended", "left": 2}), "ended with 2 outcomes"),
}  # fmt: skip


def test_a_turn_that_is_in_order_fits_together(tmp_path: Path) -> None:
    """What fails below fails for what was changed."""
    found = Comparison(tmp_path, turn(tmp_path), set())

    assert found.violations == []
    assert (found.figures["writes"], found.figures["turns"], found.figures["nothingSaved"]) == (1, 1, 1)


@pytest.mark.parametrize("name", TAMPERED)
def test_the_comparison_notices(tmp_path: Path, name: str) -> None:
    """(P4, P5, P7, W3, W4, C7) Each thing that the chaos holds the library to is really compared."""
    plan = turn(tmp_path)
    tamper, violation = TAMPERED[name]
    tamper(tmp_path)

    found = [what for what, _ in Comparison(tmp_path, plan, set()).violations]

    assert any(violation in what for what in found), found


def hands(folder: Path, life: str, *lines: tuple[float, str, str]) -> None:
    """What a life told of the runs that it was brought."""
    for line in lines:
        added(folder, f"hands-{life}", line)


def runs(folder: Path) -> list[str]:
    """The runs of the conversation, in order."""
    with closing(sqlite3.connect(folder / "chat.db")) as db:
        return [run for (run,) in db.execute("SELECT run FROM message WHERE run IS NOT NULL GROUP BY run ORDER BY 1")]


def compared(folder: Path, plan: Plan) -> list[str]:
    """What does not fit."""
    return [what for what, _ in Comparison(folder, plan, set()).violations]


def test_a_worker_has_one_run_of_a_conversation_in_hand(tmp_path: Path) -> None:
    """One after the other is in order; two at once are not."""
    plan = turn(tmp_path)
    first, second = runs(tmp_path)
    hands(tmp_path, "1.0", (1.0, "taken", first), (2.0, "left", first), (3.0, "taken", second), (5.0, "left", second))
    assert compared(tmp_path, plan) == []

    hands(tmp_path, "1.0", (4.0, "taken", first))

    assert compared(tmp_path, plan) == [f"life 1.0 was brought it while 1.0 had {second} in hand"]


def test_another_worker_takes_what_was_freed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the engine only then; threads of several processes each look for themselves, and the lease decides (R3)."""
    plan = turn(tmp_path)
    first, second = runs(tmp_path)
    hands(tmp_path, "1.0", (10.0, "taken", first))
    hands(tmp_path, "2.0", (20.0, "taken", second))
    assert compared(tmp_path, plan) == []

    on_engine(monkeypatch, plan, [])
    not_free = [f"life 2.0 was brought it while 1.0 had {first} in hand"]
    assert compared(tmp_path, plan) == not_free
    hands(tmp_path, "3.0", (9.0, "freed", first))
    assert compared(tmp_path, plan) == not_free
    hands(tmp_path, "3.0", (15.0, "freed", first))
    assert compared(tmp_path, plan) == []


def test_a_slow_worker_says_late_what_it_took(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was taken for gone between taking and saying so; of another conversation's run that proves nothing."""
    plan = turn(tmp_path)
    first, _ = runs(tmp_path)
    on_engine(monkeypatch, plan, [])
    hands(tmp_path, "1.0", (10.0, "taken", first))
    hands(tmp_path, "2.0", (10.1, "taken", first))
    not_free = [f"life 2.0 was brought it while 1.0 had {first} in hand"]
    hands(tmp_path, "1.0", (9.9, "freed", "another"))
    assert compared(tmp_path, plan) == not_free

    hands(tmp_path, "1.0", (9.9, "freed", first))
    assert compared(tmp_path, plan) == []


def on_engine(monkeypatch: pytest.MonkeyPatch, plan: Plan, tickets: list[str | None]) -> None:
    """The rules of the engine, and tickets of a host on PostgreSQL."""
    monkeypatch.setattr("tests.chaos.comparison.tickets", lambda _: tickets)
    monkeypatch.setattr("tests.chaos.comparison.shares_hands", lambda _: False)


def test_a_run_and_its_ticket_are_both_there_or_neither(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """(R6) What the host commits stands with what it committed, and what it rolls back is gone."""
    plan = turn(tmp_path)
    first, second = runs(tmp_path)
    added(tmp_path, "acts-0.0", {"act": "ticket", "run": first})
    added(tmp_path, "acts-0.0", {"act": "ticket", "run": "rolled back"})
    on_engine(monkeypatch, plan, [first, None])
    assert compared(tmp_path, plan) == []

    on_engine(monkeypatch, plan, [None])
    assert compared(tmp_path, plan) == ["a run is there although its transaction was rolled back"]
    on_engine(monkeypatch, plan, [first, second, "another"])
    assert compared(tmp_path, plan) == ["the host has a ticket for a run that is not there"]


def test_a_worker_is_brought_runs_that_are_there(tmp_path: Path) -> None:
    """A job of a transaction that was rolled back would be one too many."""
    plan = turn(tmp_path)
    hands(tmp_path, "1.0", (1.0, "taken", "another"), (2.0, "left", "another"))

    assert set(compared(tmp_path, plan)) == {"a worker was brought a run that is not there"}


def test_who_died_may_have_announced_what_is_not_stored(tmp_path: Path) -> None:
    """(W3) Its process died in between: nobody is to blame."""
    plan = turn(tmp_path)
    added(tmp_path, "heard-0.0", ["r", "pages:9", "created"])

    assert Comparison(tmp_path, plan, {"0.0"}).violations == []
