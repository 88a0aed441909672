"""
What an asynchronous host calls about runs: the same calls, awaited.
"""

import asyncio
import functools
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar, Unpack

from nr_agent_core.domain.approvals import Decision
from nr_agent_core.domain.errors import InvalidValueError
from nr_agent_core.domain.provenance import StoredWrite
from nr_agent_core.domain.reader import Reader
from nr_agent_core.domain.sanitiser import sanitised_chain
from nr_agent_core.driver.asynchronous import InLoop, driven_async
from nr_agent_core.driver.waits import Watch, Work
from nr_agent_core.driver.workers import Workers
from nr_agent_core.ports.retention import Retention
from nr_agent_core.ports.run_store import StoredEvent
from nr_agent_core.runtime.facade import Runtime
from nr_agent_core.runtime.limits import whole_number
from nr_agent_core.runtime.results import InboxItem, RunResult, UpkeepReport
from nr_agent_core.runtime.wiring import Parts

_log = logging.getLogger("nr_agent_core")

T = TypeVar("T")

THREADS = 4
"""How many threads an asynchronous facade has for its store."""


class AsyncRuntime:
    """
    :class:`~nr_agent_core.runtime.Runtime` for an event loop of asyncio.

    The store, and all that is computed around it, works in threads; asynchronous models, tools and
    listeners are awaited in the loop, plain ones are called in threads. Once a call has begun, its run
    goes on to where it ends even when the caller's task is cancelled: only :meth:`cancel` ends a run.
    There is no ``work``: a worker drives runs in threads, so it is a plain runtime of the same parts.

    Args:
        threads: the most threads that work with the store at a time; a store on a server may use more.
        parts: see :class:`~nr_agent_core.runtime.Runtime`. A model may be an
            :class:`~nr_agent_core.ports.model_provider.AsyncModelProvider`, a bus may have
            ``announce_async``.
    """

    def __init__(self, *, threads: int = THREADS, **parts: Unpack[Parts]) -> None:
        self._set_up(Runtime(**parts), threads)

    @classmethod
    def over(cls, runtime: Runtime, *, threads: int = THREADS) -> "AsyncRuntime":
        """The asynchronous calls over what a plain runtime was made of."""
        made = cls.__new__(cls)
        made._set_up(runtime, threads)
        return made

    def _set_up(self, runtime: Runtime, threads: int) -> None:
        self._runtime = runtime
        self._workers = Workers(whole_number("the number of threads", threads, least=1))
        self._tasks = set[asyncio.Task[Any]]()

    # -- driving ------------------------------------------------------------------------------

    async def driven(self, work: Work[T], *, borrows: bool = False) -> T:
        """
        Do *work* to its end, whatever becomes of the caller's task, and return what it brings.

        Work that *borrows* something of the caller's is over when a cancelled caller leaves: it stops
        at the next question to a model.
        """
        task = self.begun(work)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if not task.done():
                task.add_done_callback(_log_failure)
                if borrows:
                    task.cancel()
                    await _over(task)
            raise

    def begun(self, work: Work[T], watch: Watch | None = None) -> "asyncio.Task[T]":
        """The task that does *work*; it is held until it ends."""
        waits = InLoop(self._workers, self._runtime.wiring.executor, self._keep, watch)
        task = asyncio.get_running_loop().create_task(driven_async(work, waits))
        self._keep(task)
        return task

    def _keep(self, task: "asyncio.Task[Any]") -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def beside(self, function: Callable[..., T], *arguments: Any, **options: Any) -> T:
        """What a call that drives nothing returns, from a thread; it goes on when the caller is cancelled."""
        return await asyncio.shield(self._workers.beside(functools.partial(function, *arguments, **options)))

    # -- the calls ----------------------------------------------------------------------------

    async def start(self, text: str, owner: str | Reader, *, instructions: str = "") -> RunResult:
        """See :meth:`Runtime.start`."""
        return await self.driven(self._runtime.calls.start(text, owner, instructions=instructions))

    async def decide(self, run_id: str, decision: Decision | str, *, digest: str, by: Reader | str) -> RunResult:
        """
        Decide from OUTSIDE a conversation's chat; see :meth:`Runtime.decide`.
        """
        return await self.driven(self._runtime.calls.decide(run_id, decision, digest=digest, by=by))

    async def recover(self, run_id: str) -> RunResult:
        """See :meth:`Runtime.recover`."""
        return await self.driven(self._runtime.calls.recover(run_id))

    async def upkeep(self, *, limit: int = 100, retention: Retention | None = None) -> UpkeepReport:
        """See :meth:`Runtime.upkeep`."""
        return await self.driven(self._runtime.calls.upkeep(limit=limit, retention=retention))

    async def cancel(self, run_id: str, by: Reader | str) -> RunResult:
        """See :meth:`Runtime.cancel`."""
        return await self.beside(self._runtime.cancel, run_id, by)

    async def status(self, run_id: str, actor: Reader | str) -> RunResult:
        """See :meth:`Runtime.status`."""
        return await self.beside(self._runtime.status, run_id, actor)

    async def events(self, run_id: str, actor: Reader | str, *, after: int = -1) -> tuple[StoredEvent, ...]:
        """See :meth:`Runtime.events`."""
        return await self.beside(self._runtime.events, run_id, actor, after=after)

    async def inbox(self, actor: Reader | str, *, limit: int = 50) -> tuple[InboxItem, ...]:
        """See :meth:`Runtime.inbox`."""
        return await self.beside(self._runtime.inbox, actor, limit=limit)

    async def writes(self, *, after: int = 0, limit: int = 1000) -> tuple[StoredWrite, ...]:
        """See :meth:`Runtime.writes`."""
        return await self.beside(self._runtime.writes, after=after, limit=limit)

    async def close(self, *, wait: float = 0.0) -> int:
        """
        Wait for what is at work, then as :meth:`Runtime.close`.

        A run that is still at work after *wait* seconds is stopped at its next question to the
        model and left to its lease. Call it before the event loop ends.

        Args:
            wait: the most seconds to spend on it.

        Returns:
            How many outcomes are not stored.
        """
        if isinstance(wait, bool) or not isinstance(wait, int | float) or not wait >= 0:
            raise InvalidValueError("the wait of a close", wait, "seconds from 0")
        end = time.monotonic() + wait
        # Those of this loop alone: tasks of another one cannot be waited for.
        loop, current = asyncio.get_running_loop(), asyncio.current_task()
        tasks = {task for task in self._tasks if task.get_loop() is loop and task is not current}
        if tasks:
            _, tasks = await asyncio.wait(tasks, timeout=wait)
        for task in tasks:
            task.cancel()
        return await self.beside(self._runtime.close, wait=max(0.0, end - time.monotonic()))


async def _over(task: "asyncio.Task[Any]") -> None:
    """Wait until *task* is, however often the one who waits is cancelled."""
    while not task.done():
        with suppress(asyncio.CancelledError):
            await asyncio.wait({task})


def _log_failure(task: "asyncio.Task[Any]") -> None:
    """Whoever called is gone; a failure must not be lost."""
    if not task.cancelled() and (error := task.exception()) is not None:
        _log.error("a call whose caller was cancelled failed: %s", sanitised_chain(error))
