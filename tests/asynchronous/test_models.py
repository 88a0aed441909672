"""
Models of an event loop: awaited or asked in a thread, each by its name, and given up at their deadline.
"""

import asyncio
import threading
from typing import Any

import pytest

from nr_agent_core import AsyncChat, Chat, FailureCode, InvalidValueError, ModelAnswer, RunStatus
from nr_agent_core.steps import orders
from nr_agent_core.testing import ScriptedModel
from tests.asynchronous.chat_in_memory import InALoopOnly, parts
from tests.asynchronous.desk import ANNA


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
