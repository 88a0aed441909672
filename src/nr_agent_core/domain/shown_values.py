"""
How places in arguments, and what was found there, are shown to the model.
"""

from collections.abc import Mapping
from typing import Any, Final

SHOWN: Final = 80
_LISTED: Final = 20


def escaped(name: str) -> str:
    """*name* as a part of a JSON Pointer."""
    return name.replace("~", "~0").replace("/", "~1")


def child(where: str, name: str | int) -> str:
    """The JSON Pointer of what stands under *name* at *where*."""
    return f"{where}/{escaped(name) if isinstance(name, str) else name}"


def place(where: str) -> str:
    """At most 80 characters that stand for the JSON Pointer *where*."""
    # Names come from the model as well: what would break the line is shown as Python writes it.
    shown = where if where.isprintable() else repr(where)[1:-1]
    return (shown if len(shown) <= SHOWN else shown[: SHOWN - 1] + "…") or "the arguments"


def misfit(path: tuple[str | int, ...], why: str) -> str:
    """The text of a violation at *path*: ``/items/2: ...`` (T8)."""
    where = ""
    for name in path:
        where = child(where, name)
    return f"{place(where)}: {why}"


def shown_value(value: object) -> str:
    """At most 80 characters that stand for *value*."""
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, (list, tuple)):
        return f"a list of {len(value)}"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int) and value.bit_length() > 200:
        return "a very large integer"
    text = repr(value[: SHOWN + 1] if isinstance(value, str) else value)
    return text if len(text) <= SHOWN else text[: SHOWN - 2] + "…" + text[0]


def listed(values: Any) -> str:
    """The first 20 of *values*, and how many there are more."""
    shown = [shown_value(value) for value in values]
    more = len(shown) - _LISTED
    return ", ".join(shown[:_LISTED]) + (f" and {more} more" if more > 0 else "")
