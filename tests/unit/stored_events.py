"""
One event of every kind, and texts, as the tests of stored forms share them.
"""

from hypothesis import strategies as st

from nr_agent_core.domain.failures import FailureCode
from nr_agent_core.domain.previews import CallPreview
from nr_agent_core.domain.run_events import (
    ApprovalDecided,
    ApprovalRequested,
    Claimed,
    ClaimReason,
    DecisionPlace,
    ModelAnswered,
    NotExecuted,
    RecordedCall,
    Requeued,
    RunCancelled,
    RunCompleted,
    RunEvent,
    RunFailed,
    Started,
    ToolFinished,
    ToolStarted,
)
from nr_agent_core.domain.run_status import RunReason
from nr_agent_core.domain.tool_result import Outcome, RecordReference, RecordWrite, ToolEffect, WriteKind

texts = st.text(max_size=20)
SAMPLES: dict[str, RunEvent] = {
    event.kind: event
    for event in (
        Started("anna", 5, "c1", 0, "segment", text="Hello.", instructions="Be brief."),
        Claimed("segment", ClaimReason.RETRY, True),
        ModelAnswered(
            *(0, "provider", "model", 3, 1, 0, ("t",)),
            (RecordedCall(0, "t", ToolEffect.READ_ONLY, "d", True, True, NotExecuted.NOT_STORED),),
            *(1, 2, "stop"),
            text="Yes",
            arguments=("{}",),
            provider_ids=(None, "p"),
            provider_data="{}",
        ),
        ApprovalRequested("d", 5.5, previews=(CallPreview("0.0", ("a",), 1, True, True),), preconditions=("p", None)),
        ApprovalDecided(True, "berta", DecisionPlace.OUTSIDE, "d", "segment"),
        ToolStarted(0, 0, "t", ToolEffect.IDEMPOTENT_WRITE, "key"),
        ToolFinished(
            *(0, 0, "t", ToolEffect.IDEMPOTENT_WRITE, True, Outcome.TEXT, 5, True, True, NotExecuted.DECLINED),
            (RecordWrite(RecordReference("pages", 42), WriteKind.CREATED),),
            text="Saved",
        ),
        RunCompleted(RunReason.MAX_ITERATIONS),
        RunFailed(RunReason.INTERNAL, FailureCode.INTERNAL, "text", True),
        RunCancelled(RunReason.CANCELLED, "anna", True),
        Requeued(7.5, True),
    )
}
