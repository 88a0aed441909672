"""
Functions that cannot be declared as tools, what a call of a declared one does, and what else it brings.
"""

from __future__ import annotations

import inspect
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nr_agent_core.domain.errors import NothingWrittenError, ToolDeclarationError
from nr_agent_core.domain.tool_decorator import tool
from nr_agent_core.domain.tool_result import ToolEffect, ToolResult
from nr_agent_core.domain.tools import Preview, Reconciliation, ToolContext
from tests.unit.declared_types import CONTEXT, Color, Node, Page, create_page, declared, shown

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


@pytest.mark.parametrize(
    ("option", "found", "words"),
    [
        ("effect", "idempotent", "its effect is 'idempotent'; allowed is read_only, idempotent_write or"),
        ("name", "a b", r"its name is 'a b'; allowed is 1 to 64 of \[A-Za-z0-9_-\]"),
        ("deadline", 0, "its deadline is 0; allowed is a finite number of seconds above 0"),
        ("deadline", "10", "its deadline is '10'; allowed is a number of seconds"),
        ("group", "", "its group is ''; allowed is a name"),
        ("enabled", None, "enabled is None; allowed is True or False"),
    ],
)
def test_a_bad_option_is_named_with_what_came_and_what_is_allowed(option, found, words):
    """Whoever declared it sees their own word in the error, and which would do (T1)."""
    with pytest.raises(ToolDeclarationError, match=words):
        tool(**{"effect": "idempotent_write", option: found})(create_page.function)


def test_the_effect_must_be_said():
    """There is no default, and no bare ``@tool``: both are refused in words (T2)."""
    with pytest.raises(ToolDeclarationError, match="no effect; one of read_only, idempotent_write"):
        tool()
    with pytest.raises(ToolDeclarationError, match=r"'create_page': is declared with @tool\(effect="):
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
    assert isinstance(caught.value.__cause__.__cause__, ValueError)
    assert store.tool.violation({"even": {"number": 3}}) == "/even: these values make no valid Even"
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
