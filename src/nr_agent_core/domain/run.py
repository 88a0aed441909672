"""
The run: a fold over its event stream, and one question.

Rule 1: :meth:`Run.after` is the only way a run's state changes.
Rule 2: :meth:`Run.next_effect` answers from that state alone, so going on at once, after an
approval, after a crash or in another process is the same code (R2).
"""

import operator
from collections.abc import Callable, Iterable
from typing import Any, assert_never

import attrs

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
from nr_agent_core.domain.errors import IllegalMoveError
from nr_agent_core.domain.failures import FailureCode
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
from nr_agent_core.domain.run_status import TRANSITIONS, RunReason, RunStatus
from nr_agent_core.domain.tool_result import Outcome, ToolEffect
from nr_agent_core.domain.value import Value
from nr_agent_core.domain.write_evidence import WriteEvidence


@attrs.frozen(repr=False, eq=False)
class Round(Value):
    """
    One question to the model, what it answered, and what became of the answer's calls.
    """

    answer: ModelAnswered
    results: tuple[ToolFinished, ...] = ()
    request: ApprovalRequested | None = None
    decision: ApprovalDecided | None = None

    @property
    def waiting_calls(self) -> tuple[RecordedCall, ...]:
        """The calls that were not refused at the look: what a card shows and a digest covers (R5)."""
        return tuple(call for call in self.answer.calls if call.refusal is None)

    @property
    def released(self) -> bool:
        """Whether an approval released this round."""
        return self.decision is not None and self.decision.approved

    @property
    def needs_approval(self) -> bool:
        """Whether a person has to decide before any call of this round is executed."""
        return any(call.approval and call.refusal is None for call in self.answer.calls)

    @property
    def blank(self) -> bool:
        """Whether the model gave neither text nor calls (R4)."""
        return not self.answer.calls and not self.answer.length


@attrs.frozen(repr=False, eq=False)
class Run(Value):
    """
    Everything that is known about a run, computed from its events.

    ``sequence`` is the number of events so far and what the next append expects. ``opened_at``
    is the number of the event that opened the segment at work: an intent older than that belongs
    to somebody else and is recovered, never simply executed (R7).
    """

    id: str
    status: RunStatus | None = None
    sequence: int = 0
    opened_at: int = -1
    segment: str | None = None
    owner: str = ""
    conversation: str | None = None
    message: int | None = None
    text: str | None = None
    instructions: str | None = None
    max_rounds: int = 5
    attempts: int = 0
    retries: int = 0
    not_before: float = 0.0
    rounds: tuple[Round, ...] = ()
    intent: ToolStarted | None = None
    intent_at: int = -1
    evidence: WriteEvidence = WriteEvidence()
    reason: RunReason | None = None
    code: FailureCode | None = None
    error: str | None = None
    outside: bool = False

    @property
    def settled(self) -> bool:
        """Whether the run is over."""
        return self.status is not None and self.status.settled

    @property
    def round(self) -> Round | None:
        """The round at work, if the model was asked already."""
        return self.rounds[-1] if self.rounds else None

    @property
    def intent_is_own(self) -> bool:
        """Whether the standing intent was stored by the segment at work (R6)."""
        return self.intent_at > self.opened_at

    @property
    def repeats(self) -> bool:
        """Whether the standing intent may have been tried more than once: a later segment took the run over (R7)."""
        return self.intent is not None and self.intent.effect is ToolEffect.IDEMPOTENT_WRITE and not self.intent_is_own

    def lacks(self, event: ToolFinished) -> bool:
        """
        Whether a late outcome tells of its call what this stream does not hold (R7).

        A write that is not recorded counts whatever else is known of the call: it happened (T7). An
        error or an unchanged speaks for one try alone, and settles no call that was tried again.
        """
        if not event.executed:
            return False
        if self.evidence.names_more(event):
            return True
        call = self.evidence.open_call(event.call_id)
        again = call is not None and (call.repeated or (self.repeats and self._is_of_intent(event)))
        return call is not None and (event.outcome is Outcome.TEXT or not again)

    def _is_of_intent(self, event: ToolFinished) -> bool:
        return self.intent is not None and (self.intent.round, self.intent.index) == (event.round, event.index)

    @property
    def request(self) -> ApprovalRequested | None:
        """What the run waits for a decision on, while it waits."""
        waiting = self.status is RunStatus.WAITING_FOR_APPROVAL
        return self.rounds[-1].request if waiting else None

    def after(self, event: RunEvent) -> "Run":
        """
        The run once *event* happened.

        Raises:
            IllegalMoveError: the run's status, or what it still expects, does not take this event.
                The run is unchanged (R1).
        """
        targets = TRANSITIONS[self.status].get(event.kind)
        if targets is None:
            raise self._illegal(event)
        status = targets[0]
        if len(targets) > 1 and isinstance(event, Started | ApprovalDecided) and event.segment is None:
            status = targets[1]
        return _CHANGES[type(event)](self, event, status)

    def next_effect(self) -> Effect | None:
        """
        What to do next, or None when nothing is to be done by anybody (queued, settled).
        """
        match self.status:
            case RunStatus.WAITING_FOR_APPROVAL:
                request = self.request
                return AwaitApproval(request.digest if request else "")
            case RunStatus.RUNNING:
                return self._ask(0) if not self.rounds else self._in_round(self.rounds[-1])
            case None | RunStatus.QUEUED | RunStatus.COMPLETED | RunStatus.FAILED | RunStatus.CANCELLED:
                return None
            case _:
                assert_never(self.status)

    def _in_round(self, at: Round) -> Effect:
        number, calls = at.answer.round, at.answer.calls
        if at.blank:
            return self._after_blank(number)
        if len(at.results) < len(calls):
            return self._carry_out(at, calls[len(at.results)])
        if number >= self.max_rounds:
            # A closing round: its text alone answers, whatever calls came with it (R4).
            return Finish(RunReason.MAX_ITERATIONS) if at.answer.length else self._after_blank(number)
        return self._ask(number + 1) if calls else Finish(RunReason.COMPLETED)

    def _carry_out(self, at: Round, call: RecordedCall) -> Effect:
        number = at.answer.round
        if self.intent is not None:
            own = self.intent_is_own
            return CallTool(number, call) if own else RecoverCall(number, call, self.intent.key)
        if at.needs_approval and at.decision is None:
            return RequestApproval(number, at.waiting_calls)
        if call.refusal is not None:
            return RefuseCall(number, call, call.refusal)
        if at.needs_approval and not at.released:
            return RefuseCall(number, call, NotExecuted.DECLINED)
        return StartTool(number, call) if call.effect.writes else CallTool(number, call)

    def _after_blank(self, number: int) -> Effect:
        """Neither text nor calls: asked once more, then it is a failure (R4)."""
        before = self.rounds[-2] if len(self.rounds) > 1 else None
        if before is not None and self._said_nothing(before):
            return Fail(RunReason.EMPTY_ANSWER, FailureCode.EMPTY_ANSWER)
        return self._ask(number + 1)

    def _said_nothing(self, at: Round) -> bool:
        return at.blank or (at.answer.round >= self.max_rounds and not at.answer.length)

    def _ask(self, number: int) -> AskModel:
        return AskModel(number, offer_tools=number < self.max_rounds)

    def _illegal(self, event: RunEvent, why: str = "") -> IllegalMoveError:
        status = "not started" if self.status is None else self.status.value
        return IllegalMoveError(self.id, status, event.kind, why)

    def _moved(self, status: RunStatus, **changes: Any) -> "Run":
        # As attrs.evolve does it, in half the time: a run moves at every event.
        values = list(_values_of(self))
        values[_PLACES["status"]], values[_PLACES["sequence"]] = status, self.sequence + 1
        for name, value in changes.items():
            values[_PLACES[name]] = value
        return Run(*values)

    def _with_round(self, **changes: Any) -> tuple[Round, ...]:
        return (*self.rounds[:-1], attrs.evolve(self.rounds[-1], **changes))


_NAMES = tuple(field.name for field in attrs.fields(Run))
_PLACES = {name: place for place, name in enumerate(_NAMES)}
_values_of = operator.attrgetter(*_NAMES)


def fold(run_id: str, events: Iterable[RunEvent]) -> Run:
    """
    The run that *events* tell of, from the first on.

    Raises:
        IllegalMoveError: the stream holds an event that its state so far does not take.
    """
    run = Run(run_id)
    for event in events:
        run = run.after(event)
    return run


def _started(run: Run, event: Started, status: RunStatus) -> Run:
    return run._moved(
        status,
        opened_at=0,
        segment=event.segment,
        owner=event.owner,
        conversation=event.conversation,
        message=event.message,
        text=event.text,
        instructions=event.instructions,
        max_rounds=event.max_rounds,
    )


def _claimed(run: Run, event: Claimed, status: RunStatus) -> Run:
    recovers = event.why is not ClaimReason.WORKER
    return run._moved(
        status,
        opened_at=run.sequence,
        segment=event.segment,
        attempts=run.attempts + recovers,
        outside=run.outside or event.outside,
    )


def _answered(run: Run, event: ModelAnswered, status: RunStatus) -> Run:
    expected = run.rounds[-1].answer.round + 1 if run.rounds else 0
    if event.round != expected or run.intent is not None:
        raise run._illegal(event, f"round {expected} comes next")
    return run._moved(status, rounds=(*run.rounds, Round(event)), attempts=0, retries=0)


def _approval_requested(run: Run, event: ApprovalRequested, status: RunStatus) -> Run:
    if not run.rounds or not run.rounds[-1].needs_approval or run.rounds[-1].decision is not None:
        raise run._illegal(event, "no call of this round waits for an approval")
    return run._moved(status, rounds=run._with_round(request=event))


def _approval(run: Run, event: ApprovalDecided, status: RunStatus) -> Run:
    request = run.request
    if request is None or request.digest != event.digest:
        raise run._illegal(event, "the decision is for another round of calls")
    return run._moved(
        status,
        rounds=run._with_round(decision=event),
        opened_at=run.sequence,
        segment=event.segment,
        # Whoever decided last caused what follows (C4).
        outside=event.where is DecisionPlace.OUTSIDE,
    )


def _tool_started(run: Run, event: ToolStarted, status: RunStatus) -> Run:
    at = _next_call(run, event)
    if run.intent is not None:
        raise run._illegal(event, "another intent still stands")
    evidence = run.evidence.after_intent(event, released=at.released)
    return run._moved(status, intent=event, intent_at=run.sequence, evidence=evidence)


def _tool(run: Run, event: ToolFinished, status: RunStatus) -> Run:
    if event.late:
        return _late(run, event, status)
    if run.status is not RunStatus.RUNNING:
        raise run._illegal(event, "only a late outcome fits here")
    at = _next_call(run, event)
    evidence = run.evidence.after_outcome(event, released=at.released, repeated=run.repeats)
    return run._moved(
        status, rounds=run._with_round(results=(*at.results, event)), intent=None, intent_at=-1, evidence=evidence
    )


def _late(run: Run, event: ToolFinished, status: RunStatus) -> Run:
    """An open call's outcome became known: evidence changes, status does not (R7)."""
    if not run.lacks(event):
        raise run._illegal(event, f"no outcome of call {event.call_id} is missing")
    evidence = run.evidence.after_outcome(event, released=False)
    if run._is_of_intent(event):
        if run.status is RunStatus.RUNNING:
            raise run._illegal(event, "the segment at work stores this outcome itself")
        results = (*run.rounds[-1].results, event)
        return run._moved(status, rounds=run._with_round(results=results), intent=None, intent_at=-1, evidence=evidence)
    rounds = tuple(_corrected(at, event) if at.answer.round == event.round else at for at in run.rounds)
    return run._moved(status, rounds=rounds, evidence=evidence)


def _corrected(at: Round, late: ToolFinished) -> Round:
    known = tuple(late if _gives_way(result, late) else result for result in at.results)
    return attrs.evolve(at, results=known)


def _gives_way(result: ToolFinished, late: ToolFinished) -> bool:
    # A reading call may have been taken over and made anew: the late one is of the same place, not of the same call.
    same = (result.index, result.tool) == (late.index, late.tool)
    return same and not (result.executed and result.outcome is Outcome.TEXT)


def _next_call(run: Run, event: ToolStarted | ToolFinished) -> Round:
    """The round at work, whose next call *event* must be about."""
    at = run.rounds[-1] if run.rounds else None
    fits = at is not None and at.answer.round == event.round and len(at.results) == event.index
    if at is None or not fits or event.index >= len(at.answer.calls):
        raise run._illegal(event, f"call {event.round}.{event.index} is not the next one")
    return at


def _completed(run: Run, event: RunCompleted, status: RunStatus) -> Run:
    return run._moved(status, reason=event.reason)


def _failed(run: Run, event: RunFailed, status: RunStatus) -> Run:
    outside = run.outside or event.outside
    return run._moved(status, reason=event.reason, code=event.code, error=event.text, outside=outside)


def _cancelled(run: Run, event: RunCancelled, status: RunStatus) -> Run:
    return run._moved(status, reason=event.reason, outside=event.outside)


def _requeued(run: Run, event: Requeued, status: RunStatus) -> Run:
    return run._moved(status, not_before=event.not_before, retries=run.retries + event.retry, segment=None)


_CHANGES: dict[type[RunEvent], Callable[[Run, Any, RunStatus], Run]] = {
    Started: _started,
    Claimed: _claimed,
    ModelAnswered: _answered,
    ApprovalRequested: _approval_requested,
    ApprovalDecided: _approval,
    ToolStarted: _tool_started,
    ToolFinished: _tool,
    RunCompleted: _completed,
    RunFailed: _failed,
    RunCancelled: _cancelled,
    Requeued: _requeued,
}
