"""
What an event loop adds: awaited models, tools and listeners, their deadlines, and many turns at once.
"""

import asyncio
import contextvars
import threading
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from nr_agent_core import (
    AsyncChat,
    AsyncRuntime,
    Chat,
    Configuration,
    FailureCode,
    InvalidValueError,
    ModelAnswer,
    Reader,
    RunStatus,
    SendOutcome,
    StoreUnavailableError,
    Tool,
    ToolEffect,
    ToolResult,
    WriteKind,
    Wrote,
    tool,
)
from nr_agent_core.adapters.asyncio_event_bus import AsyncioEventBus
from nr_agent_core.adapters.memory import MemoryStore
from nr_agent_core.adapters.sqlite import SqliteStore
from nr_agent_core.steps import orders
from nr_agent_core.testing import ManualClock, ScriptedModel, call, round_of
from tests.asynchronous.desk import ANNA, SCHEMA, Desk, stored

READ, WRITE, REPEATABLE = ToolEffect.READ_ONLY, ToolEffect.NON_IDEMPOTENT_WRITE, ToolEffect.IDEMPOTENT_WRITE


class InALoopOnly:
    """
    A model that can only be asked from an event loop.
    """

    context_window = output_limit = None

    def __init__(self, *answers: Any) -> None:
        self._model = ScriptedModel(*answers)

    async def complete_async(self, request: Any) -> ModelAnswer:
        """What the script says, a moment later."""
        await asyncio.sleep(0)
        return self._model.complete(request)


class InAThread:
    """
    A model that blocks.
    """

    context_window = output_limit = None

    def __init__(self, *answers: Any) -> None:
        self._model, self.threads = ScriptedModel(*answers), set[int]()

    def complete(self, request: Any) -> ModelAnswer:
        """What the script says."""
        self.threads.add(threading.get_ident())
        return self._model.complete(request)


def parts(*answers: Any, **more: Any) -> dict[str, Any]:
    """The parts of a chat over a store in memory."""
    return {**Desk(MemoryStore(ManualClock()), answers).parts(), **more}


def test_an_asynchronous_model_is_refused_by_no_facade_and_asked_by_the_asynchronous_one() -> None:
    """A plain chat cannot await: its turn fails, and says to an administrator what to do (F1, F2)."""
    asked = asyncio.run(AsyncChat(**parts(model=InALoopOnly("Hello."))).send("Hi.", ANNA))
    chat = Chat(**parts(model=InALoopOnly("Hello.")))

    failed = chat.send("Hi.", ANNA)

    assert asked.status is RunStatus.COMPLETED
    assert failed.status is RunStatus.FAILED
    error = chat.view(failed.conversation, ANNA).error
    assert error is not None
    assert error.code is FailureCode.PROVIDER_NOT_CONFIGURED


def test_a_model_that_blocks_never_holds_up_the_loop() -> None:
    """It is asked in a thread."""
    model = InAThread("Hello.")

    sent = asyncio.run(AsyncChat(**parts(model=model)).send("Hi.", ANNA))

    assert sent.status is RunStatus.COMPLETED
    assert threading.get_ident() not in model.threads


@pytest.mark.parametrize("facade", [Chat, AsyncChat])
def test_a_coroutine_function_named_complete_is_refused(facade: Any) -> None:
    """It would bring a coroutine where an answer was asked for; the error says how it is named."""

    class Misnamed(InALoopOnly):
        async def complete(self, request: Any) -> ModelAnswer:
            """It belongs to the other name."""
            return await self.complete_async(request)

    with pytest.raises(InvalidValueError, match="complete_async is awaited"):
        facade(**parts(model=Misnamed()))


# -- tools --------------------------------------------------------------------------------------


def test_plain_and_asynchronous_tools_work_side_by_side() -> None:
    """An asynchronous one runs in the loop, a plain one beside it; previews and both effects too (T8)."""
    places: dict[str, int] = {}

    @tool(effect=READ)
    async def look(n: int) -> str:
        """Look."""
        places["look"] = threading.get_ident()
        return "seen"

    @tool(effect=READ)
    def listen(n: int) -> str:
        """Listen."""
        places["listen"] = threading.get_ident()
        return "heard"

    @tool(effect=WRITE)
    async def save(n: int) -> ToolResult:
        """Save."""
        places["save"] = threading.get_ident()
        return ToolResult.text("saved").with_write_target(("pages", n), WriteKind.CREATED)

    @save.preview
    async def _(n: int) -> str:
        places["preview"] = threading.get_ident()
        return f"page {n}"

    script = (round_of(call("look", n=1), call("listen", n=1), call("save", n=7)), "Page 7 is saved.")

    async def story() -> Any:
        chat = AsyncChat(**parts(*script, tools=[look, listen, save]))
        sent = await chat.send("Go.", ANNA)
        card = (await chat.view(sent.conversation, ANNA)).card
        assert card is not None
        assert ("page 7",) in [shown.lines for shown in card.calls]
        return await chat.decide(sent.conversation, "approve", card=card, by=ANNA)

    sent = asyncio.run(story())

    assert sent.status is RunStatus.COMPLETED
    here = threading.get_ident()
    assert {name for name, place in places.items() if place == here} == {"look", "save", "preview"}
    assert "listen" in places


def test_tools_see_the_callers_context_and_the_hosts_surroundings() -> None:
    """Context variables of the caller's task, and ``around_tool`` around each call, in both colours (T13)."""
    tenant: contextvars.ContextVar[str] = contextvars.ContextVar("tenant", default="nobody")
    seen: list[str] = []
    around: list[str] = []

    @contextmanager
    def surrounding(context: Any) -> Any:
        around.append(context.call_id)
        yield
        around.append(context.call_id)

    @tool(effect=READ)
    async def look() -> str:
        """Look."""
        seen.append(tenant.get())
        return "seen"

    @tool(effect=READ)
    def listen() -> str:
        """Listen."""
        seen.append(tenant.get())
        return "heard"

    async def story() -> None:
        tenant.set("acme")
        script = (round_of(call("look"), call("listen")), "Done.")
        chat = AsyncChat(**parts(*script, tools=[look, listen], around_tool=surrounding))
        await chat.send("Go.", ANNA)

    asyncio.run(story())

    assert seen == ["acme", "acme"]
    assert around == ["0.0", "0.0", "0.1", "0.1"]


@pytest.mark.parametrize("in_loop", [False, True], ids=["plain", "asynchronous"])
@pytest.mark.parametrize("effect", [READ, REPEATABLE, WRITE], ids=lambda effect: effect.value)
def test_a_tool_that_passes_its_deadline_is_given_up_and_its_outcome_kept(effect: ToolEffect, in_loop: bool) -> None:
    """(T4, R7, R8) The turn goes on; what the tool then did becomes known, is announced and stored."""
    heard: list[Any] = []

    async def story() -> tuple[Any, Any, int]:
        held, ended = asyncio.Event(), threading.Event()

        async def save_async(*_: Any) -> ToolResult:
            await held.wait()
            return _saved(effect)

        def save(*_: Any) -> ToolResult:
            ended.wait(30)
            return _saved(effect)

        slow = Tool("save", "Save.", SCHEMA, effect, save_async if in_loop else save, deadline=0.01)
        model = ScriptedModel(call("save", n=1), "I do not know.")
        configuration = Configuration(model=model, unattended=["save"])
        given = parts(tools=[slow], configuration=configuration, model=None)
        given["bus"].subscribe(heard.append)
        chat = AsyncChat(**given)
        sent = await chat.send("Go.", ANNA)
        before = await chat.runtime.status(sent.run_id or "", ANNA)
        held.set()
        ended.set()
        left = await chat.close(wait=30)
        return before, await chat.runtime.status(sent.run_id or "", ANNA), left

    before, after, left = asyncio.run(story())

    assert before.status is RunStatus.COMPLETED
    assert before.evidence.wrote is (Wrote.CANNOT_TELL if effect.writes else Wrote.NO)
    assert left == 0
    assert after.evidence.wrote is (Wrote.YES if effect.writes else Wrote.NO)
    assert len(heard) == (1 if effect.writes else 0)


def _saved(effect: ToolEffect) -> ToolResult:
    result = ToolResult.text("it is so")
    return result.with_write_target(("pages", 1), WriteKind.CREATED) if effect.writes else result


@pytest.mark.parametrize("streams", [False, True], ids=["at once", "as a stream"])
@pytest.mark.parametrize("in_loop", [False, True], ids=["plain", "asynchronous"])
def test_a_model_that_passes_its_deadline_is_given_up(
    streams: bool, in_loop: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """(R8, R10) The turn fails as with a lost connection; an asynchronous model hears that it was given up."""
    monkeypatch.setattr(orders, "MODEL_DEADLINE", 0.01)
    ended = threading.Event()
    given_up: list[str] = []

    class Hanging:
        context_window = output_limit = None

        def complete(self, request: Any) -> ModelAnswer:
            ended.wait(30)
            return ModelAnswer("Too late.")

        def stream(self, request: Any) -> Any:
            yield "Too "
            ended.wait(30)
            yield "late."

    class HangingInALoop(Hanging):
        async def complete_async(self, request: Any) -> ModelAnswer:
            try:
                await asyncio.Event().wait()
            finally:
                given_up.append("asked")
            raise AssertionError("it was never set")

        async def stream_async(self, request: Any) -> Any:
            yield "Too "
            try:
                await asyncio.Event().wait()
            finally:
                given_up.append("streamed")

    async def story() -> Any:
        chat = AsyncChat(**parts(model=HangingInALoop() if in_loop else Hanging()))
        if not streams:
            return await chat.send("Go.", ANNA), chat
        stream = chat.stream("Go.", ANNA)
        async for _ in stream:
            pass
        return stream.sent, chat

    async def all_of_it() -> Any:
        sent, chat = await story()
        ended.set()
        return sent, await chat.view(sent.conversation, ANNA)

    sent, view = asyncio.run(all_of_it())

    assert sent.status is RunStatus.FAILED
    assert view.error is not None
    assert view.error.code is FailureCode.PROVIDER_UNAVAILABLE
    assert given_up == ([("streamed" if streams else "asked")] if in_loop else [])


# -- listeners ----------------------------------------------------------------------------------


def test_asynchronous_listeners_hear_before_the_outcome_is_stored() -> None:
    """In their order, each isolated; one that fails or is slow costs the outcome nothing (W1, W2)."""
    heard: list[tuple[str, int]] = []
    bus, store = AsyncioEventBus(), MemoryStore(ManualClock())

    async def slow(event: Any) -> None:
        await asyncio.sleep(0)
        heard.append(("slow", len(store.writes(after=0, limit=9))))

    async def failing(event: Any) -> None:
        heard.append(("failing", len(store.writes(after=0, limit=9))))
        raise asyncio.CancelledError

    def plain(event: Any) -> None:
        heard.append(("plain", len(store.writes(after=0, limit=9))))

    for listener in (slow, failing, plain):
        bus.subscribe(listener)
    configuration = Configuration(model=ScriptedModel(call("save", n=7), "Saved."), unattended=["save"])
    desk = Desk(store, more={"bus": bus, "configuration": configuration, "model": None})

    sent = asyncio.run(AsyncChat(**desk.parts()).send("Go.", ANNA))

    assert sent.status is RunStatus.COMPLETED
    assert heard == [("slow", 0), ("failing", 0), ("plain", 0)]
    assert len(store.writes(after=0, limit=9)) == 1


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


class InALoopModel:
    """
    Another model's answers, awaited.
    """

    context_window = output_limit = None

    def __init__(self, model: ScriptedModel) -> None:
        self._model = model

    async def complete_async(self, request: Any) -> ModelAnswer:
        """As the model says, a moment later."""
        await asyncio.sleep(0)
        return self._model.complete(request)


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


# -- outcomes that come when nobody waits -------------------------------------------------------


def slow_tool(go_on: threading.Event) -> Tool:
    """A plain tool that writes once it may, long after its deadline."""

    def save(*_: Any) -> ToolResult:
        assert go_on.wait(30)
        return _saved(WRITE)

    return Tool("save", "Save.", SCHEMA, WRITE, save, deadline=0.01)


def unattended(*answers: Any) -> dict[str, Any]:
    """A configuration in which the tool needs no approval."""
    return {"configuration": Configuration(model=ScriptedModel(*answers), unattended=["save"]), "model": None}


def test_a_tool_that_ends_when_its_loop_is_closed_is_not_forgotten() -> None:
    """(R7) Its thread stores and announces what it did, for whoever looks next."""
    go_on = threading.Event()
    heard: list[Any] = []
    bus = AsyncioEventBus()

    async def listen(event: Any) -> None:
        heard.append(event)

    bus.subscribe(listen)
    given = parts(tools=[slow_tool(go_on)], bus=bus, **unattended(call("save", n=1), "I do not know."))
    chat = AsyncChat(**given)
    sent = asyncio.run(chat.send("Go.", ANNA))
    go_on.set()

    assert asyncio.run(chat.close(wait=30)) == 0
    evidence = Chat(**given).runtime.status(sent.run_id or "", ANNA).evidence
    assert evidence.wrote is Wrote.YES
    assert len(heard) == 1


def test_asynchronous_listeners_hear_of_late_writes_in_their_own_loop() -> None:
    """(W1) As long as the loop runs, they are called there."""
    go_on = threading.Event()
    loops: list[Any] = []
    bus = AsyncioEventBus()

    async def listen(event: Any) -> None:
        loops.append(asyncio.get_running_loop())

    bus.subscribe(listen)

    async def story() -> None:
        given = parts(tools=[slow_tool(go_on)], bus=bus, **unattended(call("save", n=1), "I do not know."))
        chat = AsyncChat(**given)
        await chat.send("Go.", ANNA)
        go_on.set()
        assert await chat.close(wait=30) == 0
        assert loops == [asyncio.get_running_loop()]

    asyncio.run(story())


def test_a_hosts_own_executor_runs_the_plain_tools() -> None:
    """A chat may bring one; asynchronous tools run in the loop all the same."""
    used: list[float] = []

    class Ours:
        def run(self, work: Any, *, deadline: float, late: Any) -> Any:
            used.append(deadline)
            return work()

    desk = Desk(MemoryStore(ManualClock()), (call("search", n=1), "Done."), in_loop=False, more={"executor": Ours()})

    sent = asyncio.run(AsyncChat(**desk.parts()).send("Go.", ANNA))

    assert sent.status is RunStatus.COMPLETED
    assert used == [120.0]


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
