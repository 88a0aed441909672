"""
What the server wants back with its own answer: the blocks of its thinking, in their places.

Only the provider and model that gave them get them back, only within the run (E1). Texts and calls
are not kept twice: their places are.
"""

import json
from typing import Any

from nr_agent_core.domain.model_dialogue import ModelMessage

OPAQUE = ("thinking", "redacted_thinking")
"""Blocks that are given back as they came."""


class Echo:
    """
    Makes provider data and reads it.

    Args:
        provider: whose data it is.
        model: which model's.
    """

    __slots__ = ("_of",)

    def __init__(self, provider: str, model: str) -> None:
        self._of = [provider, model]

    def made(self, blocks: list[dict[str, Any]]) -> str | None:
        """
        The provider data of an answer; None when none of its blocks is to be given back.
        """
        if not any(block["type"] in OPAQUE for block in blocks):
            return None
        return json.dumps({"of": self._of, "blocks": [_place(block) for block in blocks]}, ensure_ascii=False)

    def blocks(self, message: ModelMessage, calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """
        The blocks of an earlier answer: as it was given, or its text and calls alone.
        """
        kept = self._kept(message, list(calls)) if message.provider_data else None
        if kept is None:
            kept = [{"type": "text", "text": message.text}, *calls]
        return [block for block in kept if block["type"] != "text" or block["text"].strip()]

    def _kept(self, message: ModelMessage, calls: list[dict[str, Any]]) -> list[dict[str, Any]] | None:
        try:
            found = json.loads(message.provider_data or "null")
        except ValueError:
            return None
        if not isinstance(found, dict) or found.get("of") != self._of or not isinstance(found.get("blocks"), list):
            return None
        blocks: list[dict[str, Any]] = []
        text = message.text
        for place in found["blocks"]:
            match place:
                case {"type": "text", "length": int(length)} if 0 <= length <= len(text):
                    blocks.append({"type": "text", "text": text[:length]})
                    text = text[length:]
                case {"type": "tool_use"} if calls:
                    blocks.append(calls.pop(0))
                case {"type": "thinking" | "redacted_thinking"}:
                    blocks.append(place)
                case _:
                    return None
        return None if text or calls else blocks


def _place(block: dict[str, Any]) -> dict[str, Any]:
    match block:
        case {"type": "text"}:
            return {"type": "text", "length": len(block["text"])}
        case {"type": "tool_use"}:
            return {"type": "tool_use"}
        case _:
            return block
