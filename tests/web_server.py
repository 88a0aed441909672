"""
The web chat for tests: its host over a folder, and a real server of it in a thread or in a process.
"""

import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import uvicorn

from examples.web_chat.app import app_of
from examples.web_chat.wiring import Host, host_over

ROOT = Path(__file__).resolve().parents[1]
PATIENCE = 120.0


class Gate:
    """
    Holds the model before each word while it is closed; open at first.

    ``held`` is set once somebody waits at it.
    """

    def __init__(self) -> None:
        self._open = threading.Event()
        self._open.set()
        self.held = threading.Event()

    def close(self) -> None:
        """The next word waits."""
        self.held.clear()
        self._open.clear()

    def open(self) -> None:
        """All words go on."""
        self._open.set()

    async def pause(self) -> None:
        """Awaited by the model before each word."""
        if not self._open.is_set():
            self.held.set()
            await asyncio.to_thread(self._open.wait, PATIENCE)


class MovedClock:
    """
    The time, moved on by as much as a test says.
    """

    def __init__(self) -> None:
        self._moved = 0.0

    def now(self) -> float:
        """Seconds since 1970-01-01 UTC."""
        return time.time() + self._moved

    def advance(self, seconds: float) -> None:
        """Let *seconds* pass."""
        self._moved += seconds


class Served:
    """
    A real server of the web chat in a thread of this process.

    Args:
        folder: where its files are.
        gate: what holds its model.
        options: of :func:`~examples.web_chat.wiring.host_over`.
    """

    def __init__(self, folder: Path, gate: Gate, **options: Any) -> None:
        self.folder, self.gate, self._options = folder, gate, options
        self.clock = MovedClock()
        self.pauses: Callable[[], Awaitable[None]] = gate.pause
        self.host: Host
        self.address: str

    def __enter__(self) -> Self:
        self.host = host_over(
            self.folder,
            pause=self._pause,
            clock=self.clock,
            **{"tool_deadline": 2 * PATIENCE, **self._options},
        )
        self._socket = socket.socket()
        self._socket.bind(("127.0.0.1", 0))
        # From here on whoever connects waits for the server, and is not refused.
        self._socket.listen(128)
        self.address = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        config = uvicorn.Config(
            app_of(self.host, upkeep_every=None), log_level="error", timeout_graceful_shutdown=2, lifespan="on"
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._socket]}, daemon=True)
        self._thread.start()
        return self

    async def _pause(self) -> None:
        await self.pauses()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.gate.open()
        self._server.should_exit = True
        self._thread.join(PATIENCE)
        self._socket.close()


@contextmanager
def process_of(folder: Path, *, pace: float = 0.0, port: int = 0) -> Iterator[tuple[str, Callable[[], int]]]:
    """
    A server in a process of its own: its address, and what kills it with SIGKILL.
    """
    command = [sys.executable, "-m", "examples.web_chat", "--serve", "--port", str(port)]
    command += ["--folder", str(folder), "--pace", str(pace)]
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    process = subprocess.Popen(
        command, env={**os.environ, "PYTHONPATH": paths}, stdout=subprocess.PIPE, text=True, cwd=folder
    )

    def kill() -> int:
        process.send_signal(signal.SIGKILL)
        return process.wait(PATIENCE)

    try:
        assert process.stdout is not None
        said = process.stdout.readline()
        found = re.match(r"(http://\S+)/ ", said)
        assert found, said
        yield found[1], kill
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait(PATIENCE)
        if process.stdout is not None:
            process.stdout.close()
