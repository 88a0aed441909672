"""
Turns as a UI message stream: what is told, when text is an answer, and how a stream ends.
"""

from typing import Any

import pytest
from hypothesis import given

from nr_agent_core import FailureClass, ProviderError, TurnCompleted, TurnStarted
from nr_agent_core.adapters.ai_sdk import HEADERS, AiSdkEncoder
from nr_agent_core.adapters.memory import MemoryStore
from nr_agent_core.testing import ManualClock
from tests.agui.test_encoder import turns
from tests.ai_sdk.streams import ANSWER, INTERIM, chunks, encoded, story
from tests.chat.world import ANNA, World


@pytest.fixture
def world() -> World:
    """An empty host."""
    clock = ManualClock()
    return World(MemoryStore(clock=clock), clock)


def kinds(stream: str) -> list[str]:
    """The types of the chunks, without drafts."""
    return [chunk["type"] for chunk in chunks(stream) if chunk["type"] != "data-draft"]


def test_a_turn_from_the_message_to_the_notice(world: World) -> None:
    """(V9, V10, P6, P7) Card, held message, approval with record and notice, and the second click."""
    told = story(world)

    assert kinds(told["asked"]) == ["start", "data-interim", "data-approval", "finish"]
    assert kinds(told["held"]) == ["start", "data-reply", "finish"]
    assert kinds(told["approved"]) == [
        "start",
        "tool-input-available",
        "tool-output-available",
        "tool-input-available",
        "tool-output-available",
        "data-record",
        "text-start",
        "text-delta",
        "text-end",
        "data-notice",
        "finish",
    ]
    (reply,) = [chunk["data"]["code"] for chunk in chunks(told["again"]) if chunk["type"] == "data-reply"]
    assert reply == "alreadyDecided"
    assert len(world.host.pages) == 1


def test_only_the_answer_is_a_text(world: World) -> None:
    """(V9) What stood beside a call was a draft, which no message keeps."""
    told = story(world)
    every = [chunk for stream in told.values() for chunk in chunks(stream)]

    assert [chunk["delta"] for chunk in every if chunk["type"] == "text-delta"] == [ANSWER]
    drafts = [chunk for chunk in every if chunk["type"] == "data-draft"]
    assert "".join(chunk["data"]["delta"] for chunk in drafts) == INTERIM + ANSWER
    assert all(chunk["transient"] for chunk in drafts)


def test_a_failure_is_an_error_with_this_readers_sentence(world: World) -> None:
    """(F2) The code is beside it, internals are nowhere."""
    chat = world.chat(ProviderError("secret", FailureClass.CONNECTION))
    told = chunks(encoded(chat.stream("Hallo", ANNA)))

    assert [chunk["type"] for chunk in told] == [
        "start",
        "data-interim",
        "data-notice",
        "data-failure",
        "error",
        "finish",
    ]
    assert told[3]["data"] == {"code": "providerUnavailable"}
    assert "secret" not in str(told)


def test_what_cannot_be_begun_is_an_error_and_an_end() -> None:
    """A host that catches what the call raised ends the stream by a sentence, once."""
    encoder = AiSdkEncoder()
    stream = "".join(encoder.encode_failure("No such conversation."))

    assert chunks(stream) == [{"type": "error", "errorText": "No such conversation."}]
    assert encoder.encode_failure("Again.") == ()


def test_the_message_is_of_the_run_that_answers() -> None:
    """Where another run was brought to its end first, what the message says of itself is put right."""
    turn = [TurnStarted("r1", "c1"), TurnStarted("r2", "c1"), TurnCompleted("r2", "Done.", (), ())]
    start, put_right, *rest = chunks(encoded(turn))

    assert start["messageMetadata"] == {"run": "r1", "conversation": "c1"}
    assert put_right == {"type": "message-metadata", "messageMetadata": {"run": "r2", "conversation": "c1"}}
    assert [chunk["type"] for chunk in rest] == ["text-start", "text-delta", "text-end", "finish"]


def test_the_headers_name_the_protocol() -> None:
    """Clients look at it."""
    assert HEADERS["x-vercel-ai-ui-message-stream"] == "v1"


@given(turn=turns())
def test_whatever_is_told_ends_once(turn: list[Any]) -> None:
    """One start, one end, and an output for every call that was begun."""
    told = chunks(encoded(turn))
    names = [chunk["type"] for chunk in told]

    assert names[0] == "start"
    assert names.count("start") == 1
    assert names[-1] in ("finish", "abort")
    begun = [chunk["toolCallId"] for chunk in told if chunk["type"] == "tool-input-available"]
    ended = [chunk["toolCallId"] for chunk in told if chunk["type"].startswith("tool-output-")]
    assert sorted(begun) == sorted(ended)
