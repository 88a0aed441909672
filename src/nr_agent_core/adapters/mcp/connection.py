"""
The connection to one server, kept in the adapter's event loop: made when it is needed, made anew when it is gone.
"""

import asyncio
import contextlib
from typing import Any, Final

import mcp_types
from mcp.client import Client
from mcp.shared.exceptions import MCPError

from nr_agent_core.adapters.mcp.content import CHANGED, NOT_SENT, refusal, result_of
from nr_agent_core.adapters.mcp.settings import HttpServer, McpServer
from nr_agent_core.adapters.mcp.transports import CURRENT, Sending, Watch, to_http, to_process
from nr_agent_core.domain.errors import RemoteCallLostError, RemoteServerError
from nr_agent_core.domain.sanitiser import sanitise
from nr_agent_core.domain.tool_result import ToolResult

PAGES: Final = 50
TOOLS: Final = 500
_LATE_SECONDS: Final = 600.0
"""How long an answer is waited for behind the deadline: it becomes a late outcome (R7)."""
_MARGIN: Final = 0.9
"""The part of a deadline within which a call must have left, so that "not sent" is said in time."""

_NOT_CARRIED_OUT = (
    mcp_types.METHOD_NOT_FOUND,
    mcp_types.INVALID_PARAMS,
    mcp_types.HEADER_MISMATCH,
    mcp_types.UNSUPPORTED_PROTOCOL_VERSION,
)


class _Session:
    """
    One session: a task holds it open, from its handshake to its end.
    """

    def __init__(self, server: McpServer) -> None:
        self.server, self.watch = server, Watch()
        self.listed: dict[str, mcp_types.Tool] = {}
        self.all: list[mcp_types.Tool] = []
        self.stale = False
        self.client: Client | None = None
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._stop = asyncio.Event()
        self._task = asyncio.create_task(self._hold())

    @property
    def usable(self) -> bool:
        """Whether nothing is known to be wrong with it."""
        return not (self.watch.ended.is_set() or self._task.done())

    @property
    def is_ready(self) -> bool:
        """Whether its first listing is there."""
        return self._ready.done() and self._ready.exception() is None

    async def ready(self) -> None:
        """
        Handshake and listing are done.

        Raises:
            RemoteServerError: they failed; the reason is sanitised.
        """
        await asyncio.shield(self._ready)

    async def close(self) -> None:
        """The session is over afterwards, and its process is gone."""
        self._stop.set()
        if not self._ready.done():
            self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError, Exception):
            await self._task

    async def _hold(self) -> None:
        way = to_http if isinstance(self.server, HttpServer) else to_process
        try:
            transport: Any = way(self.server, self.watch)  # type: ignore[arg-type]
            client = Client(
                transport,
                cache=None,
                mode=self.server.handshake,
                message_handler=self._hear,
                client_info=mcp_types.Implementation(name="nr_agent_core", version="0"),
            )
            async with client:
                self.client = client
                await self.list()
                self._ready.set_result(None)
                await self._until_over()
        except BaseException as error:
            self.watch.end(_why(error))
            if not self._ready.done():
                self._ready.set_exception(RemoteServerError(self.server.name, self.why()))
                self._ready.exception()  # it may be that nobody asks
            if not isinstance(error, Exception):
                raise
        finally:
            self.watch.end("it was closed")

    async def _until_over(self) -> None:
        over = [asyncio.ensure_future(event.wait()) for event in (self._stop, self.watch.ended)]
        try:
            await asyncio.wait(over, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for waiting in over:
                waiting.cancel()

    async def list(self) -> None:
        """
        Read what the server lists.

        Raises:
            RemoteServerError: it lists too much. Nothing of it is taken.
        """
        assert self.client is not None
        found: list[mcp_types.Tool] = []
        cursor: str | None = None
        for _ in range(PAGES):
            page = await self.client.list_tools(cursor=cursor)
            found.extend(page.tools)
            if len(found) > TOOLS:
                raise RemoteServerError(self.server.name, f"it lists more than {TOOLS} tools")
            cursor = page.next_cursor
            if not cursor:
                break
        else:
            raise RemoteServerError(self.server.name, f"its list has more than {PAGES} pages")
        self.all, self.listed, self.stale = found, {item.name: item for item in found}, False

    async def _hear(self, message: object) -> None:
        if isinstance(message, mcp_types.ToolListChangedNotification):
            self.stale = True

    def why(self) -> str:
        """Why it is over, for administrators: sanitised, at most 200 characters."""
        return sanitise("; ".join(filter(None, [self.watch.why, *self.watch.last_words])), limit=200)


class Connection:
    """
    One server as the rest of the adapter sees it. All of it happens in the event loop.
    """

    def __init__(self, server: McpServer) -> None:
        self.server = server
        self._session: _Session | None = None
        self._why = ""
        self._making = asyncio.Lock()
        self._ending: set[asyncio.Future[None]] = set()

    @property
    def failure(self) -> str:
        """Why it cannot be used now, as far as is known; ``""`` when nothing is wrong. From any thread."""
        session = self._session
        if session is not None and session.is_ready and session.watch.ended.is_set():
            return session.why()
        return self._why

    async def listed(self) -> list[mcp_types.Tool]:
        """
        What the server lists, within its deadline.

        Raises:
            RemoteServerError: it cannot be used.
        """
        return (await self._within(self.server.deadline)).all

    async def call(self, name: str, arguments: dict[str, Any], schema: Any, deadline: float) -> ToolResult:
        """
        Call the tool *name*, once, if it is still listed with *schema*.

        Whatever keeps the call from being sent is an error result. What was sent is waited for
        behind the deadline too: its outcome is told late rather than never.

        Raises:
            RemoteCallLostError: it was sent, and its answer is lost: it may have happened (T4).
        """
        began = asyncio.get_running_loop().time()
        for again in (True, False):
            rest = began + deadline * _MARGIN - asyncio.get_running_loop().time()
            try:
                session = await self._within(rest)
            except RemoteServerError:
                return ToolResult.error(NOT_SENT)
            found = session.listed.get(name)
            if found is None or found.input_schema != schema:
                return ToolResult.error(CHANGED)
            sending = Sending()
            try:
                async with asyncio.timeout(deadline + _LATE_SECONDS):
                    return result_of(await self._ask(session, sending, name, arguments))
            except Exception as error:  # noqa: BLE001 - whatever else happens says nothing of the call
                if sending.sent:
                    return self._lost(session, error)
                if not (again and session.watch.ended.is_set()):
                    break
            # The session turned out to be over before the call had left: once more, in a new one.
        return ToolResult.error(NOT_SENT)

    async def close(self) -> None:
        """The session is over, and those that were given up before."""
        self._give_up()
        if self._ending:
            await asyncio.wait(self._ending)

    def _give_up(self) -> None:
        """Let go of the session; it ends by itself, which may take some seconds."""
        session, self._session = self._session, None
        if session is not None:
            ending = asyncio.ensure_future(session.close())
            self._ending.add(ending)
            ending.add_done_callback(self._ending.discard)

    async def _ask(self, session: _Session, sending: Sending, name: str, arguments: dict[str, Any]) -> Any:
        assert session.client is not None
        params = mcp_types.CallToolRequestParams(name=name, arguments=arguments)
        mark = CURRENT.set(sending)
        try:
            # Not call_tool: it asks more of the server behind a call, and drops an answer it dislikes.
            return await session.client.session.send_request(
                mcp_types.CallToolRequest(params=params), mcp_types.CallToolResult
            )
        finally:
            CURRENT.reset(mark)

    def _lost(self, session: _Session, error: Exception) -> ToolResult:
        if isinstance(error, MCPError) and error.code in _NOT_CARRIED_OUT:
            return refusal(error.message)
        raise RemoteCallLostError(self.server.name, session.why() or type(error).__name__) from error

    async def _within(self, seconds: float) -> _Session:
        try:
            async with asyncio.timeout(seconds):
                session = await self._usable()
        except TimeoutError:
            self._why = f"it was not ready within {seconds:.3g} s"
            raise RemoteServerError(self.server.name, self._why) from None
        except RemoteServerError as error:
            self._why = error.why
            raise
        self._why = ""
        return session

    async def _usable(self) -> _Session:
        async with self._making:
            session = self._session
            if session is None or not session.usable:
                self._give_up()
                session = self._session = _Session(self.server)
            try:
                await session.ready()
                if session.stale:
                    await session.list()
            except RemoteServerError:
                raise
            except Exception as error:
                session.watch.end(_why(error))
                raise RemoteServerError(self.server.name, session.why()) from error
            except asyncio.CancelledError:
                # The deadline of one caller; a handshake that hangs must not be found again by the next.
                if not session.is_ready:
                    session.watch.end("it did not answer in time")
                    self._give_up()
                raise
        return session


def _why(error: BaseException) -> str:
    """The innermost thing that went wrong, in few words."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, RemoteServerError):
        return error.why
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
