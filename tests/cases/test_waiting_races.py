"""
What races with a card that waits: decisions, requests, reloads, a store that is gone.
"""

import sqlite3
import threading
from pathlib import Path

import pytest

from nr_agent_core import (
    NoticeCode,
    ReplyCode,
    RunReason,
    RunStatus,
    SendOutcome,
    StoreError,
)
from nr_agent_core.adapters.sqlite import SqliteStore
from nr_agent_core.testing.scripted_model import call
from tests.cases.desk import ANNA, Desk, tool_of


def test_while_an_approved_call_runs_every_message_is_busy(tmp_path: Path) -> None:
    """(C3, C6) One execution under way, no second one, nothing stored; decided here or elsewhere."""
    entered, leave = threading.Event(), threading.Event()
    executions = []

    def slow(arguments: object, context: object) -> str:
        executions.append(1)
        entered.set()
        assert leave.wait(30)
        return "Booked."

    desk = Desk(call("book", title="trip"), "It is booked.", tools=[tool_of("book", slow)], path=tmp_path / "chat.db")
    sent = desk.waiting()
    digest = desk.card(sent.conversation).digest
    deciding = threading.Thread(target=desk.chat.runtime.decide, args=(sent.run_id, "approve"),
                                kwargs={"digest": digest, "by": "boss"})  # fmt: skip
    deciding.start()
    assert entered.wait(30)
    try:
        messages = ["go ahead", "weiter", "I have answered that already", "Something else entirely", "ok"]
        got = [desk.chat.send(text, ANNA, conversation=sent.conversation) for text in messages]
        again = desk.decide(sent.conversation, card=digest)
    finally:
        leave.set()
        deciding.join(30)

    assert [(answer.outcome, answer.code) for answer in got] == [(SendOutcome.BUSY, ReplyCode.CONVERSATION_BUSY)] * len(
        messages
    )
    assert again.code is ReplyCode.ALREADY_DECIDED
    assert executions == [1]
    # The decision from elsewhere is delivered once, and no second card stands for it.
    assert desk.card(sent.conversation) is None
    assert desk.texts(sent.conversation)[-1] == "It is booked."
    assert desk.codes(sent.conversation).count(NoticeCode.RUN_FINISHED_OUTSIDE.value) == 1


def test_one_press_is_one_step(tmp_path: Path) -> None:
    """(P7, A1) Two equal steps of one run: pressing twice approves the first, the second has a card of its own."""
    desk = Desk(call("publish", title="x"), call("publish", title="x"), "Both are out.", path=tmp_path / "chat.db")
    sent = desk.waiting()
    first = desk.card(sent.conversation)

    presses = [desk.decide(sent.conversation, card=first) for _ in range(3)]

    assert [press.outcome for press in presses] == [SendOutcome.ACCEPTED, SendOutcome.REFUSED, SendOutcome.REFUSED]
    assert desk.published == ["x"]
    assert desk.card(sent.conversation).digest != first.digest


@pytest.mark.parametrize("attempt", range(8))
def test_a_decision_and_a_new_request_race(tmp_path: Path, attempt: int) -> None:
    """(C6, R3) Either the approval counts, once, or the request replaced it: never both, and no text is lost."""
    desk = Desk(path=tmp_path / "chat.db")
    sent = desk.waiting()
    card, barrier, got = desk.card(sent.conversation), threading.Barrier(2), {}

    def at_once(name: str, act: object) -> None:
        barrier.wait()
        got[name] = act()  # type: ignore[operator]

    new = "Rather something quite different"
    racers = [
        threading.Thread(target=at_once, args=("decision", lambda: desk.decide(sent.conversation, card=card))),
        threading.Thread(
            target=at_once, args=("message", lambda: desk.chat.send(new, ANNA, conversation=sent.conversation))
        ),
    ]
    for racer in racers if attempt % 2 else reversed(racers):
        racer.start()
    for racer in racers:
        racer.join(60)

    ended = desk.chat.runtime.status(sent.run_id, "anna")
    decided = got["decision"].outcome is SendOutcome.ACCEPTED
    assert len(desk.published) == (1 if decided else 0)
    assert (ended.status is RunStatus.COMPLETED) is decided
    assert (ended.reason is RunReason.SUPERSEDED) is not decided
    assert (got["message"].outcome is SendOutcome.ACCEPTED) is (new in desk.texts(sent.conversation))


def test_many_messages_at_once_are_answered_one_at_a_time(tmp_path: Path) -> None:
    """(O1) Eight windows send into one conversation: those accepted are there once, those refused were told so."""
    desk = Desk(path=tmp_path / "chat.db", tools=[])
    desk.model._otherwise = "Noted."  # type: ignore[attr-defined]
    conversation = desk.chat.send("Hello there", ANNA).conversation
    barrier, got = threading.Barrier(8), []

    def send(number: int) -> None:
        barrier.wait()
        got.append((f"message {number}", desk.chat.send(f"message {number}", ANNA, conversation=conversation)))

    windows = [threading.Thread(target=send, args=(number,)) for number in range(8)]
    for window in windows:
        window.start()
    for window in windows:
        window.join(60)

    accepted = sorted(text for text, sent in got if sent.outcome is SendOutcome.ACCEPTED)
    assert {sent.outcome for _, sent in got} <= {SendOutcome.ACCEPTED, SendOutcome.BUSY}
    stored = sorted(text for text in desk.texts(conversation) if text.startswith("message"))
    assert stored == accepted
    assert len(got) == 8


def test_a_card_survives_a_reload(tmp_path: Path) -> None:
    """(R2, R5) Another process over the same file shows the same card, id and digest included."""
    path = tmp_path / "chat.db"
    desk = Desk(path=path)
    sent = desk.waiting()
    before = desk.card(sent.conversation)

    after = Desk(path=path)

    card = after.card(sent.conversation)
    assert (card.run_id, card.digest, card.calls) == (before.run_id, before.digest, before.calls)
    assert after.decide(sent.conversation, card=before).status is RunStatus.COMPLETED
    assert (desk.published, len(after.published)) == ([], 1)


def test_a_decision_while_the_store_is_gone_can_be_given_again(tmp_path: Path) -> None:
    """(R3) A decision that could not be stored was not taken; the card stands."""
    path = tmp_path / "chat.db"
    desk = Desk(store=SqliteStore(path, busy_timeout=0.05))
    sent = desk.waiting()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    with pytest.raises(StoreError):
        desk.decide(sent.conversation)
    other.execute("ROLLBACK")
    other.close()

    assert desk.published == []
    assert desk.decide(sent.conversation).status is RunStatus.COMPLETED
    assert len(desk.published) == 1
