"""
How often a side effect happens, with real processes on one store. One is right everywhere.
"""

import os
import signal

import attrs
import pytest

from nr_agent_core import Outcome, RunReason, RunStatus, SendOutcome, StoredFormError, ToolEffect, Wrote
from tests.processes.host import (
    ANNA,
    PATIENCE,
    SPAWN,
    Host,
    decide,
    recover,
    start,
    suspended,
    wait_for,
    wait_until_stopped,
)

pytestmark = pytest.mark.process

IDEMPOTENT, HARMFUL = ToolEffect.IDEMPOTENT_WRITE, ToolEffect.NON_IDEMPOTENT_WRITE
WRITES = pytest.mark.parametrize("effect", [IDEMPOTENT, HARMFUL], ids=lambda effect: effect.value)
MOMENTS = pytest.mark.parametrize("moment", ["before", "after"])
LATER = 1000.0


def labels(host: Host, conversation: str) -> list[str]:
    """The codes of all notices of a conversation, as a reader sees them."""
    chat = host.chat()
    view = chat.view(conversation, ANNA)
    chat.close()
    return [notice.code.value for message in view.messages for notice in message.notices]


def test_paused_in_one_process_approved_in_another(base: Host) -> None:
    """(P5, R2) The stored run is all that a second process needs."""
    host = base
    conversation, run_id, digest = suspended(host)
    answers = SPAWN.Queue()

    process = start(decide, host, run_id, digest, "anna", None, answers)

    assert answers.get(timeout=PATIENCE) == ("done", "completed")
    process.join(PATIENCE)
    assert len(host.executions()) == 1
    assert host.run(run_id).evidence.wrote is Wrote.YES
    assert labels(host, conversation) == ["runFinishedOutside"]


def test_a_card_is_used_once(base: Host) -> None:
    """(P7) The same card again is refused with what is so now."""
    host = base
    conversation, _, digest = suspended(host)
    chat = host.chat()

    first = chat.decide(conversation, "approve", card=digest, by=ANNA)
    again = chat.decide(conversation, "approve", card=digest, by=ANNA)
    denied = chat.decide(conversation, "deny", card=digest, by=ANNA)

    assert first.outcome is SendOutcome.ACCEPTED
    assert [sent.code.value for sent in (again, denied) if sent.code] == ["alreadyDecided", "alreadyDecided"]
    assert len(host.executions()) == 1
    chat.close()


@pytest.mark.parametrize("attempt", range(3))
def test_six_processes_decide_at_once(base: Host, attempt: int) -> None:
    """(P5, P7, R3) One executes, five are refused with a code."""
    host = base
    _, run_id, digest = suspended(host)
    barrier, answers = SPAWN.Barrier(6), SPAWN.Queue()

    racers = [start(decide, host, run_id, digest, "anna", barrier, answers) for _ in range(6)]
    got = sorted(answers.get(timeout=PATIENCE) for _ in racers)
    for racer in racers:
        racer.join(PATIENCE)

    assert got[0] == ("done", "completed")
    assert [kind for kind, _ in got[1:]] == ["refused"] * 5
    assert {code for _, code in got[1:]} <= {"alreadyDecided", "staleDecision"}
    assert len(host.executions()) == 1


@WRITES
@MOMENTS
def test_killed_around_the_effect(base: Host, effect: ToolEffect, moment: str) -> None:
    """(R7) A harmful write ends unknown and is said so; an idempotent one is repeated with its key."""
    host = attrs.evolve(base, effect=effect)
    conversation, run_id, digest = suspended(host)
    dying = attrs.evolve(base, effect=effect, **{moment: "SIGKILL"})
    process = start(decide, dying, run_id, digest, "anna", None, None)
    process.join(PATIENCE)
    assert process.exitcode == -signal.SIGKILL
    happened = 1 if moment == "after" else 0
    assert len(host.executions()) == happened

    chat = host.chat()
    busy = chat.send("go on", ANNA, conversation=conversation)
    chat.close()
    later = attrs.evolve(base, effect=effect, shift=LATER).chat()
    result = later.runtime.recover(run_id)
    later.close()

    assert busy.outcome is SendOutcome.BUSY
    if effect is HARMFUL:
        assert (result.status, result.reason) == (RunStatus.FAILED, RunReason.WRITE_OUTCOME_UNKNOWN)
        assert result.evidence.wrote is Wrote.CANNOT_TELL
        assert "writeOutcomeUnknown" in labels(host, conversation)
        assert len(host.executions()) == happened
    else:
        assert result.status is RunStatus.COMPLETED
        assert len(host.executions()) == happened + 1
        assert len(set(host.executions())) == 1


def test_six_processes_recover_at_once(base: Host) -> None:
    """(R3, R8) A takeover is an append: one process takes it, the others store nothing."""
    host = attrs.evolve(base, effect=IDEMPOTENT)
    _, run_id, digest = suspended(host)
    dying = attrs.evolve(base, effect=IDEMPOTENT, after="SIGKILL")
    start(decide, dying, run_id, digest, "anna", None, None).join(PATIENCE)
    barrier, answers = SPAWN.Barrier(6), SPAWN.Queue()

    later = attrs.evolve(base, effect=IDEMPOTENT, shift=LATER)
    racers = [start(recover, later, run_id, barrier, answers) for _ in range(6)]
    got = [answers.get(timeout=PATIENCE) for _ in racers]
    for racer in racers:
        racer.join(PATIENCE)

    assert ("done", "completed") in got
    assert {answer for answer in got if answer[0] == "error"} <= {
        ("error", "StaleAppendError"),
        ("error", "LeaseHeldError"),
    }
    assert len(host.executions()) == 2
    assert len(set(host.executions())) == 1


def test_arguments_changed_in_the_store_are_refused(base: Host) -> None:
    """(P7, A2) A decision is for exactly the calls of its card; others are never executed under it."""
    host = base
    conversation, run_id, digest = suspended(host)
    changed = host.tamper("Team", "Evil")
    assert changed == 1
    chat = host.chat()

    with pytest.raises(StoredFormError):
        chat.decide(conversation, "approve", card=digest, by=ANNA)

    assert host.executions() == []
    assert host.run(run_id).status is RunStatus.WAITING_FOR_APPROVAL
    chat.close()


@pytest.mark.parametrize("text", ["weiter", "ok", "approve it", "habe alles freigegeben", "yes", "gib frei"])
def test_words_while_an_approval_waits_create_nothing(base: Host, text: str) -> None:
    """(P6, C2) Text is never consent, and no request to draft again either."""
    host = base
    conversation, run_id, _ = suspended(host)
    chat = host.chat()
    before = chat.view(conversation, ANNA)

    sent = chat.send(text, ANNA, conversation=conversation)

    assert (sent.outcome, sent.run_id) == (SendOutcome.HELD, run_id)
    assert chat.view(conversation, ANNA) == before
    assert host.executions() == []
    chat.close()


def test_a_tool_that_raises_after_writing_is_unknown(base: Host) -> None:
    """(T4) Never an error that promises nothing was written, never nothingSaved, never repeated."""
    host = attrs.evolve(base, fails=True)
    conversation, run_id, digest = suspended(host)
    chat = host.chat()

    chat.decide(conversation, "approve", card=digest, by=ANNA)

    run = host.run(run_id)
    assert run.status is RunStatus.COMPLETED
    assert run.evidence.wrote is Wrote.CANNOT_TELL
    assert labels(host, conversation) == ["writeOutcomeUnknown"]
    assert len(host.executions()) == 1
    chat.close()


def test_a_tool_that_outlasts_its_deadline_is_unknown_until_it_ends(base: Host) -> None:
    """(T4, R7) The run goes on with unknown; what the call brings later is stored and announced."""
    gate = base.folder / "gate"
    host = attrs.evolve(base, outlasts=gate, deadline=0.2)
    conversation, run_id, digest = suspended(host)
    chat = host.chat()

    chat.decide(conversation, "approve", card=digest, by=ANNA)
    before = host.run(run_id)
    gate.touch()
    chat.close(wait=PATIENCE)

    assert before.status is RunStatus.COMPLETED
    assert before.evidence.wrote is Wrote.CANNOT_TELL
    assert labels(host, conversation) == ["writeOutcomeUnknown"]
    wait_until_known(host, run_id)
    after = host.run(run_id)
    assert after.evidence.wrote is Wrote.YES
    assert [str(write) for write in after.evidence.records] == ["pages:42 (created)"]
    assert (after.status, after.reason) == (before.status, before.reason)
    assert len(host.executions()) == 1


def wait_until_known(host: Host, run_id: str) -> None:
    """Until the late outcome of the run's call is stored."""
    import time

    end = time.monotonic() + PATIENCE
    while host.run(run_id).evidence.open_calls:
        assert time.monotonic() < end, "the late outcome never came"
        time.sleep(0.01)


@WRITES
@MOMENTS
def test_stopped_overtaken_and_woken(base: Host, effect: ToolEffect, moment: str) -> None:
    """(R3, R7) A worker that wakes after a takeover settles nothing; its outcome is kept as late outcome."""
    host = attrs.evolve(base, effect=effect)
    conversation, run_id, digest = suspended(host)
    answers = SPAWN.Queue()
    zombie = start(
        decide, attrs.evolve(base, effect=effect, **{moment: "SIGSTOP"}), run_id, digest, "anna", None, answers
    )
    wait_until_stopped(zombie)

    early = host.chat()
    with pytest.raises(Exception, match="its lease stands"):
        early.runtime.recover(run_id)
    early.close()
    later = attrs.evolve(base, effect=effect, shift=LATER).chat()
    end = later.runtime.recover(run_id)
    stream = later.runtime.segments.store.events(run_id)
    os.kill(zombie.pid, signal.SIGCONT)

    assert answers.get(timeout=PATIENCE)[0] == "done"
    zombie.join(PATIENCE)
    now = later.runtime.segments.store.events(run_id)
    later.close()
    if effect is HARMFUL:
        assert (end.reason, end.evidence.wrote) == (RunReason.WRITE_OUTCOME_UNKNOWN, Wrote.CANNOT_TELL)
        assert now[:-1] == stream
        assert (now[-1].event.kind, now[-1].event.late, now[-1].event.outcome) == ("tool", True, Outcome.TEXT)  # type: ignore[union-attr]
        after = host.run(run_id)
        assert (after.status, after.evidence.wrote) == (RunStatus.FAILED, Wrote.YES)
        assert len(host.executions()) == 1
    else:
        assert now == stream
        assert len(host.executions()) == 2
        assert len(set(host.executions())) == 1
    chat = host.chat()
    assert len(chat.view(conversation, ANNA).messages) == 2
    chat.close()


@MOMENTS
def test_cancelled_while_a_tool_runs(base: Host, moment: str) -> None:
    """(R9) Cancel is an append from any process; the tool in flight is recorded as late outcome."""
    host = base
    conversation, run_id, digest = suspended(host)
    answers = SPAWN.Queue()
    worker = start(decide, attrs.evolve(base, **{moment: "SIGSTOP"}), run_id, digest, "anna", None, answers)
    wait_until_stopped(worker)
    chat = host.chat()

    sent = chat.cancel(conversation, ANNA)
    before = host.run(run_id)
    os.kill(worker.pid, signal.SIGCONT)

    assert answers.get(timeout=PATIENCE) == ("done", "cancelled")
    worker.join(PATIENCE)
    after = host.run(run_id)
    assert sent.status is RunStatus.CANCELLED
    assert before.evidence.wrote is Wrote.CANNOT_TELL
    assert (after.status, after.evidence.wrote) == (RunStatus.CANCELLED, Wrote.YES)
    assert labels(host, conversation) == ["runEnded", "writeOutcomeUnknown"]
    assert len(host.executions()) == 1
    chat.close()


def test_a_tool_signal_reaches_only_its_own_process(base: Host) -> None:
    """The kit itself: a process that kills itself leaves what it did, and nothing more."""
    host = base
    _, run_id, digest = suspended(host)
    process = start(decide, attrs.evolve(base, after="SIGKILL"), run_id, digest, "anna", None, None)
    process.join(PATIENCE)

    assert process.exitcode == -signal.SIGKILL
    wait_for(host.side)
    assert host.run(run_id).intent is not None
