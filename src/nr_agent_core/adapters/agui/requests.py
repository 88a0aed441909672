"""
What a client asks for, read from the body of its request (``RunAgentInput``).

Three things are read: the thread, the newest message if it is a user's, and the answers to interrupts.
Histories, tools, states and results of tools are the client's own memory; none of it is evidence.
"""

import json
from collections.abc import Mapping
from typing import Any

import attrs

from nr_agent_core.adapters.agui.interrupts import Answer, answer_of
from nr_agent_core.adapters.agui.names import name_of
from nr_agent_core.domain.errors import InvalidValueError
from nr_agent_core.domain.value import Value

BODY_LIMIT = 4 * 1024 * 1024
"""The longest body that is read, in bytes: clients send their whole history with each request."""


@attrs.frozen(repr=False, eq=False)
class AgUiRequest(Value):
    """
    One request: it says something, or answers an interrupt, or only looks.

    Args:
        thread: the conversation that the client names; empty for a new one.
        run: how the client calls this request; repeated to it and used for nothing else.
        text: the newest message; None when nothing is said.
        answer: the decision on a card; with one, no message is read.
    """

    thread: str
    run: str
    text: str | None = None
    answer: Answer | None = None


def decoded(body: bytes | str, *, limit: int = BODY_LIMIT) -> AgUiRequest:
    """
    The request that a body holds.

    A message counts when it is the last one of the list and a user's. Beside an answer none is read:
    clients repeat their history there, and what was said before is not said again.

    Args:
        body: JSON, in UTF-8.
        limit: the longest body, in bytes.

    Raises:
        InvalidValueError: it is too long, no JSON, or not of the protocol's form. Nothing was done.
    """
    given = _object("the body", _document(body, limit))
    thread, run = name_of("threadId", given.get("threadId"), least=0), name_of("runId", given.get("runId"))
    messages = _array("messages", given.get("messages"))
    resume = _array("resume", [] if given.get("resume") is None else given["resume"])
    if resume:
        if len(resume) > 1:
            raise InvalidValueError("resume", f"{len(resume)} entries", "one: a card is decided as a whole")
        return AgUiRequest(thread, run, answer=answer_of(_object("resume[0]", resume[0])))
    newest = _object("the newest message", messages[-1]) if messages else {}
    return AgUiRequest(thread, run, text=_text(newest.get("content")) if newest.get("role") == "user" else None)


def _document(body: bytes | str, limit: int) -> object:
    if not isinstance(body, bytes | str):
        raise InvalidValueError("the body", type(body).__name__, "bytes or a text")
    # A text has at least as many bytes as characters.
    if len(body) > limit or (isinstance(body, str) and len(body.encode("utf-8", "replace")) > limit):
        raise InvalidValueError("the body", f"{len(body)} long", f"up to {limit} bytes")
    try:
        document: object = json.loads(body if isinstance(body, str) else body.decode("utf-8"))
    except (ValueError, RecursionError):
        raise InvalidValueError("the body", "no JSON", "a RunAgentInput as JSON in UTF-8") from None
    return document


def _object(name: str, value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise InvalidValueError(name, type(value).__name__, "an object")
    return value


def _array(name: str, value: object) -> list[Any]:
    if not isinstance(value, list):
        raise InvalidValueError(name, type(value).__name__, "an array")
    return value


def _text(content: object) -> str:
    """The text of a user's message; a part that is no text is refused, for nobody would answer it."""
    if isinstance(content, str):
        return content
    parts = [_object("a part of the newest message", part) for part in _array("the newest message's content", content)]
    for part in parts:
        if part.get("type") != "text" or not isinstance(part.get("text"), str):
            raise InvalidValueError("a part of the newest message", part.get("type"), "a text")
    return "\n".join(part["text"] for part in parts)
