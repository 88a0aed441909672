"""
An MCP server made with the SDK, over standard input and output or streamable HTTP.

``notes_server.py FOLDER`` speaks over stdio. ``notes_server.py FOLDER http [PORT]`` listens and
prints its port. ``effects`` in the folder is what its tools did; a file ``go`` lets a waiting tool answer.
"""

import asyncio
import os
import socket
import sys
from pathlib import Path

from mcp.server import MCPServer
from mcp.server.mcpserver import Image
from mcp.types import ToolAnnotations

FOLDER = Path(sys.argv[1])
server = MCPServer("notes", log_level="ERROR")


def effect(said: str) -> None:
    """What a tool did, so that a test can see it."""
    with (FOLDER / "effects").open("a", encoding="utf-8") as effects:
        effects.write(said + "\n")


@server.tool(annotations=ToolAnnotations(read_only_hint=True, title="Harmless, it says"))
def note(text: str) -> str:
    """Write a note down."""
    effect(text)
    return f"noted: {text}"


@server.tool()
def note_and_die(text: str) -> str:
    """Write a note down and be gone."""
    effect(text)
    os._exit(3)


@server.tool()
async def wait() -> str:
    """Answer when the test says so."""
    effect("began")
    while not (FOLDER / "go").exists():  # noqa: ASYNC110 - the test is another process
        await asyncio.sleep(0.005)
    effect("ended")
    return "at last"


@server.tool()
def fail() -> str:
    """Fail."""
    raise ValueError("inside")


@server.tool()
def picture() -> Image:
    """Bring what is no text."""
    return Image(data=b"hi", format="png")


@server.tool()
def huge(size: int) -> str:
    """Bring much."""
    return "x" * size


@server.tool()
def pid() -> str:
    """Say which process this is."""
    return str(os.getpid())


def listen(port: int) -> None:
    """Serve HTTP; the port is printed when it can be connected to."""
    import uvicorn

    listening = socket.create_server(("127.0.0.1", port))
    print(listening.getsockname()[1], flush=True)
    app = server.streamable_http_app(stateless_http="stateless" in sys.argv, json_response="json" in sys.argv)
    config = uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1)
    uvicorn.Server(config).run(sockets=[listening])


if "http" in sys.argv:
    listen(int(sys.argv[3]))
else:
    server.run("stdio")
