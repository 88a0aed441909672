"""
A client that knows the protocol and nothing else: it checks every event, and shows what they say.
"""

import asyncio
import itertools
import json
from typing import Any

from ag_ui.core import Event, RunAgentInput
from pydantic import TypeAdapter

from nr_agent_core import Reader
from nr_agent_core.adapters.agui import AgUiEndpoint, AsyncAgUiEndpoint
from tests.asynchronous.blocking import BlockingChat
from tests.chat.world import ANNA

EVENTS: TypeAdapter[Any] = TypeAdapter(Event)


class Screen:
    """
    One window of one reader, over either facade.

    Attributes:
        thread: the conversation; empty until the first answer.
        shown: the messages, as ``[id, role, text]``.
        interrupts: those that the last request ended with.
        events: what the last request was answered with.
    """

    def __init__(self, chat: Any, reader: Reader = ANNA, *, thread: str = "", **options: Any) -> None:
        self._chat, self._reader, self._options = chat, reader, options
        self.thread = thread
        self.shown: list[list[str]] = []
        self.interrupts: list[dict[str, Any]] = []
        self.events: list[dict[str, Any]] = []
        self._numbers = itertools.count()

    # -- what a person does -------------------------------------------------------------------

    def say(self, text: str) -> str:
        """A message, with all that is shown before it, as clients send it; the type of the last event."""
        self.shown.append([f"mine-{next(self._numbers)}", "user", text])
        return self.run()

    def look(self) -> str:
        """Only look."""
        return self.run(messages=[])

    def decide(self, *, approved: bool = True, interrupt: dict[str, Any] | None = None, **payload: Any) -> str:
        """The answer to the open interrupt, or to another one."""
        asked = interrupt or self.interrupts[0]
        return self.resume(
            {"interruptId": asked["id"], "status": "resolved", "payload": {"approved": approved, **payload}}
        )

    def resume(self, *entries: Any) -> str:
        """Resume entries, beside the whole history."""
        return self.run(resume=list(entries))

    def run(self, **body: Any) -> str:
        """One request of the protocol's form, with its answer shown."""
        messages = [{"id": name, "role": role, "content": text} for name, role, text in self.shown]
        given = {"threadId": self.thread, "runId": f"request-{next(self._numbers)}", "messages": messages, **body}
        RunAgentInput.model_validate(given)
        return self.post(json.dumps(given))

    def post(self, body: bytes | str) -> str:
        """Any body at all, with its answer shown."""
        self.events = [self._read(frame) for frame in self._frames(body)]
        in_order(self.events)
        for event in self.events:
            self._show(event)
        return self.end["type"]

    # -- what it was answered -----------------------------------------------------------------

    @property
    def end(self) -> dict[str, Any]:
        """The last event."""
        return self.events[-1]

    @property
    def answers(self) -> list[str]:
        """The texts of assistants that are shown; empty ones are not."""
        return [text for _, role, text in self.shown if role == "assistant" and text]

    def custom(self, name: str) -> list[dict[str, Any]]:
        """The values of the custom events of this name."""
        return [event["value"] for event in self.events if event["type"] == "CUSTOM" and event["name"] == name]

    def _frames(self, body: bytes | str) -> list[str]:
        if not isinstance(self._chat, BlockingChat):
            return list(AgUiEndpoint(self._chat, **self._options).frames(body, self._reader))
        endpoint = AsyncAgUiEndpoint(self._chat._facade, **self._options)

        async def read() -> list[str]:
            return [frame async for frame in endpoint.frames(body, self._reader)]

        return asyncio.run(read())

    def _read(self, frame: str) -> dict[str, Any]:
        assert frame.isascii()
        assert frame.startswith("data: ")
        assert frame.endswith("\n\n")
        assert "\n" not in frame[:-2]
        event: dict[str, Any] = json.loads(frame.removeprefix("data: "))
        assert EVENTS.validate_python(event).model_dump(by_alias=True, mode="json").keys() == event.keys()
        return event

    def _show(self, event: dict[str, Any]) -> None:
        match event["type"]:
            case "RUN_STARTED":
                self.thread = event["threadId"]
            case "TEXT_MESSAGE_START":
                self.shown.append([event["messageId"], event["role"], ""])
            case "TEXT_MESSAGE_CONTENT":
                next(message for message in self.shown if message[0] == event["messageId"])[2] += event["delta"]
            case "MESSAGES_SNAPSHOT":
                self.shown = [[message["id"], message["role"], message["content"]] for message in event["messages"]]
            case "RUN_FINISHED":
                self.interrupts = event["outcome"].get("interrupts", [])


def in_order(events: list[dict[str, Any]]) -> None:
    """
    The order that the protocol asks for.

    A run starts first and ends last, once; messages and calls are opened once, closed, and closed before it finishes.
    """
    assert events[0]["type"] in ("RUN_STARTED", "RUN_ERROR")
    assert [event["type"] for event in events].count("RUN_STARTED") <= 1
    assert events[-1]["type"] in ("RUN_FINISHED", "RUN_ERROR")
    assert not {event["type"] for event in events[:-1]} & {"RUN_FINISHED", "RUN_ERROR"}
    opened: set[str] = set()
    text, calls, unanswered = None, set[str](), set[str]()
    for event in events:
        match event["type"]:
            case "TEXT_MESSAGE_START":
                assert text is None
                text = event["messageId"]
                assert text not in opened
                opened.add(text)
            case "TEXT_MESSAGE_CONTENT":
                assert event["messageId"] == text
            case "TEXT_MESSAGE_END":
                assert event["messageId"] == text
                text = None
            case "TOOL_CALL_START":
                assert event["toolCallId"] not in opened
                opened.add(event["toolCallId"])
                calls.add(event["toolCallId"])
                unanswered.add(event["toolCallId"])
            case "TOOL_CALL_END":
                calls.remove(event["toolCallId"])
            case "TOOL_CALL_RESULT":
                assert event["toolCallId"] not in calls
                unanswered.remove(event["toolCallId"])
            case "MESSAGES_SNAPSHOT":
                assert text is None
            case "RUN_FINISHED":
                assert (text, calls, unanswered) == (None, set(), set())
                assert event["runId"] == events[0]["runId"]
                assert event["threadId"] == events[0]["threadId"]
