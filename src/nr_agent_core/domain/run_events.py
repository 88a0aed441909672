"""
What a run reports, in the past tense: the only evidence there is.

Each event has *facts*, kept at every privacy level, and *content* (texts, arguments, results),
which may be forgotten but never changed (E4). Lengths and counts are facts from the beginning.
Only ``None``, ``False`` and ``()`` are defaults here, so that a stored row never depends on what
a later release takes for granted.
"""

import enum
from typing import Any, ClassVar, TypeAlias

import attrs

from nr_agent_core.domain.failures import FailureCode
from nr_agent_core.domain.previews import CallPreview
from nr_agent_core.domain.run_status import RunReason
from nr_agent_core.domain.tool_result import Outcome, RecordWrite, ToolEffect
from nr_agent_core.domain.value import Value


def content(default: Any = None) -> Any:
    """A field that may be forgotten when the run settles."""
    return attrs.field(default=default, metadata={"content": True}, kw_only=True)


class ClaimReason(enum.Enum):
    """
    Why a process opened a segment by ``claimed`` (E1).
    """

    WORKER = "worker"
    RETRY = "retry"
    RECOVERY = "recovery"


class DecisionPlace(enum.Enum):
    """
    Where a decision was taken: in the conversation's chat, or anywhere else (E2).
    """

    CHAT = "chat"
    OUTSIDE = "outside"


class NotExecuted(enum.Enum):
    """
    Why a recorded call was not executed (R4, A2, A6, R7).
    """

    NOT_REGISTERED = "notRegistered"
    TOOL_DISABLED = "toolDisabled"
    REQUIRES_ADMIN = "requiresAdmin"
    CONFIGURATION_GROUP = "configurationGroup"
    TRUST_ZONE = "trustZone"
    NOT_STORED = "notStored"
    INVALID_ARGUMENTS = "invalidArguments"
    DECLINED = "declined"
    DECLINED_BEFORE = "declinedBefore"
    APPROVAL_MISSING = "approvalMissing"
    CLOSING_ROUND = "closingRound"
    NEVER_HAPPENED = "neverHappened"


@attrs.frozen(repr=False, eq=False)
class RecordedCall(Value):
    """
    A call as it was looked at, before anything of its round was executed (R4).

    ``refusal`` is set for good when the look refused it: it is on no card and in no digest.
    """

    index: int
    tool: str
    effect: ToolEffect
    digest: str
    remote: bool = False
    approval: bool = False
    refusal: NotExecuted | None = None


@attrs.frozen(repr=False, eq=False)
class Started(Value):
    """
    The run exists. With a segment token its process goes on; without one it is queued.
    """

    kind: ClassVar[str] = "started"
    owner: str
    max_rounds: int
    conversation: str | None = None
    message: int | None = None
    segment: str | None = None
    text: str | None = content()
    instructions: str | None = content()


@attrs.frozen(repr=False, eq=False)
class Claimed(Value):
    """
    A process opened a segment: a queued run's first, a retry's or a recovery's.
    """

    kind: ClassVar[str] = "claimed"
    segment: str
    why: ClaimReason
    outside: bool = False


@attrs.frozen(repr=False, eq=False)
class ModelAnswered(Value):
    """
    One round's question and answer, its calls looked at.

    ``length`` counts the characters of the text and is 0 when the text is blank.
    """

    kind: ClassVar[str] = "model"
    round: int
    provider: str
    model: str
    length: int
    messages: int
    left_out: int
    offered: tuple[str, ...] = ()
    calls: tuple[RecordedCall, ...] = ()
    input_tokens: int | None = None
    output_tokens: int | None = None
    finish_reason: str | None = None
    text: str | None = content()
    arguments: tuple[str, ...] | None = content()
    provider_ids: tuple[str | None, ...] | None = content()
    provider_data: str | None = content()


@attrs.frozen(repr=False, eq=False)
class ApprovalRequested(Value):
    """
    The run waits for a decision on the whole round of recorded calls (R5).
    """

    kind: ClassVar[str] = "approval_requested"
    digest: str
    expires_at: float | None = None
    previews: tuple[CallPreview, ...] | None = content()
    preconditions: tuple[str | None, ...] | None = content()


@attrs.frozen(repr=False, eq=False)
class ApprovalDecided(Value):
    """
    Somebody decided on exactly the recorded calls (A1). No free text, ever.
    """

    kind: ClassVar[str] = "approval"
    approved: bool
    decided_by: str
    where: DecisionPlace
    digest: str
    segment: str | None = None


@attrs.frozen(repr=False, eq=False)
class ToolStarted(Value):
    """
    The intent to execute a writing call, durable before the effect (R6).
    """

    kind: ClassVar[str] = "tool_started"
    round: int
    index: int
    tool: str
    effect: ToolEffect
    key: str


@attrs.frozen(repr=False, eq=False)
class ToolFinished(Value):
    """
    What a call brought, or why it was not executed (E2, E3).

    ``late`` marks an outcome that came after it was given up: facts and evidence change,
    status and delivered message do not (R7).
    """

    kind: ClassVar[str] = "tool"
    round: int
    index: int
    tool: str
    effect: ToolEffect
    executed: bool
    outcome: Outcome
    length: int
    remote: bool = False
    late: bool = False
    refusal: NotExecuted | None = None
    writes: tuple[RecordWrite, ...] = ()
    text: str | None = content()

    @property
    def call_id(self) -> str:
        """The call's identity, round and index (T12)."""
        return f"{self.round}.{self.index}"


@attrs.frozen(repr=False, eq=False)
class RunCompleted(Value):
    """
    The turn has its answer.
    """

    kind: ClassVar[str] = "completed"
    reason: RunReason


@attrs.frozen(repr=False, eq=False)
class RunFailed(Value):
    """
    The run ended without an answer. ``text`` is the sanitised error, a fact at every level (E4).
    """

    kind: ClassVar[str] = "failed"
    reason: RunReason
    code: FailureCode
    text: str | None = None
    outside: bool = False


@attrs.frozen(repr=False, eq=False)
class RunCancelled(Value):
    """
    The run was ended by somebody, by a newer message, or by its expiry.
    """

    kind: ClassVar[str] = "cancelled"
    reason: RunReason
    by: str | None = None
    outside: bool = False


@attrs.frozen(repr=False, eq=False)
class Requeued(Value):
    """
    The segment ended in order; a worker opens the next one, not before the given time.
    """

    kind: ClassVar[str] = "requeued"
    not_before: float
    retry: bool = False


RunEvent: TypeAlias = (
    Started
    | Claimed
    | ModelAnswered
    | ApprovalRequested
    | ApprovalDecided
    | ToolStarted
    | ToolFinished
    | RunCompleted
    | RunFailed
    | RunCancelled
    | Requeued
)

EVENT_TYPES: tuple[type[RunEvent], ...] = (
    Started,
    Claimed,
    ModelAnswered,
    ApprovalRequested,
    ApprovalDecided,
    ToolStarted,
    ToolFinished,
    RunCompleted,
    RunFailed,
    RunCancelled,
    Requeued,
)
