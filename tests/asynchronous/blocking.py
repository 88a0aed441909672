"""
The asynchronous facades behind the calls of the plain ones, so that every rule of those is held against them.

Each call has an event loop of its own, as a script has that calls ``asyncio.run`` now and then.
"""

import asyncio
import functools
import inspect
from typing import Any

from nr_agent_core import AsyncChat


def blocking(facade: object, name: str) -> Any:
    """The attribute of an asynchronous facade, its coroutine functions run to their end."""
    found = getattr(facade, name)
    if not inspect.iscoroutinefunction(found):
        return found

    @functools.wraps(found)
    def call(*arguments: Any, **options: Any) -> Any:
        return asyncio.run(found(*arguments, **options))

    return call


class BlockingRuntime:
    """
    The runtime of such a chat; what is behind its calls is that of the plain runtime.
    """

    def __init__(self, chat: AsyncChat) -> None:
        self._facade, self._plain = chat.runtime, chat._chat.runtime

    def __getattr__(self, name: str) -> Any:
        public = not name.startswith("_") and name in vars(type(self._facade))
        return blocking(self._facade, name) if public else getattr(self._plain, name)


class BlockingChat:
    """
    An ``AsyncChat`` that is called like a ``Chat``.
    """

    def __init__(self, **parts: Any) -> None:
        self._facade = AsyncChat(**parts)
        self.runtime = BlockingRuntime(self._facade)

    def __getattr__(self, name: str) -> Any:
        public = not name.startswith("_") and name in vars(type(self._facade))
        return blocking(self._facade, name) if public else getattr(self._facade._chat, name)
