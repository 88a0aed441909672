"""
Long conversations over each protocol: what a server counts corrects the estimate, and nothing beyond is sent (R11).
"""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from nr_agent_core import (
    AsyncChat,
    Chat,
    FailureCode,
    ModelAnswer,
    RunStatus,
    TurnCompleted,
    TurnStarted,
)
from nr_agent_core.adapters.memory import MemoryStore
from nr_agent_core.domain.context_window import budget
from nr_agent_core.domain.run_events import ModelAnswered
from nr_agent_core.domain.system_prompt import SHORTENED
from tests.providers.loopback import Asked, Loopback, Reply, said
from tests.providers.test_turns import ANNA, events_of
from tests.providers.wires import OpenAIWire, Wire

WINDOW, OUTPUT = 12_000, 500
ROOM = budget(WINDOW, OUTPUT)
TEXTS = [f"{number} " + "word " * 1000 for number in range(10)]
"""Messages of some 1,430 estimated tokens each."""

Turns = Callable[[dict[str, Any], list[str]], list[str]]


def texts_of(body: dict[str, Any]) -> list[str]:
    """The texts of a question, the system prompt first."""
    found = [body["system"]] if "system" in body else []
    for message in body["messages"]:
        content = message["content"]
        found.append(content if isinstance(content, str) else "".join(block.get("text", "") for block in content))
    return [text if isinstance(text, str) else "".join(block["text"] for block in text) for text in found]


def counting(wire: Wire, tokens: Callable[[int], Any], sent: list[int]) -> Callable[[Asked], Reply]:
    """Answers "Good." and reports so many tokens for a question of so many characters."""

    def answer(asked: Asked) -> Reply:
        count = tokens(sum(map(len, texts_of(asked.body))))
        sent.append(count)
        made = ModelAnswer("Good.", finish_reason="stop")
        if not asked.streaming:
            return said(counted(wire.document(made), count))
        if isinstance(wire, OpenAIWire):
            return wire.stream([counted(chunk, count) for chunk in wire.chunks(made)])
        start, *rest = wire.events(made)
        return wire.stream([{**start, "message": counted(start["message"], count)}, *rest])

    return answer


def counted(document: dict[str, Any], count: Any) -> dict[str, Any]:
    """*document* with this usage, under the names of either protocol, if it has one."""
    if document.get("usage") is None:
        return document
    return {**document, "usage": {"prompt_tokens": count, "input_tokens": count, "completion_tokens": 5}}


def at_once(chat_parts: dict[str, Any], texts: list[str]) -> list[str]:
    """The runs of one conversation, each asked at once."""
    chat, runs, conversation = Chat(**chat_parts), [], None
    for text in texts:
        sent = chat.send(text, ANNA, conversation=conversation)
        conversation = sent.conversation
        runs.append(sent.run_id)
    chat.close()
    return runs


def streamed(chat_parts: dict[str, Any], texts: list[str]) -> list[str]:
    """The same, streamed."""
    chat, runs, conversation = Chat(**chat_parts), [], None
    for text in texts:
        first, *_, last = chat.stream(text, ANNA, conversation=conversation)
        assert isinstance(first, TurnStarted)
        assert isinstance(last, TurnCompleted)
        conversation = first.conversation
        runs.append(first.run_id)
    chat.close()
    return runs


def awaited(chat_parts: dict[str, Any], texts: list[str]) -> list[str]:
    """The same, from an event loop."""

    async def turns() -> list[str]:
        chat, runs, conversation = AsyncChat(**chat_parts), [], None
        for text in texts:
            sent = await chat.send(text, ANNA, conversation=conversation)
            conversation = sent.conversation
            runs.append(sent.run_id)
        await chat.close(wait=5)
        return runs

    return asyncio.run(turns())


def streamed_in_a_loop(chat_parts: dict[str, Any], texts: list[str]) -> list[str]:
    """The same, streamed from an event loop."""

    async def turns() -> list[str]:
        chat, runs, conversation = AsyncChat(**chat_parts), [], None
        for text in texts:
            first, *_, last = [event async for event in chat.stream(text, ANNA, conversation=conversation)]
            assert isinstance(first, TurnStarted)
            assert isinstance(last, TurnCompleted)
            conversation = first.conversation
            runs.append(first.run_id)
        await chat.close(wait=5)
        return runs

    return asyncio.run(turns())


WAYS = pytest.mark.parametrize(
    "turns", [at_once, streamed, awaited, streamed_in_a_loop], ids=lambda way: way.__name__.replace("_", " ")
)


def parts(wire: Wire, server: Loopback) -> dict[str, Any]:
    """A chat whose model has a small window."""
    model = wire.model(server, context_window=WINDOW, output_limit=OUTPUT)
    return {"store": MemoryStore(), "model": model}


def left_out(store: MemoryStore, runs: list[str]) -> list[int]:
    """How many older messages each run's question left out."""
    events = [stored.event for run in runs for stored in store.events(run)]
    return [event.left_out for event in events if isinstance(event, ModelAnswered)]


@WAYS
def test_what_a_server_counts_keeps_a_long_conversation_within_its_window(
    turns: Turns, wire: Wire, server: Loopback
) -> None:
    """One token for two characters, where three and a half are reckoned: no question is larger than its room."""
    sent: list[int] = []
    server.answering = counting(wire, lambda size: size // 2, sent)
    chat_parts = parts(wire, server)
    runs = turns(chat_parts, TEXTS)

    assert max(sent) <= ROOM
    # The room is used all the same: one more turn would not have fitted.
    assert max(sent) > ROOM - len(TEXTS[0])
    missing = left_out(chat_parts["store"], runs)
    assert missing[-1] > 0
    for asked, before in zip(server.asked, missing, strict=True):
        system, first, *_ = texts_of(asked.body)
        assert first.startswith(f"{before // 2} word")
        assert (SHORTENED in system) == (before > 0)


def check_ignored(turns: Turns, wire: Wire, server: Loopback, count: object) -> None:
    """A server that counts like this leaves as many turns in as the plain estimate does."""
    server.answering = counting(wire, lambda size: count, [])
    strange = parts(wire, server)
    ignored = left_out(strange["store"], turns(strange, TEXTS))
    server.answering = counting(wire, lambda size: size * 2 // 7, [])
    plain = parts(wire, server)

    assert ignored == left_out(plain["store"], turns(plain, TEXTS))
    assert ignored[-1] > 0


@pytest.mark.parametrize("count", [None, 10**9, "many"])
def test_usage_that_is_missing_or_absurd_changes_nothing(wire: Wire, server: Loopback, count: object) -> None:
    """As many turns are told as the plain estimate allows."""
    check_ignored(at_once, wire, server, count)


@WAYS
def test_absurd_usage_changes_nothing_whichever_way_is_taken(turns: Turns, wire: Wire, server: Loopback) -> None:
    """Streamed and awaited alike."""
    check_ignored(turns, wire, server, 10**9)


def test_a_message_that_is_too_long_by_the_corrected_estimate_is_not_sent(wire: Wire, server: Loopback) -> None:
    """No call; the run ends with the code that says why, and the conversation goes on with a shorter one."""
    server.answering = counting(wire, lambda size: size // 2, [])
    chat = Chat(**parts(wire, server))
    too_long = "x" * 24_000

    # A conversation without usage is asked by the plain estimate, which takes it.
    assert chat.send(too_long, ANNA).status is RunStatus.COMPLETED
    first = chat.send(TEXTS[0], ANNA)
    before = len(server.asked)
    sent = chat.send(too_long, ANNA, conversation=first.conversation)

    assert len(server.asked) == before
    assert sent.status is RunStatus.FAILED
    assert events_of(chat, sent.run_id)[-1].code is FailureCode.CONTEXT_TOO_LONG
    chat.send("And now?", ANNA, conversation=first.conversation)
    assert chat.view(first.conversation, ANNA).messages[-1].text == "Good."
    chat.close()
