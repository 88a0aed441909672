"""
What a server wants back with its own answer: its reasoning, and what it hung on its calls.

Only the server and model that gave it get it back, only within the run (E1).
"""

import json
from typing import Any

MESSAGE_FIELDS = ("reasoning_content", "reasoning_details")
CALL_FIELDS = ("extra_content",)


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

    def made(self, message: dict[str, Any], calls: list[dict[str, Any]]) -> str | None:
        """
        The provider data of an answer; None when there is nothing to give back.
        """
        fields = {name: message[name] for name in MESSAGE_FIELDS if message.get(name)}
        of_calls = [{name: call[name] for name in CALL_FIELDS if call.get(name)} for call in calls]
        if not fields and not any(of_calls):
            return None
        return json.dumps({"of": self._of, "message": fields, "calls": of_calls}, ensure_ascii=False)

    def add_to(self, message: dict[str, Any], provider_data: str | None) -> None:
        """
        Puts it back into its message; what is not of this provider and model is left out.
        """
        try:
            found = json.loads(provider_data or "null")
        except ValueError:
            return
        if not isinstance(found, dict) or found.get("of") != self._of:
            return
        calls, fields = found.get("calls"), found.get("message")
        if isinstance(fields, dict):
            message.update((name, fields[name]) for name in MESSAGE_FIELDS if name in fields)
        told = message.get("tool_calls", [])
        if isinstance(calls, list) and len(calls) == len(told):
            for call, of_call in zip(told, calls, strict=True):
                if isinstance(of_call, dict):
                    call.update((name, of_call[name]) for name in CALL_FIELDS if name in of_call)
