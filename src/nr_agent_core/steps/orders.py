"""
What a segment asks its driver for, and what it works with: plain data, performed elsewhere.
"""

from collections.abc import Callable, Generator, Iterable
from typing import Any, Protocol, TypeAlias

import attrs

from nr_agent_core.domain.errors import FailureClass
from nr_agent_core.domain.gate import Gate
from nr_agent_core.domain.model_dialogue import ModelRequest
from nr_agent_core.domain.notices import Notice
from nr_agent_core.domain.privacy import Privacy
from nr_agent_core.domain.run import Run
from nr_agent_core.domain.run_events import (
    RecordedCall,
    ToolFinished,
)
from nr_agent_core.domain.tool_result import RecordWrite
from nr_agent_core.domain.tools import Tool, ToolContext
from nr_agent_core.domain.value import Value
from nr_agent_core.ports import model_provider
from nr_agent_core.ports.unit_of_work import Change

MODEL_DEADLINE = model_provider.MODEL_DEADLINE
RETRY_DELAYS = (30.0, 60.0, 120.0)


@attrs.frozen(repr=False, eq=False)
class Commit(Value):
    """
    Store these changes, all or none.
    """

    changes: tuple[Change, ...]


@attrs.frozen(repr=False, eq=False)
class Ask(Value):
    """
    Ask the model; answered with a ModelAnswer or :class:`AskFailed`.
    """

    request: ModelRequest
    round: int = 0


@attrs.frozen(repr=False, eq=False)
class AskFailed(Value):
    """
    The model gave no answer: of which kind the failure is, and its sanitised text.
    """

    failure_class: FailureClass
    text: str


@attrs.frozen(repr=False, eq=False)
class Execute(Value):
    """
    Execute a call; answered with its bounded ToolResult, whatever happened.
    """

    tool: Tool
    arguments: dict[str, Any]
    context: ToolContext
    call: RecordedCall
    round: int


@attrs.frozen(repr=False, eq=False)
class Announce(Value):
    """
    Tell the host's listeners of these writes (W1).
    """

    run_id: str
    writes: tuple[RecordWrite, ...]


@attrs.frozen(repr=False, eq=False)
class MakePreviews(Value):
    """
    Make the previews of the calls that need approval; answered with one (preview, token) each.
    """

    calls: tuple[tuple[Tool, dict[str, Any], ToolContext], ...]


@attrs.frozen(repr=False, eq=False)
class Reconcile(Value):
    """
    Ask the host what became of a call; answered with a ToolResult or a Reconciliation (R7).
    """

    tool: Tool
    context: ToolContext


Order: TypeAlias = Commit | Ask | Execute | Announce | MakePreviews | Reconcile
Steps: TypeAlias = Generator[Order, Any, "SegmentEnd"]


class Briefs(Protocol):
    """
    Builds the next question to the model from a run, or says that it does not fit (R11).
    """

    def request(self, run: Run, offer_tools: bool) -> Any:
        """A briefed request, or None when even the floor is larger than the window."""
        ...

    def answered(self, briefed: Any, counted: int | None) -> None:
        """A briefed request was answered, and the provider counted so many input tokens, if it said so."""
        ...


@attrs.frozen(kw_only=True, eq=False)
class Setting:
    """
    What one segment works with: everything is asked when the segment opens and never stored.

    Args:
        gate: decides over the tools, for the run's owner, under the configuration in force.
        briefing: builds the questions to the model.
        verdict: the notices of a completed answer (V6).
        now: the store's time.
        lease_margin: seconds beyond the next step's deadline nobody may take the run over (R8).
        approval_expiry: seconds a card may wait, or None (A4).
        stored: whether the run is kept in a store; without one nothing is announced (R12).
        on_worker: whether a worker drives it, so that a failed model call is tried again later (R8).
        privacy: what is kept of the run's content if this segment settles it (E4).
        stopping: whether this process is to end: the run is queued again at the next safe point (R6).
        late: outcomes that became known meanwhile, as ``tool`` events (R7).
        opening_changes: what is stored in the transaction of the opening, before its events.
    """

    gate: Gate
    briefing: Briefs
    verdict: Callable[[str, Run], tuple[Notice, ...]]
    now: Callable[[], float]
    lease_margin: float = 60.0
    approval_expiry: float | None = None
    stored: bool = True
    on_worker: bool = False
    privacy: Privacy = Privacy.METADATA
    stopping: Callable[[], bool] = bool
    late: Callable[[], Iterable[ToolFinished]] = tuple
    opening_changes: tuple[Change, ...] = ()


@attrs.frozen(repr=False, eq=False)
class SegmentEnd(Value):
    """
    How a segment ended: the run, and the answer if this segment completed the turn.
    """

    run: Run
    answer: str | None = None
    notices: tuple[Notice, ...] = ()
