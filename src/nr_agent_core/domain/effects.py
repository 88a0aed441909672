"""
What a run asks for next, as data (R2). Who performs it, and in what order of commits, is
decided in :mod:`nr_agent_core.steps`.
"""

from typing import TypeAlias

import attrs

from nr_agent_core.domain.failures import FailureCode
from nr_agent_core.domain.run_events import NotExecuted, RecordedCall
from nr_agent_core.domain.run_status import RunReason
from nr_agent_core.domain.value import Value


@attrs.frozen(repr=False, eq=False)
class AskModel(Value):
    """
    Ask the model; a closing round is asked without tools (R4).
    """

    round: int
    offer_tools: bool


@attrs.frozen(repr=False, eq=False)
class RequestApproval(Value):
    """
    Pause: the whole round of calls that were not refused waits for one decision (R5).
    """

    round: int
    calls: tuple[RecordedCall, ...]


@attrs.frozen(repr=False, eq=False)
class AwaitApproval(Value):
    """
    Nothing to do until somebody decides.
    """

    digest: str


@attrs.frozen(repr=False, eq=False)
class RefuseCall(Value):
    """
    Give a call its error result; it is not executed.
    """

    round: int
    call: RecordedCall
    why: NotExecuted


@attrs.frozen(repr=False, eq=False)
class StartTool(Value):
    """
    Store the intent of a writing call, durably, before anything else (R6).
    """

    round: int
    call: RecordedCall


@attrs.frozen(repr=False, eq=False)
class CallTool(Value):
    """
    Execute a call: a reading one, or a writing one whose intent this segment has stored.
    """

    round: int
    call: RecordedCall


@attrs.frozen(repr=False, eq=False)
class RecoverCall(Value):
    """
    An earlier segment stored this intent and no outcome: settle it by rule R7, never by chance.
    """

    round: int
    call: RecordedCall
    key: str


@attrs.frozen(repr=False, eq=False)
class Finish(Value):
    """
    The last round's text is the answer (V9).
    """

    reason: RunReason


@attrs.frozen(repr=False, eq=False)
class Fail(Value):
    """
    The run cannot go on.
    """

    reason: RunReason
    code: FailureCode


Effect: TypeAlias = (
    AskModel | RequestApproval | AwaitApproval | RefuseCall | StartTool | CallTool | RecoverCall | Finish | Fail
)
