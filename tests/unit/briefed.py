"""
Messages, runs and briefings that the tests of what the model is told share.
"""

import attrs

from nr_agent_core.domain.context_window import MESSAGE_TOKENS, estimate
from nr_agent_core.domain.conversation import Message, MessageRole
from nr_agent_core.domain.model_briefing import (
    BriefedRequest,
    Briefing,
)
from nr_agent_core.domain.notices import JsonValue, Notice, NoticeCode
from nr_agent_core.domain.run import Run
from nr_agent_core.domain.run_events import (
    ModelAnswered,
    RecordedCall,
    RunEvent,
    Started,
    ToolFinished,
)
from nr_agent_core.domain.tool_result import Outcome, RecordReference, RecordWrite, ToolEffect, WriteKind

WRITING, READING = ToolEffect.NON_IDEMPOTENT_WRITE, ToolEffect.READ_ONLY
PAGE = RecordWrite(RecordReference("pages", 42), WriteKind.CREATED)
TEAM = RecordWrite(RecordReference("team", "a-1"), WriteKind.UPDATED)
ROOM = 10**9
RUN = Run("now").after(Started("owner", 5, "c", 0, "s"))


def user(position: int, text: str = "Hello?", run_id: str | None = None) -> Message:
    """What a user wrote."""
    return Message(position, MessageRole.USER, text, run_id, 0.0, estimate(text))


def said(position: int, text: str = "Hello.", *notices: Notice, run_id: str | None = "old") -> Message:
    """What an assistant said, or the line that a run left."""
    return Message(position, MessageRole.ASSISTANT, text, run_id, 0.0, estimate(text), notices)


def notice(flag: NoticeCode, /, **arguments: JsonValue) -> Notice:
    """A notice."""
    return Notice(flag, arguments)


def brief(*messages: Message, text: str = "And now?", tokens: int = ROOM, **more: object) -> BriefedRequest:
    """The first question of a run behind these messages."""
    briefed = Briefing("system", messages, text, tokens=tokens, **more).request(RUN, True)  # type: ignore[arg-type]
    assert briefed is not None
    return briefed


def told(message: Message, **more: object) -> str:
    """What the model reads of one message of an assistant."""
    (_, line, _) = brief(user(0), attrs.evolve(message, position=1), **more).request.messages
    assert line.role == "assistant"
    return line.text


# ---------------------------------------------------------------------------------- what is left out


def cost(text: str) -> int:
    """What a plain message is taken for."""
    return estimate(text) + MESSAGE_TOKENS


FLOOR = cost("system") + cost("And now?")


# ------------------------------------------------------------------------------- the run's dialogue


def call(index: int, tool: str = "save", effect: ToolEffect = WRITING, **more: object) -> RecordedCall:
    """A recorded call."""
    return RecordedCall(index, tool, effect, "d" * 64, **more)  # type: ignore[arg-type]


def answered(number: int, *calls: RecordedCall, text: str = "", **more: object) -> ModelAnswered:
    """One round's answer."""
    arguments = tuple(f'{{"n": {made.index}}}' for made in calls) or None
    return ModelAnswered(number, "p", "m", len(text), 1, 0, calls=calls, text=text, arguments=arguments, **more)  # type: ignore[arg-type]


def finished(made: RecordedCall, outcome: Outcome = Outcome.TEXT, *, number: int = 0, **more: object) -> ToolFinished:
    """The end of a call."""
    values = {"executed": True, "text": "found", **more}
    return ToolFinished(number, made.index, made.tool, made.effect, outcome=outcome, length=5, **values)  # type: ignore[arg-type]


def after(*events: RunEvent) -> Run:
    """The run once these happened."""
    run = RUN
    for event in events:
        run = run.after(event)
    return run
