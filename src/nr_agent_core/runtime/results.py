"""
What a call about a run brings back.
"""

from typing import TYPE_CHECKING

import attrs

from nr_agent_core.domain.approvals import Card
from nr_agent_core.domain.failures import FailureCode
from nr_agent_core.domain.notices import Notice
from nr_agent_core.domain.run import Run
from nr_agent_core.domain.run_status import RunReason, RunStatus
from nr_agent_core.domain.value import Value
from nr_agent_core.domain.write_evidence import WriteEvidence
from nr_agent_core.steps import SegmentEnd

if TYPE_CHECKING:
    from nr_agent_core.ports.retention import Purged


@attrs.frozen(repr=False, eq=False)
class RunResult(Value):
    """
    Where a run stands after a call, and its answer if this call drove it to its end.

    ``digest`` names the waiting round while the run waits for an approval. ``evidence`` is what
    the stream proves about writes.
    """

    run_id: str
    status: RunStatus
    reason: RunReason | None = None
    code: FailureCode | None = None
    answer: str | None = None
    notices: tuple[Notice, ...] = ()
    digest: str | None = None
    evidence: WriteEvidence = WriteEvidence()


@attrs.frozen(repr=False, eq=False)
class InboxItem(Value):
    """
    One waiting run in an actor's inbox (A5).
    """

    run_id: str
    conversation: str | None
    owner: str
    card: Card


def _nothing_purged() -> "Purged":
    from nr_agent_core.ports.retention import Purged  # only upkeep pays for it

    return Purged()


@attrs.frozen(repr=False, eq=False)
class UpkeepReport(Value):
    """
    The ids of runs that one upkeep met, by what became of them, and how many rows went (O2).

    ``left`` are runs that were due and that somebody else drives, that could not be recovered this
    time, or that a newer release wrote.
    """

    recovered: tuple[str, ...] = ()
    expired: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    purged: "Purged" = attrs.field(factory=_nothing_purged)


def run_result(end: SegmentEnd | Run) -> RunResult:
    """
    The result that tells of *end*.
    """
    run, answer, notices = (end, None, ()) if isinstance(end, Run) else (end.run, end.answer, end.notices)
    assert run.status is not None
    request = run.request
    return RunResult(
        run.id,
        run.status,
        run.reason,
        run.code,
        answer,
        notices,
        None if request is None else request.digest,
        run.evidence,
    )
