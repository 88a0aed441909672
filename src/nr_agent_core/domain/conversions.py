"""
How a JSON value that satisfies its schema becomes what an annotation says, and where that fails.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

Convert: TypeAlias = Callable[[Any], Any]


class MisfitError(Exception):
    """
    A value that satisfies its schema does not become what its annotation says; says where and why.
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.path: tuple[str | int, ...] = ()
        self.why = why


class Form(NamedTuple):
    """
    The schema of a value, and how a value that satisfies it becomes what the annotation says.
    """

    schema: dict[str, Any]
    convert: Convert


def at(place: str | int, form: Form, value: Any) -> Any:
    """
    *value* converted.

    Raises:
        MisfitError: it does not convert; its path begins with *place*.
    """
    try:
        return form.convert(value)
    except MisfitError as error:
        error.path = (place, *error.path)
        raise


def made(cls: type, forms: Mapping[str, Form], given: Mapping[str, Any]) -> Any:
    """
    An object of *cls* made of *given*.

    Raises:
        MisfitError: one of the values does not convert, or the class refuses them.
    """
    values = {name: at(name, forms[name], value) for name, value in given.items()}
    try:
        return cls(**values)
    except Exception as error:
        # What the class says may hold anything, and goes to no model (T10).
        raise MisfitError(f"these values make no valid {cls.__name__}") from error


WRITTEN: dict[tuple[str, str], tuple[str, str]] = {
    ("datetime", "date"): ("date", "a date as in '2026-01-31'"),
    ("datetime", "datetime"): ("date-time", "a date and time with its zone as in '2026-01-31T09:30:00+01:00'"),
    ("datetime", "time"): ("time", "a time as in '09:30:00'"),
    ("uuid", "UUID"): ("uuid", "a UUID"),
}
"""Classes of values written as text: their format, and how it looks. Named, not imported."""


def written(cls: Any) -> Form:
    """The form of one of the classes of :data:`WRITTEN`."""
    format_, allowed = WRITTEN[cls.__module__, cls.__qualname__]
    read = cls if format_ == "uuid" else cls.fromisoformat

    def convert(given: str) -> Any:
        try:
            value = read(given)
        except ValueError:
            value = None
        # Python reads more forms than a model should have to think of: weeks, and times without a zone.
        if value is None or (format_ == "date" and str(value) != given) or not _zoned(format_, value):
            raise MisfitError(f"found {given[:40]!r}; allowed is {allowed}")
        return value

    return Form({"type": "string", "format": format_}, convert)


def _zoned(format_: str, value: Any) -> bool:
    return format_ != "date-time" or value.tzinfo is not None
