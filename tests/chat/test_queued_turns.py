"""
Messages and decisions that workers carry out, without threads and without waiting.
"""

import attrs
import pytest

from nr_agent_core import (
    ConversationStatus,
    FailureClass,
    FailureCode,
    InvalidValueError,
    NoQueueError,
    ProviderError,
    RunReason,
    RunStatus,
    Runtime,
    SendOutcome,
)
from nr_agent_core.adapters.memory import MemoryStore
from nr_agent_core.adapters.thread_run_queue import ThreadRunQueue
from nr_agent_core.domain.run_events import ClaimReason
from nr_agent_core.testing import ScriptedModel, call
from tests.chat.queue_at_hand import QueueAtHand, drive, queue_chat, waiting_in
from tests.chat.world import ANNA, CREATE, DORA, Between, World, codes, digest_of, told

SEARCH = call("search_pages")
DOWN = ProviderError("the model is away", FailureClass.CONNECTION)


# --------------------------------------------------------------------------------------- sending


def test_without_a_queue_nothing_can_be_queued(world: World) -> None:
    """A typed error, before anything was stored."""
    chat = world.chat("Hello.")
    conversation = chat.open(ANNA)
    before = world.snapshot(conversation)

    for attempt in (
        lambda: chat.send("Hi", ANNA, conversation=conversation, queued=True),
        lambda: chat.send("Hi", ANNA, queued=True),
        lambda: chat.retry(conversation, ANNA, queued=True),
        chat.work,
    ):
        with pytest.raises(NoQueueError, match="queue="):
            attempt()

    assert world.snapshot(conversation) == before
    assert world.model.requests == []


def test_a_queued_message_is_accepted_and_waits(world: World) -> None:
    """(R6, O1) Stored, not begun: no token, no question to the model, and the view says processing."""
    chat = queue_chat(world, "Hello.")

    sent = chat.send("Hi", ANNA, queued=True)

    assert (sent.outcome, sent.status, sent.code, sent.text) == (SendOutcome.ACCEPTED, RunStatus.QUEUED, None, None)
    assert chat.view(sent.conversation, ANNA).status is ConversationStatus.PROCESSING
    assert [event.kind for event in world.events(sent.run_id)] == ["started"]
    assert [run_id for run_id, _ in waiting_in(chat)] == [sent.run_id]
    assert world.model.requests == []


def test_a_worker_answers_a_queued_message(world: World) -> None:
    """(C7) The answer is delivered by whoever settles the run."""
    chat = queue_chat(world, "Hello.")
    sent = chat.send("Hi", ANNA, queued=True)

    drive(chat)

    view = chat.view(sent.conversation, ANNA)
    assert (view.status, [message.text for message in view.messages]) == (ConversationStatus.IDLE, ["Hi", "Hello."])
    assert [event.kind for event in world.events(sent.run_id)] == ["started", "claimed", "model", "completed"]
    assert world.events(sent.run_id)[1].why is ClaimReason.WORKER  # type: ignore[union-attr]


def test_a_message_that_is_not_queued_is_driven_here(world: World) -> None:
    """A queue changes nothing for whoever waits for the answer."""
    chat = queue_chat(world, "Hello.")

    sent = chat.send("Hi", ANNA)

    assert sent.status is RunStatus.COMPLETED
    assert waiting_in(chat) == []


def test_a_second_message_is_busy_while_one_is_queued(world: World) -> None:
    """(O1, C3) At most one unsettled run per conversation, queued ones included."""
    chat = queue_chat(world)
    sent = chat.send("Hi", ANNA, queued=True)
    before = world.snapshot(sent.conversation)

    for queued in (True, False):
        again = chat.send("Hello?", ANNA, conversation=sent.conversation, queued=queued)
        assert again.outcome is SendOutcome.BUSY

    assert world.snapshot(sent.conversation) == before


def test_the_readers_own_instructions_reach_a_worker(world: World) -> None:
    """(M3) A worker has no reader; what this one wishes goes with the run, and is forgotten with its content."""
    chat = queue_chat(world, "Hello.")
    sent = chat.send("Hi", attrs.evolve(ANNA, instructions="Be brief."), queued=True)

    drive(chat)

    assert "Be brief." in world.model.requests[0].system
    assert "Be brief." not in repr(world.events(sent.run_id))


def test_a_queued_message_without_a_configuration_fails_at_once(world: World) -> None:
    """(G0) User message, started and failed in one transaction; no worker is asked for anything."""
    chat = queue_chat(world, configuration=type("None_", (), {"resolve": lambda *_: None})())

    sent = chat.send("Hi", ANNA, queued=True)

    assert sent.status is RunStatus.FAILED
    assert [event.kind for event in world.events(sent.run_id)] == ["started", "failed"]
    assert world.row(sent.run_id).code is FailureCode.CHAT_NOT_CONFIGURED
    assert waiting_in(chat) == []


def test_a_queued_message_supersedes_what_waits(world: World) -> None:
    """(C6) The old run ends in the transaction in which the new one is queued."""
    chat = queue_chat(world, CREATE, "Something else.")
    first = chat.send("Create a page.", ANNA)

    second = chat.send("No, something else.", ANNA, conversation=first.conversation, queued=True)

    assert world.row(first.run_id).reason is RunReason.SUPERSEDED
    assert second.status is RunStatus.QUEUED
    drive(chat)
    assert world.row(second.run_id).status is RunStatus.COMPLETED
    assert ("user", "No, something else.") in told(world)


def test_a_retry_can_be_queued(world: World) -> None:
    """(F5) A new run on the same message, for a worker."""
    chat = queue_chat(world, DOWN, "Here you are.")
    failed = chat.send("Hi", ANNA)
    assert failed.status is RunStatus.FAILED

    sent = chat.retry(failed.conversation, ANNA, queued=True)

    assert (sent.outcome, sent.status) == (SendOutcome.ACCEPTED, RunStatus.QUEUED)
    drive(chat)
    assert [message.text for message in world.messages(sent.conversation)] == ["Hi", "", "Here you are."]


def test_a_connection_is_for_queued_messages_and_queues_that_take_one(world: World) -> None:
    """(R6) What a run does never rides in a host's transaction; refused before anything was stored."""
    chat = queue_chat(world)
    threads = world.chat(queue=ThreadRunQueue(world.store))
    conversation = chat.open(ANNA)
    before = world.snapshot(conversation)

    with pytest.raises(InvalidValueError, match="queued=True"):
        chat.send("Hi", ANNA, conversation=conversation, connection=object())
    with pytest.raises(InvalidValueError, match="shares no database"):
        threads.send("Hi", ANNA, conversation=conversation, queued=True, connection=object())

    assert world.snapshot(conversation) == before


def test_a_queue_is_over_the_store_of_its_runs(world: World) -> None:
    """A queue over another store would bring runs that nobody finds."""
    with pytest.raises(InvalidValueError, match="the store of the queue"):
        world.chat(queue=QueueAtHand(MemoryStore()))
    with pytest.raises(InvalidValueError, match="the store of the queue"):
        Runtime(store=None, model=ScriptedModel(), queue=QueueAtHand(world.store))


# -------------------------------------------------------------------------------------- deciding


@pytest.mark.parametrize("choice", ["approve", "deny"])
def test_a_decision_in_the_chat_hands_the_run_over(world: World, choice: str) -> None:
    """(R6) An approval without a token: queued. Nothing is executed by whoever decides."""
    chat = queue_chat(world, CREATE, "Done.")
    sent = chat.send("Create a page.", ANNA)

    decided = chat.decide(sent.conversation, choice, card=digest_of(world, sent.run_id), by=ANNA)

    assert (decided.outcome, decided.status) == (SendOutcome.ACCEPTED, RunStatus.QUEUED)
    assert world.host.executed == []
    assert world.events(sent.run_id)[-1].segment is None  # type: ignore[union-attr]
    assert chat.view(sent.conversation, ANNA).status is ConversationStatus.PROCESSING
    drive(chat)
    assert world.row(sent.run_id).status is RunStatus.COMPLETED
    assert len(world.host.executed) == (choice == "approve")
    told_so = [] if choice == "approve" else ["nothingSaved"]
    assert [codes(message) for message in world.messages(sent.conversation)] == [[], told_so]


def test_a_decision_from_outside_hands_the_run_over(world: World) -> None:
    """(E2, C7) A worker carries it out, and the conversation is told that it was decided elsewhere."""
    chat = queue_chat(world, CREATE, "Done.")
    sent = chat.send("Create a page.", ANNA)

    result = chat.runtime.decide(sent.run_id, "approve", digest=digest_of(world, sent.run_id), by=DORA)

    assert (result.status, result.answer) == (RunStatus.QUEUED, None)
    drive(chat)
    assert len(world.host.executed) == 1
    assert codes(world.messages(sent.conversation)[-1]) == ["runFinishedOutside"]


def test_a_decision_that_lost_the_race_is_refused(world: World) -> None:
    """(P7) Two decisions without tokens look alike; the one that was refused says so."""
    store = Between(world.store)
    sent = world.chat(CREATE).send("Create a page.", ANNA)
    chat = world.chat(store=store, queue=QueueAtHand(store))  # type: ignore[arg-type]
    other = queue_chat(world)
    digest = digest_of(world, sent.run_id)
    store.before_commit.append(lambda: other.decide(sent.conversation, "approve", card=digest, by=ANNA))

    late = chat.decide(sent.conversation, "approve", card=digest, by=ANNA)

    assert late.outcome is SendOutcome.REFUSED
    assert late.code is not None
    assert late.code.value == "alreadyDecided"
    assert len([event for event in world.events(sent.run_id) if event.kind == "approval"]) == 1
    assert waiting_in(chat) == []
