"""
Endpoints in a host: readers who leave, silence, failures of the store, options, and what they import.
"""

import asyncio
import json
import subprocess
import sys
import threading
from contextlib import aclosing
from typing import Any

import pytest

from nr_agent_core import AsyncChat, Chat, InvalidValueError, Reader, StoreUnavailableError, TurnCompleted
from nr_agent_core.adapters.agui import AgUiEndpoint, AsyncAgUiEndpoint
from nr_agent_core.adapters.memory import MemoryStore
from nr_agent_core.testing import ManualClock, ScriptedModel
from tests.agui.screen import Screen
from tests.asynchronous.desk import ANNA, Desk
from tests.chat.world import World

BODY = json.dumps({"threadId": "", "runId": "r", "messages": [{"id": "1", "role": "user", "content": "Go."}]})
PATIENCE = 10.0


def test_a_reader_who_leaves_a_plain_endpoint_ends_nothing() -> None:
    """(R2) The frames are closed after the first one; the run goes on to its answer."""
    may_answer = threading.Event()

    def answer(request: Any) -> str:
        assert may_answer.wait(PATIENCE)
        return "Done."

    store = MemoryStore(ManualClock())
    chat = Chat(**{**Desk(store).parts(), "model": ScriptedModel(answer)})
    frames: Any = AgUiEndpoint(chat).frames(BODY, ANNA)
    thread = json.loads(next(frames)[6:])["threadId"]
    frames.close()
    may_answer.set()
    chat.close(wait=PATIENCE)

    assert [message.text for message in store.messages(thread)] == ["Go.", "Done."]


def test_a_reader_who_leaves_an_asynchronous_endpoint_ends_nothing() -> None:
    """(R2) The task that reads is cancelled in the middle, as a server does it; the run goes on."""
    store = MemoryStore(ManualClock())

    async def leave() -> str:
        may_answer, begun = asyncio.Event(), asyncio.Event()
        chat = AsyncChat(**{**Desk(store).parts(), "model": _Waiting(may_answer)})
        seen: list[str] = []

        async def read() -> None:
            async for frame in AsyncAgUiEndpoint(chat).frames(BODY, ANNA):
                seen.append(frame)
                begun.set()

        reading = asyncio.create_task(read())
        await asyncio.wait_for(begun.wait(), PATIENCE)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        may_answer.set()
        await chat.close(wait=PATIENCE)
        return str(json.loads(seen[0][6:])["threadId"])

    assert [message.text for message in store.messages(asyncio.run(leave()))] == ["Go.", "Done."]


class _Waiting:
    """A model that answers when it may."""

    context_window = output_limit = None

    def __init__(self, may_answer: asyncio.Event) -> None:
        self._may_answer, self._model = may_answer, ScriptedModel("Done.")

    async def complete_async(self, request: Any) -> Any:
        """The answer."""
        await self._may_answer.wait()
        return self._model.complete(request)


def test_silence_is_bridged_by_comments_in_a_loop() -> None:
    """While the model thinks, a comment comes now and then: no event of the protocol, and none behind the end."""

    async def read() -> list[str]:
        may_answer = asyncio.Event()
        chat = AsyncChat(**{**Desk(MemoryStore(ManualClock())).parts(), "model": _Waiting(may_answer)})
        frames = []
        async for frame in AsyncAgUiEndpoint(chat, heartbeat=0.001).frames(BODY, ANNA):
            frames.append(frame)
            if frames.count(": \n\n") == 3:
                may_answer.set()
        return frames

    bridged(asyncio.run(read()))


def test_silence_is_bridged_by_comments_in_a_thread() -> None:
    """The same for a plain chat."""
    may_answer = threading.Event()

    def answer(request: Any) -> str:
        assert may_answer.wait(PATIENCE)
        return "Done."

    chat = Chat(**{**Desk(MemoryStore(ManualClock())).parts(), "model": ScriptedModel(answer)})
    frames = []
    for frame in AgUiEndpoint(chat, heartbeat=0.001).frames(BODY, ANNA):
        frames.append(frame)
        if frames.count(": \n\n") == 3:
            may_answer.set()

    bridged(frames)


def bridged(frames: list[str]) -> None:
    """Three comments at least, and a whole turn around them."""
    assert frames.count(": \n\n") >= 3
    assert json.loads(next(frame for frame in frames if frame != ": \n\n")[6:])["type"] == "RUN_STARTED"
    assert json.loads(frames[-1][6:])["type"] == "RUN_FINISHED"
    assert json.loads(next(frame for frame in frames if "CONTENT" in frame)[6:])["delta"] == "Done."


class _ByGenerator:
    """
    A host's chat that is wrapped, as hosts do it: its turns are asynchronous generators.
    """

    def __init__(self, may_end: asyncio.Event, chat: AsyncChat) -> None:
        self._may_end, self._chat = may_end, chat
        self.closed = False

    async def stream(self, text: str, reader: Reader, *, conversation: str | None = None) -> Any:
        """The events of the chat, the last one only when it may be told."""
        try:
            async for event in self._chat.stream(text, reader, conversation=conversation):
                if isinstance(event, TurnCompleted):
                    await self._may_end.wait()
                yield event
        finally:
            self.closed = True


def test_silence_does_not_end_a_turn_that_is_a_generator() -> None:
    """A heartbeat interrupts nobody: what a host's own generator waits for comes, and is told."""

    async def read() -> tuple[list[str], bool]:
        may_end = asyncio.Event()
        chat: Any = _ByGenerator(may_end, AsyncChat(**Desk(MemoryStore(ManualClock()), ("Done.",)).parts()))
        frames = []
        async for frame in AsyncAgUiEndpoint(chat, heartbeat=0.001).frames(BODY, ANNA):
            frames.append(frame)
            if frames.count(": \n\n") == 3:
                may_end.set()
        return frames, chat.closed

    frames, closed = asyncio.run(read())
    bridged(frames)
    assert closed


@pytest.mark.parametrize("quiet", [True, False])
def test_a_reader_who_leaves_a_generator_closes_it(quiet: bool) -> None:
    """Amid silence as amid a frame; nothing is left that reads on."""

    async def read() -> tuple[bool, int]:
        may_end = asyncio.Event()
        chat: Any = _ByGenerator(may_end, AsyncChat(**Desk(MemoryStore(ManualClock()), ("Done.",)).parts()))
        async with aclosing(AsyncAgUiEndpoint(chat, heartbeat=0.001).frames(BODY, ANNA)) as frames:
            async for frame in frames:
                if (frame == ": \n\n") == quiet:
                    break
        await chat._chat.close(wait=PATIENCE)
        return chat.closed, len(asyncio.all_tasks())

    assert asyncio.run(read()) == (True, 1)


@pytest.mark.parametrize("heartbeat", [0, -1.0, True, float("nan"), float("inf"), 1e12, "15"])
@pytest.mark.parametrize("kind", [AgUiEndpoint, AsyncAgUiEndpoint])
def test_a_heartbeat_that_nothing_can_wait_for_is_refused(kind: Any, heartbeat: Any) -> None:
    """At once, and not in the middle of the first silence."""
    with pytest.raises(InvalidValueError, match="heartbeat"):
        kind(Chat(**Desk(MemoryStore(ManualClock())).parts()), heartbeat=heartbeat)


@pytest.mark.parametrize("heartbeat", [None, 5.0])
def test_without_silence_there_is_no_comment(heartbeat: float | None) -> None:
    """A turn that is told at once is told as without a heartbeat."""
    chat = Chat(**Desk(MemoryStore(ManualClock()), ("Done.",)).parts())

    assert ": \n\n" not in list(AgUiEndpoint(chat, heartbeat=heartbeat).frames(BODY, ANNA))


def test_a_failure_that_looks_like_silence_is_a_failure() -> None:
    """A timeout of the host's own ends the request; it is not taken for the heartbeat's."""

    class Late:
        def may(self, *arguments: Any) -> bool:
            raise TimeoutError("the directory did not answer")

        is_administrator = may

    async def read() -> list[str]:
        chat = AsyncChat(**{**Desk(MemoryStore(ManualClock())).parts(), "access": Late()})
        return [frame async for frame in AsyncAgUiEndpoint(chat).frames(BODY, ANNA)]

    (frame,) = asyncio.run(read())
    assert json.loads(frame[6:])["code"] == "internal"


def test_nothing_happens_before_the_first_frame_is_asked_for(world: World) -> None:
    """Whoever makes the response and never sends it has done nothing."""
    endpoint = AgUiEndpoint(world.chat("Gut."))
    endpoint.frames(BODY, ANNA)

    assert world.runs() == []


@pytest.mark.parametrize("failing", ["conversation_row", "commit"])
def test_a_store_that_cannot_be_used_is_told_as_an_internal_failure(world: World, failing: str) -> None:
    """(F2) A code and a sentence, in the log the rest; no text of the error's reaches a client."""
    chat = world.chat("Gut.")
    conversation = chat.open(Reader("anna"))

    class Failing:
        def __getattr__(self, name: str) -> Any:
            return self._fails if name == failing else getattr(world.store, name)

        def _fails(self, *arguments: Any, **options: Any) -> Any:
            raise StoreUnavailableError("secret.db is locked")

    screen = Screen(world.chat("Gut.", store=Failing()), Reader("anna", language="de"), thread=conversation)

    assert screen.say("Hallo") == "RUN_ERROR"
    assert screen.end["code"] == "internal"
    assert "secret" not in str(screen.events)
    assert screen.end["message"].startswith("Etwas ist schiefgegangen.")


def test_sentences_are_the_hosts_own(world: World) -> None:
    """(V10) A translator is asked for every sentence that the endpoint adds."""

    class Shouting:
        def translate(self, key: str, arguments: Any, language: str) -> str | None:
            return key.upper()

    screen = Screen(world.chat(), Reader("anna"), thread="nowhere", translator=Shouting())

    screen.say("Hello")
    assert screen.end["message"] == "REQUEST.NOTFOUND"


@pytest.mark.parametrize(
    "options", [{"messages": 0}, {"messages": True}, {"body_limit": 0}, {"heartbeat": 0}, {"heartbeat": True}]
)
def test_options_outside_what_is_allowed_are_refused(options: dict[str, Any]) -> None:
    """At the start, not at the first request."""
    parts = Desk(MemoryStore(ManualClock())).parts()

    with pytest.raises(InvalidValueError):
        AsyncAgUiEndpoint(AsyncChat(**parts), **options)
    with pytest.raises(InvalidValueError):
        AgUiEndpoint(Chat(**parts), **options)


def test_a_snapshot_holds_the_newest_messages(world: World) -> None:
    """Not more than the host allows."""
    screen = Screen(world.chat("Eins.", "Zwei."), Reader("anna"), messages=3)
    screen.say("1")
    screen.say("2")
    screen.look()

    assert [text for _, _, text in screen.shown] == ["Eins.", "2", "Zwei."]


def test_neither_the_protocols_package_nor_a_framework_is_imported() -> None:
    """It works where only the library is installed."""
    program = (
        "import sys, nr_agent_core.adapters.agui\n"
        "print(sorted(sys.modules.keys() & {'ag_ui', 'pydantic', 'starlette', 'fastapi', 'uvicorn'}))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
