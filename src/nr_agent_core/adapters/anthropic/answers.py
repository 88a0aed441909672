"""
An answer in the words of the messages protocol, as a whole or in pieces.
"""

import json
from typing import Any

from nr_agent_core.adapters.anthropic.echo import OPAQUE, Echo
from nr_agent_core.adapters.model_access import wire_form
from nr_agent_core.adapters.model_access.answer_reading import AnswerReading, InBandError
from nr_agent_core.adapters.model_access.streamed_text import joined
from nr_agent_core.adapters.model_access.wire_form import GarbledError
from nr_agent_core.domain.errors import FailureClass, ProviderError
from nr_agent_core.domain.model_dialogue import ModelAnswer, ModelCall

_CUT_OFF = ("max_tokens", "model_context_window_exceeded")
_INPUT = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


class Reading(AnswerReading):
    """
    One message as it is read.
    """

    def __init__(self, provider: str, model: str) -> None:
        super().__init__(provider, model)
        self._echo = Echo(provider, model)
        self._blocks: list[dict[str, Any]] = []
        self._at: dict[object, dict[str, Any]] = {}
        self._stopped = False

    def document(self, found: dict[str, Any]) -> ModelAnswer:
        """
        The answer that a document holds.

        Raises:
            GarbledError: it is no message.
            ProviderError: the model refused.
        """
        if found.get("type") == "error" or "content" not in found:
            raise InBandError(found) if found.get("error") else GarbledError("a document without a content")
        self._framed(found)
        for number, block in enumerate(wire_form.entries(found["content"], "content")):
            self._begin(number, block)
        self._reason = wire_form.identifier(found.get("stop_reason"))
        self.rest()
        return self._whole()

    def take(self, event: dict[str, Any]) -> str:
        """
        What an event adds to the text. Kinds of events that are not known add nothing.

        Raises:
            GarbledError: it is no event of this protocol.
        """
        match event.get("type"):
            case "message_start":
                self._framed(wire_form.mapping(event.get("message"), "a message"))
            case "content_block_start":
                return self._begin(event.get("index"), wire_form.mapping(event.get("content_block"), "a block"))
            case "content_block_delta":
                return self._more(event.get("index"), wire_form.mapping(event.get("delta"), "a delta"))
            case "message_delta":
                delta = wire_form.mapping(event.get("delta"), "a delta")
                self._reason = wire_form.identifier(delta.get("stop_reason")) or self._reason
                self._used(event.get("usage"))
            case "message_stop":
                self._stopped = True
        return ""

    def rest(self) -> str:
        """What of the text still waited."""
        rest = super().rest()
        if rest:
            self._blocks_of("text")[-1]["text"] += rest
        return rest

    def answer(self) -> ModelAnswer:
        """
        The whole answer of a stream.

        Raises:
            ProviderError: its end mark did not come, so it was cut; or the model refused.
        """
        if not self._stopped or self._reason is None:
            raise wire_form.cut(len(str(self._text)))
        return self._whole()

    def _framed(self, message: dict[str, Any]) -> None:
        self._model = wire_form.identifier(message.get("model")) or self._model
        self._used(message.get("usage"))

    def _used(self, usage: object) -> None:
        if isinstance(usage, dict):
            self._usage.update((name, found) for name, found in usage.items() if found is not None)

    def _begin(self, index: object, block: dict[str, Any]) -> str:
        kind, told = block.get("type"), ""
        if kind == "text":
            told = self._text.take(wire_form.text(block.get("text"), "a text"))
            block = {"type": "text", "text": told}
        elif kind == "tool_use":
            given = block.get("input")
            block = {
                "type": "tool_use",
                "id": wire_form.identifier(block.get("id")),
                "name": block.get("name"),
                "input": json.dumps(given, ensure_ascii=False) if isinstance(given, dict) and given else "",
                "pieces": "",
            }
        elif kind in OPAQUE:
            block = dict(block)
        else:
            return ""
        self._blocks.append(block)
        self._at[index] = block
        return told

    def _more(self, index: object, delta: dict[str, Any]) -> str:
        block = self._at.get(index)
        if block is None:
            return ""
        match delta.get("type"), block["type"]:
            case "text_delta", "text":
                told = self._text.take(wire_form.text(delta.get("text"), "a text"))
                block["text"] += told
                return told
            case "input_json_delta", "tool_use":
                block["pieces"] += wire_form.text(delta.get("partial_json"), "arguments")
            case "thinking_delta", "thinking":
                block["thinking"] = block.get("thinking", "") + wire_form.text(delta.get("thinking"), "a thought")
            case "signature_delta", "thinking":
                block["signature"] = wire_form.text(delta.get("signature"), "a signature")
        return ""

    def _blocks_of(self, kind: str) -> list[dict[str, Any]]:
        return [block for block in self._blocks if block["type"] == kind]

    def _whole(self) -> ModelAnswer:
        if self._reason == "refusal":
            raise ProviderError("the model declined to answer", FailureClass.CONTENT_REFUSED)
        if self._reason == "model_context_window_exceeded" and not self._blocks_of("text"):
            raise ProviderError("the question filled the context window", FailureClass.CONTEXT_TOO_LONG)
        return self._made(
            tuple(self._call(block) for block in self._blocks_of("tool_use")),
            counted=(self._input_tokens(), "output_tokens"),
            echo=self._echo.made(self._blocks),
        )

    def _call(self, block: dict[str, Any]) -> ModelCall:
        arguments = block["pieces"] or block["input"]
        if self._reason in _CUT_OFF and block is self._blocks[-1] and not block["pieces"]:
            # The output limit fell into this call, and a document does not tell how much is missing.
            arguments = ""
        elif not arguments.strip():
            arguments = "{}"
        return ModelCall(wire_form.name(block["name"]), joined(arguments), block["id"])

    def _input_tokens(self) -> int | None:
        found = [wire_form.tokens(self._usage.get(name)) for name in _INPUT]
        return None if found[0] is None else sum(tokens or 0 for tokens in found)
