"""
An MCP server over standard input and output, made of nothing but JSON: it can misbehave in every way.

It is started with a folder. ``listed.json`` there is its list of tools, read anew at each listing;
``effects`` is what its tools did; a file ``go`` lets a waiting tool answer.
"""

import json
import os
import sys
import time
from pathlib import Path

FOLDER = Path(sys.argv[1])


def say(message: object) -> None:
    """One message, or whatever else."""
    sys.stdout.write(message if isinstance(message, str) else json.dumps(message) + "\n")
    sys.stdout.flush()


def text(said: str, *, error: bool = False) -> dict:
    """The result of a call."""
    return {"content": [{"type": "text", "text": said}], "isError": error}


def effect(said: str) -> None:
    """What a tool did, so that a test can see it."""
    with (FOLDER / "effects").open("a", encoding="utf-8") as effects:
        effects.write(said + "\n")


def wait() -> None:
    """Until the test says go."""
    while not (FOLDER / "go").exists():
        time.sleep(0.005)


def call(name: str, arguments: dict) -> dict | None:
    """What the tool *name* brings; None: nothing is answered."""
    what = arguments.get("do", name)
    if what == "note":
        effect(arguments.get("text", ""))
        return text("noted")
    if what == "die":
        os._exit(3)
    if what == "note_and_die":
        effect(arguments.get("text", ""))
        os._exit(3)
    if what == "wait":
        effect("began")
        wait()
        effect("ended")
        return text("at last")
    if what == "fail":
        return text("the disk is full", error=True)
    if what == "garbage":
        effect("garbage")
        say("%$ this is no message\n{}\n[1, 2\n")
        return {"content": "nothing that the protocol knows"}
    if what == "flood":
        effect("flood")
        while True:
            say("nothing\n" * 1000)
    if what == "garbage_first":
        say("Starting up...\n\n{}\n")
        return text("fine after all")
    if what == "huge":
        return text("x" * arguments["size"])
    if what == "pictures":
        picture = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
        linked = {"type": "resource_link", "uri": "file:///secret", "name": "secret"}
        return {"content": [picture, {"type": "text", "text": "see"}, picture, linked]}
    if what == "structured":
        return {"content": [], "structuredContent": {"answer": 42}}
    return text(str(os.getpid()))


def answer(message: dict) -> dict | None:
    """The result of a request; None: nothing is answered."""
    match message["method"]:
        case "initialize":
            version = message["params"]["protocolVersion"]
            about = {"name": "raw", "version": "1"}
            return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}
        case "tools/list":
            if (FOLDER / "slow_list").exists():
                wait()
            return {"tools": json.loads((FOLDER / "listed.json").read_text(encoding="utf-8"))}
        case "tools/call":
            return call(message["params"]["name"], message["params"].get("arguments") or {})
    raise LookupError


def main() -> None:
    """Answers until its input ends."""
    if (FOLDER / "broken").exists():
        sys.stderr.write("no module named 'needed'\n")
        sys.exit(4)
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        try:
            result = answer(message)
        except LookupError:
            say({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "unknown"}})
            continue
        if result is not None:
            say({"jsonrpc": "2.0", "id": message["id"], "result": result})


main()
