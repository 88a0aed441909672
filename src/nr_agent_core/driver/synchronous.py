"""
The synchronous driver: whatever work waits for is done in place.
"""

import time
from collections.abc import Callable
from typing import Any, assert_never

from nr_agent_core.domain.errors import FailureClass, ProviderError
from nr_agent_core.domain.tool_result import ToolResult
from nr_agent_core.driver.waits import Announcing, Complete, InTool, T, Tell, Wait, Watch, Work
from nr_agent_core.ports.tool_executor import ToolExecutor
from nr_agent_core.steps import orders


def driven(work: Work[T], wait_for: Callable[[Wait], Any]) -> T:
    """
    Do *work* to its end and return what it brings; what it raises rises.
    """
    go_on: Callable[[Any], Wait] = work.send
    came: Any = None
    try:
        while True:
            wait = go_on(came)
            try:
                go_on, came = work.send, wait_for(wait)
            except BaseException as error:  # noqa: BLE001 - the work says what it means
                go_on, came = work.throw, error
    except StopIteration as done:
        brought: T = done.value
        return brought


class InPlace:
    """
    Waits by doing: asks the model and calls listeners in the caller's thread, and tools in the executor.

    Args:
        executor: where tools run.
        watch: hears of what happens; whoever watches has answers streamed.
    """

    def __init__(self, executor: ToolExecutor, watch: Watch | None = None) -> None:
        self._executor, self._watch = executor, watch

    def __call__(self, wait: Wait) -> Any:
        """What came of *wait*."""
        match wait:
            case Complete():
                return self._complete(wait)
            case InTool():
                return self._in_tool(wait)
            case Announcing():
                return wait.bus.announce(wait.event)
            case Tell():
                return None if self._watch is None else self._watch(wait.event)
            case _:
                assert_never(wait)

    def _complete(self, wait: Complete) -> Any:
        model: Any = wait.model
        if getattr(model, "complete", None) is None:
            text = "this model can only be asked from an event loop, by an AsyncChat or an AsyncRuntime"
            raise ProviderError(text, FailureClass.CONFIGURATION)
        return asked(wait, self._watch)

    def _in_tool(self, wait: InTool) -> ToolResult | None:
        def late(result: ToolResult) -> None:
            driven(wait.late(result), self)

        return self._executor.run(wait.work, deadline=wait.work.tool.deadline, late=late)


def asked(wait: Complete, watch: Watch | None, *, given_up: Callable[[], bool] = bool) -> Any:
    """
    What the model answers, told to *watch* while it comes, if somebody watches.

    Raises:
        ProviderError: its stream was cut.
        TimeoutError: its stream passed the deadline of a question (R8), or *given_up* says so.
    """
    model: Any = wait.model
    if watch is None:
        return model.complete(wait.request)
    from nr_agent_core.driver.model_reading import Reading, told_at_once

    stream = getattr(model, "stream", None)
    pieces = None if stream is None else stream(wait.request)
    if pieces is None:
        return told_at_once(model.complete(wait.request), wait.round, watch)
    reading, end = Reading(wait.round, watch), time.monotonic() + orders.MODEL_DEADLINE
    try:
        for piece in pieces:
            reading.take(piece)
            if given_up() or time.monotonic() > end:
                raise TimeoutError(f"the stream of the model took longer than {orders.MODEL_DEADLINE} s")
    finally:
        close = getattr(pieces, "close", None)
        if close is not None:
            close()
    return reading.answer()
