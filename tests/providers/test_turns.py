"""
Whole turns over each protocol: a call, an approval, an answer, as plain chat, as streams, and in a loop.
"""

import asyncio
import json
from typing import Any

import pytest

from nr_agent_core import (
    ApprovalNeeded,
    AsyncChat,
    Chat,
    ModelAnswer,
    ModelCall,
    Reader,
    RoleAccess,
    TextDelta,
    ToolEffect,
    ToolResult,
    TurnCompleted,
    TurnStarted,
    WriteKind,
    tool,
)
from nr_agent_core.adapters.fallback_model import FallbackModel
from nr_agent_core.adapters.memory import MemoryStore
from nr_agent_core.domain.run_events import ModelAnswered, ToolFinished
from tests.providers.loopback import Answering, Loopback, loopback
from tests.providers.test_questions import thinking_events
from tests.providers.wires import AnthropicWire, OpenAIWire, Wire

ANNA = Reader("anna")
CALL = ModelAnswer("A moment.", (ModelCall("create_page", '{"title": "Team"}', "c1"),), finish_reason="tool_calls")
DONE = ModelAnswer("Saved as pages:42.", finish_reason="stop")


@tool(effect=ToolEffect.NON_IDEMPOTENT_WRITE)
def create_page(title: str) -> ToolResult:
    """Create a page."""
    return ToolResult.text(f"{title} is pages:42.").with_write_target(("pages", 42), WriteKind.CREATED)


@tool(effect=ToolEffect.READ_ONLY)
def find(uid: int) -> str:
    """Find a page."""
    return f"Page {uid}"


def says(wire: Wire, *answers: ModelAnswer) -> list[Answering]:
    """Each request is answered with the next of *answers*."""
    return [lambda asked, answer=answer: wire.answer(answer, asked) for answer in answers]  # type: ignore[misc]


def parts(model: Any) -> dict[str, Any]:
    """The parts of a chat that *anna* may decide in."""
    access = RoleAccess(owner_decides=True)
    return {"store": MemoryStore(), "model": model, "tools": [create_page, find], "access": access}


def events_of(chat: Any, run_id: str) -> list[Any]:
    """The stored events of a run."""
    return [stored.event for stored in chat.runtime.events(run_id, ANNA)]


def check_sent(wire: Wire, server: Loopback) -> None:
    """The second question gives back the call by its id, and its result."""
    first, second = server.asked
    sent = json.dumps(second.body["messages"][-2:])
    assert "create_page" in json.dumps(first.body["tools"])
    assert sent.count('"c1"') == 2
    assert "Team is pages:42." in sent


def test_a_turn_with_a_call_and_an_approval(wire: Wire, server: Loopback) -> None:
    """The card stands before anything is written; the answer is delivered with the records that were."""
    server.script(*says(wire, CALL, DONE))
    chat = Chat(**parts(wire.model(server)))

    sent = chat.send("Create a page 'Team'.", ANNA)
    card = chat.view(sent.conversation, ANNA).card
    assert card is not None
    chat.decide(sent.conversation, "approve", card=card, by=ANNA)
    chat.close()

    last = chat.view(sent.conversation, ANNA).messages[-1]
    assert (last.text, last.notices) == ("Saved as pages:42.", ())
    check_sent(wire, server)


def test_a_streamed_turn_with_a_call_and_an_approval(wire: Wire, server: Loopback) -> None:
    """Text comes in pieces, then the card; behind the decision the answer in pieces, and the end."""
    server.script(*says(wire, CALL, DONE))
    chat = Chat(**parts(wire.model(server)))

    before = list(chat.stream("Create a page 'Team'.", ANNA))
    assert "".join(event.text for event in before if isinstance(event, TextDelta)) == "A moment."
    started = next(event for event in before if isinstance(event, TurnStarted))
    needed = next(event for event in before if isinstance(event, ApprovalNeeded))
    behind = list(chat.stream_decide(started.conversation, "approve", card=needed.card, by=ANNA))
    chat.close()

    assert len([event for event in behind if isinstance(event, TextDelta)]) > 1
    assert isinstance(behind[-1], TurnCompleted)
    check_sent(wire, server)
    assert all(asked.streaming for asked in server.asked)


@pytest.mark.parametrize("streamed", [False, True])
def test_a_turn_in_an_event_loop(wire: Wire, streamed: bool, server: Loopback) -> None:
    """The same, awaited; the loop's end closes what the model opened in it."""
    server.script(*says(wire, CALL, DONE))

    async def turn() -> str:
        chat = AsyncChat(**parts(wire.model(server)))
        if streamed:
            events = [event async for event in chat.stream("Create it.", ANNA)]
            conversation = next(event.conversation for event in events if isinstance(event, TurnStarted))
        else:
            conversation = (await chat.send("Create it.", ANNA)).conversation
        card = (await chat.view(conversation, ANNA)).card
        await chat.decide(conversation, "approve", card=card, by=ANNA)
        text = (await chat.view(conversation, ANNA)).messages[-1].text
        await chat.close(wait=5)
        return text

    assert asyncio.run(turn()) == "Saved as pages:42."
    check_sent(wire, server)


@pytest.mark.parametrize(
    "arguments", ["{", "[1]", '{"title": NaN}', '{"title": "a", "title": "b"}', "", '{"title": 5}']
)
def test_arguments_that_are_none_are_told_and_executed_by_nobody(arguments: str, server: Loopback) -> None:
    """The run refuses the call and the model hears of it; nothing crashes and nothing waits (R4, T12)."""
    wire = OpenAIWire()
    broken = ModelAnswer("", (ModelCall("create_page", arguments, "c1"),), finish_reason="tool_calls")
    server.script(*says(wire, broken, DONE))
    chat = Chat(**parts(wire.model(server)))

    sent = chat.send("Create it.", ANNA)

    (call,) = [event for event in events_of(chat, sent.run_id) if isinstance(event, ToolFinished)]
    chat.close()
    assert not call.executed
    assert len(server.asked) == 2


def test_thinking_is_given_back_behind_an_approval_in_another_process(server: Loopback) -> None:
    """What the provider wants back is stored with the run, and echoed by whoever goes on (E1)."""
    wire = AnthropicWire()
    server.script(lambda asked: wire.stream(thinking_events()), *says(wire, DONE))
    shared = parts(wire.model(server))
    events = list(Chat(**shared).stream("Find page 7.", ANNA))

    assert isinstance(events[-1], TurnCompleted)
    kinds = [block["type"] for block in server.asked[1].body["messages"][1]["content"]]
    assert kinds == ["thinking", "text", "redacted_thinking", "text", "tool_use"]


def test_a_run_may_go_on_at_another_provider(server: Loopback) -> None:
    """The first one thinks, calls and fails; the second takes over with ids it knows, and is recorded (E1)."""
    first, second = AnthropicWire(), OpenAIWire()
    server.script(lambda asked: first.stream(thinking_events()), lambda asked: first.error(529, "overloaded_error"))
    with loopback() as other:
        other.script(*says(second, DONE))
        chat = Chat(**parts(FallbackModel(first.model(server), second.model(other))))
        completed = list(chat.stream("Find page 7.", ANNA))[-1]
        chat.close()

        assert isinstance(completed, TurnCompleted)
        answered = [event for event in events_of(chat, completed.run_id) if isinstance(event, ModelAnswered)]
        assert [(event.provider, event.model) for event in answered] == [
            ("anthropic", "model-x-2026"),
            ("openai", "gpt-x-2026"),
        ]
        sent = json.dumps(other.asked[0].body["messages"])
        assert "Page 7 it is." not in sent
        assert '"tool_call_id": "t1"' in sent
