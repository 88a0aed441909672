"""
Does what the steps of a segment ask for: commits, the model, tools, previews, announcements.

Expected failures come back as outcomes. What rises from here is a lost race, a store that is
gone, or a crash.
"""

import logging
import sys
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from nr_agent_core.domain.bounding import bounded_result
from nr_agent_core.domain.errors import FailureClass
from nr_agent_core.domain.failures import classify
from nr_agent_core.domain.model_dialogue import ModelAnswer, ModelCall
from nr_agent_core.domain.previews import CallPreview
from nr_agent_core.domain.provenance import announcements
from nr_agent_core.domain.sanitiser import failure_text, sanitised_chain
from nr_agent_core.domain.tool_outcomes import outcome_of_deadline, outcome_of_exception, outcome_of_return
from nr_agent_core.domain.tool_result import Outcome, ToolResult
from nr_agent_core.domain.tools import Reconciliation, Tool, ToolContext
from nr_agent_core.driver.late_outcomes import LateOutcomes
from nr_agent_core.ports.event_bus import EventBus
from nr_agent_core.ports.model_provider import ModelProvider
from nr_agent_core.ports.tool_executor import ToolExecutor
from nr_agent_core.ports.unit_of_work import UnitOfWork
from nr_agent_core.steps import Announce, Ask, AskFailed, Commit, Execute, MakePreviews, Order, Reconcile, finished

if TYPE_CHECKING:
    from nr_agent_core.ports.run_queue import RunQueue

_log = logging.getLogger("nr_agent_core")

AroundTool = Callable[[ToolContext], AbstractContextManager[Any]]


class Performer:
    """
    Performs one segment's orders.

    Args:
        store: where commits go, a store or the queue over one; None for a run without a store (R12).
        model: who is asked.
        executor: where tools run.
        bus: who hears of writes.
        late: where outcomes go that can no longer be stored by this segment.
        around_tool: the host's context manager around each tool, or None.
    """

    def __init__(
        self,
        store: "UnitOfWork | RunQueue | None",
        model: ModelProvider,
        *,
        executor: ToolExecutor,
        bus: EventBus,
        late: LateOutcomes,
        around_tool: AroundTool | None = None,
    ) -> None:
        self._store, self._model, self._executor, self._bus, self._late = store, model, executor, bus, late
        self._around = around_tool or _nothing_around
        self._perform: dict[type[Order], Callable[[Any], Any]] = {
            Commit: self._commit,
            Ask: self._ask,
            Execute: self._execute,
            Announce: self._announce,
            MakePreviews: self._previews,
            Reconcile: self._reconcile,
        }

    def __call__(self, order: Order) -> Any:
        """Perform *order*; what it brings is described with each kind of order."""
        return self._perform[type(order)](order)

    def _commit(self, order: Commit) -> None:
        if self._store is not None:
            self._store.commit(order.changes)

    def _ask(self, order: Ask) -> ModelAnswer | AskFailed:
        try:
            answer = self._model.complete(order.request)
        except Exception as error:  # noqa: BLE001 - whatever a provider raises is an outcome
            _log.warning("the model gave no answer: %s", sanitised_chain(error))
            return AskFailed(classify(error), failure_text(error))
        garbage = _garbage(answer)
        if garbage is None:
            return answer
        _log.error("the model provider returned %s", garbage)
        return AskFailed(FailureClass.UNKNOWN, f"the model provider returned {garbage}")

    def _execute(self, order: Execute) -> ToolResult:
        effect = order.tool.effect
        work = self._work(order.tool, lambda: order.tool.execute(order.arguments, order.context), order.context)

        def late(result: ToolResult) -> None:
            try:
                self._late_result(order, bounded_result(result))
            finally:
                if effect.writes:
                    self._late.arrived(order.context.key)

        result = self._executor.run(work, deadline=order.tool.deadline, late=late)
        if result is None:
            _log.warning("tool %s passed its deadline of %s s", order.tool.name, order.tool.deadline)
            if effect.writes:
                self._late.expect(order.context.key)
            return outcome_of_deadline(effect)
        if result.writes and not effect.writes:
            _log.error("tool %s is declared read_only and wrote %s", order.tool.name, list(map(str, result.writes)))
        return bounded_result(result)

    def _work(self, tool: Tool, call: Callable[[], object], context: ToolContext) -> Callable[[], ToolResult]:
        def work() -> ToolResult:
            returned: object = None
            try:
                with self._around(context):
                    returned = _awaited(call())
            except BaseException as error:
                if not (isinstance(error, Exception | SystemExit) or _is_cancelled(error)):
                    raise
                _log.warning("tool %s raised: %s", tool.name, sanitised_chain(error))
                # A tool that wraps a command or a task ends that alone, not the host (T4).
                failure = error if isinstance(error, Exception) else RuntimeError(type(error).__name__)
                return outcome_of_exception(tool.effect, failure)
            if not isinstance(returned, ToolResult | str):
                _log.error("tool %s returned a %s, not a ToolResult", tool.name, type(returned).__name__)
            return outcome_of_return(tool.effect, returned)

        return work

    def _late_result(self, order: Execute, result: ToolResult) -> None:
        """A call went on behind its deadline and ended: from the thread that ran it."""
        run_id = order.context.run_id
        if not (order.tool.effect.writes or result.writes) or result.outcome is Outcome.UNKNOWN:
            return
        _log.warning("tool %s ended behind its deadline; its outcome is now known", order.tool.name)
        if result.writes and self._store is not None:
            self._announce(Announce(run_id, result.writes))
        self._late.keep(run_id, finished(order.round, order.call, result, late=True))

    def _announce(self, order: Announce) -> None:
        for event in announcements(order.run_id, order.writes):
            try:
                self._bus.announce(event)
            except Exception as error:  # noqa: BLE001 - a bus that fails must not cost the outcome (W2)
                _log.error("the bus failed on %s: %s", event.reference, sanitised_chain(error))

    def _previews(self, order: MakePreviews) -> tuple[tuple[CallPreview, str | None], ...]:
        return tuple(self._preview(tool, arguments, context) for tool, arguments, context in order.calls)

    def _preview(self, tool: Tool, arguments: dict[str, Any], context: ToolContext) -> tuple[CallPreview, str | None]:
        preview = tool.preview
        if preview is None:
            return CallPreview.of_arguments(context.call_id, arguments), None
        made = self._aside(tool, lambda: preview(arguments, context), context)
        return CallPreview.of(context.call_id, made)

    def _reconcile(self, order: Reconcile) -> ToolResult | Reconciliation:
        reconcile = order.tool.reconcile
        assert reconcile is not None
        answer = self._aside(order.tool, lambda: reconcile(order.context.key, order.context), order.context)
        if isinstance(answer, ToolResult):
            return bounded_result(answer)
        return Reconciliation.NEVER_HAPPENED if answer is Reconciliation.NEVER_HAPPENED else Reconciliation.CANNOT_TELL

    def _aside(self, tool: Tool, call: Callable[[], object], context: ToolContext) -> object:
        """What a preview or reconcile returned; None when it raised or passed the tool's deadline."""
        returned: list[object] = []

        def keep() -> ToolResult:
            returned.append(_awaited(call()))
            return ToolResult.text("")

        done = self._executor.run(self._work(tool, keep, context), deadline=tool.deadline, late=_not_waited_for)
        return returned[0] if done is not None and returned else None


def _awaited(returned: object) -> object:
    """What an asynchronous tool brings: this driver's tool threads have no event loop of their own."""
    if not isinstance(returned, Awaitable):
        return returned
    import asyncio  # only a host with asynchronous tools pays for it

    async def brought() -> object:
        return await returned

    return asyncio.run(brought())


def _is_cancelled(error: BaseException) -> bool:
    asyncio = sys.modules.get("asyncio")
    return asyncio is not None and isinstance(error, asyncio.CancelledError)


def _nothing_around(_: ToolContext) -> AbstractContextManager[Any]:
    return nullcontext()


def _not_waited_for(_: ToolResult) -> None:
    """A preview or a reconcile that ends behind its deadline says nothing any more."""


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
