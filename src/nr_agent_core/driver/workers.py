"""
Threads beside an event loop, for what must not hold it up: stores, and all that is computed around them.

A loop has few of them, and each goes on with the next piece of work as long as there is one: a
store takes one commit after the other anyway, and threads that compute only wait for each other.
"""

import asyncio
import contextvars
import os
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, TypeVar

from nr_agent_core.defaults.tool_executor import ThreadToolExecutor

T = TypeVar("T")


class Kept(asyncio.Future[Any]):
    """
    A future that cannot be cancelled: a task that is cancelled hears of it once the future has ended.
    """

    def cancel(self, msg: Any | None = None) -> bool:
        """It goes on."""
        return False


class Workers:
    """
    Does work in at most *limit* threads of the process at a time, for any event loop.
    """

    def __init__(self, limit: int) -> None:
        self._limit, self._threads = limit, ThreadToolExecutor()
        self._begin()

    def _begin(self) -> None:
        self._process, self._lock = os.getpid(), threading.Lock()
        self._waiting: deque[Callable[[], None]] = deque()
        self._busy = 0

    def beside(self, function: Callable[..., T], *arguments: Any) -> "asyncio.Future[T]":
        """What *function* returns or raises, from another thread, in a copy of the caller's context."""
        loop = asyncio.get_running_loop()
        future = Kept(loop=loop)
        context = contextvars.copy_context()

        def job() -> None:
            try:
                result, error = context.run(function, *arguments), None
            except BaseException as raised:  # noqa: BLE001 - raised again where it is waited for
                result, error = None, raised
            end_from_thread(future, result, error)

        self._give(job)
        return future

    def _give(self, job: Callable[[], None]) -> None:
        if self._process != os.getpid():
            # Threads do not survive a fork, and the parent's lock may be held for ever.
            self._begin()
        with self._lock:
            self._waiting.append(job)
            if self._busy >= self._limit:
                return
            self._busy += 1
        self._threads.start(self._work)

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._busy -= 1
                    return
                job = self._waiting.popleft()
            job()


def end_from_thread(future: "asyncio.Future[Any]", result: object, error: BaseException | None) -> bool:
    """
    Let *future* end so; False when its loop is closed and nobody can hear of it.
    """
    try:
        future.get_loop().call_soon_threadsafe(_end, future, result, error)
    except RuntimeError:
        return False
    return True


def _end(future: "asyncio.Future[Any]", result: object, error: BaseException | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(result)
    elif isinstance(error, StopIteration):
        future.set_exception(RuntimeError("what was asked raised StopIteration"))
    else:
        future.set_exception(error)
