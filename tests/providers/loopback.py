"""
A server on the loopback address that answers as a test says, and remembers what it was asked.
"""

import json
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import attrs


@attrs.frozen
class Asked:
    """
    One request.
    """

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]

    @property
    def streaming(self) -> bool:
        """Whether a stream is wanted."""
        return self.body.get("stream") is True


@attrs.frozen
class Reply:
    """
    What is sent. A body of pieces is sent piece by piece; one that is cut has no end.
    """

    status: int = 200
    body: bytes | Iterable[bytes] = b""
    kind: str = "application/json"
    headers: Mapping[str, str] = attrs.field(factory=dict)
    cut: bool = False
    dropped: bool = False


def said(document: object, status: int = 200, **headers: str) -> Reply:
    """A reply of JSON."""
    return Reply(status, json.dumps(document).encode(), headers={k.replace("_", "-"): v for k, v in headers.items()})


DROPPED = Reply(dropped=True)
"""The connection is closed without a word."""

Answering = Callable[[Asked], Reply]


class Loopback:
    """
    The running server. ``answering`` may be changed at any time.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self.asked: list[Asked] = []
        self.answering: Answering = lambda asked: Reply(500)
        self.over = threading.Event()

    def always(self, reply: Reply) -> "Loopback":
        """Every request gets *reply*."""
        self.answering = lambda asked: reply
        return self

    def script(self, *answering: Answering) -> "Loopback":
        """Each request gets the next one; the last one goes on."""
        begun = len(self.asked)

        def next_of(asked: Asked) -> Reply:
            return answering[min(len(self.asked) - begun, len(answering)) - 1](asked)

        self.answering = next_of
        return self


@contextmanager
def loopback() -> Iterator[Loopback]:
    """A server on a free port, closed behind the test with all that still hangs on it."""
    server = _Server(("127.0.0.1", 0), _Handler)
    found = server.loopback = Loopback(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield found
    finally:
        found.over.set()
        server.shutdown()
        thread.join()
        server.end()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    loopback: Loopback

    def __init__(self, *args: Any) -> None:
        self.open: set[socket.socket] = set()
        super().__init__(*args)

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, address = super().get_request()
        self.open.add(connection)
        return connection, address

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no news."""

    def end(self) -> None:
        for connection in self.open:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self.server_close()
        for connection in self.open:
            connection.close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._reply(b"{}")

    def do_POST(self) -> None:
        self._reply(self.rfile.read(int(self.headers["content-length"])))

    def _reply(self, body: bytes) -> None:
        asked = Asked(self.path, {k.lower(): v for k, v in self.headers.items()}, json.loads(body))
        self.server.loopback.asked.append(asked)
        reply = self.server.loopback.answering(asked)
        if reply.dropped:
            self.close_connection = True
            return
        self.send_response(reply.status)
        self.send_header("content-type", reply.kind)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        if isinstance(reply.body, bytes):
            self.send_header("content-length", str(len(reply.body) + (100 if reply.cut else 0)))
            self.end_headers()
            self.wfile.write(reply.body)
        else:
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            for piece in reply.body:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                self.wfile.flush()
            if not reply.cut:
                self.wfile.write(b"0\r\n\r\n")
        self.close_connection = self.close_connection or reply.cut
