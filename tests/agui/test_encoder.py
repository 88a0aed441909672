"""
The encoder by itself: whatever a turn tells, in whatever order, what comes out keeps the protocol's order.
"""

import json
from collections.abc import Iterator
from typing import Any

from ag_ui.core import Event
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from nr_agent_core import (
    ApprovalNeeded,
    Card,
    ConversationView,
    FailureCode,
    MessageNotTaken,
    Notice,
    NoticeCode,
    RecordReference,
    RecordWritten,
    ReplyCode,
    RunStatus,
    TextDelta,
    TextWasInterim,
    ToolCallFinished,
    ToolCallStarted,
    ToolEffect,
    TurnCompleted,
    TurnFailed,
    TurnLeft,
    TurnStarted,
    WriteKind,
)
from nr_agent_core.adapters.agui import AgUiEncoder
from nr_agent_core.chat.results import ErrorView, MessageView, NoticeView
from nr_agent_core.domain.approvals import CallCard
from nr_agent_core.domain.conversation import ConversationStatus, MessageRole
from nr_agent_core.domain.tool_result import Outcome
from tests.agui.screen import in_order

EVENTS: TypeAdapter[Any] = TypeAdapter(Event)
TEXTS = st.text(max_size=5)
NOTICES = st.sampled_from([(), (Notice(NoticeCode.NOTHING_SAVED),)])
CARDS = st.builds(
    Card,
    st.just("run"),
    st.just("digest"),
    st.just((CallCard("0.0", "save", ToolEffect.NON_IDEMPOTENT_WRITE, needs_approval=True, lines=("a",)),)),
    st.just(0.0),
    st.none() | st.floats(0, 4e9),
    st.booleans(),
    st.booleans(),
)
CALLS = st.sampled_from(["0.0", "0.1", "1.0"])
LASTS = st.one_of(
    st.builds(ApprovalNeeded, st.just("run"), st.none() | CARDS),
    NOTICES.flatmap(
        lambda notices: st.builds(
            TurnCompleted, st.just("run"), TEXTS, st.just(notices), st.just(("Nothing.",) * len(notices))
        )
    ),
    st.builds(
        TurnFailed,
        st.just("run"),
        st.sampled_from([RunStatus.FAILED, RunStatus.CANCELLED]),
        st.none() | st.sampled_from(FailureCode),
        TEXTS,
    ),
    st.builds(TurnLeft, st.just("run"), st.sampled_from([RunStatus.RUNNING, RunStatus.QUEUED])),
    st.builds(MessageNotTaken, st.none() | st.sampled_from(ReplyCode) | st.sampled_from(NoticeCode), st.none() | TEXTS),
)


@st.composite
def turns(draw: st.DrawFn) -> list[Any]:
    """A turn as it might be told: of one run or two, rounds in any mix, calls that end or do not."""
    events: list[Any] = []
    for run in draw(st.lists(st.sampled_from(["first", "run"]), max_size=2, unique=True)):
        events.append(TurnStarted(run, draw(st.sampled_from(["conversation", None]))))
        for number in range(draw(st.integers(0, 3))):
            events += [TextDelta(number, text) for text in draw(st.lists(TEXTS, max_size=3))]
            events += [TextWasInterim(number)] * draw(st.integers(0, 2))
            called = [f"{number}.{index}" for index in range(draw(st.integers(0, 2)))]
            events += [ToolCallStarted(name, "save", ToolEffect.READ_ONLY) for name in called]
            ended = draw(st.permutations(called)) if called else []
            events += [
                ToolCallFinished(name, "save", draw(st.sampled_from(Outcome)))
                for name in ended[: draw(st.integers(0, 2))]
            ]
            events += [RecordWritten(run, RecordReference("pages", 1), WriteKind.CREATED)] * draw(st.integers(0, 1))
    return [*events, draw(LASTS)]


def view(card: Card | None) -> ConversationView:
    """What is stored, to a reader."""
    notice = NoticeView(NoticeCode.NOTHING_SAVED, "Nothing.", Notice(NoticeCode.NOTHING_SAVED))
    messages = (
        MessageView(0, MessageRole.USER, "Go.", 0.0, "run"),
        MessageView(1, MessageRole.ASSISTANT, "Done.", 0.0, "first", (notice,)),
        MessageView(2, MessageRole.ASSISTANT, "Done.", 0.0, "run"),
    )
    error = ErrorView(FailureCode.INTERNAL, "Something.")
    return ConversationView("conversation", ConversationStatus.IDLE, messages, error, card)


def encoded(turn: list[Any], seen: ConversationView | None) -> Iterator[dict[str, Any]]:
    """The events of a whole request."""
    encoder = AgUiEncoder(thread="conversation", run="request")
    for event in turn:
        for frame in encoder.encode(event, seen if encoder.wants_view(event) else None):
            yield json.loads(frame[6:])
    assert encoder.encode_failure("internal", "Too late.") == ()


@given(turn=turns(), card=st.none() | CARDS, sees=st.booleans())
def test_whatever_is_told_keeps_the_protocols_order(turn: list[Any], card: Card | None, sees: bool) -> None:
    """Valid events, opened once and closed, one end and nothing behind it, whether or not the reader may see."""
    events = list(encoded(turn, view(card) if sees else None))

    for event in events:
        EVENTS.validate_python(event)
    in_order(events)


@given(turn=turns())
def test_a_turn_that_breaks_off_is_ended_by_an_error(turn: list[Any]) -> None:
    """Wherever it breaks off: the error is the last event, and nothing else has to be closed for it."""
    encoder = AgUiEncoder(thread="conversation", run="request")
    frames = [frame for event in turn[:-1] for frame in encoder.encode(event)]
    frames += encoder.encode_failure("internal", "Something went wrong.")

    in_order([json.loads(frame[6:]) for frame in frames])


@given(card=CARDS)
def test_only_who_can_decide_is_asked(card: Card) -> None:
    """(A1) A card that takes no decision here is no interrupt: nobody could close it."""
    (*_, end) = encoded([TurnStarted("run", "conversation"), ApprovalNeeded("run", card)], None)

    assert (end["outcome"]["type"] == "interrupt") == (card.can_approve or card.can_deny)


def test_a_call_that_nobody_saw_the_end_of_is_unknown() -> None:
    """(T4) Its result is neither made up nor left open, which clients would take for a call of theirs."""
    started = ToolCallStarted("0.0", "save", ToolEffect.NON_IDEMPOTENT_WRITE)
    left = TurnLeft("run", RunStatus.RUNNING)
    events = list(encoded([TurnStarted("run", "conversation"), started, left], None))

    assert [event["content"] for event in events if event["type"] == "TOOL_CALL_RESULT"] == ["unknown"]
    assert events[-1]["result"] == {"status": "running"}


def test_what_a_run_left_meanwhile_is_not_shown_before_it_is_told() -> None:
    """(V9) The run is done while its reader still hears of the first round: its answer is shown once."""
    turn = [
        TurnStarted("run", "conversation"),
        TextDelta(0, "I will."),
        TextWasInterim(0),
        TextDelta(1, "Done."),
        TurnCompleted("run", "Done."),
    ]
    events = list(encoded(turn, view(None)))

    (snapshot,) = [event for event in events if event["type"] == "MESSAGES_SNAPSHOT"]
    assert [message["content"] for message in snapshot["messages"]] == ["Go.", "Done."]
    assert [message["id"] for message in snapshot["messages"]] == ["conversation:0", "conversation:1"]


def test_what_a_run_left_is_shown_once_it_is_told() -> None:
    """(V9) An answer that was not told piece by piece is shown as it is stored, and named by the notice."""
    labelled = TurnCompleted("run", "Done.", (Notice(NoticeCode.NOTHING_SAVED),), ("Nothing.",))
    events = list(encoded([TurnStarted("run", "conversation"), TextDelta(0, "Do"), labelled], view(None)))

    (snapshot,) = [event for event in events if event["type"] == "MESSAGES_SNAPSHOT"]
    assert len(snapshot["messages"]) == 3
    assert events[-2]["value"]["messageId"] == "conversation:2"
