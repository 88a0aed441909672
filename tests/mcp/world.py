"""
Servers of the tests, calls of their tools, and what the tools did.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nr_agent_core.adapters.mcp import HttpServer, McpServers, RemoteTool, StdioServer
from nr_agent_core.domain.tool_outcomes import outcome_of_exception
from nr_agent_core.domain.tool_result import ToolResult
from nr_agent_core.domain.tools import Tool, ToolContext

HERE = Path(__file__).parent
PATIENCE = 30.0


def tool_of(name: str, **more: object) -> dict:
    """A tool as a server lists it."""
    schema = {"type": "object", "properties": {"do": {"type": "string"}, "text": {"type": "string"}}}
    return {"name": name, "description": f"The tool {name}.", "inputSchema": schema, **more}


class Folder:
    """
    The folder of one server: what it lists, what its tools did.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lists(tool_of("act"))

    def lists(self, *tools: dict) -> None:
        """What the raw server lists from now on."""
        (self.path / "listed.json").write_text(json.dumps(tools), encoding="utf-8")

    def touch(self, name: str) -> None:
        """Make the file *name*."""
        (self.path / name).touch()

    @property
    def effects(self) -> list[str]:
        """What the tools did."""
        written = self.path / "effects"
        return written.read_text(encoding="utf-8").splitlines() if written.exists() else []

    def until(self, effect: str) -> None:
        """Wait for *effect* to be there."""
        until(lambda: effect in self.effects)

    def raw(self, name: str = "raw", **settings: object) -> StdioServer:
        """The raw server in this folder."""
        command = {"command": sys.executable, "arguments": [str(HERE / "raw_server.py"), str(self.path)]}
        return StdioServer(**{"name": name, "data_class": "editorContent", **command, **settings})

    def notes(self, name: str = "notes", **settings: object) -> StdioServer:
        """The server made with the SDK in this folder, over stdio."""
        command = {"command": sys.executable, "arguments": [str(HERE / "notes_server.py"), str(self.path)]}
        return StdioServer(**{"name": name, "data_class": "editorContent", **command, **settings})

    @contextmanager
    def listening(self, *options: str, port: int = 0) -> Iterator["Listening"]:
        """The server made with the SDK in this folder, over HTTP."""
        command = [sys.executable, str(HERE / "notes_server.py"), str(self.path), "http", str(port), *options]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                yield Listening(process, int(process.stdout.readline()))
            finally:
                process.kill()


class Listening:
    """
    A server that listens on a port.
    """

    def __init__(self, process: subprocess.Popen, port: int) -> None:
        self.process, self.port = process, port

    def settings(self, name: str = "notes", **settings: object) -> HttpServer:
        """How to reach it."""
        url = f"http://127.0.0.1:{self.port}/mcp"
        return HttpServer(**{"name": name, "data_class": "editorContent", "url": url, **settings})

    def kill(self) -> None:
        """It is gone afterwards."""
        self.process.kill()
        self.process.wait()


def until(condition) -> None:
    """Wait for *condition*; the test fails when it does not come about."""
    give_up = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < give_up, "it did not come about"
        time.sleep(0.005)


def tool_named(servers: McpServers, name: str) -> Tool:
    """A tool by its name here."""
    return {tool.name: tool for tool in servers.tools()}[name]


def context(deadline: float = 20.0) -> ToolContext:
    """Of some call."""
    return ToolContext("anna", "run-1", "1.0", "0" * 64, deadline)


def outcome(tool: Tool, deadline: float = 20.0, **arguments: object) -> ToolResult:
    """What a call of *tool* comes to in a run."""
    try:
        return tool.execute(arguments, context(deadline))
    except Exception as error:  # noqa: BLE001 - as the run does
        return outcome_of_exception(tool.effect, error)


class Calling:
    """
    A call that is at work in a thread of its own.
    """

    def __init__(self, tool: Tool, deadline: float = 20.0, **arguments: object) -> None:
        self.result: ToolResult | None = None
        self._thread = threading.Thread(target=self._work, args=(tool, deadline, arguments), daemon=True)
        self._thread.start()

    def _work(self, tool: Tool, deadline: float, arguments: dict) -> None:
        self.result = outcome(tool, deadline, **arguments)

    def ended(self) -> ToolResult:
        """Its result, when it is there."""
        self._thread.join(PATIENCE)
        assert self.result is not None
        return self.result


def kill(pid: int) -> None:
    """End a process, and wait until it is gone or only waits to be collected."""
    os.kill(pid, signal.SIGKILL)
    until(lambda: gone(pid))


def gone(pid: int) -> bool:
    """Whether no such process is at work: not a thread of it, so that its files are closed, too."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
        return state == "Z" and len(list(Path(f"/proc/{pid}/task").iterdir())) == 1
    except (FileNotFoundError, ProcessLookupError):
        return True


READING = RemoteTool(reads=True)
