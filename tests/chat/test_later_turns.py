"""
Over time: what upkeep ends, what is left of a conversation, what later turns are told of earlier ones (O2, F5, M1-M5).
"""

from typing import Any

import pytest

from nr_agent_core import (
    LeaseHeldError,
    MessageRole,
    ProviderError,
    Reader,
    RunReason,
    RunStatus,
)
from nr_agent_core.testing.scripted_model import call, round_of
from tests.chat import standings as made
from tests.chat.standings import Maker
from tests.chat.world import ANNA, CREATE, LEASE, World, codes, digest_of, told

# -------------------------------------------------------------------------------------- O2: upkeep


def test_upkeep_does_what_is_due_and_nothing_else(world: World) -> None:
    """Expired leases, overdue queues, expired approvals; what waits or is at work stays (O2, R8)."""
    _, dead = made.running_expired(world)
    _, overdue = made.overdue(world)
    (chat, expiring), _ = made.expiring(world)
    _, waiting = made.waiting(world)
    _, queued = made.queued(world)
    _, at_work = made.running(world)
    (r_dead, r_overdue, r_expiring, r_waiting, r_queued, r_work) = world.runs()
    before = [world.row(run_id) for run_id in (r_waiting, r_queued, r_work)]

    report = chat.upkeep()

    assert set(report.recovered) == {r_dead, r_overdue}
    assert (report.expired, report.failed, report.left) == ((r_expiring,), (), ())
    assert [world.row(run_id) for run_id in (r_waiting, r_queued, r_work)] == before
    assert [world.messages(each)[-1].text for each in (dead, overdue)] == ["Gut.", "Gut."]
    assert chat.upkeep() == type(report)()
    assert expiring != waiting != queued != at_work


def test_upkeep_waits_five_minutes_for_workers(world: World) -> None:
    """Only then is a queued run its concern (O2, R8)."""
    chat, _ = made.queued(world)
    world.clock.advance(299.0)
    assert chat.upkeep().recovered == ()
    world.clock.advance(2.0)
    assert chat.upkeep().recovered == tuple(world.runs())


def test_upkeep_fails_what_cannot_be_read(world: World) -> None:
    """Failed, reason internal, code interrupted, told as a run that ended; the conversation goes on (O2)."""
    _, conversation = made.running_expired(world)
    (run_id,) = world.runs()
    world.damage(run_id)
    chat = world.chat("Gut.")

    report = chat.upkeep()

    row = world.row(run_id)
    assert report.failed == (run_id,)
    assert (row.status, row.reason, row.outside) == (RunStatus.FAILED, RunReason.INTERNAL, True)
    assert row.code is not None
    assert row.code.value == "interrupted"
    assert codes(world.messages(conversation)[-1])[0] == "runEnded"
    assert chat.send("Noch einmal.", ANNA, conversation=conversation).status is RunStatus.COMPLETED


def test_one_broken_run_keeps_no_other_waiting(world: World) -> None:
    """Whatever a model provider does (O2)."""
    made.running_expired(world)
    made.running_expired(world)
    world.clock.advance(LEASE)

    report = world.chat(ProviderError("down"), "Fertig.").upkeep()

    assert len(report.recovered) == 2
    assert {world.row(run_id).status for run_id in world.runs()} == {RunStatus.FAILED, RunStatus.COMPLETED}


def test_upkeep_takes_the_longest_overdue_first(world: World) -> None:
    """And no more than it may (O2)."""
    first, second = made.running_expired(world)[1], made.running_expired(world)[1]
    chat = world.chat(model_options={"otherwise": "Fertig."})

    assert chat.upkeep(limit=1).recovered == (world.runs()[0],)
    assert chat.upkeep(limit=1).recovered == (world.runs()[1],)
    assert first != second


def test_a_run_is_recovered_by_whoever_meets_it(world: World) -> None:
    """A message finds the dead run, drives it to its answer, and comes behind it (R8)."""
    _, conversation = made.running_expired(world)
    chat = world.chat("Fertig.", "Gut.")

    chat.send("Und?", ANNA, conversation=conversation)

    assert [message.text for message in world.messages(conversation)] == [
        "Lege eine Seite an.",
        "Fertig.",
        "Und?",
        "Gut.",
    ]


def test_nobody_takes_over_what_is_driven(world: World) -> None:
    """The lease stands: a typed error, nothing stored (R8)."""
    chat, _ = made.running(world)
    (run_id,) = world.runs()
    before = world.row(run_id)
    with pytest.raises(LeaseHeldError):
        chat.runtime.recover(run_id)
    assert world.row(run_id) == before


# --------------------------------------------------------------------------------- F5: what is left


@pytest.mark.parametrize("wrote", [False, True])
@pytest.mark.parametrize("way", ["failed", "cancelled", "superseded", "expired"])
def test_a_run_that_ends_without_an_answer_leaves_one_message(world: World, way: str, *, wrote: bool) -> None:
    """No text; how it ended, what was proposed, and what it had saved before (F5, V10)."""
    title = call("create_page", title="Kontakt")
    script: list[Any] = [CREATE, title] if wrote else [title]
    rules = {"approval_expiry": 60.0}
    chat = world.chat(*script, ProviderError("down"), model_options={"otherwise": "Gut."}, rules=rules)
    sent = chat.send("Los.", ANNA)
    conversation = sent.conversation
    if wrote:
        chat.decide(conversation, "approve", card=digest_of(world, sent.run_id), by=ANNA)
    if way == "failed":
        chat.decide(conversation, "deny", card=digest_of(world, sent.run_id), by=ANNA)
    elif way == "cancelled":
        chat.cancel(conversation, ANNA)
    elif way == "superseded":
        world.chat("Gut.", rules=rules).send("Etwas anderes.", ANNA, conversation=conversation)
    else:
        world.clock.advance(61.0)
        chat.upkeep()

    (ended,) = [message for message in world.messages(conversation) if "runEnded" in codes(message)]
    assert codes(ended) == ["runEnded", *(["savedBeforeEnd"] if wrote else [])]
    assert (ended.text, ended.run_id, ended.role) == ("", sent.run_id, MessageRole.ASSISTANT)
    arguments = ended.notices[0].arguments
    reasons = {"failed": "provider_failed", "expired": "approval_expired"}
    assert arguments["status"] == ("failed" if way == "failed" else "cancelled")
    assert arguments["reason"] == reasons.get(way, way)
    assert arguments["tools"] == ["create_page"]
    if wrote:
        assert ended.notices[1].arguments["records"] == [{"reference": "pages:42", "kind": "created"}]


# -------------------------------------------------------------------------- M: what later turns hold


def test_later_turns_hold_messages_with_notes_and_no_calls(world: World) -> None:
    """Records with their kind, notes on flagged answers; calls and results of earlier runs are gone (M1, M5)."""
    rules = {"unattended": ["create_page", "rename_page"]}
    chat = world.chat(
        round_of(CREATE, call("rename_page", title="Wir")), "Beides ist erledigt.",
        "Ich habe die Seite gelöscht.", "Und nun?",
        rules=rules,
    )  # fmt: skip
    sent = chat.send("Lege an und benenne um.", ANNA)
    chat.send("Lösche sie.", ANNA, conversation=sent.conversation)
    chat.send("Und?", ANNA, conversation=sent.conversation)

    request = world.model.requests[-1]
    assert [message.role for message in request.messages] == ["user", "assistant", "user", "assistant", "user"]
    assert all(not message.calls for message in request.messages)
    first, second = request.messages[1].text, request.messages[3].text
    assert first.startswith("Beides ist erledigt.")
    assert "pages:42 (created)" in first
    assert "pages:7 (updated)" in first
    assert second.startswith("Ich habe die Seite gelöscht.")
    assert "nothingSaved" in second
    assert world.messages(sent.conversation)[3].text == "Ich habe die Seite gelöscht."
    assert codes(world.messages(sent.conversation)[3]) == ["nothingSaved"]


def test_a_denied_call_is_told_on_later_turns(world: World) -> None:
    """One unstored line behind the answer of the run that went on, in every process (M4)."""
    chat, conversation = made.denied_here(world)
    chat.send("Und?", ANNA, conversation=conversation)
    assert "declined" in told(world)[1][1]
    assert "create_page" in told(world)[1][1]

    chat = world.chat("Gut.")
    chat.send("Und jetzt?", ANNA, conversation=conversation)
    assert "declined" in told(world)[1][1]
    assert "declined" not in world.messages(conversation)[1].text


def test_an_approved_call_is_not_told_as_denied(world: World) -> None:
    """Only what a person declined (M4)."""
    chat, conversation = made.approved_here(world)
    chat.send("Und?", ANNA, conversation=conversation)

    assert "declined" not in told(world)[1][1]
    assert "pages:42 (created)" in told(world)[1][1]


@pytest.mark.parametrize(
    ("maker", "words"),
    [
        (made.cancelled_here, ("reason=cancelled", "create_page")),
        (made.cancelled_outside, ("reason=cancelled", "create_page")),
        (made.expired, ("reason=approval_expired", "create_page")),
        (made.failed_outside, ("reason=provider_failed", "pages:42 (created)")),
        (made.approved_outside, ("decided outside this chat", "pages:42 (created)")),
        (made.denied_outside, ("decided outside this chat", "declined")),
        (made.given_up_in_upkeep, ("code=interrupted",)),
    ],
)
def test_the_model_is_told_how_the_last_run_ended(world: World, maker: Maker, words: tuple[str, ...]) -> None:
    """In the line of its message, language-neutral, built per turn (M1, M4, F5)."""
    chat, conversation = maker(world)
    chat.send("Und?", ANNA, conversation=conversation)

    line = told(world)[1]
    assert line[0] == "assistant"
    for word in words:
        assert word in line[1]


def test_a_delivery_is_told_by_its_records(world: World) -> None:
    """The line of C4 names them, or none (C4, M1)."""
    for maker, word in ((made.approved_outside, "pages:42 (created)"), (made.cancelled_outside, "none")):
        chat, conversation = maker(world)
        chat.send("weiter", ANNA, conversation=conversation)
        chat.send("Und?", ANNA, conversation=conversation)

        roles = [role for role, _ in told(world)]
        assert roles == ["user", "assistant", "user", "assistant", "user"]
        assert "ended outside this chat" in told(world)[3][1]
        assert word in told(world)[3][1]


def test_a_late_outcome_changes_what_is_told(world: World) -> None:
    """Unknown once, known now: label and note follow the stream (R7, M1)."""
    chat = world.chat(CREATE, "Angelegt.", rules={"unattended": ["create_page"]})
    conversation = chat.open(ANNA)
    other = world.chat()
    world.bus.subscribe(lambda _: other.cancel(conversation, ANNA))
    chat.send("Lege an.", ANNA, conversation=conversation)
    chat = world.chat("Gut.")
    chat.send("Und?", ANNA, conversation=conversation)

    line = told(world)[1][1]
    assert "known by now: carried out" in line
    assert "pages:42 (created)" in line


def test_the_readers_words_come_last_and_fenced(world: World) -> None:
    """Identity and rules, host's prompt, withheld tools, reader context, the reader's own wishes (M3)."""
    reader = Reader("anna", language="de", context="Redakteurin", instructions="Duze mich.")
    world.chat("Gut.", rules={"prompt": "HOST", "tools_off": ["create_page"]}).send("Hallo", reader)

    system = world.model.requests[0].system
    places = [system.index(word) for word in ("Claim a change", "HOST", "switched off", "Redakteurin", "Duze mich.")]
    assert places == sorted(places)
    assert system.rstrip().endswith("~~~~")


def test_a_decision_by_others_tells_the_model_nothing_of_them(world: World) -> None:
    """Whoever caused the segment, the prompt is for the owner (M3, P9)."""
    chat, sent = world.waiting("Gut.")
    by = Reader("dora", context="Chefin", instructions="Schrei mich an.")
    chat.runtime.decide(sent.run_id, "approve", digest=digest_of(world, sent.run_id), by=by)  # type: ignore[arg-type]

    system = world.model.requests[-1].system
    assert "Chefin" not in system
    assert "Schrei" not in system
