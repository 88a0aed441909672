"""
The asynchronous driver: whatever work waits for is awaited, and the work itself is done beside the loop.

A cancelled driver stops where nothing is open outside: at a question to the model, or at a call
that only reads. From the intent of a write to its outcome, and in the middle of a commit, it is
deaf to it (R6).
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine
from typing import Any, cast

from nr_agent_core.defaults.tool_executor import ThreadToolExecutor
from nr_agent_core.domain.sanitiser import sanitised_chain
from nr_agent_core.domain.tool_result import ToolResult
from nr_agent_core.driver.model_reading import Reading, told_at_once
from nr_agent_core.driver.synchronous import InPlace, asked, driven
from nr_agent_core.driver.waits import Announcing, Complete, InTool, T, Tell, Wait, Watch, Work
from nr_agent_core.driver.workers import Kept, Workers, end_from_thread
from nr_agent_core.ports.event_bus import AsyncEventBus
from nr_agent_core.ports.tool_executor import ToolExecutor
from nr_agent_core.steps import orders

_log = logging.getLogger("nr_agent_core")


async def driven_async(work: Work[T], wait_for: "InLoop") -> T:
    """
    Do *work* to its end and return what it brings; what it raises rises.
    """
    go_on: Callable[[Any], Wait] = work.send
    came: Any = None
    while True:
        wait = await wait_for.whole(wait_for.beside(_advanced, work, go_on, came, wait_for.in_thread))
        if isinstance(wait, _Brought):
            brought: T = wait.value
            return brought
        try:
            go_on, came = work.send, await wait_for(wait)
        except GeneratorExit:
            # The loop is gone, and this coroutine with it: the run is left to its lease.
            raise
        except BaseException as error:  # noqa: BLE001 - the work says what it means
            go_on, came = work.throw, error


class _Brought:
    """The end of work: what it brings."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


_NOT_HERE = object()


def _advanced(
    work: Work[Any], go_on: Callable[[Any], Wait], came: Any, in_thread: Callable[[Wait], Any]
) -> Wait | _Brought:
    """The next thing that *work* waits for in the loop, or its end; in a thread."""
    try:
        while True:
            wait = go_on(came)
            try:
                go_on, came = work.send, in_thread(wait)
            except BaseException as error:  # noqa: BLE001 - the work says what it means
                go_on, came = work.throw, error
            if came is _NOT_HERE:
                return wait
    except StopIteration as done:
        return _Brought(done.value)


class InLoop:
    """
    Waits in the running event loop, for one piece of work.

    Args:
        workers: the threads beside the loop.
        executor: where plain tools run; asynchronous ones run in the loop.
        keep: holds tasks that nobody else holds until they end.
        watch: hears of what happens, in the loop; whoever watches has answers streamed.
    """

    def __init__(
        self,
        workers: Workers,
        executor: ToolExecutor,
        keep: Callable[["asyncio.Task[Any]"], None],
        watch: Watch | None = None,
    ) -> None:
        self._workers, self._executor, self._keep, self._watch = workers, executor, keep, watch
        self._loop = asyncio.get_running_loop()
        self._cancelled = False
        self.beside = workers.beside

    # -- beside the loop ----------------------------------------------------------------------

    def in_thread(self, wait: Wait) -> Any:
        """What came of *wait*, if it is nothing for the loop."""
        match wait:
            case Tell():
                if self._watch is not None:
                    self._tell(wait.event)
                return None
            case Announcing() if not hasattr(wait.bus, "announce_async"):
                return wait.bus.announce(wait.event)
            case _:
                return _NOT_HERE

    def _tell(self, event: Any) -> None:
        assert self._watch is not None
        try:
            self._loop.call_soon_threadsafe(self._watch, event)
        except RuntimeError:
            _log.info("nobody hears of a %s: the event loop is closed", type(event).__name__)

    async def whole(self, future: "asyncio.Future[Any]") -> Any:
        """What *future*, which cannot be cancelled, brings; a cancel meanwhile is kept in mind."""
        try:
            return await future
        except asyncio.CancelledError:
            self._cancelled = True
            return future.result()

    # -- in the loop --------------------------------------------------------------------------

    async def __call__(self, wait: Wait) -> Any:
        """What came of *wait*."""
        match wait:
            case Complete():
                return await self._complete(wait)
            case InTool():
                return await self._in_tool(wait)
            case Announcing():
                return await self._announced(wait)
            case Tell():
                return self.in_thread(wait)

    def _stop_if_cancelled(self) -> None:
        if self._cancelled:
            raise asyncio.CancelledError("the driver was cancelled; its run is left to its lease")

    async def _complete(self, wait: Complete) -> Any:
        self._stop_if_cancelled()
        async with asyncio.timeout(orders.MODEL_DEADLINE):
            if getattr(wait.model, "complete_async", None) is None:
                return await self._complete_in_thread(wait)
            return await self._streamed(wait, self._watch) if self._watch else await _answered(wait)

    async def _streamed(self, wait: Complete, watch: Watch) -> Any:
        stream = getattr(wait.model, "stream_async", None)
        pieces = None if stream is None else stream(wait.request)
        if pieces is None:
            return told_at_once(await _answered(wait), wait.round, watch)
        reading = Reading(wait.round, watch)
        try:
            async for piece in pieces:
                reading.take(piece)
        finally:
            close = getattr(pieces, "aclose", None)
            if close is not None:
                await close()
        return reading.answer()

    async def _complete_in_thread(self, wait: Complete) -> Any:
        """A model that blocks: its thread goes on when nobody waits any more, at most to its next piece."""
        left: list[bool] = []
        watch = None if self._watch is None else self._tell
        future: asyncio.Future[Any] = self._loop.create_future()

        def ask() -> None:
            try:
                result, error = asked(wait, watch, given_up=lambda: bool(left)), None
            except BaseException as raised:  # noqa: BLE001 - raised again where it is waited for
                result, error = None, raised
            end_from_thread(future, result, error)

        ThreadToolExecutor().start(ask)
        try:
            return await future
        except asyncio.CancelledError:
            left.append(True)
            raise

    async def _announced(self, wait: Announcing) -> None:
        bus = cast(AsyncEventBus, wait.bus)
        try:
            await self.whole(self._kept(bus.announce_async(wait.event)))
        except asyncio.CancelledError:
            # An announcement that somebody cancelled must not cost the outcome (W2).
            _log.error("the announcement of %s was cancelled", wait.event.reference)

    # -- tools --------------------------------------------------------------------------------

    async def _in_tool(self, wait: InTool) -> ToolResult | None:
        if not wait.work.tool.effect.writes:
            self._stop_if_cancelled()
        if not wait.work.asynchronous:
            return await self._tool_in_thread(wait)
        ended = self._kept(wait.work.in_loop())
        if not await self._within(wait.work.tool.deadline, ended):
            ended.add_done_callback(lambda _: self._late(wait, ended))
            return None
        if isinstance(ended.exception(), asyncio.CancelledError):
            return wait.work.cancelled()
        return ended.result()

    async def _tool_in_thread(self, wait: InTool) -> ToolResult | None:
        """A plain tool. Whoever takes ``settled`` first says how it ended: its thread, or its deadline."""
        work, future, settled = wait.work, Kept(loop=self._loop), threading.Lock()
        late = BesideLoop(self._executor, self._loop).late(wait)

        def run() -> None:
            result: ToolResult | None = None
            error: BaseException | None = None
            try:
                if isinstance(self._executor, ThreadToolExecutor):
                    result = work()
                else:
                    result = self._executor.run(work, deadline=work.tool.deadline, late=late)
            except BaseException as raised:  # noqa: BLE001 - raised again where it is waited for
                error = raised
            heard = settled.acquire(blocking=False) and end_from_thread(future, result, error)
            if not heard and result is not None:
                # Given up, or the loop is gone: what a tool did is never forgotten.
                late(result)

        ThreadToolExecutor().start(run)
        if not await self._within(work.tool.deadline, future) and settled.acquire(blocking=False):
            return None
        result: ToolResult | None = await self.whole(future)
        return result

    async def _within(self, seconds: float, ended: "asyncio.Future[Any]") -> bool:
        """Whether *ended* came within *seconds*."""
        # A future of its own, which cannot be cancelled: what comes first, ends it.
        first = Kept(loop=self._loop)
        timer = self._loop.call_later(seconds, _set_if_open, first)
        ended.add_done_callback(lambda _: _set_if_open(first))
        try:
            await self.whole(first)
        finally:
            timer.cancel()
        return ended.done()

    def _late(self, wait: InTool, ended: "asyncio.Future[Any]") -> None:
        """A call ended behind its deadline."""
        if ended.exception() is not None or ended.result() is None:
            return
        waits = InLoop(self._workers, self._executor, self._keep)
        self._kept(driven_async(wait.late(ended.result()), waits), "a late outcome of a tool was not kept: %s")

    def _kept(self, coroutine: Coroutine[Any, Any, T], failed: str | None = None) -> "asyncio.Future[T]":
        """
        What *coroutine* brings, as a future that a cancelled driver does not cancel.

        Whoever cancels all tasks of a loop cancels the coroutine itself.
        """
        task = self._loop.create_task(coroutine)
        self._keep(task)
        future = Kept(loop=self._loop)

        def end(_: "asyncio.Task[T]") -> None:
            if task.cancelled():
                future.set_exception(asyncio.CancelledError())
            elif (error := task.exception()) is not None:
                future.set_exception(error)
                if failed is not None:
                    _log.error(failed, sanitised_chain(error))
                    future.exception()
            else:
                future.set_result(task.result())

        task.add_done_callback(end)
        return future


class BesideLoop(InPlace):
    """
    Waits in a thread, and has listeners called in a loop that runs elsewhere, as long as it does.
    """

    def __init__(self, executor: ToolExecutor, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(executor)
        self._loop = loop

    def late(self, wait: InTool) -> Callable[[ToolResult], None]:
        """What is to be done with a result that comes late."""

        def late(result: ToolResult) -> None:
            try:
                driven(wait.late(result), self)
            except Exception as error:  # noqa: BLE001 - nobody is left who could be told
                _log.error("a late outcome of a tool was not kept: %s", sanitised_chain(error))

        return late

    def __call__(self, wait: Wait) -> Any:
        """What came of *wait*."""
        if isinstance(wait, Announcing) and hasattr(wait.bus, "announce_async") and not self._loop.is_closed():
            announced = cast(AsyncEventBus, wait.bus).announce_async(wait.event)
            return asyncio.run_coroutine_threadsafe(announced, self._loop).result(orders.MODEL_DEADLINE)
        return super().__call__(wait)


async def _answered(wait: Complete) -> Any:
    model: Any = wait.model
    return await model.complete_async(wait.request)


def _set_if_open(future: "asyncio.Future[Any]") -> None:
    if not future.done():
        future.set_result(None)
