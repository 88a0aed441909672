"""
One event loop in a thread of its own: sessions live in it, whatever the host's threads and loops do.
"""

import asyncio
import os
import selectors
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")

_CLOSING_SECONDS = 20.0


class LoopThread:
    """
    An event loop that runs in a daemon thread until it is closed.

    It belongs to the process that made it. After a fork the child must make its own: the parent's
    is kept there untouched, so that nothing in the child ends what is the parent's.
    """

    def __init__(self) -> None:
        self.process = os.getpid()
        self.selector = selectors.DefaultSelector()
        self.loop = asyncio.SelectorEventLoop(self.selector)
        self._thread = threading.Thread(target=self._run, name="nr_agent_core-mcp", daemon=True)
        _watch_forks(self)
        self._thread.start()

    @property
    def usable(self) -> bool:
        """Whether it runs, and in this process."""
        return self.process == os.getpid() and self._thread.is_alive() and not self.loop.is_closed()

    def submit(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        """Have *work* done in the loop."""
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    def close(self, last: Coroutine[Any, Any, None], *, wait: bool = True) -> None:
        """
        Do *last*, end what is still at work, and stop; wait for it some seconds at most, or not at all.
        """
        if not self.usable:
            last.close()
            return
        self.submit(self._end(last))
        if wait:
            self._thread.join(_CLOSING_SECONDS)

    async def _end(self, last: Coroutine[Any, Any, None]) -> None:
        try:
            await asyncio.wait_for(last, _CLOSING_SECONDS / 2)
            others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in others:
                task.cancel()
            if others:
                await asyncio.wait(others, timeout=_CLOSING_SECONDS / 4)
        finally:
            self.loop.stop()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
        finally:
            self.loop.close()
            _running.discard(self)


_running: set[LoopThread] = set()
_of_parents: list[LoopThread] = []
_hooked: list[bool] = []


def _watch_forks(made: LoopThread) -> None:
    if not _hooked:
        _hooked.append(True)
        os.register_at_fork(after_in_child=_in_child)
    _running.add(made)


def _in_child() -> None:
    # The selector's kernel object is shared with the parent. Closing the child's handle of it keeps
    # whatever the child collects later from taking the parent's pipes out of it.
    for inherited in _running:
        inherited.selector.close()
        _of_parents.append(inherited)
    _running.clear()
