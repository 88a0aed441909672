"""
What a worker does with the runs it is brought, without threads and without waiting.
"""

import logging
import threading
from typing import Any

import pytest

from nr_agent_core import (
    FailureClass,
    FailureCode,
    InvalidValueError,
    ProviderError,
    Reader,
    RunReason,
    RunStatus,
    StoreUnavailableError,
)
from nr_agent_core.domain.run_events import Requeued
from nr_agent_core.testing import call
from tests.chat.queue_at_hand import QueueAtHand, drive, queue_chat, waiting_in, worker
from tests.chat.world import ANNA, CREATE, LEASE, Between, World, codes, digest_of

SEARCH = call("search_pages")
DOWN = ProviderError("the model is away", FailureClass.CONNECTION)


# --------------------------------------------------------------------------------------- working


def test_a_failed_question_is_asked_again_three_times(world: World) -> None:
    """(R8) After 30, 60 and 120 seconds, each by a message that comes then; after that the run has failed."""
    chat = queue_chat(world, DOWN, DOWN, DOWN, DOWN)
    sent = chat.send("Hi", ANNA, queued=True)
    delays = []

    for _ in range(3):
        at = world.clock.now()
        drive(chat)
        ((run_id, due),) = waiting_in(chat)
        assert run_id == sent.run_id
        delays.append(due - at)
        world.clock.advance(due - at)
    drive(chat)

    row = world.row(sent.run_id)
    assert delays == [30.0, 60.0, 120.0]
    assert (row.status, row.reason, row.code) == (
        RunStatus.FAILED,
        RunReason.RETRIES_EXHAUSTED,
        FailureCode.PROVIDER_UNAVAILABLE,
    )
    assert waiting_in(chat) == []
    assert codes(world.messages(sent.conversation)[-1]) == ["runEnded"]


def test_an_answer_gives_the_whole_budget_back(world: World) -> None:
    """(R8) The budget is of one question, not of the run."""
    chat = queue_chat(world, DOWN, DOWN, SEARCH, DOWN, DOWN, DOWN, "Found.")
    sent = chat.send("Find.", ANNA, queued=True)

    while not world.row(sent.run_id).status.settled:
        world.clock.advance(120.0)
        drive(chat)

    assert world.row(sent.run_id).status is RunStatus.COMPLETED


def test_a_failure_that_cannot_pass_is_not_tried_again(world: World) -> None:
    """(R10) A wrong key is as wrong in a minute."""
    chat = queue_chat(world, ProviderError("no", FailureClass.AUTHENTICATION))
    sent = chat.send("Hi", ANNA, queued=True)

    drive(chat)

    assert world.row(sent.run_id).reason is RunReason.PROVIDER_FAILED
    assert waiting_in(chat) == []


def test_a_worker_takes_over_with_the_whole_budget(world: World) -> None:
    """(R8) A run whose process is gone is a worker's from then on, and its question is asked again later."""
    chat = queue_chat(world, BaseExceptionModel.died, DOWN)
    with pytest.raises(KeyboardInterrupt):
        chat.send("Hi", ANNA)
    (run_id,) = world.runs()
    world.clock.advance(LEASE)

    worker(chat).handle(run_id)

    assert world.row(run_id).status is RunStatus.QUEUED
    assert [event.kind for event in world.events(run_id)][-2:] == ["claimed", "requeued"]


class BaseExceptionModel:
    """A model during whose answer the process ends."""

    @staticmethod
    def died(_: object) -> Any:
        """It ends now."""
        raise KeyboardInterrupt


def test_a_message_that_comes_too_early_is_put_for_its_time(world: World) -> None:
    """(R6) A queued run is opened once its time has come; a worker that is told before forgets nothing."""
    chat = queue_chat(world, DOWN, "Hello.")
    sent = chat.send("Hi", ANNA, queued=True)
    drive(chat)
    ((_, due),) = waiting_in(chat)
    before = world.events(sent.run_id)

    drive(chat)

    assert waiting_in(chat) == [(sent.run_id, due)]
    assert world.events(sent.run_id) == before


def test_what_there_is_nothing_to_do_about_is_dropped(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """A message for an unknown, settled, waiting or foreign run: a line in the log, and nothing else."""
    chat = queue_chat(world, "Hello.", CREATE, BaseExceptionModel.died)
    settled = chat.send("Hi", ANNA)
    waiting = chat.send("Create a page.", ANNA)
    with pytest.raises(KeyboardInterrupt):
        chat.send("Hi", ANNA)
    driven = world.runs()[-1]
    before = [world.events(run_id) for run_id in world.runs()]
    caplog.set_level(logging.INFO, "nr_agent_core")

    for run_id in ("nobody", settled.run_id, waiting.run_id, driven):
        caplog.clear()
        worker(chat).handle(str(run_id))
        assert [record for record in caplog.records if f"run {run_id} is dropped" in record.getMessage()]

    assert [world.events(run_id) for run_id in world.runs()] == before
    assert waiting_in(chat) == []
    assert len(world.model.requests) == 3


def test_a_run_that_somebody_else_takes_first_is_dropped(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """(R3) A takeover is an append; whoever is refused stores nothing and asks nothing."""
    sent = queue_chat(world).send("Hi", ANNA, queued=True)
    other = world.chat("From the other one.")
    store = Between(world.store)
    chat = world.chat(store=store, queue=QueueAtHand(store))  # type: ignore[arg-type]
    store.before_commit.append(lambda: other.runtime.recover(sent.run_id))
    caplog.set_level(logging.INFO, "nr_agent_core")

    worker(chat).handle(str(sent.run_id))

    assert "dropped" in caplog.text
    assert world.model.requests == []
    assert [message.text for message in world.messages(sent.conversation)] == ["Hi", "From the other one."]


def test_a_cancelled_run_is_not_begun(world: World) -> None:
    """(R9) Cancel reaches a queued run like any other."""
    chat = queue_chat(world)
    sent = chat.send("Hi", ANNA, queued=True)

    cancelled = chat.cancel(sent.conversation, ANNA)
    drive(chat)

    assert cancelled.status is RunStatus.CANCELLED
    assert world.model.requests == []
    assert [event.kind for event in world.events(sent.run_id)] == ["started", "cancelled"]


def test_a_run_that_cannot_be_read_is_ended(world: World) -> None:
    """(O2) It would be brought for ever; its conversation is told, once."""
    chat = queue_chat(world)
    sent = chat.send("Hi", ANNA, queued=True)
    world.damage(str(sent.run_id))

    drive(chat)
    worker(chat).handle(str(sent.run_id))

    assert (world.row(sent.run_id).status, world.row(sent.run_id).code) == (RunStatus.FAILED, FailureCode.INTERRUPTED)
    assert len(world.messages(sent.conversation)) == 2


def test_a_store_that_is_away_rises_to_the_queue(world: World) -> None:
    """The queue brings the run again; nothing is dropped because nobody could look."""
    chat = queue_chat(world)
    sent = chat.send("Hi", ANNA, queued=True)

    class Away(Between):
        def commit(self, changes: Any) -> None:
            raise StoreUnavailableError("away")

    away = Away(world.store)
    broken = world.chat(store=away, queue=QueueAtHand(away))  # type: ignore[arg-type]

    with pytest.raises(StoreUnavailableError):
        worker(broken).handle(str(sent.run_id))
    assert world.row(sent.run_id).status is RunStatus.QUEUED


# -------------------------------------------------------------------------------------- stopping


def test_a_worker_stops_before_the_next_question(world: World) -> None:
    """(R6) The call at work is finished and stored; then the run is queued again, at once, not as a retry."""
    stop = threading.Event()

    def search(_: object) -> Any:
        stop.set()
        return SEARCH

    chat = queue_chat(world, search, "Found.")
    sent = chat.send("Find.", ANNA, queued=True)
    worker(chat, stop).handle(str(sent.run_id))

    events = world.events(sent.run_id)
    assert [event.kind for event in events] == ["started", "claimed", "model", "requeued"]
    assert isinstance(events[-1], Requeued)
    assert (events[-1].retry, events[-1].not_before) == (False, world.clock.now())
    assert [run_id for run_id, _ in waiting_in(chat)] == [sent.run_id, sent.run_id]
    drive(chat)
    assert world.row(sent.run_id).status is RunStatus.COMPLETED
    assert world.host.executed == [("search_pages", "anna")]


def test_a_worker_never_stops_between_an_intent_and_its_call(world: World) -> None:
    """(R6, P5) An intent that is stored is carried out by the segment that stored it, whatever comes."""
    stop = threading.Event()

    class ToldAtTheIntent(Between):
        def commit(self, changes: Any) -> None:
            super().commit(changes)
            if any(event.kind == "tool_started" for change in changes for event in getattr(change, "events", ())):
                stop.set()

    store = ToldAtTheIntent(world.store)
    chat = world.chat(CREATE, "Done.", store=store, queue=QueueAtHand(store))  # type: ignore[arg-type]
    sent = chat.send("Create a page.", ANNA)
    chat.decide(sent.conversation, "approve", card=digest_of(world, sent.run_id), by=ANNA)
    worker(chat, stop).handle(str(sent.run_id))

    assert [event.kind for event in world.events(sent.run_id)][-3:] == ["tool_started", "tool", "requeued"]
    drive(chat)
    assert world.row(sent.run_id).status is RunStatus.COMPLETED
    assert len(world.host.executed) == 1


def test_a_worker_that_is_told_to_stop_begins_nothing(world: World) -> None:
    """What it is brought then is put back, untouched."""
    stop = threading.Event()
    stop.set()
    chat = queue_chat(world)
    sent = chat.send("Hi", ANNA, queued=True)

    worker(chat, stop).handle(str(sent.run_id))

    assert [run_id for run_id, _ in waiting_in(chat)] == [sent.run_id, sent.run_id]
    assert [event.kind for event in world.events(sent.run_id)] == ["started"]


def test_an_answer_that_came_is_delivered_although_the_worker_stops(world: World) -> None:
    """Nothing that is finished is asked for again."""
    stop = threading.Event()

    def answer(_: object) -> str:
        stop.set()
        return "Hello."

    chat = queue_chat(world, answer)
    sent = chat.send("Hi", ANNA, queued=True)

    worker(chat, stop).handle(str(sent.run_id))

    assert world.row(sent.run_id).status is RunStatus.COMPLETED


# ------------------------------------------------------------------------------------ the reaper


def test_runs_whose_worker_is_gone_are_put_again(world: World) -> None:
    """(R8, O2) Expired leases, and queued runs whose time has passed by five minutes."""
    chat = queue_chat(world, BaseExceptionModel.died)
    with pytest.raises(KeyboardInterrupt):
        chat.send("Hi", ANNA)
    (driven,) = world.runs()
    queued = chat.send("Hi", ANNA, queued=True)
    waiting_in(chat).clear()

    worker(chat)._look()
    assert waiting_in(chat) == []
    world.clock.advance(LEASE)
    worker(chat)._look()

    assert {run_id for run_id, _ in waiting_in(chat)} == {driven, queued.run_id}


def test_an_expired_approval_is_settled_by_the_reaper(world: World) -> None:
    """(A4) Whoever sees it first ends it."""
    chat = queue_chat(world, CREATE, rules={"approval_expiry": 60.0})
    sent = chat.send("Create a page.", ANNA)
    world.clock.advance(61.0)

    worker(chat)._look()

    assert world.row(sent.run_id).reason is RunReason.APPROVAL_EXPIRED
    assert waiting_in(chat) == []


# --------------------------------------------------------------------------------------- settings


@pytest.mark.parametrize(
    "setting",
    [{"threads": 0}, {"threads": True}, {"threads": 257}, {"name": " "}, {"look_every": 0}, {"look_every": True}],
)
def test_a_worker_with_settings_that_cannot_be_is_refused(world: World, setting: dict[str, Any]) -> None:
    """At the start, not when the first run comes."""
    with pytest.raises(InvalidValueError):
        queue_chat(world).work(**setting)


def test_a_worker_works_through_the_queue_of_its_chat(world: World) -> None:
    """``work`` is the queue's own loop around the worker; it returns when the queue does."""
    chat = queue_chat(world, "Hello.")
    sent = chat.send("Hi", Reader("anna"), queued=True)

    chat.work(threads=1)

    assert world.row(sent.run_id).status is RunStatus.COMPLETED
