"""
What a reader is told while a turn is at work: a view of the same run, which none of this changes.

The stored stream stays the evidence. A reader who leaves misses events and nothing else.
"""

from typing import TypeAlias

import attrs

from nr_agent_core.domain.approvals import Card
from nr_agent_core.domain.failures import FailureCode
from nr_agent_core.domain.notices import Notice, NoticeCode, ReplyCode
from nr_agent_core.domain.run_status import RunStatus
from nr_agent_core.domain.tool_result import Outcome, RecordReference, ToolEffect, WriteKind
from nr_agent_core.domain.value import Value


@attrs.frozen(repr=False, eq=False)
class TurnStarted(Value):
    """
    A run is at work on the message or the decision, durably.
    """

    run_id: str
    conversation: str | None


@attrs.frozen(repr=False, eq=False)
class TextDelta(Value):
    """
    The next piece of what the model says in this round. It is no answer before the turn completed.
    """

    round: int
    text: str


@attrs.frozen(repr=False, eq=False)
class TextWasInterim(Value):
    """
    What was told of this round is not the answer: it stood beside calls, or its stream broke off (V9).
    """

    round: int


@attrs.frozen(repr=False, eq=False)
class ToolCallStarted(Value):
    """
    A call is carried out now.
    """

    call_id: str
    tool: str
    effect: ToolEffect


@attrs.frozen(repr=False, eq=False)
class ToolCallFinished(Value):
    """
    A call ended. Its outcome is stored before anything else happens, yet maybe not now.
    """

    call_id: str
    tool: str
    outcome: Outcome


@attrs.frozen(repr=False, eq=False)
class RecordWritten(Value):
    """
    A tool wrote a record; the host's listeners have heard of it (W1).
    """

    run_id: str
    reference: RecordReference
    kind: WriteKind


@attrs.frozen(repr=False, eq=False)
class ApprovalNeeded(Value):
    """
    The turn waits for a decision. ``card`` is there for a reader who may take it.
    """

    run_id: str
    card: Card | None


@attrs.frozen(repr=False, eq=False)
class TurnCompleted(Value):
    """
    The turn ended with its answer, whole, and the verdict on it.

    ``labels`` are the notices in the reader's language, in their order.
    """

    run_id: str
    text: str
    notices: tuple[Notice, ...] = ()
    labels: tuple[str, ...] = ()


@attrs.frozen(repr=False, eq=False)
class TurnFailed(Value):
    """
    The turn ended without an answer: it failed, or was cancelled, which has no code.

    ``text`` is the sentence about it for this reader (F2).
    """

    run_id: str
    status: RunStatus
    code: FailureCode | None
    text: str
    notices: tuple[Notice, ...] = ()
    labels: tuple[str, ...] = ()


@attrs.frozen(repr=False, eq=False)
class TurnLeft(Value):
    """
    Somebody else drives the run on, or will: nothing more is told here; a view shows what comes of it.
    """

    run_id: str
    status: RunStatus


@attrs.frozen(repr=False, eq=False)
class MessageNotTaken(Value):
    """
    No run took the message, retry or decision: it was held, busy, delivered or refused (V11).

    ``text`` is the sentence for this reader. Where ``code`` is a :class:`NoticeCode`, the message was
    delivered: it is stored, with the notice of what became of the run (C4). In all other cases it is not.
    """

    code: ReplyCode | NoticeCode | None
    text: str | None


TurnEvent: TypeAlias = (
    TurnStarted
    | TextDelta
    | TextWasInterim
    | ToolCallStarted
    | ToolCallFinished
    | RecordWritten
    | ApprovalNeeded
    | TurnCompleted
    | TurnFailed
    | TurnLeft
    | MessageNotTaken
)
"""What a stream of a turn tells while the turn happens, and how it ended."""
