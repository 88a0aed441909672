"""
The verdict on a run that is over: which notices stand beside what it leaves (V6, V9, V10, F5, C4, C7).
"""

import json

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nr_agent_core.domain.errors import InvalidValueError
from nr_agent_core.domain.failures import FailureCode
from nr_agent_core.domain.notices import Notice, NoticeCode, in_order
from nr_agent_core.domain.run import Run, fold
from nr_agent_core.domain.run_events import (
    ApprovalDecided,
    ApprovalRequested,
    DecisionPlace,
    NotExecuted,
    RunCancelled,
    RunEvent,
    RunFailed,
)
from nr_agent_core.domain.run_status import RunReason, RunStatus
from nr_agent_core.domain.tool_result import Outcome, RecordWrite
from nr_agent_core.domain.verdict import (
    decided_outside,
    declined_last,
    ended_notices,
    finished_outside_notice,
    proposed_tools,
    verdict,
)
from nr_agent_core.domain.write_evidence import Wrote
from nr_agent_core.testing.strategies import event_streams, record_writes
from tests.unit.judged_runs import (
    ASKED,
    FAILED_CALL,
    PAGE,
    READ,
    TEAM,
    UNKNOWN,
    UNPROVEN,
    WAITING,
    WROTE,
    WROTE_AND_UNKNOWN,
    WROTE_NOTHING,
    answered,
    call,
    decided,
    finished,
    run_of,
    started,
)


def always(text: str) -> bool:
    """A detector that finds a claim in everything."""
    return True


def never(text: str) -> bool:
    """A detector that finds none."""
    return False


def not_asked(text: str) -> bool:
    """A detector that must not be asked."""
    pytest.fail("the detector was asked although its answer changes nothing")


def codes(notices: tuple[Notice, ...]) -> list[str]:
    """Their codes, in order."""
    return [notice.code.value for notice in notices]


@pytest.mark.parametrize("run", [WROTE_NOTHING, FAILED_CALL, READ])
def test_a_claim_beside_a_run_that_wrote_nothing_is_marked(run: Run) -> None:
    """Claim and evidence no: nothingSaved, and nothing else (V6)."""
    assert verdict("Done.", run, always) == (Notice(NoticeCode.NOTHING_SAVED),)
    assert verdict("Hello.", run, never) == ()


@pytest.mark.parametrize("run", [WROTE, UNKNOWN, UNPROVEN, WROTE_AND_UNKNOWN])
def test_the_detector_is_asked_only_where_its_answer_matters(run: Run) -> None:
    """Yes and cannot tell never become "nothing was saved" (P4, V6)."""
    assert NoticeCode.NOTHING_SAVED not in {notice.code for notice in verdict("Done.", run, not_asked)}


def test_the_detector_reads_the_answer_as_it_is_stored() -> None:
    """It gets the answer's text and nothing else (V9)."""
    seen: list[str] = []

    def detector(text: str) -> bool:
        seen.append(text)
        return False

    verdict("  Done.\x00 ", WROTE_NOTHING, detector)

    assert seen == ["  Done.\x00 "]


@pytest.mark.parametrize("claims", [always, never])
@pytest.mark.parametrize("run", [UNKNOWN, WROTE_AND_UNKNOWN])
def test_an_unknown_call_is_marked_whatever_the_text_says(run: Run, claims: object) -> None:
    """Beside a claim and without one, and whatever else was written (V6)."""
    (notice,) = verdict("Hello.", run, claims)  # type: ignore[arg-type]

    assert notice.code is NoticeCode.WRITE_OUTCOME_UNKNOWN
    assert notice.arguments["calls"] == ["0.0" if run is UNKNOWN else "0.1"]
    assert notice.arguments["tools"] == ["save" if run is UNKNOWN else "send"]


def test_an_answer_of_a_run_decided_outside_says_so_beside_the_rest() -> None:
    """Status and records, behind the other notices; unknown calls have a notice of their own here (C7, V10)."""
    notices = verdict("Hello.", WROTE_AND_UNKNOWN, never, outside=True)

    assert codes(notices) == ["writeOutcomeUnknown", "runFinishedOutside"]
    assert notices[1].arguments == {
        "status": "completed",
        "records": [{"reference": "pages:42", "kind": "created"}],
        "tools": [],
    }


def test_where_it_was_decided_is_what_the_run_says_unless_told() -> None:
    """Without the argument the last decision counts: what upkeep or an expiry brought about was not decided (C7)."""
    decision = ApprovalDecided(True, "boss", DecisionPlace.OUTSIDE, "g" * 64, "s2")
    decided = (attrs.evolve(WROTE.rounds[0], decision=decision), *WROTE.rounds[1:])
    outside = attrs.evolve(WROTE, outside=True, rounds=decided)

    assert codes(verdict("x", outside, never)) == ["runFinishedOutside"]
    assert codes(verdict("x", outside, never, outside=False)) == []
    assert codes(verdict("x", attrs.evolve(WROTE, outside=True), never)) == []
    assert codes(verdict("x", WROTE, never)) == []


def test_a_detector_that_raises_is_heard() -> None:
    """Whoever may not lose the answer wraps it and logs; it is not swallowed in silence here (V2)."""

    def broken(text: str) -> bool:
        raise RecursionError

    with pytest.raises(RecursionError):
        verdict("Done.", WROTE_NOTHING, broken)


@given(event_streams(), st.booleans(), st.booleans())
def test_the_verdict_follows_from_the_stream(stream: tuple[RunEvent, ...], claims: bool, outside: bool) -> None:
    """For any run: each notice exactly where its rule says, in the order in which they are kept (V6, V10)."""
    run = fold("run", stream)
    notices = verdict("text", run, lambda text: claims, outside=outside)

    assert (NoticeCode.NOTHING_SAVED in {n.code for n in notices}) is (claims and run.evidence.wrote is Wrote.NO)
    assert (NoticeCode.WRITE_OUTCOME_UNKNOWN in {n.code for n in notices}) is bool(run.evidence.open_calls)
    assert (NoticeCode.RUN_FINISHED_OUTSIDE in {n.code for n in notices}) is outside
    assert notices == in_order(notices)
    assert len(set(codes(notices))) == len(notices)


class OneStatement:
    """Finds one statement in every text, and leaves the rest of the text to be weighed."""

    def examine(self, text: str) -> tuple[str, tuple[Notice, ...]]:
        """The text without its first word, and a notice."""
        return text.partition(" ")[2], (Notice(NoticeCode.UNKNOWN_REFERENCE, {"references": [text]}),)


def test_what_else_an_answer_states_stands_beside_its_claims() -> None:
    """The detector gets the rest of the text, and the notices are in their order (V10, V12)."""
    seen: list[str] = []

    def detector(text: str) -> bool:
        seen.append(text)
        return True

    notices = verdict("call: Done.", WROTE_NOTHING, detector, statements=OneStatement())  # type: ignore[arg-type]

    assert seen == ["Done."]
    assert codes(notices) == ["nothingSaved", "unknownReference"]
    assert notices[1].arguments == {"references": ["call: Done."]}


# ---------------------------------------------------------------------------------- F5's message


def test_a_superseded_run_names_what_it_proposed() -> None:
    """How it ended, and the tools that were not carried out, reading siblings included (F5, M4)."""
    (notice,) = ended_notices(run_of(*WAITING, RunCancelled(RunReason.SUPERSEDED, "owner")))

    assert notice.code is NoticeCode.RUN_ENDED
    assert notice.arguments == {
        "status": "cancelled",
        "reason": "superseded",
        "code": None,
        "tools": ["save", "find"],
    }


def test_a_failed_run_names_its_code() -> None:
    """Status, reason and code are those of the run (F5)."""
    run = run_of(RunFailed(RunReason.PROVIDER_FAILED, FailureCode.RATE_LIMITED, "text"))

    assert ended_notices(run)[0].arguments == {
        "status": "failed",
        "reason": "provider_failed",
        "code": "rateLimited",
        "tools": [],
    }


def test_the_error_text_is_in_no_notice() -> None:
    """Codes and references only; the sanitised text is rendered for administrators elsewhere (P2, F2)."""
    run = run_of(RunFailed(RunReason.INTERNAL, FailureCode.INTERNAL, "secret detail"))

    assert "secret detail" not in repr(ended_notices(run))


def test_what_was_saved_before_the_end_is_named() -> None:
    """Records with their kinds, each once (F5)."""
    run = run_of(
        answered(0, call(0), call(1, "send")),
        started(call(0)),
        finished(call(0), Outcome.TEXT, PAGE, TEAM),
        RunFailed(RunReason.INTERNAL, FailureCode.INTERNAL),
    )

    ended, saved = ended_notices(run)

    assert ended.arguments["tools"] == ["send"]
    assert saved.code is NoticeCode.SAVED_BEFORE_END
    assert saved.arguments == {
        "records": [{"reference": "pages:42", "kind": "created"}, {"reference": "team:a-1", "kind": "updated"}]
    }


def test_a_released_call_that_named_no_record_was_saved_all_the_same() -> None:
    """A remote write leaves no target; its tool is named instead (V1)."""
    asked = call(0, "remote_save", approval=True, remote=True)
    run = run_of(
        answered(0, asked),
        ApprovalRequested("g" * 64),
        ApprovalDecided(True, "anna", DecisionPlace.CHAT, "g" * 64, "s2"),
        started(asked),
        finished(asked),
        RunFailed(RunReason.INTERNAL, FailureCode.INTERNAL),
    )

    assert ended_notices(run)[1].arguments == {"records": [], "tools": ["remote_save"]}


def test_an_intent_without_outcome_is_unknown_and_not_merely_proposed() -> None:
    """It may have happened, so nobody says that it was not carried out (P4, R7)."""
    run = run_of(
        answered(0, call(0), call(1, "send")),
        started(call(0)),
        RunFailed(RunReason.WRITE_OUTCOME_UNKNOWN, FailureCode.WRITE_OUTCOME_UNKNOWN),
    )

    ended, unknown = ended_notices(run)

    assert ended.arguments["tools"] == ["send"]
    assert unknown.arguments == {"tools": ["save"], "calls": ["0.0"]}


def test_refused_calls_were_never_proposed_and_denied_ones_were() -> None:
    """A name the look refused is on no card, so in no notice; what a person denied was proposed (R4, M4)."""
    refused = call(0, "made_up", refusal=NotExecuted.NOT_REGISTERED)
    denied = call(1, approval=True)
    run = run_of(
        answered(0, refused, denied),
        ApprovalRequested("g" * 64),
        ApprovalDecided(False, "anna", DecisionPlace.OUTSIDE, "g" * 64, "s2"),
        attrs.evolve(finished(refused, Outcome.ERROR), executed=False, refusal=NotExecuted.NOT_REGISTERED),
        attrs.evolve(finished(denied, Outcome.ERROR), executed=False, refusal=NotExecuted.DECLINED),
        RunFailed(RunReason.PROVIDER_FAILED, FailureCode.PROVIDER_UNAVAILABLE),
    )

    notices = ended_notices(run)

    assert codes(notices) == ["runEnded", "runFinishedOutside"]
    assert notices[0].arguments["tools"] == ["save"]
    assert notices[1].arguments == {"status": "failed", "records": [], "tools": [], "declined": ["save"]}


@pytest.mark.parametrize("run", [Run("run"), run_of(), run_of(*WAITING), WROTE])
def test_only_a_run_that_ended_without_an_answer_has_ended_notices(run: Run) -> None:
    """A run that goes on, waits or has its answer is refused in words."""
    with pytest.raises(InvalidValueError, match="failed or cancelled"):
        ended_notices(run)


def test_a_run_of_which_only_the_row_can_be_read_has_its_end_named() -> None:
    """An unreadable stream is no claim that nothing was written: no other notice (E5, O2)."""
    run = Run("run", RunStatus.FAILED, reason=RunReason.INTERNAL, code=FailureCode.INTERRUPTED)

    assert codes(ended_notices(run)) == ["runEnded"]


@given(event_streams())
def test_ended_notices_follow_from_the_stream(stream: tuple[RunEvent, ...]) -> None:
    """For any ended run: each notice exactly where its rule says, in order, as plain JSON (F5, V10)."""
    run = fold("run", stream)
    if run.status not in (RunStatus.FAILED, RunStatus.CANCELLED):
        return
    notices = ended_notices(run)
    found = {notice.code for notice in notices}

    assert notices[0].code is NoticeCode.RUN_ENDED
    assert (NoticeCode.WRITE_OUTCOME_UNKNOWN in found) is bool(run.evidence.open_calls)
    assert (NoticeCode.SAVED_BEFORE_END in found) is (run.evidence.wrote is Wrote.YES)
    assert (NoticeCode.RUN_FINISHED_OUTSIDE in found) is decided_outside(run)
    assert notices == in_order(notices)
    for notice in notices:
        assert json.loads(json.dumps(dict(notice.arguments))) == notice.arguments


@given(event_streams())
def test_a_proposed_tool_was_not_carried_out(stream: tuple[RunEvent, ...]) -> None:
    """Every allowed call is either executed, of unknown outcome, or proposed."""
    run = fold("run", stream)
    done = {(result.round, result.index) for at in run.rounds for result in at.results if result.executed} | {
        tuple(map(int, known.call_id.split("."))) for known in run.evidence.open_calls
    }
    expected = dict.fromkeys(
        made.tool for at in run.rounds for made in at.waiting_calls if (at.answer.round, made.index) not in done
    )

    assert proposed_tools(run) == tuple(expected)


@given(st.sampled_from(RunStatus), record_writes(), st.lists(st.text(max_size=3)))
def test_a_run_finished_outside_is_told_with_all_it_wrote(
    status: RunStatus, records: tuple[RecordWrite, ...], tools: list[str]
) -> None:
    """Status, every record with its kind, each unknown tool once (C4)."""
    arguments = finished_outside_notice(status, records, tools).arguments

    assert arguments["status"] == status.value
    assert arguments["records"] == [{"reference": str(w.reference), "kind": w.kind.value} for w in records]
    assert arguments["tools"] == list(dict.fromkeys(tools))


@pytest.mark.parametrize("run", [WROTE_NOTHING, attrs.evolve(WROTE, id="r-7")])
def test_a_run_that_completed_has_no_ended_notices(run: Run) -> None:
    """The error names the run, its status and what would do (F5)."""
    with pytest.raises(InvalidValueError) as refused:
        ended_notices(run)

    assert (refused.value.subject, refused.value.found) == (f"the status of run {run.id!r}", RunStatus.COMPLETED)
    assert refused.value.allowed == "failed or cancelled"


# ------------------------------------------------------------------------ decided outside (C7)


def test_what_was_denied_outside_is_named_beside_the_answer() -> None:
    """Each tool of the round once, in the order of its calls, and only those that needed approval (C7)."""
    (notice,) = verdict("Hello.", decided(ASKED, 1, approved=False), never)

    assert notice == Notice(
        NoticeCode.RUN_FINISHED_OUTSIDE,
        {"status": "completed", "records": [], "tools": [], "declined": ["save", "send"]},
    )


def test_what_was_approved_outside_is_not_declined() -> None:
    """An approval leaves nothing to name (C7)."""
    (notice,) = verdict("Hello.", decided(ASKED, 1, approved=True), never)

    assert notice.arguments == {"status": "completed", "records": [], "tools": []}


@pytest.mark.parametrize(("last", "declined"), [(False, ["save", "send"]), (True, None)])
def test_the_last_decision_counts(last: bool, declined: list[str] | None) -> None:
    """What was decided in a round before is settled (C7)."""
    run = decided(decided(ASKED, 0, approved=not last), 1, approved=last)

    assert verdict("Hello.", run, never)[0].arguments.get("declined") == declined
    assert declined_last(run) == tuple(declined or ())


def test_nothing_is_declined_where_nothing_was_decided() -> None:
    """And no place is named for it: such a run was not decided outside, even if it says that it ended there (C7)."""
    assert declined_last(ASKED) == ()
    assert not decided_outside(attrs.evolve(ASKED, outside=True))
    assert decided_outside(decided(ASKED, 0, approved=True))
    assert not decided_outside(decided(ASKED, 0, approved=True, where=DecisionPlace.CHAT))
    assert not decided_outside(attrs.evolve(decided(ASKED, 0, approved=True), outside=False))
