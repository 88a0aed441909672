"""
HTTP with two bounds that a client by itself has not: a deadline for the whole answer, and its size.

A server that sends a byte every second passes every timeout of a socket.
"""

import functools
import ssl
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import httpx2

LARGEST_ANSWER = 8_000_000
"""Bytes that an answer of a model may have on its way; far more than any answer has."""

_BOUND = "nr_agent_core_bound"


class TooLargeError(Exception):
    """
    A server sent more than :data:`LARGEST_ANSWER`. What was read is thrown away.
    """


class _Bound:
    def __init__(self, deadline: float, request: httpx2.Request) -> None:
        self._end, self._deadline, self._request = time.monotonic() + deadline, deadline, request
        self._size = 0

    def check(self, chunk: bytes) -> bytes:
        self._size += len(chunk)
        if self._size > LARGEST_ANSWER:
            raise TooLargeError(f"the answer has more than {LARGEST_ANSWER} bytes")
        if time.monotonic() > self._end:
            raise httpx2.ReadTimeout(f"the answer took longer than {self._deadline:g} s", request=self._request)
        return chunk


class _Stream(httpx2.SyncByteStream):
    def __init__(self, stream: httpx2.SyncByteStream, bound: _Bound) -> None:
        self._stream, self._bound = stream, bound

    def __iter__(self) -> Iterator[bytes]:
        return map(self._bound.check, self._stream)

    def close(self) -> None:
        self._stream.close()


class _AsyncStream(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, bound: _Bound) -> None:
        self._stream, self._bound = stream, bound

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            yield self._bound.check(chunk)

    async def aclose(self) -> None:
        await self._stream.aclose()


def http_client(deadline: float) -> httpx2.Client:
    """
    A client whose answers end by *deadline*, in seconds from the request on, and that follows no redirect.
    """

    def bounded(response: httpx2.Response) -> None:
        assert isinstance(response.stream, httpx2.SyncByteStream)
        response.stream = _Stream(response.stream, response.request.extensions[_BOUND])

    hooks: dict[str, list[Callable[..., Any]]] = {"request": [_begun(deadline)], "response": [bounded]}
    return httpx2.Client(verify=_tls(), timeout=_timeout(deadline), follow_redirects=False, event_hooks=hooks)


def async_http_client(deadline: float) -> httpx2.AsyncClient:
    """
    The asynchronous twin of :func:`http_client`.
    """
    begin = _begun(deadline)

    async def begun(request: httpx2.Request) -> None:
        begin(request)

    async def bounded(response: httpx2.Response) -> None:
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _AsyncStream(response.stream, response.request.extensions[_BOUND])

    hooks: dict[str, list[Callable[..., Any]]] = {"request": [begun], "response": [bounded]}
    return httpx2.AsyncClient(verify=_tls(), timeout=_timeout(deadline), follow_redirects=False, event_hooks=hooks)


def _begun(deadline: float) -> Callable[[httpx2.Request], None]:
    def begun(request: httpx2.Request) -> None:
        request.extensions = {**request.extensions, _BOUND: _Bound(deadline, request)}

    return begun


@functools.cache
def _tls() -> ssl.SSLContext:
    """The certificates that are trusted: reading them takes longer than a question to a loop's first model."""
    return httpx2.create_ssl_context()


def _timeout(deadline: float) -> httpx2.Timeout:
    return httpx2.Timeout(deadline, connect=min(deadline, 10.0))
