"""
``@tool``: schema and call from a function's annotations (T1, T2, T11, R7).
"""

from __future__ import annotations

import collections.abc
import dataclasses
import enum
import inspect
from typing import Annotated, Any, Literal, NewType, Optional

import attrs
import pytest

from nr_agent_core.domain.errors import ToolDeclarationError
from nr_agent_core.domain.tool_decorator import DecoratedTool, tool
from nr_agent_core.domain.tool_result import ToolEffect
from nr_agent_core.domain.tools import Tool, ToolRegistry
from tests.unit.declared_types import CONTEXT, Author, Color, Level, Node, Page, create_page, shown


@dataclasses.dataclass
class Point:
    x: float
    tags: list[str] = dataclasses.field(default_factory=list)
    unit: Literal["mm", "cm"] = "mm"
    hidden: int = dataclasses.field(default=0, init=False)


Uid = NewType("Uid", int)


def read(annotation, default=inspect.Parameter.empty):
    """A reading tool with one parameter ``x``; what it is called with can be read from ``.seen``."""

    def function(x):
        decorated.seen = x
        return "read"

    parameter = inspect.Parameter("x", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default)
    function.__annotations__ = {"x": annotation, "return": str}
    function.__signature__ = inspect.Signature([parameter])
    decorated = tool(effect="read_only")(function)
    return decorated


def received(annotation, value):
    """What a function annotated like this is called with when the model gives *value*."""
    decorated = read(annotation)
    assert decorated.tool.violation({"x": value}) is None
    decorated.tool.execute({"x": value}, CONTEXT)
    return decorated.seen


def test_a_decorated_function_declares_a_tool():
    """Name, description, schema and options come from the function and the decorator (T1)."""
    declared = create_page.tool

    assert isinstance(declared, Tool)
    assert declared.name == "create_page"
    assert declared.description == "Create a page as a draft."
    assert declared.effect is ToolEffect.NON_IDEMPOTENT_WRITE
    assert (declared.group, declared.data_class, declared.deadline) == ("pages", "editorContent", 30)
    assert (declared.approval, declared.admin_only, declared.enabled, declared.remote) == (None, False, True, False)


def test_the_schema_is_what_the_model_sees():
    """Nested objects, choices, defaults and descriptions; the context is not in it (T13)."""
    author = {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "email": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
        },
        "required": ["name"],
        "additionalProperties": False,
        "description": "Who wrote it.",
    }
    page = {
        "type": "object",
        "properties": {
            "title": {"type": "string"},
            "color": {"type": "string", "enum": ["red", "blue"], "default": "red"},
            "authors": {"type": "array", "items": author},
        },
        "required": ["title"],
        "additionalProperties": False,
        "description": "A page to make.",
    }

    assert create_page.tool.parameters == {
        "type": "object",
        "properties": {"page": page, "level": {"type": "integer", "enum": [1, 2], "default": 1}},
        "required": ["page"],
        "additionalProperties": False,
    }


def test_execute_calls_the_function_with_converted_arguments():
    """The function gets its own types and the context, and its result comes back whole."""
    arguments = {"page": {"title": "Team", "authors": [{"name": "A", "email": "a@example.org"}]}, "level": 2}
    result = create_page.tool.execute(arguments, CONTEXT)

    assert create_page.tool.violation(arguments) is None
    assert result.content == f"Team by anna at {Level.HIGH!r}"
    assert [str(write) for write in result.writes] == ["pages:42 (created)"]


def test_a_decorated_function_is_still_the_function():
    """It is called as before, by a test for instance, and documents itself."""
    result = create_page(Page("Team"), CONTEXT)

    assert result.content == f"Team by anna at {Level.LOW!r}"
    assert create_page.__name__ == "create_page"
    assert create_page.__doc__ == create_page.function.__doc__
    assert list(inspect.signature(create_page).parameters) == ["page", "context", "level"]
    assert repr(create_page) == "<tool 'create_page'>"
    assert isinstance(create_page, DecoratedTool)


def test_a_decorated_function_can_be_registered():
    """``tools=[create_page]`` is all a host writes."""
    assert ToolRegistry([create_page])["create_page"] is create_page.tool


def test_options_override_what_the_function_says():
    """Name and description may be given; every option reaches the tool."""

    @tool(
        effect="read_only", name="pages-list", description="All pages.", approval=True, admin_only=True, enabled=False
    )
    def ignored() -> str:
        """Not this."""
        return ""

    declared = ignored.tool

    assert (declared.name, declared.description) == ("pages-list", "All pages.")
    assert (declared.approval, declared.admin_only, declared.enabled) == (True, True, False)


def test_a_function_without_docstring_is_described_by_its_name():
    """The model reads words, at least."""

    @tool(effect="read_only")
    def list_pages() -> str:
        return ""

    assert list_pages.tool.description == "list pages"
    assert list_pages.tool.parameters == {"type": "object", "properties": {}, "additionalProperties": False}


def test_one_decorator_may_declare_several_tools():
    """Nothing of one function leaks into the next."""
    reading = tool(effect="read_only", group="g")

    @reading
    def first(a: int) -> str:
        """First."""
        return ""

    @reading
    def second(b: int) -> str:
        return ""

    assert [first.tool.name, second.tool.name] == ["first", "second"]
    assert [first.tool.description, second.tool.description] == ["First.", "second"]
    assert list(second.tool.parameters["properties"]) == ["b"]


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        (str, {"type": "string"}),
        (int, {"type": "integer"}),
        (float, {"type": "number"}),
        (bool, {"type": "boolean"}),
        (None, {"type": "null"}),
        (Uid, {"type": "integer"}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Literal["a", 1, True], {"enum": ["a", 1, True]}),
        (Literal[Color.BLUE], {"type": "string", "enum": ["blue"]}),
        (Color, {"type": "string", "enum": ["red", "blue"]}),
        (list, {"type": "array"}),
        (list[int], {"type": "array", "items": {"type": "integer"}}),
        (tuple[str, ...], {"type": "array", "items": {"type": "string"}}),
        (collections.abc.Sequence[int], {"type": "array", "items": {"type": "integer"}}),
        (list[list[bool]], {"type": "array", "items": {"type": "array", "items": {"type": "boolean"}}}),
        (dict, {"type": "object"}),
        (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (collections.abc.Mapping[str, str], {"type": "object", "additionalProperties": {"type": "string"}}),
        (Optional[int], {"anyOf": [{"type": "integer"}, {"type": "null"}]}),  # noqa: UP045
        (int | str, {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
        (Annotated[int, "How many."], {"type": "integer", "description": "How many."}),
        (Annotated[int, object()], {"type": "integer"}),
        ("int", {"type": "integer"}),
        (
            Point,
            {
                "type": "object",
                "properties": {
                    "x": {"type": "number"},
                    "tags": {"type": "array", "items": {"type": "string"}},
                    "unit": {"type": "string", "enum": ["mm", "cm"], "default": "mm"},
                },
                "required": ["x"],
                "additionalProperties": False,
            },
        ),
    ],
    ids=shown,
)
def test_the_schema_of_an_annotation(annotation, schema):
    """Each annotation that is understood, and what the model sees of it (T1)."""
    assert read(annotation).tool.parameters["properties"] == {"x": schema}


@pytest.mark.parametrize(
    ("annotation", "value", "expected"),
    [
        (str, "a", "a"),
        (int, 1.0, 1),
        (float, 1, 1.0),
        (bool, True, True),
        (Color, "blue", Color.BLUE),
        (Level, 2, Level.HIGH),
        (Level, 2.0, Level.HIGH),
        (Literal["a", 1], 1.0, 1),
        (Literal[Color.BLUE, "red"], "blue", Color.BLUE),
        (Literal[1, True], True, True),
        (list[Color], ["red", "blue"], [Color.RED, Color.BLUE]),
        (tuple[int, ...], [1.0, 2], (1, 2)),
        (dict[str, Color], {"a": "red"}, {"a": Color.RED}),
        (Color | None, None, None),
        (Color | None, "red", Color.RED),
        (int | bool, True, True),
        (Author | str, "A", "A"),
        (Author | str, {"name": "A"}, Author("A")),
        (list[Author | int], [{"name": "A", "email": None}, 1], [Author("A"), 1]),
        (Point, {"x": 1, "tags": ["t"], "unit": "cm"}, Point(1.0, ["t"], "cm")),
        (Annotated[Color, "Which?"], "red", Color.RED),
    ],
    ids=shown,
)
def test_arguments_become_what_the_annotation_says(annotation, value, expected):
    """The function gets members and objects, never the JSON they came as."""
    got = received(annotation, value)

    assert got == expected
    assert type(got) is type(expected)


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (int, True),
        (int, "1"),
        (float, "1"),
        (bool, 1),
        (Color, "RED"),
        (Literal[1], True),
        (tuple[int, ...], ["a"]),
        (Author, {"name": "A", "_email": "x"}),
        (Author, {}),
        (Page, {"title": "T", "number": 1}),
        (Color | None, "green"),
        (dict[str, int], {"a": "b"}),
    ],
    ids=shown,
)
def test_what_does_not_fit_is_a_violation(annotation, value):
    """Nothing is coerced that the schema does not allow (T8)."""
    assert read(annotation).tool.violation({"x": value}) is not None


@attrs.frozen
class Tree:
    """Holds itself."""

    children: list[Tree]


@attrs.define
class Untyped:
    """A field without annotation."""

    field = attrs.field()


class Empty(enum.Enum):
    """A choice of nothing."""


class Pairs(enum.Enum):
    """A choice of values that are no JSON."""

    A = (1, 2)


@pytest.mark.parametrize(
    "annotation",
    [
        Any,
        object,
        bytes,
        complex,
        set[int],
        Node,
        Tree,
        Untyped,
        Empty,
        Pairs,
        tuple[int, str],
        tuple[int],
        dict[int, str],
        list[Any],
        list[bytes] | None,
        int | bytes,
        collections.abc.Callable[[], int],
        Literal[b"x"],
        [1],
        "NotDefinedAnywhere",
        "list[",
        "dataclasses.missing",
        lambda: None,
    ],
    ids=shown,
)
def test_an_annotation_that_is_not_understood_is_refused_at_the_decorator(annotation):
    """Start-up, not the first call, is where a declaration fails (T1)."""
    with pytest.raises(ToolDeclarationError) as caught:
        read(annotation)

    assert caught.value.tool == "function"


@pytest.mark.parametrize(
    ("annotation", "default", "shown"),
    [
        (int, 3, {"default": 3}),
        (Color, Color.BLUE, {"default": "blue"}),
        (str | None, None, {"default": None}),
        (list[int], [1], {"default": [1]}),
        (tuple[int, ...], (1, 2), {"default": [1, 2]}),
        (dict[str, int], {"a": 1}, {"default": {"a": 1}}),
        (str, None, {}),
        (float, float("inf"), {}),
        (Author, Author("A"), {}),
        (list[Color], [Color.RED], {}),
        (dict[str, int], {1: 1}, {}),
    ],
    ids=shown,
)
def test_a_default_makes_a_parameter_optional(annotation, default, shown):
    """It is shown where it is JSON that fits; otherwise it is left unsaid. It applies all the same."""
    decorated = read(annotation, default)
    schema = decorated.tool.parameters

    assert "required" not in schema
    assert {key: value for key, value in schema["properties"]["x"].items() if key == "default"} == shown
    assert decorated.tool.violation({}) is None


def test_an_alias_stands_for_what_it_names():
    """``type Uid = int`` of Python 3.12 is read like the type itself."""

    class Alias:
        __value__ = list[int]

    assert read(Alias()).tool.parameters == read(list[int]).tool.parameters


def test_annotations_may_name_what_is_local():
    """Types defined beside the function are found, although annotations are texts here."""

    class Local(enum.Enum):
        ONE = 1

    @attrs.frozen
    class Holder:
        local: Local

    @tool(effect="read_only")
    def function(holder: Holder) -> str:
        return repr(holder.local)

    assert function.tool.execute({"holder": {"local": 1}}, CONTEXT).content == repr(Local.ONE)
