"""
The asynchronous facades: many turns at once, the calls of the plain ones, what they are given, and their close.
"""

import asyncio
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from nr_agent_core import (
    AsyncChat,
    AsyncRuntime,
    InvalidValueError,
    ModelAnswer,
    Reader,
    RunStatus,
    SendOutcome,
    StoreUnavailableError,
)
from nr_agent_core.adapters.memory import MemoryStore
from nr_agent_core.adapters.sqlite import SqliteStore
from nr_agent_core.testing import ManualClock, ScriptedModel, call
from tests.asynchronous.chat_in_memory import InALoopModel, InALoopOnly, parts
from tests.asynchronous.desk import ANNA, Desk, stored

# -- many at once -------------------------------------------------------------------------------


def test_two_hundred_turns_at_once(tmp_path: Path) -> None:
    """Each in its conversation, over one file and few threads: all complete, none is mixed up with another."""

    def said(request: Any) -> Any:
        last = request.messages[-1]
        return call("search", n=int(last.text)) if last.role == "user" else f"Answer {request.messages[-3].text}."

    async def story(store: SqliteStore) -> tuple[list[Any], list[str], int]:
        model = ScriptedModel(otherwise=said)
        desk = Desk(store, more={"model": InALoopModel(model)})
        given = desk.parts()
        del given["ids"]
        chat = AsyncChat(**given)

        async def turn(number: int) -> tuple[Any, str]:
            sent = await chat.send(str(number), Reader(f"reader-{number}"))
            view = await chat.view(sent.conversation, Reader(f"reader-{number}"))
            return sent, view.messages[-1].text

        before = threading.active_count()
        turns = await asyncio.gather(*(turn(number) for number in range(200)))
        return [sent for sent, _ in turns], [text for _, text in turns], threading.active_count() - before

    with closing(SqliteStore(tmp_path / "chat.db", synchronous="NORMAL")) as store:
        sents, texts, threads = asyncio.run(story(store))

    assert {sent.outcome for sent in sents} == {SendOutcome.ACCEPTED}
    assert {sent.status for sent in sents} == {RunStatus.COMPLETED}
    assert texts == [f"Answer {number}." for number in range(200)]
    assert threads <= async_threads()


def async_threads() -> int:
    """As many as the default says."""
    from nr_agent_core.runtime.async_facade import THREADS

    return THREADS


def test_one_conversation_takes_one_message_at_a_time() -> None:
    """Of many messages at once one is accepted; the others are told that it is busy, or come after it (O1)."""

    async def story() -> list[Any]:
        chat = AsyncChat(**parts(*["Hello."] * 20))
        conversation = await chat.open(ANNA)
        return await asyncio.gather(*(chat.send("Hi.", ANNA, conversation=conversation) for _ in range(20)))

    outcomes = [sent.outcome for sent in asyncio.run(story())]

    assert SendOutcome.ACCEPTED in outcomes
    assert set(outcomes) <= {SendOutcome.ACCEPTED, SendOutcome.BUSY}


# -- runs without a conversation ----------------------------------------------------------------


def test_the_asynchronous_runtime_has_the_calls_of_the_plain_one() -> None:
    """Start, status, events, inbox, decide, writes, cancel, recover, upkeep, close."""

    async def story() -> None:
        given = parts(call("save", n=7), "Saved.", call("save", n=8))
        runtime = AsyncRuntime(**given)
        started = await runtime.start("Go.", ANNA)
        (item,) = await runtime.inbox(ANNA)
        assert item.run_id == started.run_id
        done = await runtime.decide(started.run_id, "approve", digest=item.card.digest, by=ANNA)
        assert (done.status, done.answer) == (RunStatus.COMPLETED, "Saved.")
        assert (await runtime.status(started.run_id, ANNA)).status is RunStatus.COMPLETED
        assert len(await runtime.writes()) == 1
        assert await runtime.events(started.run_id, ANNA) == stored_events(given, started.run_id)
        second = await runtime.start("Go.", ANNA)
        assert (await runtime.cancel(second.run_id, ANNA)).status is RunStatus.CANCELLED
        assert (await runtime.recover(second.run_id)).status is RunStatus.CANCELLED
        assert await runtime.upkeep() is not None
        assert await runtime.close() == 0

    asyncio.run(story())


def stored_events(given: Any, run_id: str) -> Any:
    """What the store holds of a run."""
    return given["store"].events(run_id)


def test_a_runtime_without_a_store_answers_too() -> None:
    """(R12) It has nothing to commit, and nothing else differs."""

    async def story() -> Any:
        return await AsyncRuntime(store=None, model=InALoopOnly("Hello.")).start("Hi", "anna")

    assert asyncio.run(story()).answer == "Hello."


# -- what it is given, and its close --------------------------------------------------------------


@pytest.mark.parametrize("threads", [0, -1, True, 1.5, "4", None])
def test_the_number_of_threads_is_checked(threads: Any) -> None:
    """A whole number from 1."""
    with pytest.raises(InvalidValueError, match="the number of threads"):
        AsyncChat(threads=threads, **parts())


@pytest.mark.parametrize("wait", [-1, True, "5", None, float("nan")])
def test_the_wait_of_a_close_is_checked(wait: Any) -> None:
    """Seconds from 0."""
    with pytest.raises(InvalidValueError, match="the wait of a close"):
        asyncio.run(AsyncChat(**parts()).close(wait=wait))


def test_a_close_stops_what_does_not_end_in_time() -> None:
    """A run at a question to its model is left to its lease, and another process recovers it (R7, R8)."""
    clock = ManualClock()
    desk = Desk(MemoryStore(clock))

    class Hanging(InALoopOnly):
        async def complete_async(self, request: Any) -> ModelAnswer:
            """It never answers."""
            asked.set()
            await asyncio.Event().wait()
            raise AssertionError("it was never set")

    asked = asyncio.Event()

    async def story() -> BaseException:
        chat = AsyncChat(**{**desk.parts(), "model": Hanging()})
        task = asyncio.create_task(chat.send("Go.", ANNA))
        await asked.wait()
        await chat.close()
        (error,) = await asyncio.gather(task, return_exceptions=True)
        assert isinstance(error, BaseException)
        return error

    assert isinstance(asyncio.run(story()), asyncio.CancelledError)
    row = desk.store.run_row("run-0001")
    assert row is not None
    assert row.status is RunStatus.RUNNING
    clock.advance(1000.0)
    again = asyncio.run(AsyncChat(**{**desk.parts(), "model": InALoopOnly("Hello.")}).runtime.recover("run-0001"))
    assert again.status is RunStatus.COMPLETED
    assert len(stored(desk.store, "conversation-0001")) == 1


def test_a_failure_behind_a_cancelled_caller_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Nobody is left who could be told; it must not be lost."""
    store = MemoryStore(ManualClock())
    asked, go_on = asyncio.Event(), asyncio.Event()

    class Slow(InALoopOnly):
        async def complete_async(self, request: Any) -> ModelAnswer:
            """It answers when the store is gone."""
            asked.set()
            await go_on.wait()
            return ModelAnswer("Hello.")

    def gone(changes: Any) -> None:
        raise StoreUnavailableError("the disk is full")

    async def story() -> None:
        chat = AsyncChat(**{**Desk(store).parts(), "model": Slow()})
        task = asyncio.create_task(chat.send("Go.", ANNA))
        await asked.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        store.commit = gone  # type: ignore[method-assign]
        go_on.set()
        await chat.close(wait=30)

    asyncio.run(story())

    assert "a call whose caller was cancelled failed" in caplog.text
    assert "StoreUnavailableError" in caplog.text
