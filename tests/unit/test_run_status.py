"""The transition table: every status meets every event, and either moves as written or refuses in words."""

import attrs
import pytest

from nr_agent_core.domain.errors import IllegalMoveError
from nr_agent_core.domain.failures import FailureCode
from nr_agent_core.domain.run import Run, fold
from nr_agent_core.domain.run_events import (
    EVENT_TYPES,
    ApprovalDecided,
    ApprovalRequested,
    Claimed,
    ClaimReason,
    DecisionPlace,
    ModelAnswered,
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
from nr_agent_core.domain.run_status import TRANSITIONS, RunReason, RunStatus
from nr_agent_core.domain.tool_result import Outcome, ToolEffect

WRITE = ToolEffect.NON_IDEMPOTENT_WRITE
START = Started("anna", 5, segment="s0")
CALLS = ModelAnswered(0, "p", "m", 0, 1, 0, calls=(RecordedCall(0, "create", WRITE, "d0", approval=True),))
REQUEST = ApprovalRequested("digest")
APPROVAL = ApprovalDecided(True, "boss", DecisionPlace.CHAT, "digest", "s1")
INTENT = ToolStarted(0, 0, "create", WRITE, "key")
UNKNOWN = ToolFinished(0, 0, "create", WRITE, True, Outcome.UNKNOWN, 3)
LATE = ToolFinished(0, 0, "create", WRITE, True, Outcome.TEXT, 3, late=True)
TO_UNKNOWN = (START, CALLS, REQUEST, APPROVAL, INTENT, UNKNOWN)
AGAIN = ModelAnswered(1, "p", "m", 0, 1, 0, calls=(RecordedCall(0, "create", WRITE, "d1", approval=True),))

# One stream per status, each with a call of unknown outcome wherever one can be, so that a late outcome fits.
STREAMS: dict[RunStatus | None, tuple[RunEvent, ...]] = {
    None: (),
    RunStatus.QUEUED: (*TO_UNKNOWN, Requeued(0.0)),
    RunStatus.RUNNING: (*TO_UNKNOWN,),
    RunStatus.WAITING_FOR_APPROVAL: (*TO_UNKNOWN, AGAIN, REQUEST),
    RunStatus.COMPLETED: (*TO_UNKNOWN, ModelAnswered(1, "p", "m", 4, 1, 0), RunCompleted(RunReason.COMPLETED)),
    RunStatus.FAILED: (*TO_UNKNOWN, RunFailed(RunReason.INTERNAL, FailureCode.INTERNAL)),
    RunStatus.CANCELLED: (*TO_UNKNOWN, RunCancelled(RunReason.CANCELLED, "anna")),
}

SAMPLES: dict[type[RunEvent], RunEvent] = {
    Started: START,
    Claimed: Claimed("s2", ClaimReason.RECOVERY),
    ModelAnswered: ModelAnswered(1, "p", "m", 4, 1, 0),
    ApprovalRequested: REQUEST,
    ApprovalDecided: APPROVAL,
    ToolStarted: INTENT,
    ToolFinished: LATE,
    RunCompleted: RunCompleted(RunReason.COMPLETED),
    RunFailed: RunFailed(RunReason.INTERNAL, FailureCode.INTERNAL),
    RunCancelled: RunCancelled(RunReason.CANCELLED, "anna"),
    Requeued: Requeued(1.0),
}

# Events that the status takes only at the right place: another stream of the same status.
PLACES: dict[tuple[RunStatus | None, type[RunEvent]], tuple[RunEvent, ...]] = {
    (RunStatus.RUNNING, ApprovalRequested): (START, CALLS),
    (RunStatus.RUNNING, ToolStarted): (START, CALLS, REQUEST, APPROVAL),
}


def test_every_event_has_a_sample_and_every_status_a_stream() -> None:
    """A new event or status without a row here would be a cell that nobody looks at."""
    assert set(SAMPLES) == set(EVENT_TYPES)
    assert set(STREAMS) == {None, *RunStatus} == set(TRANSITIONS)
    assert {kind for cells in TRANSITIONS.values() for kind in cells} == {cls.kind for cls in EVENT_TYPES}


@pytest.mark.parametrize("status", list(STREAMS), ids=lambda status: status.value if status else "none")
@pytest.mark.parametrize("event_type", EVENT_TYPES, ids=lambda cls: cls.kind)
def test_every_cell_moves_as_written_or_refuses(status: RunStatus | None, event_type: type[RunEvent]) -> None:
    """(R1) What the table holds happens; everything else is refused and changes nothing."""
    run = fold("r", PLACES.get((status, event_type), STREAMS[status]))
    before = attrs.asdict(run, recurse=False)
    targets = TRANSITIONS[status].get(event_type.kind)
    assert run.status is status

    if targets is None:
        with pytest.raises(IllegalMoveError) as refused:
            run.after(SAMPLES[event_type])
        assert refused.value.event == event_type.kind
        assert ("not started" if status is None else status.value) in str(refused.value)
    else:
        after = run.after(SAMPLES[event_type])
        assert after.status is targets[0]
        assert after.sequence == run.sequence + 1
    assert attrs.asdict(run, recurse=False) == before


@pytest.mark.parametrize(
    ("status", "event"),
    [
        (None, attrs.evolve(START, segment=None)),
        (RunStatus.WAITING_FOR_APPROVAL, attrs.evolve(APPROVAL, segment=None)),
    ],
)
def test_an_opening_without_a_token_queues(status: RunStatus | None, event: RunEvent) -> None:
    """(R6) Started and approval hand the run over when they carry no segment token."""
    assert fold("r", STREAMS[status]).after(event).status is RunStatus.QUEUED


@pytest.mark.parametrize("status", [s for s in STREAMS if s is not None], ids=lambda status: status.value)
def test_a_late_outcome_changes_evidence_and_nothing_else(status: RunStatus) -> None:
    """(R7) The status stays, the call is no longer open."""
    run = fold("r", STREAMS[status])
    after = run.after(LATE)

    assert (after.status, after.reason, after.code) == (run.status, run.reason, run.code)
    assert run.evidence.is_open("0.0")
    assert not after.evidence.is_open("0.0")


@pytest.mark.parametrize("status", [RunStatus.QUEUED, RunStatus.WAITING_FOR_APPROVAL, RunStatus.FAILED])
def test_only_a_late_outcome_of_an_open_call_fits_outside_a_segment(status: RunStatus) -> None:
    """(R1, R7) A tool event that is not late, not executed, or not missing is refused."""
    run = fold("r", STREAMS[status])

    for event in (attrs.evolve(LATE, late=False), attrs.evolve(LATE, executed=False), attrs.evolve(LATE, index=7)):
        with pytest.raises(IllegalMoveError):
            run.after(event)
    with pytest.raises(IllegalMoveError):
        run.after(LATE).after(LATE)


def test_a_standing_intent_is_closed_late_where_nobody_drives_the_run() -> None:
    """(R7) A cancelled run takes the outcome of its standing intent; a running one leaves it to its segment."""
    standing = fold("r", (START, CALLS, REQUEST, APPROVAL, INTENT))

    with pytest.raises(IllegalMoveError):
        standing.after(LATE)
    cancelled = standing.after(RunCancelled(RunReason.CANCELLED)).after(LATE)
    assert cancelled.evidence.released_tools == ("create",)
    queued = standing.after(Requeued(0.0)).after(LATE)
    assert queued.intent is None
    assert len(queued.rounds[0].results) == 1


@pytest.mark.parametrize(
    "event",
    [
        ModelAnswered(2, "p", "m", 0, 1, 0),
        ToolStarted(0, 1, "create", WRITE, "key"),
        ToolStarted(1, 0, "create", WRITE, "key"),
        ApprovalRequested("again"),
    ],
)
def test_an_event_out_of_place_is_refused(event: RunEvent) -> None:
    """A stream that skips a round, a call or a decision is damaged, not interpreted."""
    with pytest.raises(IllegalMoveError):
        fold("r", (START, CALLS, REQUEST, APPROVAL)).after(event)


def test_a_decision_for_another_round_is_refused() -> None:
    """(P7) The digest binds a decision to the calls of its card."""
    waiting = fold("r", (START, CALLS, REQUEST))

    with pytest.raises(IllegalMoveError):
        waiting.after(attrs.evolve(APPROVAL, digest="other"))
    assert Run("r").status is None
