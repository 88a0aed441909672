"""
An answer in the words of the chat completions protocol, as a whole or in pieces.
"""

import json
from typing import Any, cast

from nr_agent_core.adapters.model_access import wire_form
from nr_agent_core.adapters.model_access.answer_reading import AnswerReading, InBandError
from nr_agent_core.adapters.model_access.streamed_text import joined
from nr_agent_core.adapters.model_access.wire_form import GarbledError
from nr_agent_core.adapters.openai.echo import CALL_FIELDS, Echo
from nr_agent_core.domain.errors import FailureClass, ProviderError
from nr_agent_core.domain.model_dialogue import ModelAnswer, ModelCall


class Reading(AnswerReading):
    """
    One chat completion as it is read.
    """

    def __init__(self, provider: str, model: str) -> None:
        super().__init__(provider, model)
        self._echo = Echo(provider, model)
        self._calls: list[dict[str, Any]] = []
        self._slots: dict[object, dict[str, Any]] = {}
        self._extras: dict[str, Any] = {}

    # -- a whole document ---------------------------------------------------------------------

    def document(self, found: dict[str, Any]) -> ModelAnswer:
        """
        The answer that a document holds.

        Raises:
            GarbledError: it is no chat completion.
            ProviderError: the model refused.
        """
        self._frame(found)
        choices = wire_form.entries(found.get("choices"), "choices")
        if not choices:
            raise GarbledError("a document without a choice")
        choice = choices[0]
        message = wire_form.mapping(choice.get("message"), "the message")
        self._said(message)
        for call in wire_form.entries(message.get("tool_calls"), "tool_calls"):
            self._calls.append(_begun(call))
        self._reason = wire_form.identifier(choice.get("finish_reason"))
        self.rest()
        return self._whole()

    # -- a stream -----------------------------------------------------------------------------

    def take(self, event: dict[str, Any]) -> str:
        """
        What a chunk adds to the text.

        Raises:
            GarbledError: it is no chunk.
        """
        self._frame(event)
        for choice in wire_form.entries(event.get("choices"), "choices"):
            if choice.get("index") not in (0, None):
                continue
            delta = choice.get("delta")
            told = self._said(wire_form.mapping({} if delta is None else delta, "a delta"))
            for call in wire_form.entries((delta or {}).get("tool_calls"), "tool_calls"):
                self._call_piece(call)
            self._reason = wire_form.identifier(choice.get("finish_reason")) or self._reason
            return told
        return ""

    def answer(self) -> ModelAnswer:
        """
        The whole answer of a stream.

        Raises:
            ProviderError: nothing said why it ended, so it was cut; or the model refused.
        """
        if self._reason is None:
            raise wire_form.cut(len(str(self._text)))
        return self._whole()

    def _call_piece(self, piece: dict[str, Any]) -> None:
        """A call's beginning, or more of its arguments."""
        index, identifier = piece.get("index"), wire_form.identifier(piece.get("id"))
        function = wire_form.mapping(piece.get("function") or {}, "a function")
        slot = self._slots.get(index) if index is not None else (self._calls[-1] if self._calls else None)
        # Some servers number all calls alike: another id with a name begins another call.
        another = slot is not None and function.get("name") and identifier and slot["id"] not in (None, identifier)
        if slot is None or another or (index is None and function.get("name")):
            self._slots[index] = slot = _begun(piece)
            self._calls.append(slot)
            return
        slot["id"] = slot["id"] or identifier
        slot["arguments"] += _arguments(function.get("arguments"))
        slot.update((name, piece[name]) for name in CALL_FIELDS if piece.get(name))

    # -- both ---------------------------------------------------------------------------------

    def _frame(self, found: dict[str, Any]) -> None:
        """Model and usage; an error that came under a status of 200 rises."""
        if found.get("error"):
            raise InBandError(found["error"])
        self._model = wire_form.identifier(found.get("model")) or self._model
        usage = found.get("usage")
        if isinstance(usage, dict):
            self._usage = usage

    def _said(self, message: dict[str, Any]) -> str:
        for name in ("reasoning_content", "reasoning_details"):
            piece = message.get(name)
            if isinstance(piece, str | list) and piece:
                before: Any = self._extras.get(name)
                self._extras[name] = piece if type(before) is not type(piece) else before + cast(Any, piece)
        said = _content(message.get("content")) or wire_form.text(message.get("refusal"), "a refusal")
        return self._text.take(said)

    def _whole(self) -> ModelAnswer:
        if self._reason == "content_filter":
            raise ProviderError(
                "the answer was withheld by the provider's content filter", FailureClass.CONTENT_REFUSED
            )
        if self._reason == "error":
            raise ProviderError("the server failed while it answered", FailureClass.SERVER_ERROR)
        return self._made(
            tuple(self._call(call) for call in self._calls),
            counted=(wire_form.tokens(self._usage.get("prompt_tokens")), "completion_tokens"),
            echo=self._echo.made(self._extras, self._calls),
        )

    def _call(self, call: dict[str, Any]) -> ModelCall:
        arguments = call["arguments"]
        if not arguments.strip() and self._reason != "length":
            # A call without arguments; behind the output limit it is one that was cut, and no object.
            arguments = "{}"
        return ModelCall(wire_form.name(call["name"]), joined(arguments), call["id"])


def _begun(call: dict[str, Any]) -> dict[str, Any]:
    function = wire_form.mapping(call.get("function") or {}, "a function")
    begun = {name: call[name] for name in CALL_FIELDS if call.get(name)}
    return {
        **begun,
        "id": wire_form.identifier(call.get("id")),
        "name": function.get("name"),
        "arguments": _arguments(function.get("arguments")),
    }


def _arguments(found: object) -> str:
    return json.dumps(found, ensure_ascii=False) if isinstance(found, dict) else wire_form.text(found, "arguments")


def _content(found: object) -> str:
    if not isinstance(found, list):
        return wire_form.text(found, "a content")
    parts = [part for part in wire_form.entries(found, "a content") if part.get("type") == "text"]
    return "".join(wire_form.text(part.get("text"), "a part") for part in parts)
