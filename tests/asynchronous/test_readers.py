"""
Whoever watches a turn only watches: what is told, and what changes when nobody reads on.
"""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from nr_agent_core import (
    ApprovalNeeded,
    AsyncChat,
    Chat,
    FailureClass,
    FailureCode,
    MessageNotTaken,
    MessageRejectedError,
    ModelAnswer,
    NoticeCode,
    Outcome,
    ProviderError,
    Reader,
    RecordWritten,
    ReplyCode,
    RunStatus,
    SendOutcome,
    TextDelta,
    TextWasInterim,
    ToolCallFinished,
    ToolCallStarted,
    ToolEffect,
    TurnCompleted,
    TurnEvent,
    TurnFailed,
    TurnStarted,
    WriteKind,
)
from nr_agent_core.adapters.memory import MemoryStore
from nr_agent_core.adapters.sqlite import SqliteStore
from nr_agent_core.testing import Cut, ManualClock, call, round_of
from tests.asynchronous.desk import ANNA, Desk, stored, told_plainly

READ, WRITE = ToolEffect.READ_ONLY, ToolEffect.NON_IDEMPOTENT_WRITE
STORY = (round_of(call("search", n=1), call("save", n=7), text="Let me look."), "Page 7 is saved.")


def desk_of(*script: Any, **options: Any) -> Desk:
    """A host over a store in memory."""
    return Desk(MemoryStore(ManualClock()), script, **options)


def watched(desk: Desk, in_loop: bool) -> list[TurnEvent]:
    """All that is told of a story: a message, and an approval if one is asked for."""
    if not in_loop:
        chat = Chat(**desk.parts())
        events = list(chat.stream("Go.", ANNA))
        conversation = events[0].conversation if isinstance(events[0], TurnStarted) else None
        if isinstance(events[-1], ApprovalNeeded):
            assert conversation is not None
            events += chat.stream_decide(conversation, "approve", card=events[-1].card, by=ANNA)
        return events

    async def watch() -> list[TurnEvent]:
        chat = AsyncChat(**desk.parts())
        events = [event async for event in chat.stream("Go.", ANNA)]
        conversation = events[0].conversation if isinstance(events[0], TurnStarted) else None
        if isinstance(events[-1], ApprovalNeeded):
            assert conversation is not None
            decided = chat.stream_decide(conversation, "approve", card=events[-1].card, by=ANNA)
            events += [event async for event in decided]
        return events

    return asyncio.run(watch())


in_both = pytest.mark.parametrize("in_loop", [False, True], ids=["plain", "in a loop"])


@in_both
@pytest.mark.parametrize("async_tools", [False, True], ids=["plain tools", "asynchronous tools"])
def test_a_turn_is_told_in_the_order_in_which_it_happens(in_loop: bool, async_tools: bool) -> None:
    """Text, calls, records, the card and the answer with its verdict; text beside calls is interim (V9)."""
    events = watched(desk_of(*STORY, in_loop=async_tools), in_loop)

    kinds = [event for event in events if not isinstance(event, ApprovalNeeded | TurnCompleted)]
    waiting = next(event for event in events if isinstance(event, ApprovalNeeded))
    run_id = waiting.run_id
    assert waiting.card is not None
    assert ["Page 7"] in [list(call.lines) for call in waiting.card.calls]
    started = TurnStarted(run_id, kinds[0].conversation if isinstance(kinds[0], TurnStarted) else None)
    assert kinds == [
        started, TextDelta(0, "Let"), TextDelta(0, " me"), TextDelta(0, " look."), TextWasInterim(0),
        started,
        ToolCallStarted("0.0", "search", READ), ToolCallFinished("0.0", "search", Outcome.TEXT),
        ToolCallStarted("0.1", "save", WRITE),
        ToolCallFinished("0.1", "save", Outcome.TEXT),
        RecordWritten(run_id, kinds[10].reference, WriteKind.CREATED),  # type: ignore[union-attr]
        TextDelta(1, "Page"), TextDelta(1, " 7"), TextDelta(1, " is"), TextDelta(1, " saved."),
    ]  # fmt: skip
    assert events[-1] == TurnCompleted(run_id, "Page 7 is saved.")


@in_both
def test_the_verdict_is_made_on_the_whole_text(in_loop: bool) -> None:
    """A claim that spans pieces is one claim; its notice comes with a label (V6, V9)."""
    last = watched(desk_of("I have created the page."), in_loop)[-1]

    assert isinstance(last, TurnCompleted)
    assert [notice.code for notice in last.notices] == [NoticeCode.NOTHING_SAVED]
    assert all(last.labels)
    assert len(last.labels) == 1


@in_both
@pytest.mark.parametrize("script", [(Cut("It is"),), (Cut(),)], ids=["behind a text", "at once"])
def test_a_cut_stream_is_a_failure_and_no_answer(in_loop: bool, script: tuple[Any, ...]) -> None:
    """What came of the text is told to be none; the turn fails with the code of a lost connection (R10, F1)."""
    desk = desk_of(*script)

    *_, interim, last = watched(desk, in_loop)

    assert interim == TextWasInterim(0)
    assert isinstance(last, TurnFailed)
    assert (last.status, last.code) == (RunStatus.FAILED, FailureCode.PROVIDER_UNAVAILABLE)
    assert last.text


class Streaming:
    """
    A model that streams just what it is given, in both ways.
    """

    context_window = output_limit = None

    def __init__(self, *pieces: Any) -> None:
        self.pieces = pieces

    def complete(self, request: Any) -> Any:
        """It is not asked like this."""
        raise AssertionError("a stream was to be asked for")

    complete_async = None

    def stream(self, request: Any) -> Any:
        """Just the pieces."""
        return iter(self.pieces)


class StreamingInALoop(Streaming):
    async def complete_async(self, request: Any) -> Any:
        """It is not asked like this."""
        raise AssertionError("a stream was to be asked for")

    async def stream_async(self, request: Any) -> Any:
        """Just the pieces."""
        for piece in self.pieces:
            yield piece


WHOLE = ModelAnswer("Hello.", finish_reason="stop")


@in_both
@pytest.mark.parametrize("model", [Streaming, StreamingInALoop])
@pytest.mark.parametrize(
    ("pieces", "code"),
    [
        (("Hello.",), FailureCode.PROVIDER_UNAVAILABLE),
        ((ModelAnswer("Hello."),), FailureCode.PROVIDER_UNAVAILABLE),
        (("He", "llo.", WHOLE, "more"), FailureCode.INTERNAL),
        (("He", WHOLE, WHOLE), FailureCode.INTERNAL),
        (("He", 7, WHOLE), FailureCode.INTERNAL),
        (("", "He", "", "llo.", WHOLE), None),
        ((WHOLE,), None),
    ],
    ids=["no end", "no reason", "text behind the end", "two ends", "no text", "empty pieces", "the answer alone"],
)
def test_only_a_stream_that_ends_is_an_answer(
    in_loop: bool, model: Any, pieces: tuple[Any, ...], code: FailureCode | None
) -> None:
    """A stream without its end, or with something behind it, fails; empty pieces are not told (R10)."""
    desk = desk_of()
    desk.more = {"model": model(*pieces)}

    events = watched(desk, in_loop)

    last = events[-1]
    assert (last.code if isinstance(last, TurnFailed) else None) is code
    assert all(event.text for event in events if isinstance(event, TextDelta))
    assert isinstance(last, TurnFailed) or last.text == "Hello."  # type: ignore[union-attr]


@in_both
def test_a_model_that_cannot_stream_is_told_at_once(in_loop: bool) -> None:
    """Its whole text is one piece."""
    events = watched(desk_of("Hello to you.", streams=False), in_loop)

    assert [event for event in events if isinstance(event, TextDelta)] == [TextDelta(0, "Hello to you.")]


@in_both
def test_what_no_run_took_is_told_as_such(in_loop: bool) -> None:
    """While an approval waits, "go on" is held: one event says so, in the reader's words (C2, V11)."""
    desk = desk_of(*STORY)
    conversation = Chat(**desk.parts()).send("Go.", ANNA).conversation
    reader = Reader("anna", language="de")
    if in_loop:

        async def read() -> Any:
            stream = AsyncChat(**desk.parts()).stream("weiter", reader, conversation=conversation)
            return [event async for event in stream], stream.sent

        events, sent = asyncio.run(read())
    else:
        stream = Chat(**desk.parts()).stream("weiter", reader, conversation=conversation)
        events, sent = list(stream), stream.sent

    (event,) = events
    assert isinstance(event, MessageNotTaken)
    assert event.code is ReplyCode.APPROVAL_PENDING
    assert (sent.outcome, sent.text) == (SendOutcome.HELD, event.text)


@in_both
def test_what_the_call_raises_asking_for_an_event_raises(in_loop: bool) -> None:
    """Nothing happens before the first event is asked for; then a blank message is refused."""
    desk = desk_of("Hello.")

    def plainly() -> None:
        list(Chat(**desk.parts()).stream(" ", ANNA))

    async def awaited() -> None:
        async for _ in AsyncChat(**desk.parts()).stream(" ", ANNA):
            pass

    with pytest.raises(MessageRejectedError):
        asyncio.run(awaited()) if in_loop else plainly()


@in_both
def test_a_failed_turn_can_be_streamed_again(in_loop: bool) -> None:
    """``stream_retry`` tells the retry as ``stream`` tells a message (F5)."""
    desk = desk_of(ProviderError("away", FailureClass.CONNECTION), "Hello.")
    if in_loop:

        async def story() -> list[TurnEvent]:
            chat = AsyncChat(**desk.parts())
            sent = await chat.send("Go.", ANNA)
            return [event async for event in chat.stream_retry(sent.conversation, ANNA)]

        events = asyncio.run(story())
    else:
        chat = Chat(**desk.parts())
        sent = chat.send("Go.", ANNA)
        events = list(chat.stream_retry(sent.conversation, ANNA))

    assert isinstance(events[-1], TurnCompleted)


# -- readers who leave --------------------------------------------------------------------------

UNATTENDED = {"save": ToolEffect.NON_IDEMPOTENT_WRITE}


def whole_story(path: Path | None) -> tuple[Desk, Any]:
    """A host whose turn writes without an approval, and what is stored of the turn when somebody reads it all."""
    from nr_agent_core import Configuration

    store = MemoryStore(ManualClock()) if path is None else SqliteStore(path, clock=ManualClock())
    desk = Desk(store, ())
    model = desk_of(call("search", n=1), call("save", n=7), "Page 7 is saved.").parts()["model"]
    desk.more = {"configuration": Configuration(model=model, unattended=["save"]), "model": None}
    return desk, store


def test_the_story_has_many_events() -> None:
    """So that leaving at each of them means something."""
    assert len(_events_of_the_story()) == 11


def _events_of_the_story() -> list[TurnEvent]:
    desk, _ = whole_story(None)
    return list(Chat(**desk.parts()).stream("Go.", ANNA))


@pytest.mark.parametrize("leaves_after", range(13))
@pytest.mark.parametrize("how", ["closes", "forgets", "stalls"])
def test_a_reader_who_leaves_changes_nothing(leaves_after: int, how: str) -> None:
    """Wherever a reader stops, the run goes on to its end, and all that is stored is the same (R2)."""
    plain, whole = whole_story(None)
    expected = stored(whole, told_plainly(plain))
    desk, store = whole_story(None)
    chat = Chat(**desk.parts())
    stream = chat.stream("Go.", ANNA)
    if leaves_after == 0:
        # Nothing was asked for, so nothing happened.
        stream.close()
        assert list(stream) == []
        assert store.conversation_row("conversation-0001") is None
        return
    for _ in range(leaves_after):
        if next(stream, None) is None:
            break
    if how == "closes":
        stream.close()
        assert list(stream) == []
    elif how == "forgets":
        del stream
    # Closing waits for streams at work, whether or not somebody reads them.
    assert chat.close(wait=30) == 0

    assert stored(store, "conversation-0001") == expected
    assert len(desk.executed) == 2
    assert len(desk.heard) == 1


@pytest.mark.parametrize("leaves_after", range(1, 13))
@pytest.mark.parametrize("how", ["closes", "forgets", "is cancelled"])
def test_a_reader_in_a_loop_who_leaves_changes_nothing(leaves_after: int, how: str) -> None:
    """The same in an event loop, for readers whose task is cancelled too (R2)."""
    plain, whole = whole_story(None)
    expected = stored(whole, told_plainly(plain))
    desk, store = whole_story(None)

    async def reader(chat: AsyncChat) -> None:
        stream = chat.stream("Go.", ANNA)
        for _ in range(leaves_after):
            if await anext(stream, None) is None:
                return
        if how == "is cancelled":
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
            await anext(stream, None)
        elif how == "closes":
            await stream.aclose()
            assert [event async for event in stream] == []

    async def story() -> None:
        chat = AsyncChat(**desk.parts())
        await asyncio.gather(asyncio.create_task(reader(chat)), return_exceptions=True)
        assert await chat.close(wait=30) == 0

    asyncio.run(story())

    assert stored(store, "conversation-0001") == expected
    assert len(desk.executed) == 2
    assert len(desk.heard) == 1
