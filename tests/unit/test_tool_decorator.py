"""
``@tool``: schema and call from a function's annotations (T1, T2, T11, R7).
"""

from __future__ import annotations

import collections.abc
import dataclasses
import enum
import inspect
import re
from typing import Annotated, Any, Literal, NewType, Optional

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nr_agent_core.domain.errors import NothingWrittenError, ToolDeclarationError
from nr_agent_core.domain.tool_decorator import DecoratedTool, tool
from nr_agent_core.domain.tool_result import RecordReference, ToolEffect, ToolResult, WriteKind
from nr_agent_core.domain.tools import Preview, Reconciliation, Tool, ToolContext, ToolRegistry


def shown(value: object) -> str:
    """A test's id that is the same in every process: without addresses of objects."""
    return re.sub(r" at 0x[0-9a-f]+", "", str(value))


CONTEXT = ToolContext("anna", "run-1", "1.0", "0" * 64, 120.0, "v7")


class Color(enum.Enum):
    """A choice."""

    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    """A choice of numbers."""

    LOW = 1
    HIGH = 2


@attrs.frozen
class Author:
    """Who wrote it."""

    name: str
    _email: str | None = None


@attrs.frozen
class Page:
    """
    A page to make.

    Not for the model.
    """

    title: str
    color: Color = Color.RED
    authors: tuple[Author, ...] = attrs.field(factory=tuple)
    number: int = attrs.field(default=0, init=False)


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


@tool(effect=ToolEffect.NON_IDEMPOTENT_WRITE, group="pages", data_class="editorContent", deadline=30)
def create_page(page: Page, context: ToolContext, level: Level = Level.LOW) -> ToolResult:
    """
    Create a page
    as a draft.

    Everything below the first paragraph is for developers.
    """
    reference = RecordReference("pages", 42)
    return ToolResult.text(f"{page.title} by {context.owner} at {level!r}").with_write_target(
        reference, WriteKind.CREATED
    )


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


# -- annotations -----------------------------------------------------------------------------------


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


class Node:
    """No attrs class."""


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


# -- declarations that are refused ------------------------------------------------------------------


def missing_annotation(x) -> ToolResult:
    """One is missing."""


def positional(x: int, /) -> ToolResult:
    """Cannot be given by name."""


def any_number(*x: int) -> ToolResult:
    """Any number of them."""


def any_names(**x: int) -> ToolResult:
    """Any names."""


@pytest.mark.parametrize(
    "function",
    [missing_annotation, positional, any_number, any_names, int, len, 5, Node()],
    ids=lambda function: getattr(function, "__name__", "other"),
)
def test_functions_that_cannot_be_tools_are_refused(function):
    """Every parameter has an annotation and a name (T1)."""
    with pytest.raises(ToolDeclarationError):
        tool(effect="idempotent_write")(function)


def returning(annotation, effect):
    """A function annotated to return this, as a tool."""

    def function():
        return ""

    if annotation is not inspect.Parameter.empty:
        function.__annotations__ = {"return": annotation}
    return tool(effect=effect)(function)


@pytest.mark.parametrize("effect", ["idempotent_write", ToolEffect.NON_IDEMPOTENT_WRITE])
@pytest.mark.parametrize(
    "annotation", [inspect.Parameter.empty, str, None, dict, ToolResult | str, ToolResult | None, list[ToolResult], Any]
)
def test_a_writing_function_returns_a_tool_result(annotation, effect):
    """Only a result can name the records that were written; a text cannot (T5)."""
    with pytest.raises(ToolDeclarationError, match="it writes, so it is annotated -> ToolResult"):
        returning(annotation, effect)


@pytest.mark.parametrize("annotation", [inspect.Parameter.empty, str, ToolResult, ToolResult | str])
def test_a_reading_function_may_return_a_text(annotation):
    """A text is the content of a result."""
    assert returning(annotation, "read_only").tool.execute({}, CONTEXT) == ToolResult.text("")


@pytest.mark.parametrize("annotation", [None, dict, int, str | None, list[str], Any], ids=shown)
def test_a_reading_function_annotated_otherwise_is_refused(annotation):
    """It would fail at every call; it fails at start-up instead (T4)."""
    with pytest.raises(ToolDeclarationError, match="neither"):
        returning(annotation, "read_only")


@pytest.mark.parametrize(
    "options",
    [{"effect": "write"}, {"name": "a b"}, {"deadline": 0}, {"approval": False}, {"group": ""}, {"enabled": None}],
    ids=shown,
)
def test_a_bad_option_is_refused_at_the_decorator(options):
    """The mistake is found where it was made (T1)."""
    with pytest.raises(ToolDeclarationError):
        tool(**{"effect": "idempotent_write", **options})(create_page.function)


def test_the_effect_must_be_said():
    """There is no default, and no bare ``@tool`` (T2)."""
    with pytest.raises(TypeError):
        tool()
    with pytest.raises(TypeError):
        tool(create_page.function)


# -- calls -----------------------------------------------------------------------------------------


def test_a_value_that_does_not_convert_calls_nothing():
    """What an object itself refuses wrote nothing, and says so (T4)."""
    calls = []

    @attrs.frozen
    class Even:
        number: int = attrs.field()

        @number.validator
        def _check(self, attribute, value):
            if value % 2:
                raise ValueError(value)

    @tool(effect="idempotent_write")
    def store(even: Even) -> ToolResult:
        calls.append(even)
        return ToolResult.text("stored")

    with pytest.raises(NothingWrittenError) as caught:
        store.tool.execute({"even": {"number": 3}}, CONTEXT)
    assert isinstance(caught.value.__cause__, ValueError)
    assert calls == []
    assert store.tool.execute({"even": {"number": 4}}, CONTEXT).content == "stored"


def test_what_the_function_raises_comes_through():
    """An error of the function itself is not taken for one of its arguments (T4)."""

    @tool(effect="idempotent_write")
    def fail() -> ToolResult:
        raise KeyError("inside")

    with pytest.raises(KeyError):
        fail.tool.execute({}, CONTEXT)


def test_a_coroutine_function_stays_one():
    """``async def`` works: the driver sees that it has to await, and a text becomes a result."""

    @tool(effect="read_only")
    async def look(x: Color) -> str:
        return x.name

    assert inspect.iscoroutinefunction(look.tool.execute)
    coroutine = look.tool.execute({"x": "red"}, CONTEXT)
    with pytest.raises(StopIteration) as done:
        coroutine.send(None)
    assert done.value.value == ToolResult.text("RED")


def test_every_parameter_that_asks_for_the_context_gets_it():
    """The context is injected by its annotation, whatever the parameter is called (T13)."""

    @tool(effect="read_only")
    def look(a: ToolContext, x: int, *, b: ToolContext) -> str:
        return f"{a is b} {a.run_id} {x}"

    assert list(look.tool.parameters["properties"]) == ["x"]
    assert look.tool.execute({"x": 1}, CONTEXT).content == "True run-1 1"


@given(st.dictionaries(st.sampled_from("abc"), st.integers(), max_size=3))
def test_what_the_model_leaves_out_is_left_to_the_function(arguments):
    """Defaults stay the function's own, made at the call (T1)."""

    @tool(effect="read_only")
    def look(a: int = 10, b: int = 20, c: int = 30) -> str:
        return f"{a} {b} {c}"

    expected = {"a": 10, "b": 20, "c": 30, **arguments}

    assert look.tool.execute(arguments, CONTEXT).content == "{a} {b} {c}".format(**expected)


def test_a_bound_method_can_be_a_tool():
    """A host's service object keeps its state."""

    class Service:
        name = "service"

        def look(self, x: int) -> str:
            """Look."""
            return f"{self.name} {x}"

    decorated = tool(effect="read_only")(Service().look)

    assert decorated.tool.execute({"x": 1}, CONTEXT).content == "service 1"
    assert decorated.tool.description == "Look."


# -- preview and reconcile --------------------------------------------------------------------------


def declared():
    """A fresh writing tool."""

    @tool(effect="non_idempotent_write")
    def publish(page: Page, color: Color, count: int = 3) -> ToolResult:
        return ToolResult.text("published")

    return publish


ARGUMENTS = {"page": {"title": "Team"}, "color": "blue"}


def test_a_preview_gets_the_arguments_it_asks_for():
    """Converted like the function's, defaults included, and the context where it is annotated (T11)."""
    publish = declared()

    @publish.preview
    def preview(count, page, who: ToolContext):
        return Preview([page.title, str(count), who.owner], precondition="v1")

    assert publish.tool.preview(ARGUMENTS, CONTEXT) == Preview(["Team", "3", "anna"], "v1")
    assert publish.tool.preview({**ARGUMENTS, "count": 5}, CONTEXT).lines[1] == "5"
    assert preview(1, Page("direct"), CONTEXT).lines[0] == "direct"


def test_additions_may_name_what_is_local():
    """Their annotations are read where they stand, too."""
    local_context = ToolContext
    publish = declared()

    @publish.preview
    def _(page, context: local_context):
        return context.owner

    @publish.reconcile
    def _(key, context: local_context):
        return context.run_id

    assert publish.tool.preview(ARGUMENTS, CONTEXT) == "anna"
    assert publish.tool.reconcile("k", CONTEXT) == "run-1"


def test_a_preview_may_have_defaults_of_its_own():
    """They stand in for what the model left out."""
    publish = declared()

    @publish.preview
    def _(page, count=99):
        return f"{page.title} {count}"

    assert publish.tool.preview(ARGUMENTS, CONTEXT) == "Team 99"
    assert publish.tool.preview({**ARGUMENTS, "count": 5}, CONTEXT) == "Team 5"


def test_a_tool_without_additions_has_none():
    """No preview and no reconciliation unless declared."""
    publish = declared()

    assert publish.tool.preview is None
    assert publish.tool.reconcile is None
    assert publish.tool is publish.tool


def test_reconcile_gets_the_key_and_may_ask_for_the_context():
    """What it answers comes back as it is (R7)."""
    first, second = declared(), declared()

    @first.reconcile
    def _(key):
        return key

    @second.reconcile
    def _(context: ToolContext, key: str) -> Reconciliation:
        return Reconciliation.NEVER_HAPPENED if context.owner == "anna" and key == "k" else Reconciliation.CANNOT_TELL

    assert first.tool.reconcile("k", CONTEXT) == "k"
    assert second.tool.reconcile("k", CONTEXT) is Reconciliation.NEVER_HAPPENED


@pytest.mark.parametrize(
    "function",
    [lambda: "", lambda a, b: "", lambda *key: "", lambda key, /: ""],
    ids=["none", "two", "any number", "positional"],
)
def test_reconcile_takes_exactly_the_key(function):
    """A function that could not be called is refused at start-up (R7)."""
    with pytest.raises(ToolDeclarationError):
        declared().reconcile(function)


@pytest.mark.parametrize(
    "function",
    [lambda title: "", lambda page, missing: "", lambda **page: "", lambda page, /: ""],
    ids=["unknown", "one unknown", "any names", "positional"],
)
def test_a_preview_asks_only_for_what_the_tool_takes(function):
    """A preview that would fail at every pause is refused at start-up (T11)."""
    with pytest.raises(ToolDeclarationError):
        declared().preview(function)


@pytest.mark.parametrize("what", ["preview", "reconcile"])
def test_an_addition_comes_once_and_before_the_tool_is_used(what):
    """A preview declared too late would never be shown; that is said, not swallowed."""
    publish = declared()
    getattr(publish, what)(lambda page: "")

    with pytest.raises(ToolDeclarationError, match="two"):
        getattr(publish, what)(lambda page: "")

    late = declared()
    assert late.tool
    with pytest.raises(ToolDeclarationError, match="after"):
        getattr(late, what)(lambda page: "")
