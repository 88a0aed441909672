"""
Coroutines that are cancelled at a chosen place where they wait.
"""

import asyncio
from collections.abc import Coroutine, Generator
from typing import Any


class Stepped:
    """
    Awaits *coroutine* and cancels its own task while it waits for the *at*-th time, counted from 0.

    Attributes:
        waits: how often it waited.
        cancelled: whether it came so far.
    """

    def __init__(self, coroutine: Coroutine[Any, Any, Any], at: int) -> None:
        self._coroutine, self._at = coroutine, at
        self.waits, self.cancelled = 0, False

    def __await__(self) -> Generator[Any, Any, Any]:
        send, value = self._coroutine.send, None
        try:
            while True:
                future = send(value)
                if self.waits == self._at:
                    self.cancelled = True
                    asyncio.get_running_loop().call_soon(_cancel, asyncio.current_task())
                self.waits += 1
                try:
                    send, value = self._coroutine.send, (yield future)
                except BaseException as error:  # noqa: BLE001 - thrown on
                    send, value = self._coroutine.throw, error  # type: ignore[assignment]
        except StopIteration as done:
            return done.value


def _cancel(task: "asyncio.Task[Any] | None") -> None:
    assert task is not None
    task.cancel()


async def stepped(wrapped: Stepped) -> Any:
    """A coroutine of it, for a task."""
    return await wrapped
