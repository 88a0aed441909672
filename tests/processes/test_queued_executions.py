"""
The execution table with a queue in between: whoever sends or decides is one process, whoever executes is another one.
"""

import os
import signal
from typing import Any

import attrs
import psycopg
import pytest

from nr_agent_core import RunStatus, SendOutcome, Wrote
from nr_agent_core.domain.errors import DecisionRefusedError
from nr_agent_core.testing.contracts.queue_site import wait_until
from tests.processes.host import ANNA, PATIENCE, SPAWN, start
from tests.processes.queue_host import QueueHost, Worker, approved, paused, settled, until

pytestmark = pytest.mark.process


def hand_over(host: QueueHost, run_id: str, digest: str, barrier: Any, answers: Any) -> None:
    """In another process: approve from outside, and leave the rest to a worker."""
    chat = host.chat()
    chat.runtime.status(run_id, "boss")
    barrier.wait()
    try:
        answers.put(("done", chat.runtime.decide(run_id, "approve", digest=digest, by="boss").status.value))
    except DecisionRefusedError as refused:
        answers.put(("refused", getattr(refused.code, "value", "")))
    chat.close()


def test_several_processes_hand_one_decision_over(host: QueueHost) -> None:
    """(P5, P7, R3) One is accepted, the others are refused, and of two workers one executes, once."""
    _, run_id = paused(host)
    request = host.run(run_id).request
    assert request is not None
    barrier, answers = SPAWN.Barrier(4), SPAWN.Queue()
    crew = [Worker(host, name) for name in ("one", "two")]

    racers = [start(hand_over, host, run_id, request.digest, barrier, answers) for _ in range(4)]
    got = sorted(answers.get(timeout=PATIENCE) for _ in racers)
    for racer in racers:
        racer.join(PATIENCE)
    settled(host, run_id)
    for worker in crew:
        worker.stop()

    assert got[0] == ("done", "queued")
    assert [kind for kind, _ in got[1:]] == ["refused"] * 3
    assert {code for _, code in got[1:]} <= {"alreadyDecided", "staleDecision"}
    assert len(host.executions()) == 1
    assert host.run(run_id).status is RunStatus.COMPLETED


def test_a_card_that_was_handed_over_is_used_up(host: QueueHost) -> None:
    """(P7) Also before a worker took it: the same card again is refused, and executed once."""
    conversation, run_id = paused(host)
    chat = host.chat()
    card = chat.view(conversation, ANNA).card

    first = chat.decide(conversation, "approve", card=card, by=ANNA)
    again = [chat.decide(conversation, choice, card=card, by=ANNA) for choice in ("approve", "deny")]
    with Worker(host):
        settled(host, run_id)
    later = chat.decide(conversation, "approve", card=card, by=ANNA)
    chat.close()

    assert (first.outcome, first.status) == (SendOutcome.ACCEPTED, RunStatus.QUEUED)
    assert [sent.code.value for sent in (*again, later) if sent.code] == ["alreadyDecided"] * 3
    assert len(host.executions()) == 1


def row_status(host: QueueHost, run_id: str) -> RunStatus:
    """What a run's row says of it."""
    chat = host.chat()
    row = chat.runtime.segments.store.run_row(run_id)
    chat.close()
    assert row is not None
    return row.status


def test_arguments_changed_behind_a_decision_are_not_executed(host: QueueHost) -> None:
    """(P7, A2) The worker executes what the card showed, or nothing."""
    conversation, run_id = paused(host)
    approved(host, conversation)
    assert host.tamper("Team", "Evil") == 1

    with Worker(host):
        # Its stream cannot be read: its row says that it is over.
        wait_until(lambda: row_status(host, run_id).settled)

    assert row_status(host, run_id) is RunStatus.FAILED
    assert host.executions() == []


def test_a_tool_that_raises_after_writing_on_a_worker_is_unknown(host: QueueHost) -> None:
    """(T4) Never an error that promises nothing was written, never repeated by the queue."""
    conversation, run_id = paused(host)
    approved(host, conversation)

    with Worker(attrs.evolve(host, fails=True)):
        settled(host, run_id)

    run = host.run(run_id)
    assert (run.status, run.evidence.wrote) == (RunStatus.COMPLETED, Wrote.CANNOT_TELL)
    assert len(host.executions()) == 1


def test_a_tool_that_outlasts_its_deadline_on_a_worker(host: QueueHost) -> None:
    """(T4, R7) Unknown until it ends; the worker stores what it brings, although its run is over."""
    gate = host.folder / "gate"
    conversation, run_id = paused(host)
    approved(host, conversation)

    with Worker(attrs.evolve(host, outlasts=gate, deadline=0.2)):
        settled(host, run_id)
        before = host.run(run_id)
        gate.touch()
        until(host, lambda run: not run.evidence.open_calls, run_id)

    after = host.run(run_id)
    assert (before.status, before.evidence.wrote) == (RunStatus.COMPLETED, Wrote.CANNOT_TELL)
    assert (after.status, after.evidence.wrote) == (RunStatus.COMPLETED, Wrote.YES)
    assert len(host.executions()) == 1


def send_and_die(host: QueueHost, conversation: str, moment: str) -> None:
    """In another process: queue a message, where possible in a transaction of one's own, and die around its commit."""
    chat = host.chat()
    if host.dsn is None:
        chat.send("Create a page 'Team'.", ANNA, conversation=conversation, queued=True)
    else:
        connection = psycopg.connect(host.dsn)
        chat.send("Create a page 'Team'.", ANNA, conversation=conversation, queued=True, connection=connection)
        if moment == "after":
            connection.commit()
    os.kill(os.getpid(), signal.SIGKILL)


def died(host: QueueHost, conversation: str, moment: str) -> None:
    """Have a sender die."""
    dying = start(send_and_die, host, conversation, moment)
    dying.join(PATIENCE)
    assert dying.exitcode == -signal.SIGKILL


def test_a_sender_dies_after_its_commit(host: QueueHost) -> None:
    """(R6) What was committed is driven although its sender is gone."""
    chat = host.chat()
    conversation = chat.open(ANNA)
    died(host, conversation, "after")

    with Worker(host):
        wait_until(lambda: chat.view(conversation, ANNA).card is not None)

    assert [message.text for message in chat.view(conversation, ANNA).messages] == ["Create a page 'Team'."]
    assert host.executions() == []
    chat.close()


@pytest.mark.parametrize("host", ["postgres"], indirect=True)
def test_a_sender_dies_before_its_commit(host: QueueHost) -> None:
    """(R6) Neither message nor run nor job is anywhere, and the conversation is free."""
    chat = host.chat()
    conversation = chat.open(ANNA)
    died(host, conversation, "before")

    with Worker(host):
        # The dead one's transaction is over once somebody else may write there.
        sent = chat.send("Another one.", ANNA, conversation=conversation)

    assert (sent.outcome, sent.status) == (SendOutcome.ACCEPTED, RunStatus.WAITING_FOR_APPROVAL)
    assert [message.text for message in chat.view(conversation, ANNA).messages] == ["Another one."]
    assert host.executions() == []
    chat.close()
