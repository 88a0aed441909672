"""
Ways to a server that tell what the SDK's own do not: whether a call left this process, and when the
server is gone. They bound what one message may hold.
"""

import asyncio
import contextlib
import contextvars
import os
import select
import signal
from collections import deque
from collections.abc import AsyncIterator
from types import TracebackType
from typing import Any, Self

import anyio
import httpx2
import mcp_types
from mcp.client.stdio import get_default_environment
from mcp.client.streamable_http import MCP_SESSION_ID, streamable_http_client
from mcp.shared.message import SessionMessage

from nr_agent_core.adapters.mcp.settings import HttpServer, StdioServer

_PATIENCE = 2.0
"""Seconds a server may take to end by itself, and again after it was told to."""

# What an HTTP server answers that does not pass a request on to whatever carries it out.
_TURNED_AWAY = frozenset({401, 403, 404, 405, 406, 410, 413, 415, 429})


class Sending:
    """
    One call on its way: whether it may have left this process, and whether it was turned away at the door.
    """

    __slots__ = ("sent",)

    def __init__(self) -> None:
        self.sent = False


CURRENT: contextvars.ContextVar[Sending | None] = contextvars.ContextVar("nr_agent_core_mcp_call", default=None)


def _leaves(message: SessionMessage) -> Sending | None:
    """The call that *message* carries, if it carries one."""
    request = message.message
    is_call = isinstance(request, mcp_types.JSONRPCRequest) and request.method == "tools/call"
    return CURRENT.get() if is_call else None


class Watch:
    """
    What is known of a connection from below: it ended, and the last words of its server.
    """

    __slots__ = ("ended", "last_words", "why")

    def __init__(self) -> None:
        self.ended = asyncio.Event()
        self.last_words: deque[str] = deque(maxlen=3)
        self.why = ""

    def end(self, why: str) -> None:
        """The connection ended; the first reason stays."""
        self.why = self.why or why
        self.ended.set()


class _Stream:
    """What the SDK expects of both directions."""

    async def aclose(self) -> None:
        """Nothing: the process is ended by whoever started it."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return None


class _FromProcess(_Stream):
    """
    Messages that a process writes, one a line; lines that are none are passed over.
    """

    def __init__(self, stdout: asyncio.StreamReader, watch: Watch) -> None:
        self._stdout, self._watch = stdout, watch

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        while True:
            # Reading what is there already does not wait: a server that never stops would stop all others.
            await asyncio.sleep(0)
            try:
                line = await self._stdout.readline()
            except ValueError:
                self._watch.end("it wrote a message that is longer than allowed")
                raise StopAsyncIteration from None
            except OSError:
                line = b""
            if not line:
                self._watch.end("it ended or closed its output")
                raise StopAsyncIteration
            try:
                return SessionMessage(mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False))
            except ValueError:
                self._watch.last_words.append("(a line on its output that is no message)")

    async def receive(self) -> SessionMessage | Exception:
        """The next message."""
        try:
            return await self.__anext__()
        except StopAsyncIteration:
            raise anyio.EndOfStream from None


class _ToProcess(_Stream):
    """
    Messages to a process. One that is known to have ended is sent nothing.
    """

    def __init__(self, process: asyncio.subprocess.Process, watch: Watch) -> None:
        assert process.stdin is not None
        self._process, self._stdin, self._watch = process, process.stdin, watch

    async def send(self, item: SessionMessage, /) -> None:
        """Write *item*."""
        if self._watch.ended.is_set() or self._process.returncode is not None or self._hung_up():
            self._watch.end("it ended or closed its input")
            raise anyio.BrokenResourceError
        data = item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
        call = _leaves(item)
        if call is not None:
            call.sent = True
        try:
            self._stdin.write(data)
            await self._stdin.drain()
        except OSError:
            self._watch.end("it closed its input")
            raise anyio.BrokenResourceError from None

    def _hung_up(self) -> bool:
        """Whether nobody is left to read, though the event loop may not have heard of it yet."""
        pipe = self._stdin.get_extra_info("pipe")
        if self._stdin.is_closing() or pipe is None:
            return True
        asked = select.poll()
        asked.register(pipe, 0)
        return bool(asked.poll(0))


@contextlib.asynccontextmanager
async def to_process(server: StdioServer, watch: Watch) -> AsyncIterator[Any]:
    """
    Start *server* and speak to it over its standard input and output; it is ended with the context.

    Raises:
        OSError: it cannot be started.
    """
    process = await asyncio.create_subprocess_exec(
        server.command,
        *server.arguments,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**get_default_environment(), **server.environment},
        cwd=server.directory,
        start_new_session=True,
        limit=server.message_limit,
    )
    assert process.stdout is not None
    listening = asyncio.create_task(_last_words(process, watch))
    try:
        yield _FromProcess(process.stdout, watch), _ToProcess(process, watch)
    finally:
        ending = asyncio.ensure_future(_ended(process, watch))
        try:
            await asyncio.shield(ending)
        finally:
            listening.cancel()


async def _last_words(process: asyncio.subprocess.Process, watch: Watch) -> None:
    assert process.stderr is not None
    while True:
        try:
            line = await process.stderr.readline()
        except ValueError:
            continue
        if not line:
            return
        watch.last_words.append(line.decode("utf-8", "replace").strip()[:300])


async def _until_gone(process: asyncio.subprocess.Process) -> None:
    # Not wait(): it waits for the ends of pipes, too, which a child of the server may hold.
    for _ in range(int(_PATIENCE / 0.01)):
        if process.returncode is not None:
            return
        await asyncio.sleep(0.01)


async def _ended(process: asyncio.subprocess.Process, watch: Watch) -> None:
    """The process is gone afterwards: by itself, told to, or killed, its children included."""
    assert process.stdin is not None
    process.stdin.close()
    for end in (None, signal.SIGTERM, signal.SIGKILL):
        if end is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, end)
        await _until_gone(process)
        if process.returncode is not None:
            if end is None and process.returncode:
                watch.last_words.append(f"exit status {process.returncode}")
            break
    # Also releases the pipes, which a child of the server may still hold open.
    transport: Any = getattr(process, "_transport", None)
    if transport is not None:
        transport.close()


class _ToHttp(_Stream):
    """
    Messages to an HTTP server.
    """

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    async def send(self, item: SessionMessage, /) -> None:
        """Hand *item* to the HTTP client."""
        call = _leaves(item)
        if call is not None:
            call.sent = True
        try:
            await self._inner.send(item)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            # Nobody took it over.
            if call is not None:
                call.sent = False
            raise

    async def aclose(self) -> None:
        """No more is sent."""
        await self._inner.aclose()


class _WatchedHttp(httpx2.AsyncBaseTransport):
    """
    HTTP whose failures end one request, never the session that other calls use too.
    """

    def __init__(self, limit: int, watch: Watch) -> None:
        self._inner = httpx2.AsyncHTTPTransport(retries=0)
        self._limit, self._watch = limit, watch

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The response, or one that stands for none."""
        call = CURRENT.get()
        try:
            response = await self._inner.handle_async_request(request)
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.UnsupportedProtocol):
            self._watch.last_words.append("no connection to it could be made")
            if call is not None:
                call.sent = False
            return _no_answer(request)
        except httpx2.TransportError as error:
            self._watch.last_words.append(f"the connection to it was lost ({type(error).__name__})")
            return _no_answer(request)
        if response.status_code in _TURNED_AWAY and request.method == "POST":
            self._watch.last_words.append(f"it answered with HTTP status {response.status_code}")
            if call is not None:
                call.sent = False
            if response.status_code == 404 and MCP_SESSION_ID in request.headers:
                self._watch.end("its session is over")
        elif response.status_code >= 400:
            self._watch.last_words.append(f"it answered with HTTP status {response.status_code}")
        if request.method == "POST" and isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = _Bounded(response.stream, self._limit)
        return response

    async def aclose(self) -> None:
        """Close what is kept open."""
        await self._inner.aclose()


def _no_answer(request: httpx2.Request) -> httpx2.Response:
    return httpx2.Response(503, request=request, content=b"")


class _Bounded(httpx2.AsyncByteStream):
    """
    A response up to a length; beyond it, and where it breaks off, it is no response.
    """

    def __init__(self, inner: httpx2.AsyncByteStream, limit: int) -> None:
        self._inner, self._left = inner, limit

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for part in self._inner:
                self._left -= len(part)
                if self._left < 0:
                    raise httpx2.StreamError("the answer is longer than allowed")
                yield part
        except httpx2.TransportError as error:
            raise httpx2.StreamError(f"the answer broke off ({type(error).__name__})") from error

    async def aclose(self) -> None:
        """The rest is not wanted."""
        await self._inner.aclose()


@contextlib.asynccontextmanager
async def to_http(server: HttpServer, watch: Watch) -> AsyncIterator[Any]:
    """
    Speak to *server* over streamable HTTP.
    """
    # One deadline holds for an operation as a whole, and is kept by whoever calls.
    timeout = httpx2.Timeout(None, connect=server.deadline, pool=server.deadline)
    client = httpx2.AsyncClient(
        headers=dict(server.headers),
        timeout=timeout,
        transport=_WatchedHttp(server.message_limit, watch),
        trust_env=False,
        follow_redirects=False,
    )
    async with (
        client,
        streamable_http_client(server.url, http_client=client, max_sse_event_size=server.message_limit) as (
            reading,
            writing,
        ),
    ):
        yield reading, _ToHttp(writing)
