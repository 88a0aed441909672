"""
Types of arguments that JSON has not: dates, ids, typed dicts; and where in them something is wrong.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import uuid
from typing import Annotated, Any, NotRequired, Required, TypedDict

import attrs
import pytest

from nr_agent_core.domain.tool_decorator import tool
from tests.unit.declared_types import CONTEXT, Color

DAY = dt.date(2026, 1, 31)
UUID = uuid.UUID("12345678-1234-5678-1234-567812345678")
MOMENT = dt.datetime(2026, 1, 31, 9, 30, tzinfo=dt.UTC)


class Line(TypedDict):
    """One line of an order."""

    article: str
    price: Annotated[float, "Of one piece."]
    due: NotRequired[dt.date]


class Loose(TypedDict, total=False):
    """A key that must be there, among keys that need not."""

    name: Required[str]
    color: Color


@attrs.frozen
class Order:
    """What is ordered."""

    items: list[Line]
    on: dt.date
    contact: uuid.UUID | None = None


@dataclasses.dataclass
class Slot:
    """A dataclass that refuses an end before its start."""

    start: dt.time
    end: dt.time

    def __post_init__(self) -> None:
        if self.end < self.start:
            raise ValueError("secret detail")


def read(annotation: Any) -> Any:
    """A tool with one parameter ``x`` of *annotation*, which keeps what it is given in ``got``."""
    got = []

    def reading(x) -> str:
        got.append(x)
        return ""

    reading.__annotations__ = {"x": annotation, "return": str}
    declared = tool(effect="read_only")(reading)
    declared.got = got
    return declared


def received(annotation: Any, value: object) -> object:
    """What a function with *annotation* gets for *value*."""
    declared = read(annotation)
    assert declared.tool.violation({"x": value}) is None
    declared.tool.execute({"x": value}, CONTEXT)
    return declared.got[0]


@pytest.mark.parametrize(
    ("annotation", "value", "expected"),
    [
        (dt.date, "2026-01-31", DAY),
        (dt.datetime, "2026-01-31T09:30:00Z", MOMENT),
        (dt.datetime, "2026-01-31T10:30:00+01:00", MOMENT),
        (dt.time, "09:30", dt.time(9, 30)),
        (uuid.UUID, str(UUID), UUID),
        (list[dt.date | None], ["2026-01-31", None], [DAY, None]),
        (dt.date | str, "tomorrow", "tomorrow"),
        (Line, {"article": "a", "price": 1}, {"article": "a", "price": 1.0}),
        (Line, {"article": "a", "price": 1, "due": "2026-01-31"}, {"article": "a", "price": 1.0, "due": DAY}),
        (Loose, {"name": "a", "color": "red"}, {"name": "a", "color": Color.RED}),
        (
            Order,
            {"items": [{"article": "a", "price": 2}], "on": "2026-01-31", "contact": str(UUID)},
            Order([{"article": "a", "price": 2.0}], DAY, UUID),
        ),
    ],
)
def test_texts_become_what_they_stand_for(annotation, value, expected):
    """The function gets dates, ids and dicts of the declared form, never the texts they came as (T8)."""
    got = received(annotation, value)

    assert got == expected
    assert type(got) is type(expected)


def test_the_schema_names_formats_keys_and_defaults():
    """What the model sees of them (T1)."""

    @tool(effect="read_only")
    def lines(line: Line, since: dt.date = DAY, until: dt.date | None = None) -> str:
        return ""

    assert lines.tool.parameters["properties"] == {
        "line": {
            "type": "object",
            "properties": {
                "article": {"type": "string"},
                "price": {"type": "number", "description": "Of one piece."},
                "due": {"type": "string", "format": "date"},
            },
            "required": ["article", "price"],
            "additionalProperties": False,
            "description": "One line of an order.",
        },
        "since": {"type": "string", "format": "date", "default": "2026-01-31"},
        "until": {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}], "default": None},
    }


@pytest.mark.parametrize(
    ("annotation", "value", "wrong"),
    [
        (dt.date, "31.01.2026", "/x: found '31.01.2026'; allowed is a date as in '2026-01-31'"),
        (dt.date, "20260131", "/x: found '20260131'; allowed is a date as in '2026-01-31'"),
        (
            dt.datetime,
            "2026-01-31T09:30",
            "/x: found '2026-01-31T09:30'; allowed is a date and time with its zone as in '2026-01-31T09:30:00+01:00'",
        ),
        (dt.time, "noon", "/x: found 'noon'; allowed is a time as in '09:30:00'"),
        (uuid.UUID, "42", "/x: found '42'; allowed is a UUID"),
        (uuid.UUID | None, "42", "/x: found '42'; allowed is a UUID"),
        (dict[str, dt.date], {"a/b": "x"}, "/x/a~1b: found 'x'; allowed is a date as in '2026-01-31'"),
        (
            Order,
            {"items": [{"article": "a", "price": 1}, {"article": "b", "price": "cheap"}], "on": "2026-01-31"},
            "/x/items/1/price: found 'cheap'; allowed is a number",
        ),
        (
            Order,
            {"items": [{"article": "a", "price": 1, "due": "soon"}], "on": "2026-01-31"},
            "/x/items/0/due: found 'soon'; allowed is a date as in '2026-01-31'",
        ),
        (Loose, {"color": "red"}, "/x/name: missing"),
        (list[Slot], [{"start": "10:00", "end": "09:00"}], "/x/0: these values make no valid Slot"),
    ],
)
def test_the_place_of_what_is_wrong_is_named(annotation, value, wrong):
    """A value that does not become what is declared is refused at the look, with its place (T8, T10)."""
    declared = read(annotation)

    assert declared.tool.violation({"x": value}) == wrong
    assert declared.got == []
