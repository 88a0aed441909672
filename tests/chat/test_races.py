"""
What happens between a look and a commit: messages, decisions and settlements of several processes (C4-C7, A1, R3).
"""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from nr_agent_core import Card, Chat, DecisionRefusedError, ReplyCode, RunReason, RunStatus, SendOutcome
from nr_agent_core.domain.run_events import RunCancelled, Started
from nr_agent_core.ports.unit_of_work import AddMessages, AppendEvents, LetGo
from nr_agent_core.testing.crashing import WorkerDied
from nr_agent_core.testing.scripted_model import call
from tests.chat import standings as made
from tests.chat.world import ANNA, CREATE, DORA, Between, World, codes, digest_of, told

OTHER = "Lege noch eine Seite 'Kontakt' an."


def card_of(chat: Chat, conversation: str) -> Card:
    """The card that Anna sees."""
    card = chat.view(conversation, ANNA).card
    assert card is not None
    return card


def test_superseding_and_the_new_turn_are_one_transaction(world: World) -> None:
    """The old run's end, its message, the new message and the new run stand or fall together (C6)."""
    _, sent = world.waiting()
    gaps = Between(world.store)
    world.chat("Gut.", store=gaps).send(OTHER, ANNA, conversation=sent.conversation)

    first = gaps.commits[0]
    kinds = [type(change) for change in first]
    assert kinds == [AppendEvents, AddMessages, AddMessages, AppendEvents]
    assert isinstance(first[0].events[0], RunCancelled)
    assert isinstance(first[3].events[0], Started)


def test_a_superseding_that_is_refused_leaves_nothing(world: World) -> None:
    """Neither the old run's end nor the message is there when the transaction is refused (C6)."""
    _, sent = world.waiting()
    before = world.snapshot(sent.conversation)
    gaps = Between(world.store)

    def dies() -> None:
        raise WorkerDied

    gaps.before_commit.append(dies)
    chat = world.chat("Gut.", store=gaps)
    world.dies(lambda: chat.send(OTHER, ANNA, conversation=sent.conversation))

    assert world.snapshot(sent.conversation) == before


def test_a_message_that_loses_against_a_decision_is_busy(world: World) -> None:
    """Nothing of it is stored, and the decided run goes on (C6)."""
    chat, sent = world.waiting()
    card, gaps = card_of(chat, sent.conversation), Between(world.store)
    other = world.chat(WorkerDied())

    def decide() -> None:
        world.dies(lambda: other.decide(sent.conversation, "approve", card=card, by=ANNA))

    gaps.before_commit.append(decide)
    messages = world.messages(sent.conversation)

    lost = world.chat("Gut.", store=gaps).send(OTHER, ANNA, conversation=sent.conversation)

    assert (lost.outcome, lost.code, lost.run_id) == (SendOutcome.BUSY, ReplyCode.CONVERSATION_BUSY, sent.run_id)
    assert world.messages(sent.conversation) == messages
    assert world.row(sent.run_id).status is RunStatus.RUNNING
    assert world.host.pages == ["Team"]


def test_a_message_that_loses_against_a_whole_answer_follows_it(world: World) -> None:
    """The decided run has its answer by then; the message is an ordinary turn behind it (C6, C7)."""
    chat, sent = world.waiting("Angelegt.")
    card, gaps = card_of(chat, sent.conversation), Between(world.store)
    gaps.before_commit.append(lambda: chat.decide(sent.conversation, "approve", card=card, by=ANNA))

    later = world.chat("Gut.", store=gaps).send(OTHER, ANNA, conversation=sent.conversation)

    assert later.outcome is SendOutcome.ACCEPTED
    assert [message.text for message in world.messages(sent.conversation)][1:] == ["Angelegt.", OTHER, "Gut."]
    assert world.row(sent.run_id).status is RunStatus.COMPLETED


@pytest.mark.parametrize(("text", "outcome"), [("weiter", SendOutcome.HELD), (OTHER, SendOutcome.ACCEPTED)])
def test_a_run_that_pauses_between_two_looks_waits(world: World, text: str, outcome: SendOutcome) -> None:
    """It was at work at the first look and waits at the second: the second counts (C2, C6)."""
    conversation = world.chat().open(ANNA)
    world.dies(lambda: world.chat(WorkerDied()).send("Lege eine Seite an.", ANNA, conversation=conversation))
    (run_id,) = world.runs()
    gaps, worker = Between(world.store), world.chat(CREATE)

    def pause() -> None:
        world.clock.advance(made.LEASE)
        worker.runtime.recover(run_id)
        world.clock.advance(-made.LEASE)

    gaps.after_row.append(pause)

    sent = world.chat("Gut.", store=gaps).send(text, ANNA, conversation=conversation)

    assert sent.outcome is outcome
    assert (world.row(run_id).reason is RunReason.SUPERSEDED) is (outcome is SendOutcome.ACCEPTED)


def test_two_messages_at_once_are_two_turns_or_one_is_busy(world: World) -> None:
    """Whoever comes second is judged anew; no message is ever lost or stored twice (O1)."""
    conversation = world.chat().open(ANNA)
    gaps = Between(world.store)
    gaps.before_commit.append(lambda: world.chat("Eins.").send("Erste", ANNA, conversation=conversation))

    second = world.chat("Zwei.", store=gaps).send("Zweite", ANNA, conversation=conversation)

    assert second.outcome is SendOutcome.ACCEPTED
    assert [each.text for each in world.messages(conversation)] == ["Erste", "Eins.", "Zweite", "Zwei."]


def test_a_message_that_always_comes_second_is_busy(world: World) -> None:
    """It is judged anew a few times, then the conversation is busy and nothing of it is stored (O1)."""
    conversation = world.chat().open(ANNA)
    gaps, others = Between(world.store), world.chat(model_options={"otherwise": "Gut."})
    gaps.before_commit.extend([lambda: others.send("Andere", ANNA, conversation=conversation)] * 3)

    last = world.chat("Zwei.", store=gaps).send("Zweite", ANNA, conversation=conversation)

    assert (last.outcome, last.code) == (SendOutcome.BUSY, ReplyCode.CONVERSATION_BUSY)
    assert [each.text for each in world.messages(conversation)] == ["Andere", "Gut."] * 3


def test_a_message_that_meets_one_at_work_is_busy(world: World) -> None:
    """The first one is at its model when the second wants to be stored (O1)."""
    conversation = world.chat().open(ANNA)
    gaps = Between(world.store)
    first = world.chat(WorkerDied())
    gaps.before_commit.append(lambda: world.dies(lambda: first.send("Erste", ANNA, conversation=conversation)))

    second = world.chat("Zwei.", store=gaps).send("Zweite", ANNA, conversation=conversation)

    assert second.outcome is SendOutcome.BUSY
    assert [each.text for each in world.messages(conversation)] == ["Erste"]


@pytest.mark.parametrize(
    ("first", "code"),
    [
        ("approve", ReplyCode.ALREADY_DECIDED),
        ("deny", ReplyCode.ALREADY_DECIDED),
        ("cancel", ReplyCode.RUN_CANCELLED),
        ("message", ReplyCode.SUPERSEDED),
    ],
)
def test_a_decision_that_comes_second_says_what_is_so(world: World, first: str, code: ReplyCode) -> None:
    """One append decides; the loser is told what happened and executes nothing (A1, P7)."""
    chat, sent = world.waiting()
    card, gaps = card_of(chat, sent.conversation), Between(world.store)
    other = world.chat("Gut.")

    def act() -> None:
        if first == "cancel":
            other.cancel(sent.conversation, ANNA)
        elif first == "message":
            other.send(OTHER, ANNA, conversation=sent.conversation)
        else:
            other.decide(sent.conversation, first, card=card, by=ANNA)

    gaps.before_commit.append(act)
    late = world.chat("Zu spät.", store=gaps)

    refused = late.decide(sent.conversation, "approve", card=card, by=ANNA)

    assert (refused.outcome, refused.code) == (SendOutcome.REFUSED, code)
    assert len(world.host.executed) == (first == "approve")
    assert not world.model.requests


@pytest.mark.parametrize("by_reference", [False, True])
def test_a_superseded_run_takes_no_decision(world: World, by_reference: bool) -> None:
    """Neither from its card, nor by what a form has of it, nor from an inbox (C5, C6)."""
    chat, sent = world.waiting("Gut.")
    card = card_of(chat, sent.conversation)
    chat.send(OTHER, ANNA, conversation=sent.conversation)

    named = card.reference if by_reference else card
    refused = chat.decide(sent.conversation, "approve", card=named, by=ANNA)
    with pytest.raises(DecisionRefusedError) as outside:
        chat.runtime.decide(card.run_id, "approve", digest=card.digest, by=DORA)

    assert (refused.outcome, refused.code) == (SendOutcome.REFUSED, ReplyCode.SUPERSEDED)
    assert outside.value.code is ReplyCode.SUPERSEDED
    assert world.host.executed == []


@pytest.mark.parametrize("wrong", ["", ":", "x:", ":x", "{run}:", "{run}:x", "x:{digest}", "{run}:{digest}:", "a:b:c"])
def test_a_reference_that_names_no_card_decides_nothing(world: World, wrong: str) -> None:
    """Forged or cut, of a run that is not of this conversation or not there: it is a stale decision (A1)."""
    chat, sent = world.waiting("Gut.")
    card = card_of(chat, sent.conversation)

    named = wrong.format(run=card.run_id, digest=card.digest)
    refused = chat.decide(sent.conversation, "approve", card=named, by=ANNA)

    assert (refused.outcome, refused.code) == (SendOutcome.REFUSED, ReplyCode.STALE_DECISION)
    assert world.host.executed == []
    assert chat.decide(sent.conversation, "approve", card=card.reference, by=ANNA).outcome is SendOutcome.ACCEPTED


def test_a_run_that_was_let_go_of_takes_no_decision(world: World) -> None:
    """Its stream still cannot be read, and what is so now is known all the same (C5)."""
    chat, sent = world.waiting("Gut.")
    card = card_of(chat, sent.conversation)
    world.damage(card.run_id)
    chat.send(OTHER, ANNA, conversation=sent.conversation)

    refused = chat.decide(sent.conversation, "approve", card=card, by=ANNA)
    with pytest.raises(DecisionRefusedError) as outside:
        chat.runtime.decide(card.run_id, "deny", digest=card.digest, by=DORA)

    assert (refused.outcome, refused.code) == (SendOutcome.REFUSED, ReplyCode.SUPERSEDED)
    assert outside.value.code is ReplyCode.SUPERSEDED
    assert world.host.executed == []


def test_letting_go_and_the_new_turn_are_one_transaction(world: World) -> None:
    """The unreadable run ends exactly when the new one begins (C5)."""
    _, sent = world.waiting()
    world.damage(world.runs()[-1])
    gaps = Between(world.store)

    world.chat("Gut.", store=gaps).send("weiter", ANNA, conversation=sent.conversation)

    assert [type(change) for change in gaps.commits[0]] == [LetGo, AddMessages, AppendEvents]


def test_a_conversation_lets_go_of_a_run_whose_row_is_damaged(file_world: World) -> None:
    """What lists are made of cannot be read either; the conversation goes on and can be looked at (C5, E6)."""
    world = file_world
    _, sent = world.waiting()
    with world.raw() as db:
        db.execute("UPDATE run SET reason = 'whim' WHERE id = ?", (sent.run_id,))
    chat = world.chat("Gut.")
    assert [each.text for each in chat.view(sent.conversation, ANNA).messages] == ["Lege eine Seite 'Team' an."]

    turn = chat.send("weiter", ANNA, conversation=sent.conversation)

    assert (turn.outcome, turn.status) == (SendOutcome.ACCEPTED, RunStatus.COMPLETED)
    assert world.row(sent.run_id).reason is RunReason.SUPERSEDED


def test_the_model_hears_of_the_superseded_run_in_that_very_turn(world: World) -> None:
    """Proposed, not carried out, nothing saved: the line stands before the new message (C6, F5, M4)."""
    _, sent = world.waiting()
    chat = world.chat("Gut.")
    chat.send(OTHER, ANNA, conversation=sent.conversation)

    first, line, new = told(world)
    assert (first, new) == (("user", "Lege eine Seite 'Team' an."), ("user", OTHER))
    assert line[0] == "assistant"
    assert "superseded" in line[1]
    assert "create_page" in line[1]


def test_the_second_go_on_after_a_delivery_is_a_turn(world: World) -> None:
    """What the run left is told once; then the chat works as ever (C1, C4)."""
    chat, conversation = made.approved_outside(world)

    first = chat.send("weiter", ANNA, conversation=conversation)
    second = chat.send("weiter", ANNA, conversation=conversation)

    assert (first.outcome, second.outcome) == (SendOutcome.DELIVERED, SendOutcome.ACCEPTED)
    assert [text for _, text in told(world)].count("weiter") == 2
    assert len(world.runs()) == 2


def test_two_deliveries_at_once_tell_once(world: World) -> None:
    """The second "go on" finds a user message stored since and is a turn of its own (C1, C4)."""
    chat, conversation = made.approved_outside(world)
    gaps = Between(world.store)
    gaps.before_commit.append(lambda: chat.send("weiter", ANNA, conversation=conversation))

    second = world.chat("Gut.", store=gaps).send("weiter", ANNA, conversation=conversation)

    assert second.outcome is SendOutcome.ACCEPTED
    flagged = [codes(message) for message in world.messages(conversation) if message.notices]
    assert flagged == [["runFinishedOutside"], ["runFinishedOutside"]]


def test_a_card_of_another_conversation_decides_nothing(world: World) -> None:
    """A decision "in the chat" is one in the run's own chat (A1, E2)."""
    chat, sent = world.waiting("Angelegt.")
    elsewhere = chat.open(ANNA)

    refused = chat.decide(elsewhere, "approve", card=card_of(chat, sent.conversation), by=ANNA)
    _, other = world.waiting()
    strange = world.chat().decide(other.conversation, "approve", card=card_of(chat, sent.conversation), by=ANNA)

    for each in (refused, strange):
        assert (each.outcome, each.code) == (SendOutcome.REFUSED, ReplyCode.STALE_DECISION)
    assert world.host.executed == []


def test_cancel_repeats_until_it_lands(world: World) -> None:
    """An append by somebody who performs nothing is judged anew when it is refused (R9)."""
    _, sent = world.waiting()
    gaps = Between(world.store)
    other = world.chat(call("search_pages"), WorkerDied())
    gaps.before_commit.append(
        lambda: world.dies(
            lambda: other.decide(sent.conversation, "deny", card=digest_of(world, sent.run_id), by=ANNA),
        )
    )

    done = world.chat(store=gaps).cancel(sent.conversation, ANNA)

    assert (done.outcome, done.code, done.status) == (
        SendOutcome.ACCEPTED,
        ReplyCode.RUN_CANCELLED,
        RunStatus.CANCELLED,
    )
    assert len(gaps.commits) == 1


def test_a_cancel_that_comes_too_late_says_so(world: World) -> None:
    """The run got its answer first: nothing was cancelled (R9)."""
    chat, sent = world.waiting("Dann nicht.")
    gaps = Between(world.store)
    digest = digest_of(world, sent.run_id)
    gaps.before_commit.append(lambda: chat.decide(sent.conversation, "deny", card=digest, by=ANNA))

    late = world.chat(store=gaps).cancel(sent.conversation, ANNA)

    assert (late.outcome, late.code, late.status) == (SendOutcome.REFUSED, None, RunStatus.COMPLETED)
    assert world.messages(sent.conversation)[-1].text == "Dann nicht."


def at_once(*acts: Callable[[], object]) -> list[object]:
    """What each of *acts* brought, all begun at the same moment."""
    barrier = threading.Barrier(len(acts))

    def begin(act: Callable[[], object]) -> object:
        barrier.wait()
        return act()

    with ThreadPoolExecutor(len(acts)) as pool:
        return [done.result() for done in [pool.submit(begin, act) for act in acts]]


def test_many_decisions_at_once_execute_once(world: World) -> None:
    """One is accepted, the others are told that it was decided (A1, P5, P7)."""
    _, sent = world.waiting()
    chats = [world.chat("Angelegt.") for _ in range(6)]
    card = card_of(chats[0], sent.conversation)

    done = at_once(*(lambda chat=chat: chat.decide(sent.conversation, "approve", card=card, by=ANNA) for chat in chats))

    outcomes = [each.outcome for each in done]  # type: ignore[attr-defined]
    assert outcomes.count(SendOutcome.ACCEPTED) == 1
    assert {each.code for each in done} == {None, ReplyCode.ALREADY_DECIDED}  # type: ignore[attr-defined]
    assert world.host.pages == ["Team"]


def test_many_messages_at_once_are_each_a_turn_or_busy(world: World) -> None:
    """One superseded run, every message stored once or not at all, each answered behind itself (C6, O1)."""
    _, sent = world.waiting()
    chats = [world.chat(f"Antwort {number}") for number in range(6)]

    done = at_once(
        *(
            lambda chat=chat, number=number: chat.send(f"Nachricht {number}", ANNA, conversation=sent.conversation)
            for number, chat in enumerate(chats)
        )
    )

    accepted = [number for number, each in enumerate(done) if each.outcome is SendOutcome.ACCEPTED]  # type: ignore[attr-defined]
    assert accepted
    assert {each.outcome for each in done} <= {SendOutcome.ACCEPTED, SendOutcome.BUSY}  # type: ignore[attr-defined]
    texts = [message.text for message in world.messages(sent.conversation)]
    assert texts[:2] == ["Lege eine Seite 'Team' an.", ""]
    assert sorted(texts[2:]) == sorted(
        text for number in accepted for text in (f"Nachricht {number}", f"Antwort {number}")
    )
    assert all(texts[place + 1].startswith("Antwort") for place in range(2, len(texts), 2))
    assert world.row(sent.run_id).reason is RunReason.SUPERSEDED


def test_many_upkeeps_at_once_recover_once(world: World) -> None:
    """One takes the run over, the others leave it (R3, R8)."""
    _, conversation = made.running_expired(world)
    chats = [world.chat("Fertig.") for _ in range(6)]

    at_once(*(lambda chat=chat: chat.upkeep() for chat in chats))

    assert [message.text for message in world.messages(conversation)] == ["Lege eine Seite an.", "Fertig."]
