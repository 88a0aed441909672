"""
Reading what a server sent: every field is looked at before it is believed.
"""

import json
from typing import Any

from nr_agent_core.domain.errors import FailureClass, ProviderError


class GarbledError(Exception):
    """
    A server sent something else than an answer. Nothing of it is used.
    """


def document(body: bytes) -> dict[str, Any]:
    """
    The JSON object that a body holds.

    Raises:
        GarbledError: it holds none.
    """
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        raise GarbledError(f"{_described(body)} instead of JSON") from None
    return mapping(found, "the answer")


def mapping(found: object, what: str) -> dict[str, Any]:
    """
    *found*, which is an object.

    Raises:
        GarbledError: it is none.
    """
    if not isinstance(found, dict):
        raise GarbledError(f"{what} is a {type(found).__name__} and no object")
    return found


def text(found: object, what: str) -> str:
    """
    *found*, which is a text; nothing counts as an empty one.

    Raises:
        GarbledError: it is something else.
    """
    if found is None:
        return ""
    if not isinstance(found, str):
        raise GarbledError(f"{what} is a {type(found).__name__} and no text")
    return found


def entries(found: object, what: str) -> list[dict[str, Any]]:
    """
    The objects of a list; nothing counts as an empty one.

    Raises:
        GarbledError: it is no list of objects.
    """
    if found is None:
        return []
    if not isinstance(found, list):
        raise GarbledError(f"{what} is a {type(found).__name__} and no list")
    return [mapping(entry, f"an entry of {what}") for entry in found]


def name(found: object) -> str:
    """
    The name of a called tool.

    Raises:
        GarbledError: it is none.
    """
    if not isinstance(found, str) or not found:
        raise GarbledError("a call names no tool")
    return found


def identifier(found: object) -> str | None:
    """An id of the server; None for a missing or strange one."""
    return found if isinstance(found, str) and found else None


def tokens(found: object) -> int | None:
    """A number of tokens; None for a missing or strange one."""
    return found if isinstance(found, int) and not isinstance(found, bool) and found >= 0 else None


def object_text(arguments: str) -> dict[str, Any]:
    """
    The arguments of an earlier call as the object that servers demand.

    Text that is no JSON object was refused by the run; it is sent back as a value of one.
    """
    try:
        found = json.loads(arguments)
    except (ValueError, RecursionError):
        found = None
    return found if isinstance(found, dict) else {"arguments_as_given": arguments}


def cut(length: int) -> ProviderError:
    """What a stream is that ended before its end mark: a lost connection, never an answer."""
    return ProviderError(f"the stream broke off behind {length} characters", FailureClass.CONNECTION)


def _described(body: bytes) -> str:
    head = body[:200].lstrip().lower()
    if not head:
        return "nothing"
    return "a page of HTML" if head.startswith((b"<!doctype", b"<html")) else f"{len(body)} bytes"
