"""
The execution table through workers: how often a side effect happens, and what becomes of its run.
"""

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import attrs
import pytest

from nr_agent_core import ConversationStatus, Outcome, RunReason, RunStatus, SendOutcome, ToolEffect, Wrote
from nr_agent_core.domain.errors import AgentCoreError
from nr_agent_core.testing.contracts.queue_site import wait_until
from tests.processes.host import ANNA, PATIENCE, SPAWN, start, wait_for, wait_until_stopped
from tests.processes.queue_host import (
    QueueHost,
    Worker,
    approved,
    command,
    paused,
    sent,
    settled,
    until,
    wiring_module,
    work,
)

pytestmark = pytest.mark.process

IDEMPOTENT, HARMFUL = ToolEffect.IDEMPOTENT_WRITE, ToolEffect.NON_IDEMPOTENT_WRITE
WRITES = pytest.mark.parametrize("effect", [IDEMPOTENT, HARMFUL], ids=lambda effect: effect.value)
MOMENTS = pytest.mark.parametrize("moment", ["before", "after"])
LATER = 1000.0
ROOT = Path(__file__).resolve().parents[2]


def notices(host: QueueHost, conversation: str) -> list[str]:
    """The codes of all notices of a conversation."""
    chat = host.chat()
    view = chat.view(conversation, ANNA)
    chat.close()
    return [notice.code.value for message in view.messages for notice in message.notices]


def test_a_queued_message_is_driven_by_another_process(host: QueueHost) -> None:
    """(R6, O1) Accepted as queued, shown as processing; a worker drives it to its pause, and on after the decision."""
    chat = host.chat()
    answer = chat.send("Create a page 'Team'.", ANNA, queued=True)
    assert (answer.outcome, answer.status) == (SendOutcome.ACCEPTED, RunStatus.QUEUED)
    assert answer.run_id is not None
    before = chat.view(answer.conversation, ANNA)

    with Worker(host):
        wait_until(lambda: chat.view(answer.conversation, ANNA).card is not None)
        decided = chat.decide(answer.conversation, "approve", card=chat.view(answer.conversation, ANNA).card, by=ANNA)
        settled(host, answer.run_id)

    assert before.status is ConversationStatus.PROCESSING
    assert (decided.outcome, decided.status) == (SendOutcome.ACCEPTED, RunStatus.QUEUED)
    assert len(host.executions()) == 1
    after = chat.view(answer.conversation, ANNA)
    assert (after.status, len(after.messages)) == (ConversationStatus.IDLE, 2)
    assert notices(host, answer.conversation) == []
    assert [event.kind for event in events(host, answer.run_id)] == [
        "started", "claimed", "model", "approval_requested", "approval", "claimed", "tool_started", "tool", "model",
        "completed",
    ]  # fmt: skip
    chat.close()


def events(host: QueueHost, run_id: str) -> list[Any]:
    """The run's stream."""
    chat = host.chat()
    stream = [stored.event for stored in chat.runtime.segments.store.events(run_id)]
    chat.close()
    return stream


@WRITES
@MOMENTS
def test_killed_around_the_effect(host: QueueHost, effect: ToolEffect, moment: str) -> None:
    """(P5, R7) A harmful write ends unknown and is said so; an idempotent one is repeated with its key."""
    host = attrs.evolve(host, effect=effect)
    conversation, run_id = paused(host)
    approved(host, conversation)
    dying = start(work, attrs.evolve(host, **{moment: "SIGKILL"}), "dying")
    dying.join(PATIENCE)
    assert dying.exitcode == -signal.SIGKILL
    happened = 1 if moment == "after" else 0
    assert len(host.executions()) == happened

    with Worker(attrs.evolve(host, shift=LATER), "later"):
        settled(host, run_id)

    run = host.run(run_id)
    if effect is HARMFUL:
        assert (run.status, run.reason) == (RunStatus.FAILED, RunReason.WRITE_OUTCOME_UNKNOWN)
        assert run.evidence.wrote is Wrote.CANNOT_TELL
        assert "writeOutcomeUnknown" in notices(host, conversation)
        assert len(host.executions()) == happened
    else:
        assert run.status is RunStatus.COMPLETED
        assert len(host.executions()) == happened + 1
        assert len(set(host.executions())) == 1


def test_killed_between_an_outcome_and_the_next_question(host: QueueHost) -> None:
    """(R7) What is stored is not done again: the next worker asks on."""
    conversation, run_id = paused(host)
    approved(host, conversation)
    dying = start(work, attrs.evolve(host, dies_asking=True), "dying")
    dying.join(PATIENCE)
    assert dying.exitcode == -signal.SIGKILL

    with Worker(attrs.evolve(host, shift=LATER), "later"):
        settled(host, run_id)

    run = host.run(run_id)
    assert (run.status, run.evidence.wrote) == (RunStatus.COMPLETED, Wrote.YES)
    assert len(host.executions()) == 1
    assert notices(host, conversation) == []


@MOMENTS
def test_cancelled_from_another_process_while_a_worker_is_at_work(host: QueueHost, moment: str) -> None:
    """(R9) The worker is refused at its next append, stores the outcome late, and takes the next run."""
    conversation, run_id = paused(host)
    approved(host, conversation)
    with Worker(attrs.evolve(host, **{moment: "SIGSTOP"}), "stopped") as worker:
        wait_until_stopped(worker.process)
        chat = host.chat()

        answer = chat.cancel(conversation, ANNA)
        before = host.run(run_id)
        os.kill(worker.process.pid, signal.SIGCONT)
        until(host, lambda run: not run.evidence.open_calls, run_id)

        following = chat.send("And another page.", ANNA, conversation=conversation, queued=True)
        assert following.run_id is not None
        until(host, lambda run: run.request is not None, following.run_id)

    after = host.run(run_id)
    assert answer.status is RunStatus.CANCELLED
    assert before.evidence.wrote is Wrote.CANNOT_TELL
    assert (after.status, after.evidence.wrote) == (RunStatus.CANCELLED, Wrote.YES)
    assert len(host.executions()) == 1
    chat.close()


@WRITES
@MOMENTS
def test_a_worker_that_was_overtaken_settles_nothing(host: QueueHost, effect: ToolEffect, moment: str) -> None:
    """(R3, R7) It wakes after a takeover; its outcome is kept as late outcome, or adds nothing."""
    host = attrs.evolve(host, effect=effect)
    conversation, run_id = paused(host)
    approved(host, conversation)
    with Worker(attrs.evolve(host, **{moment: "SIGSTOP"}), "zombie") as zombie:
        wait_until_stopped(zombie.process)
        with Worker(attrs.evolve(host, shift=LATER), "later"):
            settled(host, run_id)
        stream = events(host, run_id)
        os.kill(zombie.process.pid, signal.SIGCONT)

    now = events(host, run_id)
    if effect is HARMFUL:
        assert now[:-1] == stream
        assert (now[-1].kind, now[-1].late, now[-1].outcome) == ("tool", True, Outcome.TEXT)
        assert (host.run(run_id).status, host.run(run_id).evidence.wrote) == (RunStatus.FAILED, Wrote.YES)
        assert len(host.executions()) == 1
    else:
        assert now == stream
        assert (len(host.executions()), len(set(host.executions()))) == (2, 1)
    chat = host.chat()
    assert len(chat.view(conversation, ANNA).messages) == 2
    chat.close()


def test_two_workers_race_and_each_write_happens_once(host: QueueHost) -> None:
    """(P5) Whoever is brought a run first takes it; nobody executes what another one does."""
    runs = [sent(host) for _ in range(6)]
    with Worker(host, "one"), Worker(host, "two"):
        for conversation, run_id in runs:
            until(host, lambda run: run.request is not None, run_id)
            approved(host, conversation)
        settled(host, *(run_id for _, run_id in runs))

    assert {host.run(run_id).status for _, run_id in runs} == {RunStatus.COMPLETED}
    assert (len(host.executions()), len(set(host.executions()))) == (6, 6)


def race_to_decide(host: QueueHost, run_id: str, digest: str, barrier: Any, answers: Any) -> None:
    """In another process: approve from outside."""
    chat = host.chat()
    chat.runtime.status(run_id, "boss")
    barrier.wait()
    try:
        answers.put(("decided", chat.runtime.decide(run_id, "approve", digest=digest, by="boss").status.value))
    except AgentCoreError as error:
        answers.put(("refused", getattr(getattr(error, "code", None), "value", type(error).__name__)))
    chat.close()


def race_to_supersede(host: QueueHost, conversation: str, barrier: Any, answers: Any) -> None:
    """In another process: send something else instead."""
    chat = host.chat()
    chat.view(conversation, ANNA)
    barrier.wait()
    answer = chat.send("Something else, please.", ANNA, conversation=conversation, queued=True)
    answers.put(("sent", answer.outcome.value))
    chat.close()


@pytest.mark.parametrize("attempt", range(2))
def test_a_message_supersedes_while_somebody_decides(host: QueueHost, attempt: int) -> None:
    """(C6, P7) One of the two wins, and the other one is told: never both, never a write that was superseded."""
    conversation, run_id = paused(host)
    request = host.run(run_id).request
    assert request is not None
    barrier, answers = SPAWN.Barrier(2), SPAWN.Queue()
    with Worker(host):
        racers = [
            start(race_to_decide, host, run_id, request.digest, barrier, answers),
            start(race_to_supersede, host, conversation, barrier, answers),
        ]
        got = dict(answers.get(timeout=PATIENCE) for _ in racers)
        for racer in racers:
            racer.join(PATIENCE)
        settled(host, run_id)

    run = host.run(run_id)
    if "decided" in got:
        # Whoever came second found it at work, or done already.
        assert run.status is RunStatus.COMPLETED
        assert got["sent"] in ("busy", "accepted", "delivered")
        assert len(host.executions()) == 1
    else:
        assert got == {"refused": "superseded", "sent": "accepted"}
        assert (run.status, run.reason) == (RunStatus.CANCELLED, RunReason.SUPERSEDED)
        assert host.executions() == []


# ---------------------------------------------------------------------------------- the command


def started(host: QueueHost, *options: str) -> subprocess.Popen[bytes]:
    """The command of a worker, in a process of its own."""
    wiring_module(host)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    words = command("site_wiring:chat", "--threads", "2", "--look-every", "0.1", *options)
    return subprocess.Popen(words, cwd=host.folder, env=environment, stderr=subprocess.PIPE)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_the_command_in_order(host: QueueHost, number: int) -> None:
    """(R6) The call in hand is waited for and stored; the run is queued again, and another worker goes on."""
    gate = host.folder / "gate"
    conversation, run_id = paused(host)
    approved(host, conversation)
    process = started(attrs.evolve(host, outlasts=gate))
    wait_for(host.side)

    process.send_signal(number)
    # Told, and not ended: the tool is at work.
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.3)
    gate.touch()
    _, said = process.communicate(timeout=PATIENCE)

    assert process.returncode == 0, said
    run = host.run(run_id)
    assert (run.status, run.evidence.wrote) == (RunStatus.QUEUED, Wrote.YES)
    assert [event.kind for event in events(host, run_id)][-2:] == ["tool", "requeued"]
    with Worker(host, "next"):
        settled(host, run_id)
    assert host.run(run_id).status is RunStatus.COMPLETED
    assert len(host.executions()) == 1
    assert notices(host, conversation) == []


def test_a_second_signal_ends_the_command_at_once(host: QueueHost) -> None:
    """Whoever asks twice does not wait for a tool; the run is left to its lease, and recovered as ever (R7)."""
    conversation, run_id = paused(host)
    approved(host, conversation)
    process = started(attrs.evolve(host, outlasts=host.folder / "never"))
    wait_for(host.side)

    def ended() -> bool:
        # One that comes while another is not delivered yet is lost: asked until it ends.
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        return process.poll() is not None

    wait_until(ended)
    process.communicate()

    assert process.returncode == 128 + signal.SIGTERM
    assert host.run(run_id).intent is not None
    with Worker(attrs.evolve(host, shift=LATER), "later"):
        settled(host, run_id)
    assert host.run(run_id).reason is RunReason.WRITE_OUTCOME_UNKNOWN
    assert len(host.executions()) == 1
