"""
A question in the words of the messages protocol, whose server is strict about its form.

Roles alternate, a user begins, no text is blank, and every id is one of its kind.
"""

import re
from typing import Any

from nr_agent_core.adapters.anthropic.echo import Echo
from nr_agent_core.adapters.model_access import wire_form
from nr_agent_core.domain.model_dialogue import ModelMessage, ModelRequest, OfferedTool

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_BEGINNING = {"type": "text", "text": "(The conversation began earlier.)"}
_NOTHING = {"type": "text", "text": "(nothing)"}


def messages(request: ModelRequest, echo: Echo) -> list[dict[str, Any]]:
    """
    The dialogue; messages of one role in a row become one.
    """
    dialogue = _Dialogue(echo)
    for message in request.messages:
        dialogue.add(message)
    return dialogue.told


def tools(request: ModelRequest) -> dict[str, Any]:
    """
    The fields of a request that offer tools.

    Without an offer, but with calls in the dialogue, their names are declared all the same, as the
    server demands, and no call is allowed.
    """
    if request.tools:
        return {"tools": [_tool(tool) for tool in request.tools]}
    named = dict.fromkeys(call.name for message in request.messages for call in message.calls)
    if not named:
        return {}
    told = [OfferedTool(name, "Not available now.", {"type": "object"}) for name in named]
    return {"tools": [_tool(tool) for tool in told], "tool_choice": {"type": "none"}}


def _tool(tool: OfferedTool) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "input_schema": dict(tool.parameters)}


class _Dialogue:
    def __init__(self, echo: Echo) -> None:
        self._echo = echo
        self._used: set[str] = set()
        self._ids: dict[str | None, str] = {}
        self.told: list[dict[str, Any]] = []

    def add(self, message: ModelMessage) -> None:
        if message.role == "assistant":
            self._ids = {call.id: self._id(call.id) for call in message.calls}
            calls = [
                {
                    "type": "tool_use",
                    "id": self._ids[call.id],
                    "name": call.name,
                    "input": wire_form.object_text(call.arguments),
                }
                for call in message.calls
            ]
            self._append("assistant", self._echo.blocks(message, calls))
        elif message.role == "tool":
            result = {"type": "tool_result", "tool_use_id": self._ids.get(message.call_id, message.call_id or "")}
            self._append("user", [{**result, "content": message.text} if message.text.strip() else result])
        else:
            self._append("user", [{"type": "text", "text": message.text}] if message.text.strip() else [_NOTHING])

    def _append(self, role: str, blocks: list[dict[str, Any]]) -> None:
        if not blocks:
            return
        if not self.told and role == "assistant":
            self.told.append({"role": "user", "content": [_BEGINNING]})
        if self.told and self.told[-1]["role"] == role:
            self.told[-1]["content"].extend(blocks)
        else:
            self.told.append({"role": role, "content": list(blocks)})

    def _id(self, given: str | None) -> str:
        """The id that the server gave, or one in its place that it takes and that is not used yet."""
        found, number = given or "", len(self._used)
        while not _ID.fullmatch(found) or found in self._used:
            found, number = f"call_{number}", number + 1
        self._used.add(found)
        return found
