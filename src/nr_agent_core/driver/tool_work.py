"""
One call into a tool: in a thread or in an event loop, and what its end means (T4).
"""

import inspect
import logging
import sys
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from nr_agent_core.domain.sanitiser import sanitised_chain
from nr_agent_core.domain.tool_outcomes import outcome_of_exception, outcome_of_return
from nr_agent_core.domain.tool_result import ToolResult
from nr_agent_core.domain.tools import Tool, ToolContext

_log = logging.getLogger("nr_agent_core")

AroundTool = Callable[[ToolContext], AbstractContextManager[Any]]


class ToolWork:
    """
    Calls *function*, which is the tool's own or what it says beside: a preview, a reconcile.

    Args:
        tool: whose function it is.
        function: what is called, with *arguments*; a coroutine function belongs into an event loop.
        arguments: what it is called with.
        context: of the call.
        around: the host's context manager around each tool.
        aside: whether the function brings no result: what it returns is kept in ``returned``.
    """

    __slots__ = ("_arguments", "_around", "_aside", "_function", "context", "returned", "tool")

    def __init__(
        self,
        tool: Tool,
        function: Callable[..., object],
        arguments: tuple[object, ...],
        context: ToolContext,
        *,
        around: AroundTool | None = None,
        aside: bool = False,
    ) -> None:
        self.tool, self.context = tool, context
        self.returned: object = None
        self._function, self._arguments = function, arguments
        self._around, self._aside = around or _nothing_around, aside

    @property
    def asynchronous(self) -> bool:
        """Whether it is known to have something to await."""
        function = self._function
        return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
            getattr(type(function), "__call__", None)  # noqa: B004 - it may be a coroutine function
        )

    def __call__(self) -> ToolResult:
        """The result, in a thread without an event loop. Only a crash rises."""
        returned: object = None
        try:
            with self._around(self.context):
                returned = _awaited(self._function(*self._arguments))
            # Outside: what surrounds the tool may swallow what it raised, and then nothing came of it.
            return self._brought(returned)
        except BaseException as error:  # noqa: BLE001 - a crash rises in there
            return self._failed(error)

    async def in_loop(self) -> ToolResult:
        """The result, in the event loop that runs. Only a crash rises."""
        returned: object = None
        try:
            with self._around(self.context):
                begun = self._function(*self._arguments)
                returned = await begun if isinstance(begun, Awaitable) else begun
            return self._brought(returned)
        except BaseException as error:  # noqa: BLE001 - a crash rises in there
            return self._failed(error)

    def cancelled(self) -> ToolResult:
        """The outcome of a call that was cancelled, as far as anybody knows before it began."""
        return outcome_of_exception(self.tool.effect, RuntimeError("cancelled"))

    def _brought(self, returned: object) -> ToolResult:
        if self._aside:
            self.returned = returned
            return ToolResult.text("")
        if not isinstance(returned, ToolResult | str):
            _log.error("tool %s returned a %s, not a ToolResult", self.tool.name, type(returned).__name__)
        return outcome_of_return(self.tool.effect, returned)

    def _failed(self, error: BaseException) -> ToolResult:
        if not (isinstance(error, Exception | SystemExit) or _is_cancelled(error)):
            raise error
        _log.warning("tool %s raised: %s", self.tool.name, sanitised_chain(error))
        # A tool that wraps a command or a task ends that alone, not the host (T4).
        failure = error if isinstance(error, Exception) else RuntimeError(type(error).__name__)
        return outcome_of_exception(self.tool.effect, failure)


def _awaited(returned: object) -> object:
    """What an asynchronous tool brings: tool threads have no event loop of their own."""
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
