"""
The MCP servers of a host: their tools for a chat, and how they stand for an administrator.
"""

import atexit
import logging
import os
import threading
import weakref
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from nr_agent_core.adapters.mcp.catalogue import Catalogue, catalogue
from nr_agent_core.adapters.mcp.content import NOT_SENT
from nr_agent_core.adapters.mcp.event_loop import LoopThread
from nr_agent_core.adapters.mcp.reports import ServerReport, ServerState
from nr_agent_core.adapters.mcp.settings import HttpServer, McpServer, StdioServer
from nr_agent_core.domain.errors import InvalidValueError, RemoteServerError
from nr_agent_core.domain.sanitiser import sanitise
from nr_agent_core.domain.tool_result import ToolResult
from nr_agent_core.domain.tools import Execute, Tool, ToolContext

if TYPE_CHECKING:
    from nr_agent_core.adapters.mcp.connection import Connection

_log = logging.getLogger("nr_agent_core")


class McpServers:
    """
    Servers of remote tools. ``Chat(tools=[*own, *servers.tools()])`` offers what they list.

    Each of their tools is for administrators only, off until it is switched on, and a write that a
    person approves, unless its operator says otherwise (T2, T3). What a server says about itself
    decides nothing. A server that fails costs its own tools alone.

    Sessions live in one event loop in a thread of the adapter's own, so that hosts with threads and
    hosts with an event loop use them alike. It is closed by :meth:`close`, at the end of a ``with``
    block, or when the process ends. A child of a fork connects anew.

    Args:
        servers: at most one of each name.

    Raises:
        InvalidValueError: something else, or a name twice.
    """

    def __init__(self, servers: Iterable[McpServer]) -> None:
        self._servers = tuple(servers)
        if not all(isinstance(server, StdioServer | HttpServer) for server in self._servers):
            raise InvalidValueError("the servers", [type(server) for server in self._servers], "server settings")
        names = [server.name for server in self._servers]
        if len(set(names)) != len(names):
            raise InvalidValueError("the names of servers", names, "names that differ")
        called = [tool.called for server in self._servers for tool in server.tools.values() if tool.called is not None]
        if len(set(called)) != len(called) or any(name.startswith("mcp_") for name in called):
            raise InvalidValueError("the names given to tools", called, "names that differ and do not begin with mcp_")
        self._lock, self._process = threading.Lock(), os.getpid()
        self._catalogues: dict[str, Catalogue] = {}
        self._failed: dict[str, str] = {}
        self._at_work: _AtWork | None = None
        self._closed = False

    def tools(self) -> tuple[Tool, ...]:
        """
        The tools of all servers that can be used, in the order of their settings.

        Servers are asked once, all at the same time, each within its deadline. One that failed is
        asked again by the next call; see :meth:`reports` for what is wrong with it. Tools of a
        server stay as they were when it was first listed: one that changed since is not called.

        Raises:
            ModuleNotFoundError: the extra ``mcp`` is not installed.
        """
        missing = [server for server in self._servers if server.name not in self._catalogues]
        if missing:
            asked = [(server, self._listing(server)) for server in missing]
            for server, listing in asked:
                self._take(server, listing)
        found = self._catalogues
        return tuple(tool for server in self._servers if server.name in found for tool in found[server.name].tools)

    def reports(self) -> tuple[ServerReport, ...]:
        """
        How each server stands, as far as is known without asking it. For administrators (P9).

        One that failed is tried again by the next call of its tools, and by :meth:`tools` where it has none.
        """
        return tuple(self._report(server.name) for server in self._servers)

    def close(self) -> None:
        """
        End all sessions and the processes behind them, and stop the event loop.

        A call that is at work is given up: if it was sent, its outcome is unknown. A call made
        afterwards is an error. Closing again does nothing.
        """
        with self._lock:
            self._closed = True
            at_work, self._at_work = self._at_work, None
        if at_work is not None:
            at_work.end()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _report(self, name: str) -> ServerReport:
        if name in self._failed:
            return ServerReport(name, ServerState.FAILED, self._failed[name])
        known = self._catalogues.get(name)
        if known is None:
            return ServerReport(name, ServerState.NOT_ASKED)
        at_work = self._at_work
        connection = at_work.connections.get(name) if at_work is not None else None
        why = connection.failure if connection is not None else "it was closed" if self._closed else ""
        state = ServerState.FAILED if why else ServerState.CONNECTED
        return ServerReport(name, state, why, known.reports, dict(known.refused))

    def _listing(self, server: McpServer) -> "Future[Any]":
        at_work = self._working()
        return at_work.loop.submit(at_work.listed(server))

    def _take(self, server: McpServer, listing: "Future[Any]") -> None:
        try:
            listed = listing.result()
            known = catalogue(server, listed, lambda name, _: self._execute(server, name, listed))
        except RemoteServerError as error:
            self._failed[server.name] = error.why
            _log.warning("MCP server %s brings no tools: %s", server.name, error.why)
            return
        except Exception as error:  # noqa: BLE001 - whatever a server does costs its own tools alone
            self._failed[server.name] = sanitise(f"{type(error).__name__}: {error}", limit=200)
            _log.error("MCP server %s brings no tools: %s", server.name, self._failed[server.name])
            return
        self._failed.pop(server.name, None)
        self._catalogues[server.name] = known
        for name, why in known.refused.items():
            _log.warning("MCP server %s: %r is not registered: %s", server.name, name, sanitise(why))

    def _execute(self, server: McpServer, name: str, listed: Iterable[Any]) -> Execute:
        schema = next(item.input_schema for item in listed if item.name == name)

        def execute(arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
            try:
                at_work = self._working()
            except RemoteServerError:
                return ToolResult.error(NOT_SENT)
            asked = at_work.loop.submit(at_work.call(server, name, dict(arguments), schema, context.deadline))
            return asked.result()

        return execute

    def _working(self) -> "_AtWork":
        if self._process != os.getpid():
            # Somebody may have held the lock when this process was forked off.
            self._lock, self._process = threading.Lock(), os.getpid()
        with self._lock:
            if self._closed:
                raise RemoteServerError("all", "the servers were closed")
            if self._at_work is None or not self._at_work.loop.usable:
                self._at_work = _AtWork(self)
            return self._at_work


class _AtWork:
    """
    The event loop of one process and the connections in it.
    """

    def __init__(self, owner: McpServers) -> None:
        self._connect = _sdk()
        self.connections: dict[str, Connection] = {}
        self.loop = LoopThread()
        # Whoever collects garbage is not made to wait, and may be the loop's own thread.
        collected = weakref.finalize(owner, _AtWork.end, self, wait=False)
        collected.atexit = False
        _open.add(self)
        if len(_open) == 1:
            atexit.unregister(_end_all)
            atexit.register(_end_all)

    def end(self, *, wait: bool = True) -> None:
        """End the sessions and stop the loop."""
        _open.discard(self)
        self.loop.close(self._all_closed(), wait=wait)

    async def _all_closed(self) -> None:
        import asyncio

        await asyncio.gather(*(each.close() for each in self.connections.values()), return_exceptions=True)

    async def listed(self, server: McpServer) -> list[Any]:
        return await self._connection(server).listed()

    async def call(self, server: McpServer, name: str, arguments: dict[str, Any], schema: Any, s: float) -> ToolResult:
        return await self._connection(server).call(name, arguments, schema, s)

    def _connection(self, server: McpServer) -> "Connection":
        if server.name not in self.connections:
            self.connections[server.name] = self._connect(server)
        return self.connections[server.name]


def _sdk() -> "type[Connection]":
    try:
        from nr_agent_core.adapters.mcp.connection import Connection
    except ModuleNotFoundError as missing:
        raise ModuleNotFoundError(
            f"MCP servers need {missing.name!r}: install nr-agent-core[mcp]", name=missing.name
        ) from missing
    return Connection


_open: set[_AtWork] = set()


def _end_all() -> None:
    """The end of the process, before its daemon threads are stopped."""
    for at_work in tuple(_open):
        at_work.end()
