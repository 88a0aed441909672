"""What a run asks for next, computed from its events alone."""

from collections.abc import Sequence

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nr_agent_core.domain.effects import (
    AskModel,
    AwaitApproval,
    CallTool,
    Effect,
    Fail,
    Finish,
    RecoverCall,
    RefuseCall,
    RequestApproval,
    StartTool,
)
from nr_agent_core.domain.failures import FailureCode
from nr_agent_core.domain.run import Run, fold
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
    RunEvent,
    Started,
    ToolFinished,
    ToolStarted,
)
from nr_agent_core.domain.run_status import RunReason, RunStatus
from nr_agent_core.domain.tool_result import Outcome, ToolEffect

READ, IDEMPOTENT, HARMFUL = ToolEffect.READ_ONLY, ToolEffect.IDEMPOTENT_WRITE, ToolEffect.NON_IDEMPOTENT_WRITE
START = Started("anna", 5, segment="s0")
REQUEST = ApprovalRequested("digest")


def answered(number: int, *calls: RecordedCall, length: int = 0) -> ModelAnswered:
    """A round's answer."""
    return ModelAnswered(number, "p", "m", length, 1, 0, calls=calls)


def recorded(index: int, effect: ToolEffect = READ, *, refusal: NotExecuted | None = None) -> RecordedCall:
    """A call as the look records it; writes need approval."""
    return RecordedCall(
        index, effect.value, effect, f"d{index}", approval=effect.writes and not refusal, refusal=refusal
    )


def done(number: int, call: RecordedCall, outcome: Outcome = Outcome.TEXT) -> ToolFinished:
    """The call's outcome."""
    return ToolFinished(number, call.index, call.tool, call.effect, True, outcome, 4)


def decided(approved: bool, segment: str | None = "s1") -> ApprovalDecided:
    """A decision on the waiting round."""
    return ApprovalDecided(approved, "boss", DecisionPlace.CHAT, "digest", segment)


def effect_of(events: Sequence[RunEvent]) -> Effect | None:
    """What the run asks for after *events*."""
    return fold("r", events).next_effect()


def test_a_new_run_asks_the_model_with_tools() -> None:
    """(R4) The loop begins with a question."""
    assert effect_of([START]) == AskModel(0, offer_tools=True)


def test_a_text_without_calls_is_the_answer() -> None:
    """(R4, V9) No calls: completed."""
    assert effect_of([START, answered(0, length=3)]) == Finish(RunReason.COMPLETED)


def test_the_whole_round_waits_when_one_call_needs_approval() -> None:
    """(R4, R5) Reading siblings wait with the round; refused calls are on no card."""
    read, refused, write = recorded(0), recorded(1, HARMFUL, refusal=NotExecuted.TOOL_DISABLED), recorded(2, HARMFUL)
    answer = answered(0, read, refused, write)

    assert effect_of([START, answer]) == RequestApproval(0, (read, write))
    assert effect_of([START, answer, REQUEST]) == AwaitApproval("digest")


def test_a_round_of_refused_calls_causes_no_pause() -> None:
    """(R4) What was refused at the look needs nobody's decision."""
    refused = recorded(0, HARMFUL, refusal=NotExecuted.TRUST_ZONE)

    assert effect_of([START, answered(0, refused)]) == RefuseCall(0, refused, NotExecuted.TRUST_ZONE)


def test_a_denial_runs_none_of_the_round() -> None:
    """(R4, A2) Reading siblings are not carried out either; refused calls keep their own reason."""
    read, refused, write = recorded(0), recorded(1, HARMFUL, refusal=NotExecuted.NOT_REGISTERED), recorded(2, HARMFUL)
    events: list[RunEvent] = [START, answered(0, read, refused, write), REQUEST, decided(False)]
    reasons = []
    for _ in range(3):
        effect = effect_of(events)
        assert isinstance(effect, RefuseCall)
        reasons.append(effect.why)
        call = effect.call
        events.append(ToolFinished(0, call.index, call.tool, call.effect, False, Outcome.ERROR, 1, refusal=effect.why))

    assert reasons == [NotExecuted.DECLINED, NotExecuted.NOT_REGISTERED, NotExecuted.DECLINED]
    assert effect_of(events) == AskModel(1, offer_tools=True)


def test_an_approved_write_stores_its_intent_then_executes() -> None:
    """(R6) Intent first; the effect belongs to the segment that stored it."""
    write = recorded(0, HARMFUL)
    events = [START, answered(0, write), REQUEST, decided(True)]
    intent = ToolStarted(0, 0, write.tool, HARMFUL, "key")

    assert effect_of(events) == StartTool(0, write)
    assert effect_of([*events, intent]) == CallTool(0, write)
    assert effect_of([*events, intent, done(0, write)]) == AskModel(1, offer_tools=True)


@pytest.mark.parametrize("effect", [IDEMPOTENT, HARMFUL])
def test_an_intent_of_an_earlier_segment_is_recovered(effect: ToolEffect) -> None:
    """(R7) A takeover is an append, so the stream itself tells whose intent it is."""
    write = recorded(0, effect)
    events = [START, answered(0, write), REQUEST, decided(True), ToolStarted(0, 0, write.tool, effect, "key")]
    takeover = Claimed("s2", ClaimReason.RECOVERY)

    assert effect_of([*events, takeover]) == RecoverCall(0, write, "key")
    assert effect_of([*events, Requeued(0.0), takeover]) == RecoverCall(0, write, "key")


def test_a_takeover_without_an_intent_goes_on_as_if_at_once() -> None:
    """(R2) There is one code path, whoever goes on."""
    read, write = recorded(0), recorded(1, HARMFUL)
    events = [START, answered(0, read, write), REQUEST, decided(True), done(0, read)]

    assert effect_of([*events, Claimed("s2", ClaimReason.RECOVERY)]) == effect_of(events) == StartTool(0, write)


def test_the_round_cap_closes_with_a_round_without_tools() -> None:
    """(R4) The closing round's text answers; its calls are refused first, and are events too (E3)."""
    read = recorded(0)
    events: list[RunEvent] = [attrs.evolve(START, max_rounds=2)]
    for number in range(2):
        events += [answered(number, read), done(number, read)]
    refused = recorded(0, HARMFUL, refusal=NotExecuted.CLOSING_ROUND)
    result = ToolFinished(2, 0, refused.tool, HARMFUL, False, Outcome.ERROR, 1, refusal=NotExecuted.CLOSING_ROUND)

    assert effect_of(events) == AskModel(2, offer_tools=False)
    assert effect_of([*events, answered(2, length=5)]) == Finish(RunReason.MAX_ITERATIONS)
    assert effect_of([*events, answered(2, refused, length=5)]) == RefuseCall(2, refused, NotExecuted.CLOSING_ROUND)
    assert effect_of([*events, answered(2, refused, length=5), result]) == Finish(RunReason.MAX_ITERATIONS)
    assert effect_of([*events, answered(2, refused), result]) == AskModel(3, offer_tools=False)
    again = answered(3, refused)
    end = [*events, answered(2, refused), result, again, attrs.evolve(result, round=3)]
    assert effect_of(end) == Fail(RunReason.EMPTY_ANSWER, FailureCode.EMPTY_ANSWER)


def test_an_empty_answer_is_asked_once_more() -> None:
    """(R4) Neither text nor calls: one more question, then a failure; a call in between begins anew."""
    read = recorded(0)

    assert effect_of([START, answered(0)]) == AskModel(1, offer_tools=True)
    assert effect_of([START, answered(0), answered(1)]) == Fail(RunReason.EMPTY_ANSWER, FailureCode.EMPTY_ANSWER)
    between = [START, answered(0), answered(1, read), done(1, read), answered(2)]
    assert effect_of(between) == AskModel(3, offer_tools=True)


@pytest.mark.parametrize("status", [s for s in RunStatus if s.settled])
def test_a_settled_run_asks_for_nothing(status: RunStatus) -> None:
    """(R2) It is over."""
    assert Run("r", status).next_effect() is None
    assert Run("r", RunStatus.QUEUED).next_effect() is None
    assert Run("r").next_effect() is None


def test_attempts_count_until_the_model_answers_again() -> None:
    """(R8) A run that kills its process again and again is given up; one that makes progress is not."""
    takeover = Claimed("s2", ClaimReason.RECOVERY)
    tired = fold("r", [START, takeover, takeover])

    assert tired.attempts == 2
    assert tired.after(answered(0, length=1)).attempts == 0
    assert fold("r", [attrs.evolve(START, segment=None), Claimed("s", ClaimReason.WORKER)]).attempts == 0


def test_who_ended_it_is_remembered() -> None:
    """(C4) Anything the chat itself did not cause marks the run, for good."""
    waiting = fold("r", [START, answered(0, recorded(0, HARMFUL)), REQUEST])

    assert not waiting.after(decided(True)).outside
    assert waiting.after(attrs.evolve(decided(True), where=DecisionPlace.OUTSIDE)).outside
    assert fold("r", [START, Claimed("s", ClaimReason.RECOVERY, outside=True)]).outside


@given(st.data())
def test_the_loop_ends_whatever_the_model_answers(data: st.DataObject) -> None:
    """(R4) Every run of answers, calls and decisions reaches an end within the cap and two rounds."""
    cap = data.draw(st.integers(1, 20))
    run = Run("r").after(attrs.evolve(START, max_rounds=cap))
    asked = 0
    for _ in range(400):
        effect = run.next_effect()
        match effect:
            case AskModel(number, offer):
                asked += 1
                assert offer is (number < cap)
                refusal = None if offer else NotExecuted.CLOSING_ROUND
                effects = data.draw(st.lists(st.sampled_from(ToolEffect), max_size=2))
                calls = [recorded(index, kind, refusal=refusal) for index, kind in enumerate(effects)]
                run = run.after(answered(number, *calls, length=data.draw(st.sampled_from((0, 5)))))
            case RequestApproval():
                run = run.after(REQUEST).after(decided(data.draw(st.booleans())))
            case RefuseCall(number, call, why):
                run = run.after(
                    ToolFinished(number, call.index, call.tool, call.effect, False, Outcome.ERROR, 1, refusal=why)
                )
            case StartTool(number, call):
                run = run.after(ToolStarted(number, call.index, call.tool, call.effect, "key"))
            case CallTool(number, call):
                run = run.after(done(number, call, data.draw(st.sampled_from(Outcome))))
            case Finish() | Fail():
                break
            case _:
                raise AssertionError(effect)
    else:
        raise AssertionError("the loop did not end")

    assert asked <= cap + 2
