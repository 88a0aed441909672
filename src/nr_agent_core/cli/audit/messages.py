"""
One chat message as data: what it says, which calls it makes, which results it brings.

Read are messages in the shape of OpenAI's chat API, its older ``function_call``, and content in parts,
among them the ``tool_use`` and ``tool_result`` parts of other providers: a call that is overlooked
would turn a true answer into an accused one.
"""

import enum
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import attrs

from nr_agent_core.cli.audit.answer import CallOutcome
from nr_agent_core.cli.audit.malformed import MalformedError, kind_of
from nr_agent_core.domain.bounding import well_formed

_ERROR_TEXT: Final = re.compile(r"\s*error\b", re.IGNORECASE)
_ERROR_FIELDS: Final = ("error", "is_error", "isError")
_ROLES: Final = {
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
    "system": "system",
    "developer": "system",
}


class Role(enum.Enum):
    """
    Who speaks, as far as the audit tells them apart.
    """

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    SYSTEM = "system"


@attrs.frozen
class CallMade:
    """
    A call that a message makes; any field may be missing.
    """

    id: str | None
    name: str | None
    arguments: str = ""


@attrs.frozen
class CallResult:
    """
    A result, the call it names by id or by tool, and what it tells about that call.
    """

    id: str | None
    name: str | None
    outcome: CallOutcome
    text: str | None = None


@attrs.frozen
class Message:
    """
    A message. ``results`` of a user message are those of tools that answer in the user's place.
    """

    role: Role
    text: str
    calls: tuple[CallMade, ...] = ()
    results: tuple[CallResult, ...] = ()

    @property
    def is_answer(self) -> bool:
        """Whether it says something and makes no call."""
        return self.role is Role.ASSISTANT and not self.calls and bool(self.text.strip())


def read_message(value: object) -> Message:
    """
    *value* as a message.

    Raises:
        MalformedError: it has not the shape of one; the text says where and quotes nothing.
    """
    if not isinstance(value, dict):
        raise MalformedError(f"{kind_of(value)}; a message is an object")
    role = _role(value)
    content = value.get("content")
    if role is Role.TOOL:
        return Message(role, "", results=(_result(value, value.get("tool_call_id")),))
    texts, calls, results = _parts(content)
    if role is Role.ASSISTANT:
        calls += _calls(value)
    return Message(role, well_formed(_joined(texts)), tuple(calls), tuple(results))


def _role(value: Mapping[str, Any]) -> Role:
    role = value.get("role")
    if not isinstance(role, str):
        raise MalformedError(f"its role is {kind_of(role)}; a text is expected")
    known = _ROLES.get(role.lower())
    if known is None:
        raise MalformedError(f"an unknown role; known are {', '.join(_ROLES)}")
    return Role(known)


def _parts(content: object) -> tuple[list[str], list[CallMade], list[CallResult]]:
    """
    The texts, calls and results of a message's content. Pictures, sounds and thoughts are passed over.
    """
    if content is None:
        return [], [], []
    if isinstance(content, str):
        return [content], [], []
    if not isinstance(content, list):
        raise MalformedError(f"its content is {kind_of(content)}; a text or a list of parts is expected")
    texts: list[str] = []
    calls: list[CallMade] = []
    results: list[CallResult] = []
    for part in content:
        if isinstance(part, str):
            texts.append(part)
            continue
        if not isinstance(part, dict):
            raise MalformedError(f"a part of its content is {kind_of(part)}; a text or an object is expected")
        kind = part.get("type", "text")
        if not isinstance(kind, str):
            raise MalformedError(f"the type of a part is {kind_of(kind)}; a text is expected")
        if kind.endswith("tool_use"):
            calls.append(CallMade(_text(part.get("id")), _text(part.get("name")), _plain(part.get("input"))))
        elif kind.endswith("tool_result"):
            results.append(_result(part, part.get("tool_use_id")))
        elif kind in {"text", "input_text", "output_text"}:
            text = part.get("text")
            if not isinstance(text, str):
                raise MalformedError(f"the text of a part is {kind_of(text)}; a text is expected")
            texts.append(text)
    return texts, calls, results


def _joined(texts: list[str]) -> str:
    """
    Parts follow each other as they are shown; a blank keeps two words from becoming one.
    """
    joined = ""
    for text in filter(None, texts):
        joined += f" {text}" if joined and joined[-1].isalnum() and text[0].isalnum() else text
    return joined


def _calls(value: Mapping[str, Any]) -> list[CallMade]:
    calls: list[CallMade] = []
    listed = value.get("tool_calls")
    if listed is not None and not isinstance(listed, list):
        raise MalformedError(f"its tool_calls are {kind_of(listed)}; a list is expected")
    for call in listed or ():
        if not isinstance(call, dict):
            raise MalformedError(f"one of its tool_calls is {kind_of(call)}; an object is expected")
        calls.append(CallMade(_text(call.get("id")), _called(call), _arguments(call)))
    older = value.get("function_call")
    if older is not None:
        if not isinstance(older, dict):
            raise MalformedError(f"its function_call is {kind_of(older)}; an object is expected")
        calls.append(CallMade(None, _text(older.get("name")), _plain(older.get("arguments"))))
    return calls


def _called(call: Mapping[str, Any]) -> str | None:
    for declaration in (call.get("function"), call.get("custom"), call):
        if isinstance(declaration, dict) and (name := _text(declaration.get("name"))):
            return name
    return None


def _arguments(call: Mapping[str, Any]) -> str:
    declarations = (call.get("function"), call.get("custom"), call)
    return "\n".join(_plain(each.get("arguments")) for each in declarations if isinstance(each, dict))


def _plain(value: object) -> str:
    """A value as text; what is no text is told as JSON."""
    if value is None or isinstance(value, str):
        return well_formed(value or "")
    return well_formed(json.dumps(value, ensure_ascii=False, default=str))


def _text(value: object) -> str | None:
    return well_formed(value) if isinstance(value, str) and value else None


# ---------------------------------------------------------------------------- outcome of a result


def _result(value: Mapping[str, Any], call_id: object) -> CallResult:
    content = value.get("content")
    told = None if content is None else "\n".join(_result_texts(content)) or _plain(content)
    return CallResult(_text(call_id), _text(value.get("name")), _outcome(value), told and well_formed(told))


def _outcome(value: Mapping[str, Any]) -> CallOutcome:
    """
    Failed only where the result says so itself; a result without content tells nothing.
    """
    if _says_error(value):
        return CallOutcome.FAILED
    content = value.get("content")
    if content is None:
        return CallOutcome.UNKNOWN
    if isinstance(content, dict):
        return CallOutcome.FAILED if _says_error(content) else CallOutcome.SUCCEEDED
    return CallOutcome.FAILED if _is_error_text("".join(_result_texts(content))) else CallOutcome.SUCCEEDED


def _says_error(fields: Mapping[str, Any]) -> bool:
    return any(bool(fields.get(name)) for name in _ERROR_FIELDS)


def _result_texts(content: object) -> Iterator[str]:
    for part in content if isinstance(content, list) else [content]:
        text = part.get("text") if isinstance(part, dict) else part
        if isinstance(text, str):
            yield text


def _is_error_text(text: str) -> bool:
    if _ERROR_TEXT.match(text):
        return True
    if not text.lstrip().startswith("{"):
        return False
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and _says_error(value)
