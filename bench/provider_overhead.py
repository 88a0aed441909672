"""
What a turn costs over the SDK's own call: processor time of a chat's turn, less that of the raw questions.

Both talk to one server on the loopback address, in a process of its own. A turn is two questions with a
call of a reading tool between them; the raw side asks the same two questions. Run it with
``python -m bench.provider_overhead``.
"""

import json
import multiprocessing
import statistics
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TURNS = 150
BAR = 5.0
"""Milliseconds of processor time that a turn may cost over the raw calls."""

_USAGE = {"prompt_tokens": 9, "completion_tokens": 9, "input_tokens": 9, "output_tokens": 9}
_ARGUMENTS = {"uid": 7}


class _Server(BaseHTTPRequestHandler):
    """Answers a question behind a tool's result with a text, and every other one with a call."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def log_message(self, *args: Any) -> None:
        pass

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        last = json.dumps(body["messages"][-1])
        done = '"tool"' in last or "tool_result" in last
        answer = json.dumps(_completion(done) if "chat/completions" in self.path else _message(done)).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)
        self.wfile.flush()


def _completion(done: bool) -> dict[str, Any]:
    function = {"name": "find", "arguments": json.dumps(_ARGUMENTS)}
    calls = None if done else [{"id": "c1", "type": "function", "function": function}]
    message = {"role": "assistant", "content": "Page 7 is there." if done else None, "tool_calls": calls}
    choice = {"index": 0, "message": message, "finish_reason": "stop" if done else "tool_calls"}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": _USAGE}


def _message(done: bool) -> dict[str, Any]:
    text = {"type": "text", "text": "Page 7 is there."}
    block = text if done else {"type": "tool_use", "id": "c1", "name": "find", "input": _ARGUMENTS}
    reason = "end_turn" if done else "tool_use"
    message = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": [block], "usage": _USAGE}
    return {**message, "stop_reason": reason, "stop_sequence": None}


def _serve(pipe: Any) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Server)
    pipe.send(server.server_address[1])
    server.serve_forever()


class _Kept:
    """The questions of a turn, as the SDK is asked them, without anything else."""

    def __init__(self, model: Any) -> None:
        self.model, self.bodies = model, []
        self.plain = model._body

    def keeping(self, request: Any) -> Any:
        body = self.plain(request)
        self.bodies.append(body)
        return body


def _measured(work: Callable[[], object]) -> float:
    """Milliseconds of processor time of one *work*: the median."""
    for _ in range(20):
        work()
    taken = []
    for _ in range(TURNS):
        begun = time.process_time()
        work()
        taken.append((time.process_time() - begun) * 1000)
    return statistics.median(taken)


def _figures(model: Any, raw: Callable[[dict[str, Any]], object]) -> dict[str, float]:
    from nr_agent_core import Chat, Reader, ToolEffect, tool
    from nr_agent_core.adapters.memory import MemoryStore

    @tool(effect=ToolEffect.READ_ONLY)
    def find(uid: int) -> str:
        """Find a page."""
        return f"Page {uid}"

    def chat() -> Chat:
        return Chat(store=MemoryStore(), model=model, tools=[find])

    kept = _Kept(model)
    model._body = kept.keeping
    assert chat().send("Where is page 7?", Reader("anna")).run_id
    bodies = list(kept.bodies)
    assert len(bodies) == 2
    model._body = kept.plain
    serving, anna = chat(), Reader("anna")
    calls = _measured(lambda: [raw(body) for body in bodies])
    turn = _measured(lambda: serving.send("Where is page 7?", anna))
    return {"raw_ms": calls, "turn_ms": turn, "overhead_ms": turn - calls}


def measured(address: str) -> dict[str, dict[str, float]]:
    """The figures of both adapters."""
    from anthropic import Anthropic
    from openai import OpenAI

    from nr_agent_core.adapters.anthropic import AnthropicModel
    from nr_agent_core.adapters.openai import OpenAIModel

    first = OpenAIModel("m", base_url=f"{address}/v1", api_key="bench")
    second = AnthropicModel("m", base_url=address, api_key="bench")
    plain = OpenAI(base_url=f"{address}/v1", api_key="bench", max_retries=0)
    other = Anthropic(base_url=address, api_key="bench", max_retries=0)
    return {
        "openai": _figures(first, lambda body: plain.chat.completions.create(**body)),
        "anthropic": _figures(second, lambda body: other.messages.create(**body)),
    }


def main() -> int:
    """Prints the figures; the exit code says whether the bar is kept."""
    here, there = multiprocessing.Pipe()
    server = multiprocessing.Process(target=_serve, args=(there,), daemon=True)
    server.start()
    figures = measured(f"http://127.0.0.1:{here.recv()}")
    server.terminate()
    server.join()
    for name, found in figures.items():
        print(json.dumps({"provider": name, **{key: round(value, 2) for key, value in found.items()}}))
    return int(any(found["overhead_ms"] > BAR for found in figures.values()))


if __name__ == "__main__":
    raise SystemExit(main())
