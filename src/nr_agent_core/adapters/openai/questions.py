"""
A question in the words of the chat completions protocol.
"""

import json
from typing import Any

from nr_agent_core.adapters.model_access import wire_form
from nr_agent_core.adapters.openai.echo import Echo
from nr_agent_core.domain.model_dialogue import ModelCall, ModelMessage, ModelRequest, OfferedTool


def messages(request: ModelRequest, echo: Echo) -> list[dict[str, Any]]:
    """
    The dialogue: the system prompt first, then each message with its calls.
    """
    told: list[dict[str, Any]] = [{"role": "system", "content": request.system}] if request.system else []
    for message in request.messages:
        if message.role == "tool":
            told.append({"role": "tool", "tool_call_id": message.call_id or "", "content": message.text})
        elif message.role == "assistant":
            told.extend(_assistant(message, echo))
        else:
            told.append({"role": "user", "content": message.text})
    return told


def tools(offered: tuple[OfferedTool, ...]) -> list[dict[str, Any]]:
    """
    The tools as functions with a JSON schema.
    """
    return [
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)},
        }
        for tool in offered
    ]


def _assistant(message: ModelMessage, echo: Echo) -> list[dict[str, Any]]:
    if not message.text and not message.calls:
        return []
    told: dict[str, Any] = {"role": "assistant", "content": message.text or None}
    if message.calls:
        told["tool_calls"] = [_call(call) for call in message.calls]
    echo.add_to(told, message.provider_data)
    return [told]


def _call(call: ModelCall) -> dict[str, Any]:
    arguments = json.dumps(wire_form.object_text(call.arguments), ensure_ascii=False)
    return {"id": call.id or "", "type": "function", "function": {"name": call.name, "arguments": arguments}}
