"""
Queues and an event loop: what is handed over to a worker, what a watched call does with one, and a lent connection.
"""

import asyncio
import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from nr_agent_core import (
    ApprovalNeeded,
    AsyncChat,
    Chat,
    InvalidValueError,
    NoQueueError,
    Retention,
    RunStatus,
    ToolEffect,
    TurnCompleted,
    TurnEvent,
    TurnLeft,
)
from nr_agent_core.adapters.memory import MemoryStore
from nr_agent_core.ports.unit_of_work import Change
from nr_agent_core.testing import ManualClock, call, round_of
from tests.asynchronous.desk import ANNA, Desk
from tests.chat.queue_at_hand import QueueAtHand, drive, waiting_in

SAVE = round_of(call("save", n=1))
WRITES = {"save": ToolEffect.NON_IDEMPOTENT_WRITE}


def desk_of(*answers: Any, queue: Callable[[MemoryStore], Any] | None = QueueAtHand) -> Desk:
    """A host with a queue at hand."""
    store = MemoryStore(ManualClock())
    more = {} if queue is None else {"queue": queue(store)}
    return Desk(store, answers, effects=WRITES, more=more)


def test_a_message_of_a_loop_is_carried_out_by_a_plain_worker() -> None:
    """(R6) Queued in a loop, driven by a process without one, tools that are coroutine functions included."""
    desk = desk_of(SAVE, "Saved.")
    chat, worker = AsyncChat(**desk.parts()), Chat(**desk.parts())

    sent = asyncio.run(chat.send("Go.", ANNA, queued=True))
    assert sent.status is RunStatus.QUEUED
    assert [run_id for run_id, _ in waiting_in(worker)] == [sent.run_id]
    drive(worker)
    card = asyncio.run(chat.view(sent.conversation, ANNA)).card
    decided = asyncio.run(chat.decide(sent.conversation, "approve", card=card, by=ANNA))
    assert (decided.status, desk.executed) == (RunStatus.QUEUED, [])
    drive(worker)

    assert len(desk.executed) == 1
    assert asyncio.run(chat.view(sent.conversation, ANNA)).messages[-1].text == "Saved."


def test_a_retry_of_a_loop_can_be_queued() -> None:
    """(F5) Stored, not begun."""
    desk = desk_of(RuntimeError("away"), "Hello.")
    chat, worker = AsyncChat(**desk.parts()), Chat(**desk.parts())
    failed = asyncio.run(chat.send("Hi.", ANNA))

    sent = asyncio.run(chat.retry(failed.conversation, ANNA, queued=True))

    assert (failed.status, sent.status) == (RunStatus.FAILED, RunStatus.QUEUED)
    assert [run_id for run_id, _ in waiting_in(worker)] == [sent.run_id]


def test_without_a_queue_a_loop_queues_nothing() -> None:
    """A typed error, before anything was stored; so is a connection without *queued*."""
    without, chat = AsyncChat(**desk_of("Hello.", queue=None).parts()), AsyncChat(**desk_of("Hello.").parts())

    with pytest.raises(NoQueueError):
        asyncio.run(without.send("Hi.", ANNA, queued=True))
    with pytest.raises(InvalidValueError, match="without queued=True"):
        asyncio.run(chat.send("Hi.", ANNA, connection=object()))


def test_a_watched_message_is_driven_here_and_a_watched_decision_is_handed_over() -> None:
    """A stream waits for its turn, queue or not; a decision is a worker's, and the stream says that it left."""
    desk = desk_of(SAVE, "Saved.")
    plain = Chat(**desk.parts())
    events: list[TurnEvent] = list(stream := plain.stream("Go.", ANNA))
    assert stream.sent is not None
    assert isinstance(events[-1], ApprovalNeeded)
    assert waiting_in(plain) == []
    card = plain.view(stream.sent.conversation, ANNA).card
    told = list(plain.stream_decide(stream.sent.conversation, "approve", card=card, by=ANNA))

    assert told == [TurnLeft(events[-1].run_id, RunStatus.QUEUED)]
    assert desk.executed == []


def test_the_same_in_a_loop() -> None:
    """A watched message is driven here, a watched decision handed over."""
    desk = desk_of("Hello.", SAVE)
    chat = AsyncChat(**desk.parts())

    async def tell() -> tuple[list[TurnEvent], list[TurnEvent]]:
        answered = [event async for event in chat.stream("Hi.", ANNA)]
        sent = await chat.send("Go.", ANNA)
        card = (await chat.view(sent.conversation, ANNA)).card
        return answered, [event async for event in chat.stream_decide(sent.conversation, "deny", card=card, by=ANNA)]

    answered, decided = asyncio.run(tell())

    assert isinstance(answered[-1], TurnCompleted)
    assert [type(event) for event in decided] == [TurnLeft]


@pytest.mark.parametrize("wrong", [7, "30 days"])
def test_upkeep_in_a_loop_takes_windows_and_nothing_else(wrong: Any) -> None:
    """(O2) What is past its window goes; what is no window is refused before anything happened."""
    clock = ManualClock()
    desk = Desk(MemoryStore(clock), ("Hello.",))
    chat = AsyncChat(**desk.parts())
    asyncio.run(chat.send("Hi.", ANNA))
    clock.advance(40 * 86_400)

    with pytest.raises(InvalidValueError, match="retention"):
        asyncio.run(chat.upkeep(retention=wrong))
    kept = asyncio.run(chat.upkeep()).purged
    gone = asyncio.run(chat.runtime.upkeep(retention=Retention())).purged

    assert (kept.conversations, gone.conversations, gone.runs) == (0, 1, 1)


class Lent(QueueAtHand):
    """
    A queue that shares a database: it holds a lent connection for as long as a test says.
    """

    def __init__(self, store: MemoryStore) -> None:
        super().__init__(store)
        self.begun, self.go_on = threading.Event(), threading.Event()

    def commit(self, changes: Sequence[Change], *, connection: Any | None = None) -> None:
        """Use the connection, slowly."""
        if connection is not None:
            self.begun.set()
            assert self.go_on.wait(20)
            connection.append("used")
        super().commit(changes)


def test_a_lent_connection_is_out_of_use_when_a_cancelled_caller_gets_it_back() -> None:
    """Its transaction is the caller's to roll back; nothing is written on it after that."""
    desk = desk_of("Hello.", queue=Lent)
    queue: Lent = desk.more["queue"]
    chat = AsyncChat(**desk.parts())
    connection: list[str] = []

    async def request() -> None:
        try:
            await chat.send("Hi.", ANNA, queued=True, connection=connection)
        finally:
            connection.append("rolled back")

    async def story() -> None:
        loop, task = asyncio.get_running_loop(), asyncio.create_task(request())
        await loop.run_in_executor(None, queue.begun.wait, 20)
        for _ in range(2):
            task.cancel()
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not task.done()
        queue.go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(story())

    assert connection == ["used", "rolled back"]
