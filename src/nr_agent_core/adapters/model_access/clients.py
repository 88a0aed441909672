"""
The HTTP connections of one adapter: those of a process's threads, and those of each event loop.

Connections that a process inherited by a fork are never used and never closed there: they belong
to the parent. Those of an event loop are closed when the loop shuts its generators down, as
``asyncio.run`` and every server do.
"""

import asyncio
import os
import threading
import weakref
from collections.abc import AsyncGenerator, Callable
from typing import Any

import httpx2

from nr_agent_core.adapters.model_access.bounded_http import async_http_client, http_client


def made_with(
    key: str, address: str, connections: httpx2.Client | httpx2.AsyncClient, headers: dict[str, Any]
) -> dict[str, Any]:
    """
    What an SDK's client is made with. It asks nothing twice by itself.
    """
    return {
        "api_key": key,
        "base_url": address,
        "max_retries": 0,
        "timeout": connections.timeout,
        "http_client": connections,
        "default_headers": headers,
    }


def arguments_of(body: dict[str, Any], named: frozenset[str]) -> dict[str, Any]:
    """
    *body* as arguments of an SDK's function: those that it names, and the rest, which is the server's business.
    """
    extra = {name: value for name, value in body.items() if name not in named}
    return {**{name: value for name, value in body.items() if name in named}, "extra_body": extra}


class Clients:
    """
    Makes the SDK's clients on first use and keeps them.

    Args:
        deadline: seconds that an answer may take.
        make: makes a client from a key and the connections it shall use.
        make_async: the same for an event loop.
    """

    def __init__(
        self,
        deadline: float,
        make: Callable[[str, httpx2.Client], Any],
        make_async: Callable[[str, httpx2.AsyncClient], Any],
    ) -> None:
        self._deadline, self._make, self._make_async = deadline, make, make_async
        self._lock = threading.Lock()
        self._connections: tuple[int, httpx2.Client] | None = None
        self._inherited: list[httpx2.Client] = []
        self._client: tuple[int, str, Any] | None = None
        self._keepers: dict[asyncio.AbstractEventLoop, _Keeper] = {}

    def of_process(self, key: str) -> Any:
        """The client for threads."""
        client = self._client
        if client is None or client[:2] != (os.getpid(), key):
            with self._lock:
                connections = self._connections_of_process()
                self._client = client = (os.getpid(), key, self._make(key, connections))
        return client[2]

    def _connections_of_process(self) -> httpx2.Client:
        pid, known = os.getpid(), self._connections
        if known is not None and known[0] != pid:
            self._inherited.append(known[1])
            known = None
        if known is None:
            connections = http_client(self._deadline)
            weakref.finalize(self, _close, pid, connections)
            self._connections = known = (pid, connections)
        return known[1]

    async def of_loop(self, key: str) -> Any:
        """The client for the running event loop."""
        loop = asyncio.get_running_loop()
        keeper = self._keepers.get(loop)
        if keeper is None:
            # No other task of this loop comes between: the generator does not wait before it yields.
            generator = self._kept(loop)
            self._keepers[loop] = keeper = _Keeper(generator, await anext(generator))
        if keeper.client is None or keeper.key != key:
            keeper.key, keeper.client = key, self._make_async(key, keeper.connections)
        return keeper.client

    async def _kept(self, loop: asyncio.AbstractEventLoop) -> AsyncGenerator[httpx2.AsyncClient, None]:
        connections = async_http_client(self._deadline)
        try:
            yield connections
        finally:
            self._keepers.pop(loop, None)
            await connections.aclose()

    def close(self) -> None:
        """Closes the connections of this process's threads. The next question opens new ones."""
        with self._lock:
            known, self._connections, self._client = self._connections, None, None
        if known is not None:
            _close(*known)

    async def aclose(self) -> None:
        """Closes the connections of the running event loop."""
        keeper = self._keepers.get(asyncio.get_running_loop())
        if keeper is not None:
            await keeper.generator.aclose()


class _Keeper:
    __slots__ = ("client", "connections", "generator", "key")

    def __init__(self, generator: AsyncGenerator[httpx2.AsyncClient, None], connections: httpx2.AsyncClient) -> None:
        self.generator, self.connections = generator, connections
        self.key: str = ""
        self.client: Any = None


def _close(pid: int, connections: httpx2.Client) -> None:
    if pid == os.getpid():
        connections.close()
