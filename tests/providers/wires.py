"""
The two protocols as their servers speak them.
"""

import json
from collections.abc import Iterator
from typing import Any

from nr_agent_core import FailureClass, ModelAnswer
from nr_agent_core.adapters.anthropic import AnthropicModel
from nr_agent_core.adapters.openai import OpenAIModel
from tests.providers.loopback import DROPPED, Asked, Loopback, Reply, said

KEY = "sk-test-0123456789abcdefghijklmnop"
"""No real key; it must appear nowhere but in the header of a request."""


def pieces(text: str) -> list[str]:
    """A text in pieces of a few characters."""
    return [text[at : at + 7] for at in range(0, len(text), 7)]


class OpenAIWire:
    """
    Chat completions.
    """

    name = "openai"

    @staticmethod
    def model(server: Loopback, **options: Any) -> OpenAIModel:
        """A model behind *server*."""
        return OpenAIModel("gpt-x", base_url=f"{server.address}/v1", **{"api_key": KEY, **options})

    @staticmethod
    def own(**options: Any) -> OpenAIModel:
        """A model at the provider's own address."""
        return OpenAIModel("gpt-x", **options)

    def answer(self, answer: ModelAnswer, asked: Asked) -> Reply:
        """A whole completion, or its chunks."""
        return self.stream(self.chunks(answer)) if asked.streaming else said(self.document(answer))

    @staticmethod
    def document(answer: ModelAnswer) -> dict[str, Any]:
        """A whole completion."""
        message: dict[str, Any] = {"role": "assistant", "content": answer.text or None}
        if answer.calls:
            message["tool_calls"] = [
                {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
                for call in answer.calls
            ]
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": "gpt-x-2026",
            "choices": [{"index": 0, "message": message, "finish_reason": answer.finish_reason}],
            "usage": {"prompt_tokens": 12, "completion_tokens": 5, "total_tokens": 17},
        }

    def chunks(self, answer: ModelAnswer) -> Iterator[dict[str, Any]]:
        """The chunks of a completion: text, then calls, then the reason, then the usage."""
        yield self.delta({"role": "assistant", "content": ""})
        for piece in pieces(answer.text):
            yield self.delta({"content": piece})
        for index, call in enumerate(answer.calls):
            function = {"name": call.name, "arguments": ""}
            yield self.delta(
                {"tool_calls": [{"index": index, "id": call.id, "type": "function", "function": function}]}
            )
            for piece in pieces(call.arguments):
                yield self.delta({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
        yield self.delta({}, answer.finish_reason)
        yield {**self.delta({}), "choices": [], "usage": {"prompt_tokens": 12, "completion_tokens": 5}}

    @staticmethod
    def delta(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
        """One chunk."""
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "gpt-x-2026",
            "choices": [choice],
        }

    @staticmethod
    def stream(chunks: Any, *, ends: bool = True, cut: bool = False) -> Reply:
        """Chunks as events; the mark of the end is only for those that come to one."""
        events = [b"data: %s\n\n" % json.dumps(chunk).encode() for chunk in chunks]
        return Reply(body=[*events, *([b"data: [DONE]\n\n"] if ends else [])], kind="text/event-stream", cut=cut)

    def broken_off(self, text: str, *, cut: bool = False) -> Reply:
        """A stream that ends behind *text*."""
        return self.stream([self.delta({"content": piece}) for piece in pieces(text)], ends=False, cut=cut)

    @staticmethod
    def error(status: int, code: str | None, message: str = "It failed.", kind: str | None = None) -> Reply:
        """An error as this server says it."""
        return said({"error": {"message": message, "type": kind, "code": code, "param": None}}, status)

    def failure(self, failure_class: FailureClass, asked: Asked) -> Reply:
        """A sign of every class that has one."""
        match failure_class:
            case FailureClass.CONTENT_REFUSED:
                return self.answer(ModelAnswer("", finish_reason="content_filter"), asked)
            case FailureClass.CONNECTION:
                return DROPPED
        status, code = {
            FailureClass.RATE_LIMIT: (429, "rate_limit_exceeded"),
            FailureClass.QUOTA: (429, "insufficient_quota"),
            FailureClass.SERVER_ERROR: (500, None),
            FailureClass.AUTHENTICATION: (401, "invalid_api_key"),
            FailureClass.CONFIGURATION: (404, "model_not_found"),
            FailureClass.CLIENT_ERROR: (400, None),
            FailureClass.CONTEXT_TOO_LONG: (400, "context_length_exceeded"),
        }[failure_class]
        return self.error(status, code)


class AnthropicWire:
    """
    Messages.
    """

    name = "anthropic"

    @staticmethod
    def model(server: Loopback, **options: Any) -> AnthropicModel:
        """A model behind *server*."""
        return AnthropicModel("model-x", base_url=server.address, **{"api_key": KEY, **options})

    @staticmethod
    def own(**options: Any) -> AnthropicModel:
        """A model at the provider's own address."""
        return AnthropicModel("model-x", **options)

    def answer(self, answer: ModelAnswer, asked: Asked) -> Reply:
        """A whole message, or its events."""
        return self.stream(self.events(answer)) if asked.streaming else said(self.document(answer))

    def document(self, answer: ModelAnswer) -> dict[str, Any]:
        """A whole message."""
        blocks: list[dict[str, Any]] = [{"type": "text", "text": answer.text}] if answer.text else []
        blocks += [
            {"type": "tool_use", "id": call.id, "name": call.name, "input": json.loads(call.arguments)}
            for call in answer.calls
        ]
        return {**self._frame(), "content": blocks, "stop_reason": self._reason(answer)}

    @staticmethod
    def _frame() -> dict[str, Any]:
        usage = {"input_tokens": 10, "cache_read_input_tokens": 2, "output_tokens": 5}
        return {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "model-x-2026",
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": usage,
        }

    @staticmethod
    def _reason(answer: ModelAnswer) -> str | None:
        return {"stop": "end_turn", "tool_calls": "tool_use"}.get(answer.finish_reason or "", answer.finish_reason)

    def events(self, answer: ModelAnswer) -> Iterator[dict[str, Any]]:
        """The events of a message."""
        yield self.start()
        at = 0
        if answer.text:
            yield from self.text(answer.text)
            at = 1
        for index, call in enumerate(answer.calls, at):
            block = {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}
            yield {"type": "content_block_start", "index": index, "content_block": block}
            for piece in pieces(call.arguments):
                delta = {"type": "input_json_delta", "partial_json": piece}
                yield {"type": "content_block_delta", "index": index, "delta": delta}
            yield {"type": "content_block_stop", "index": index}
        yield from self.end(self._reason(answer))

    def start(self) -> dict[str, Any]:
        """The beginning of a message."""
        return {"type": "message_start", "message": self._frame()}

    @staticmethod
    def text(text: str) -> Iterator[dict[str, Any]]:
        """A block of text."""
        yield {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
        for piece in pieces(text):
            yield {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}}
        yield {"type": "content_block_stop", "index": 0}

    @staticmethod
    def end(reason: str | None) -> Iterator[dict[str, Any]]:
        """The end of a message."""
        delta = {"stop_reason": reason, "stop_sequence": None}
        yield {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 5}}
        yield {"type": "message_stop"}

    @staticmethod
    def stream(events: Any, *, cut: bool = False) -> Reply:
        """Events with their names."""
        told = [b"event: %s\ndata: %s\n\n" % (event["type"].encode(), json.dumps(event).encode()) for event in events]
        return Reply(body=told, kind="text/event-stream", cut=cut)

    def broken_off(self, text: str, *, cut: bool = False) -> Reply:
        """A stream that ends behind *text*."""
        return self.stream([self.start(), *(self.text(text) if text else ())], cut=cut)

    @staticmethod
    def error(status: int, code: str | None, message: str = "It failed.", kind: str | None = None) -> Reply:
        """An error as this server says it."""
        return said({"type": "error", "error": {"type": code, "message": message}, "request_id": "req_1"}, status)

    def failure(self, failure_class: FailureClass, asked: Asked) -> Reply:
        """A sign of every class that has one."""
        match failure_class:
            case FailureClass.CONTENT_REFUSED:
                return self.answer(ModelAnswer("", finish_reason="refusal"), asked)
            case FailureClass.CONNECTION:
                return DROPPED
            case FailureClass.CONTEXT_TOO_LONG:
                return self.error(400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum")
        status, code = {
            FailureClass.RATE_LIMIT: (429, "rate_limit_error"),
            FailureClass.QUOTA: (402, "billing_error"),
            FailureClass.SERVER_ERROR: (529, "overloaded_error"),
            FailureClass.AUTHENTICATION: (401, "authentication_error"),
            FailureClass.CONFIGURATION: (404, "not_found_error"),
            FailureClass.CLIENT_ERROR: (400, "invalid_request_error"),
        }[failure_class]
        return self.error(status, code)


Wire = OpenAIWire | AnthropicWire
WIRES: tuple[Wire, ...] = (OpenAIWire(), AnthropicWire())
