"""
Does what the steps of a segment ask for: commits, the model, tools, previews, announcements.

Expected failures come back as outcomes. What rises from here is a lost race, a store that is
gone, or a crash.
"""

import logging
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from nr_agent_core.domain.bounding import bounded_result
from nr_agent_core.domain.errors import FailureClass
from nr_agent_core.domain.failures import classify
from nr_agent_core.domain.model_dialogue import ModelAnswer, ModelCall
from nr_agent_core.domain.previews import CallPreview
from nr_agent_core.domain.provenance import announcements
from nr_agent_core.domain.sanitiser import failure_text, sanitised_chain
from nr_agent_core.domain.tool_outcomes import outcome_of_deadline
from nr_agent_core.domain.tool_result import Outcome, ToolResult
from nr_agent_core.domain.tools import Reconciliation, Tool, ToolContext
from nr_agent_core.driver.late_outcomes import LateOutcomes
from nr_agent_core.driver.tool_work import AroundTool, ToolWork
from nr_agent_core.driver.waits import Announcing, Complete, InTool, Tell, Wait, Work
from nr_agent_core.ports.event_bus import EventBus
from nr_agent_core.ports.model_provider import AnyModel
from nr_agent_core.ports.unit_of_work import UnitOfWork
from nr_agent_core.steps import Announce, Ask, AskFailed, Commit, Execute, MakePreviews, Order, Reconcile, finished

if TYPE_CHECKING:
    from nr_agent_core.ports.run_queue import RunQueue

_log = logging.getLogger("nr_agent_core")


class Performer:
    """
    Performs one segment's orders; what has to be waited for is yielded.

    Args:
        store: where commits go, a store or the queue over one; None for a run without a store (R12).
        model: who is asked.
        bus: who hears of writes.
        late: where outcomes go that can no longer be stored by this segment.
        around_tool: the host's context manager around each tool, or None.
    """

    def __init__(
        self,
        store: "UnitOfWork | RunQueue | None",
        model: AnyModel,
        *,
        bus: EventBus,
        late: LateOutcomes,
        around_tool: AroundTool | None = None,
    ) -> None:
        self._store, self._model, self._bus, self._late = store, model, bus, late
        self._around = around_tool
        self._perform: dict[type[Order], Callable[[Any], Work[Any]]] = {
            Commit: self._commit,
            Ask: self._ask,
            Execute: self._execute,
            Announce: self._announce,
            MakePreviews: self._previews,
            Reconcile: self._reconcile,
        }

    def __call__(self, order: Order) -> Work[Any]:
        """Perform *order*; what it brings is described with each kind of order."""
        return self._perform[type(order)](order)

    def _commit(self, order: Commit) -> Work[None]:
        if self._store is not None:
            self._store.commit(order.changes)
        yield from ()

    def _ask(self, order: Ask) -> Work[ModelAnswer | AskFailed]:
        try:
            answer: Any = yield Complete(self._model, order.request, order.round)
        except Exception as error:  # noqa: BLE001 - whatever a provider raises is an outcome
            _log.warning("the model gave no answer: %s", sanitised_chain(error))
            yield Tell("TextWasInterim", order.round)
            return AskFailed(classify(error), failure_text(error))
        garbage = _garbage(answer)
        if garbage is None:
            if answer.calls and answer.text:
                yield Tell("TextWasInterim", order.round)
            brought: ModelAnswer = answer
            return brought
        _log.error("the model provider returned %s", garbage)
        yield Tell("TextWasInterim", order.round)
        return AskFailed(FailureClass.UNKNOWN, f"the model provider returned {garbage}")

    def _execute(self, order: Execute) -> Work[ToolResult]:
        tool, context = order.tool, order.context
        yield Tell("ToolCallStarted", context.call_id, tool.name, tool.effect)
        work = ToolWork(tool, tool.execute, (order.arguments, context), context, around=self._around)
        result: ToolResult | None = yield InTool(work, lambda late: self._late_result(order, late))
        bounded = self._judged(order, result)
        yield Tell("ToolCallFinished", context.call_id, tool.name, bounded.outcome)
        return bounded

    def _judged(self, order: Execute, result: ToolResult | None) -> ToolResult:
        effect = order.tool.effect
        if result is None:
            _log.warning("tool %s passed its deadline of %s s", order.tool.name, order.tool.deadline)
            if effect.writes:
                self._late.expect(order.context.key)
            return outcome_of_deadline(effect)
        if result.writes and not effect.writes:
            _log.error("tool %s is declared read_only and wrote %s", order.tool.name, list(map(str, result.writes)))
        return bounded_result(result)

    def _late_result(self, order: Execute, late: ToolResult) -> Work[None]:
        """A call went on behind its deadline and ended."""
        effect, run_id = order.tool.effect, order.context.run_id
        try:
            result = bounded_result(late)
            if not (effect.writes or result.writes) or result.outcome is Outcome.UNKNOWN:
                return
            _log.warning("tool %s ended behind its deadline; its outcome is now known", order.tool.name)
            if result.writes and self._store is not None:
                yield from self._announce(Announce(run_id, result.writes))
            self._late.keep(run_id, finished(order.round, order.call, result, late=True))
        finally:
            if effect.writes:
                self._late.arrived(order.context.key)

    def _announce(self, order: Announce) -> Work[None]:
        for event in announcements(order.run_id, order.writes):
            try:
                yield Announcing(self._bus, event)
            except Exception as error:  # noqa: BLE001 - a bus that fails must not cost the outcome (W2)
                _log.error("the bus failed on %s: %s", event.reference, sanitised_chain(error))
            yield Tell("RecordWritten", order.run_id, event.reference, event.kind)

    def _previews(self, order: MakePreviews) -> Work[tuple[tuple[CallPreview, str | None], ...]]:
        made = []
        for tool, arguments, context in order.calls:
            made.append((yield from self._preview(tool, arguments, context)))
        return tuple(made)

    def _preview(
        self, tool: Tool, arguments: dict[str, Any], context: ToolContext
    ) -> Work[tuple[CallPreview, str | None]]:
        if tool.preview is None:
            return CallPreview.of_arguments(context.call_id, arguments), None
        made = yield from self._aside(tool, tool.preview, (arguments, context), context)
        return CallPreview.of(context.call_id, made)

    def _reconcile(self, order: Reconcile) -> Work[ToolResult | Reconciliation]:
        reconcile, context = order.tool.reconcile, order.context
        assert reconcile is not None
        answer = yield from self._aside(order.tool, reconcile, (context.key, context), context)
        if isinstance(answer, ToolResult):
            return bounded_result(answer)
        return Reconciliation.NEVER_HAPPENED if answer is Reconciliation.NEVER_HAPPENED else Reconciliation.CANNOT_TELL

    def _aside(
        self, tool: Tool, function: Callable[..., object], arguments: tuple[object, ...], context: ToolContext
    ) -> Work[object]:
        """What a preview or reconcile returned; None when it raised or passed the tool's deadline."""
        work = ToolWork(tool, function, arguments, context, around=self._around, aside=True)
        done = yield InTool(work, _not_waited_for)
        return None if done is None else work.returned


def _not_waited_for(_: ToolResult) -> Generator[Wait, Any, None]:
    """A preview or a reconcile that ends behind its deadline says nothing any more."""
    yield from ()


# What is stored of an answer must be readable again, or its run could never go on.
_FACTS: dict[str, Any] = {
    "text": str,
    "calls": tuple | list,
    "provider": str,
    "model": str,
    "input_tokens": int | None,
    "output_tokens": int | None,
    "finish_reason": str | None,
    "provider_data": str | None,
}


def _garbage(answer: object) -> str | None:
    """What is wrong with the form of *answer*, or None."""
    if not isinstance(answer, ModelAnswer):
        return f"a {type(answer).__name__} instead of a ModelAnswer"
    for name, kind in _FACTS.items():
        value = getattr(answer, name)
        if not isinstance(value, kind) or isinstance(value, bool):
            return f"a {name} of type {type(value).__name__}"
    for call in answer.calls:
        if not (isinstance(call, ModelCall) and isinstance(call.name, str) and isinstance(call.arguments, str)):
            return "a call that is no ModelCall with a name and arguments as text"
        if not (call.id is None or isinstance(call.id, str)):
            return "a call whose id is no text"
    return None
