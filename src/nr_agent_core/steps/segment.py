"""
One segment of a run as a conversation with a driver. The order of commits is written here and
nowhere else, and it IS the guarantee (P5, R6, R7):

1. a segment's opening is durable before anything outside happens;
2. the intent of a writing call is durable before its effect;
3. its writes are announced before its outcome is stored, and its outcome is stored before
   anything else happens;
4. an intent of an earlier segment is recovered, never simply executed.

:func:`steps` is a generator inside one call and is never stored: it yields what must be done
outside, gets what came of it, and yields the next. It performs nothing itself.
"""

from collections.abc import Generator
from typing import Any, assert_never

from nr_agent_core.domain.bounding import well_formed
from nr_agent_core.domain.canonical import idempotency_key, round_digest
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
from nr_agent_core.domain.failures import FailureCode, code_of
from nr_agent_core.domain.look import argument_violation, look, recorded_arguments
from nr_agent_core.domain.model_dialogue import ModelAnswer, ModelCall
from nr_agent_core.domain.notices import Notice
from nr_agent_core.domain.previews import CallPreview
from nr_agent_core.domain.run import Round, Run
from nr_agent_core.domain.run_events import (
    ApprovalRequested,
    ModelAnswered,
    NotExecuted,
    RecordedCall,
    Requeued,
    RunCompleted,
    RunEvent,
    RunFailed,
    ToolFinished,
    ToolStarted,
)
from nr_agent_core.domain.run_status import RunReason
from nr_agent_core.domain.tool_outcomes import not_executed_text, repeat_unknown_text
from nr_agent_core.domain.tool_result import Outcome, ToolEffect, ToolResult
from nr_agent_core.domain.tools import Reconciliation, Tool, ToolContext
from nr_agent_core.domain.verdict import ended_notices
from nr_agent_core.ports.unit_of_work import AddMessages, AppendEvents, Change
from nr_agent_core.steps.messages import assistant_message, finished
from nr_agent_core.steps.orders import (
    MODEL_DEADLINE,
    RETRY_DELAYS,
    Announce,
    Ask,
    AskFailed,
    Commit,
    Execute,
    MakePreviews,
    Order,
    Reconcile,
    SegmentEnd,
    Setting,
    Steps,
)


def steps(run: Run, opening: tuple[RunEvent, ...], setting: Setting) -> Steps:
    """
    Perform one segment of *run*, which *opening* opens (events that are not stored yet).

    Returns:
        How the segment ended: the run waits, is queued again, or is settled.
    """
    return Segment(run, setting).steps(opening)


class Segment:
    """
    The state of one segment at work: the run, what is not stored yet, and how long the lease holds.
    """

    def __init__(self, run: Run, setting: Setting) -> None:
        self.run, self.setting = run, setting
        self._stored_at = run.sequence
        self._buffer: list[RunEvent] = []
        self._handed_over: tuple[RunEvent, ...] = ()
        self._uncertain: tuple[RunEvent, ...] = ()
        self._before: tuple[Change, ...] = setting.opening_changes
        self._urgent = False
        self._lease_until = 0.0

    def steps(self, opening: tuple[RunEvent, ...]) -> Steps:
        """The generator; see :func:`steps`."""
        for event in opening:
            self._add(event)
        self._urgent = True
        while True:
            effect = self._next_effect()
            match effect:
                case AskModel():
                    end = yield from self._ask(effect)
                    if end is not None:
                        return end
                case RequestApproval():
                    yield from self._request_approval(effect)
                    return SegmentEnd(self.run)
                case AwaitApproval() | None:
                    if self._buffer:
                        yield self._commit(0.0)
                    return SegmentEnd(self.run)
                case RefuseCall(number, call, why):
                    self._refuse(number, call, why)
                case StartTool(number, call):
                    yield from self._start_tool(number, call)
                case CallTool(number, call):
                    yield from self._call_tool(number, call)
                case RecoverCall(number, call, key):
                    end = yield from self._recover(number, call, key)
                    if end is not None:
                        return end
                case Finish(reason):
                    return (yield from self._finish(reason))
                case Fail(reason, code):
                    return (yield from self._fail(reason, code))
                case _:
                    assert_never(effect)

    def _next_effect(self) -> Effect | None:
        self._take_late()
        effect = self.run.next_effect()
        if not self._gives_up_before(effect):
            return effect
        self._add(Requeued(self.setting.now()))
        return None

    def _gives_up_before(self, effect: Effect | None) -> bool:
        """Whether the segment ends here in order: nothing is begun that would have to be waited for."""
        begins = isinstance(effect, AskModel | StartTool | RecoverCall) or (
            isinstance(effect, CallTool) and self.run.intent is None
        )
        return begins and self.setting.stopping()

    def broken(self, text: str) -> Steps:
        """
        Steps that end the run ``failed``/``internal`` after an exception that is no outcome.

        What happened before and is not stored yet is stored with it.
        """
        self._uncertain = self._handed_over
        return self._fail(RunReason.INTERNAL, FailureCode.INTERNAL, text)

    @property
    def unstored(self) -> tuple[RunEvent, ...]:
        """The events of the last commit, whose outcome may be unknown, and those that are not stored yet."""
        return (*self._uncertain, *self._handed_over, *self._buffer)

    # -- commits ------------------------------------------------------------------------------

    def _add(self, event: RunEvent) -> None:
        self.run = self.run.after(event)
        self._buffer.append(event)

    def _commit(self, deadline: float, *after: Change) -> Commit:
        """What is not stored yet, with a lease beyond *deadline* seconds of what comes next (R8)."""
        lease = deadline + self.setting.lease_margin
        self._handed_over = tuple(self._buffer)
        append = AppendEvents(self.run, self._stored_at, self._handed_over, lease, self.setting.privacy)
        changes = (*self._before, append, *after)
        self._buffer.clear()
        self._before, self._urgent = (), False
        self._stored_at, self._lease_until = self.run.sequence, self.setting.now() + lease
        return Commit(changes)

    def _outside(self, order: Order, deadline: float) -> Generator[Order, Any, Any]:
        """Have something done outside, with all that must be durable first, durable."""
        if self._buffer and (self._urgent or self.setting.now() + deadline > self._lease_until):
            yield self._commit(deadline)
        return (yield order)

    def _take_late(self) -> None:
        """Outcomes that came after they were given up go into the next append (R7)."""
        if self.run.intent is not None:
            # Of the standing call's own outcome this segment knows only once it is settled.
            return
        for event in self.setting.late():
            try:
                self._add(event)
            except IllegalMoveError:
                # The outcome is known by now, or never was missing.
                continue
            self._urgent = True

    # -- the model ----------------------------------------------------------------------------

    def _ask(self, effect: AskModel) -> Generator[Order, Any, SegmentEnd | None]:
        briefed = self.setting.briefing.request(self.run, effect.offer_tools)
        if briefed is None:
            return (yield from self._fail(RunReason.CONTEXT_TRUNCATED, FailureCode.CONTEXT_TOO_LONG))
        answer = yield from self._outside(Ask(briefed.request, effect.round), MODEL_DEADLINE)
        if isinstance(answer, AskFailed):
            return (yield from self._ask_failed(answer))
        self.setting.briefing.answered(briefed, answer.input_tokens)
        self._add(self._answered(effect, answer, briefed))
        return None

    def _answered(self, effect: AskModel, answer: ModelAnswer, briefed: Any) -> ModelAnswered:
        text = well_formed(answer.text)
        looked = look(answer.calls, self.run, self.setting.gate, closing=not effect.offer_tools)
        return ModelAnswered(
            round=effect.round,
            provider=well_formed(answer.provider),
            model=well_formed(answer.model),
            length=len(text) if text.strip() else 0,
            messages=briefed.messages,
            left_out=briefed.left_out,
            offered=tuple(tool.name for tool in briefed.request.tools),
            calls=looked.calls,
            input_tokens=answer.input_tokens,
            output_tokens=answer.output_tokens,
            finish_reason=answer.finish_reason and well_formed(answer.finish_reason),
            text=text,
            arguments=looked.arguments or None,
            provider_ids=looked.provider_ids or None,
            provider_data=answer.provider_data and well_formed(answer.provider_data),
        )

    def _ask_failed(self, failure: AskFailed) -> Generator[Order, Any, SegmentEnd]:
        """R8: a worker tries again within the budget; a run driven by its caller fails at once."""
        code = code_of(failure.failure_class)
        if not (self.setting.on_worker and failure.failure_class.retryable):
            return (yield from self._fail(RunReason.PROVIDER_FAILED, code, failure.text))
        if self.run.retries >= len(RETRY_DELAYS):
            return (yield from self._fail(RunReason.RETRIES_EXHAUSTED, code, failure.text))
        self._add(Requeued(self.setting.now() + RETRY_DELAYS[self.run.retries], retry=True))
        yield self._commit(0.0)
        return SegmentEnd(self.run)

    # -- approval -----------------------------------------------------------------------------

    def _request_approval(self, effect: RequestApproval) -> Generator[Order, Any, None]:
        asked = tuple(call for call in effect.calls if call.approval)
        wanted = tuple(self._invocation(effect.round, call) for call in asked)
        deadline = max(tool.deadline for tool, _, _ in wanted)
        made: tuple[tuple[CallPreview, str | None], ...] = yield from self._outside(MakePreviews(wanted), deadline)
        tokens = {call.index: token for call, (_, token) in zip(asked, made, strict=True)}
        # With the run's id: an equal round of a later run is another one, and no old card decides on it.
        name = f"{self.run.id}/{effect.round}"
        identities = ((f"{name}.{call.index}", call.digest, tokens.get(call.index)) for call in effect.calls)
        expiry = self.setting.approval_expiry
        self._add(
            ApprovalRequested(
                round_digest(identities),
                None if expiry is None else self.setting.now() + expiry,
                previews=tuple(preview for preview, _ in made),
                preconditions=tuple(tokens.get(call.index) for call in effect.calls),
            )
        )
        yield self._commit(0.0)

    # -- calls --------------------------------------------------------------------------------

    def _refuse(self, number: int, call: RecordedCall, why: NotExecuted) -> None:
        detail = None
        if why is NotExecuted.INVALID_ARGUMENTS:
            detail = argument_violation(ModelCall(call.tool, self._raw_arguments(call)), self.setting.gate)
        text = not_executed_text(why, detail)
        self._add(
            ToolFinished(
                number, call.index, call.tool, call.effect, False, Outcome.ERROR, len(text), call.remote,
                refusal=why, text=text,
            )
        )  # fmt: skip

    def _start_tool(self, number: int, call: RecordedCall) -> Generator[Order, Any, None]:
        """Intent before effect: the race of many processes is decided at this commit (R6)."""
        refusal = self._refusal_now(call)
        if refusal is not None:
            self._refuse(number, call, refusal)
            return
        tool, _, context = self._invocation(number, call)
        self._add(ToolStarted(number, call.index, call.tool, call.effect, context.key))
        yield self._commit(tool.deadline)

    def _call_tool(self, number: int, call: RecordedCall) -> Generator[Order, Any, None]:
        if not call.effect.writes:
            refusal = self._refusal_now(call)
            if refusal is not None:
                self._refuse(number, call, refusal)
                return
        result = yield from self._execute(number, call)
        yield from self._settle_call(number, call, result)

    def _refusal_now(self, call: RecordedCall) -> NotExecuted | None:
        """The gate, asked again at execution (G1); an effect that grew since the look was never released."""
        decision = self.setting.gate.decide(call.tool)
        if decision.reason is not None:
            return NotExecuted(decision.reason.value)
        tool = self.setting.gate.registry[call.tool]
        if tool.effect is not call.effect or (self.setting.gate.needs_approval(tool) and not self._approved(call)):
            return NotExecuted.APPROVAL_MISSING
        return None

    def _approved(self, call: RecordedCall) -> bool:
        return call.approval and self._round.released

    def _execute(self, number: int, call: RecordedCall) -> Generator[Order, Any, ToolResult]:
        tool, arguments, context = self._invocation(number, call)
        result: ToolResult = yield from self._outside(Execute(tool, arguments, context, call, number), tool.deadline)
        return result

    def _settle_call(self, number: int, call: RecordedCall, result: ToolResult) -> Generator[Order, Any, None]:
        """Announce, then record: the stream does not hold this write yet (W1)."""
        if result.writes and self.setting.stored:
            yield Announce(self.run.id, result.writes)
        self._add(finished(number, call, result))
        # Stored before anything else happens; the next call's intent may ride in the same commit.
        self._urgent = self._urgent or call.effect.writes or bool(result.writes)

    def _recover(self, number: int, call: RecordedCall, key: str) -> Generator[Order, Any, SegmentEnd | None]:
        """R7: an idempotent write is repeated with its key; any other is asked about, or unknown."""
        tool = self.setting.gate.registry.get(call.tool)
        if tool is not None and call.effect is ToolEffect.IDEMPOTENT_WRITE and tool.effect is call.effect:
            if self.setting.gate.decide(call.tool).allowed:
                result = yield from self._execute(number, call)
                if result.outcome is not Outcome.TEXT:
                    # Unchanged or an error speaks for the repeat alone, not for the first try.
                    result = ToolResult.unknown(repeat_unknown_text(result))
                yield from self._settle_call(number, call, result)
                return None
        elif tool is not None and tool.reconcile is not None:
            context = self._context(number, call, tool, key)
            answer = yield from self._outside(Reconcile(tool, context), tool.deadline)
            if answer is Reconciliation.NEVER_HAPPENED:
                self._refuse(number, call, NotExecuted.NEVER_HAPPENED)
                self._urgent = True
                return None
            if isinstance(answer, ToolResult) and answer.outcome is not Outcome.UNKNOWN:
                yield from self._settle_call(number, call, answer)
                return None
        return (yield from self._fail(RunReason.WRITE_OUTCOME_UNKNOWN, FailureCode.WRITE_OUTCOME_UNKNOWN))

    # -- ends ---------------------------------------------------------------------------------

    def _finish(self, reason: RunReason) -> Generator[Order, Any, SegmentEnd]:
        text = self._round.answer.text or ""
        self._add(RunCompleted(reason))
        notices = self.setting.verdict(text, self.run)
        yield self._commit(0.0, *self._message(text, notices))
        return SegmentEnd(self.run, text, notices)

    def _fail(self, reason: RunReason, code: FailureCode, text: str | None = None) -> Generator[Order, Any, SegmentEnd]:
        self._add(RunFailed(reason, code, text))
        notices = ended_notices(self.run)
        yield self._commit(0.0, *self._message("", notices))
        return SegmentEnd(self.run, None, notices)

    def _message(self, text: str, notices: tuple[Notice, ...]) -> tuple[Change, ...]:
        """Whoever settles a run delivers what it left, in the same transaction (C7)."""
        if self.run.conversation is None:
            return ()
        return (AddMessages(self.run.conversation, (assistant_message(self.run.id, text, notices),)),)

    # -- what a call is made of ---------------------------------------------------------------

    @property
    def _round(self) -> Round:
        return self.run.rounds[-1]

    def _raw_arguments(self, call: RecordedCall) -> str:
        arguments = self._round.answer.arguments
        return arguments[call.index] if arguments else "{}"

    def _key(self, number: int, call: RecordedCall) -> str:
        return idempotency_key(self.run.id, f"{number}.{call.index}", call.digest)

    def _invocation(self, number: int, call: RecordedCall) -> tuple[Tool, dict[str, Any], ToolContext]:
        tool = self.setting.gate.registry[call.tool]
        arguments = recorded_arguments(self.run, self._round, call)
        return tool, arguments, self._context(number, call, tool, self._key(number, call))

    def _context(self, number: int, call: RecordedCall, tool: Tool, key: str) -> ToolContext:
        request, token = self._round.request, None
        if request is not None and request.preconditions is not None:
            waiting = [known.index for known in self._round.waiting_calls]
            token = request.preconditions[waiting.index(call.index)] if call.index in waiting else None
        return ToolContext(self.run.owner, self.run.id, f"{number}.{call.index}", key, tool.deadline, token)
