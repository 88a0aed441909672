"""
A chat over SQLite in processes that fork.
"""

import os
import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest

from nr_agent_core import AgentCoreError, RunStatus
from nr_agent_core.testing.scripted_model import call
from tests.cases.desk import ANNA, Desk, tool_of
from tests.cases.sqlite_chats import PATIENCE, answering, in_a_fork

FORK = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")


@FORK
@pytest.mark.process
def test_a_chat_at_work_may_be_forked(tmp_path: Path) -> None:
    """(T13) Threads of the parent send while children are forked from it; each child sends and answers by itself."""
    chat = answering(tmp_path / "chat.db")
    conversation = chat.send("Hello there", ANNA).conversation
    stop, failures = threading.Event(), []

    def keep_sending() -> None:
        try:
            while not stop.is_set():
                chat.send("Hello again", ANNA)
        except AgentCoreError as error:
            failures.append(error)

    threads = [threading.Thread(target=keep_sending) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        statuses = [
            in_a_fork(lambda: chat.send("from a child", ANNA, conversation=conversation).status is RunStatus.COMPLETED)
            for _ in range(6)
        ]
    finally:
        stop.set()
        for thread in threads:
            thread.join(PATIENCE)

    assert statuses == [0] * 6
    assert failures == []
    said = [message.text for message in chat.view(conversation, ANNA).messages]
    assert said == ["Hello there", "Noted.", *["from a child", "Noted."] * 6]


@FORK
@pytest.mark.process
def test_no_lock_of_a_parent_holds_its_child(tmp_path: Path) -> None:
    """(T13) Whatever a thread of the parent was about to do at the fork, the child does not wait for it."""
    chat = answering(tmp_path / "chat.db")
    conversation = chat.send("Hello there", ANNA).conversation
    chat.close()

    with chat.runtime.wiring.late._lock, chat.runtime.segments._briefings._lock:
        status = in_a_fork(lambda: chat.send("Again", ANNA, conversation=conversation).status is RunStatus.COMPLETED)

    assert status == 0
    assert chat.send("And again", ANNA, conversation=conversation).status is RunStatus.COMPLETED
    assert len(chat.view(conversation, ANNA).messages) == 6


@FORK
@pytest.mark.process
@pytest.mark.parametrize("ends", ["at once", "after use", "with an exception"])
def test_a_child_takes_nothing_from_its_parent(tmp_path: Path, ends: str) -> None:
    """(P7) A waiting card in the parent: however a child ends, the parent decides on it and reads all it stored."""
    desk = Desk(path=tmp_path / "chat.db")
    sent = desk.waiting()

    def child() -> bool:
        if ends == "after use":
            return desk.card(sent.conversation) is not None
        if ends == "with an exception":
            raise SystemExit(3)
        return True

    assert in_a_fork(child) == (3 if ends == "with an exception" else 0)
    assert desk.decide(sent.conversation).status is RunStatus.COMPLETED
    with sqlite3.connect(tmp_path / "chat.db") as file:
        assert file.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    file.close()
    assert len(desk.texts(sent.conversation)) == 2


@FORK
@pytest.mark.process
def test_parent_and_child_decide_on_one_card_once(tmp_path: Path) -> None:
    """(P5, P7) Both hold the same chat and press at once: one execution."""
    path = tmp_path / "side"

    def execute(arguments: Any, context: Any) -> str:
        with path.open("a") as side:
            side.write("x")
        return "Saved."

    desk = Desk(call("pay", title="1"), "Paid.", path=tmp_path / "chat.db", tools=[tool_of("pay", execute)])
    sent = desk.waiting()
    card = desk.card(sent.conversation)
    outcomes: list[object] = []
    pressing = threading.Thread(target=lambda: outcomes.append(desk.decide(sent.conversation, card=card).outcome))

    def child() -> bool:
        desk.decide(sent.conversation, card=card)
        return True

    pressing.start()
    status = in_a_fork(child)
    pressing.join(PATIENCE)

    assert status == 0
    assert path.read_text() == "x"
