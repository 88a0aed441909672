"""
What a tool may declare, whether a call needs approval, and the registry (T1, T2, T3, T13).
"""

import itertools
import re

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nr_agent_core.domain.errors import CallerError, DuplicateToolError, InvalidValueError, ToolDeclarationError
from nr_agent_core.domain.tool_result import ToolEffect, ToolResult
from nr_agent_core.domain.tools import Preview, Tool, ToolContext, ToolRegistry, needs_approval


def shown(value: object) -> str:
    """A test's id that is the same in every process: without addresses of objects."""
    return re.sub(r" at 0x[0-9a-f]+", "", str(value))


OBJECT = {"type": "object"}
NAME = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"


def execute(arguments, context):
    """A tool that does nothing."""
    return ToolResult.text("done")


def make(**options):
    """A tool that only reads, unless *options* say otherwise."""
    given = {"name": "a", "description": "A.", "parameters": OBJECT, "effect": "read_only", "execute": execute}
    return Tool(**{**given, **options})


@given(st.text(NAME, min_size=1, max_size=64))
def test_names_of_the_allowed_form_are_taken(name):
    """1 to 64 of ``[A-Za-z0-9_-]`` (T1)."""
    assert make(name=name).name == name


@given(st.text(max_size=70).filter(lambda name: not (0 < len(name) <= 64 and set(name) <= set(NAME))))
def test_all_other_names_are_refused(name):
    """Nothing is trimmed or replaced to make a name fit (T1)."""
    with pytest.raises(ToolDeclarationError):
        make(name=name)


@pytest.mark.parametrize("name", ["a\n", "", "a" * 65, "a.b", "ä", "é", "a b", "٣", None, 5, b"a"], ids=shown)
def test_names_that_look_right_are_refused(name):
    """A trailing newline, digits of other scripts, other types."""
    with pytest.raises(ToolDeclarationError):
        make(name=name)


@pytest.mark.parametrize("effect", ToolEffect)
def test_an_effect_may_be_given_by_its_literal_value(effect):
    """Wherever an enum stands its literal value is accepted too."""
    assert make(effect=effect.value).effect is make(effect=effect).effect is effect


def test_the_effect_is_required():
    """A default would be a guess about what a tool does (T2)."""
    with pytest.raises(TypeError, match="effect"):
        Tool(name="a", description="A.", parameters=OBJECT, execute=execute)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"effect": "writes"}, "effect"),
        ({"effect": None}, "effect"),
        ({"effect": "READ_ONLY"}, "effect"),
        ({"description": None}, "description"),
        ({"parameters": None}, "object"),
        ({"parameters": {}}, "object"),
        ({"parameters": {"type": "string"}}, "object"),
        ({"parameters": {"type": ["object"]}}, "object"),
        ({"parameters": {"type": "object", "oneOf": []}}, "oneOf"),
        ({"execute": None}, "execute"),
        ({"execute": "run"}, "execute"),
        ({"group": ""}, "group"),
        ({"group": None}, "group"),
        ({"data_class": ""}, "data class"),
        ({"data_class": 3}, "data class"),
        ({"admin_only": None}, "admin_only"),
        ({"admin_only": "yes"}, "admin_only"),
        ({"enabled": 1}, "enabled"),
        ({"remote": "false"}, "remote"),
        ({"deadline": 0}, "deadline"),
        ({"deadline": -1}, "deadline"),
        ({"deadline": float("nan")}, "deadline"),
        ({"deadline": float("inf")}, "deadline"),
        ({"deadline": True}, "deadline"),
        ({"deadline": "60"}, "deadline"),
        ({"deadline": None}, "deadline"),
        ({"preview": "text"}, "preview"),
        ({"reconcile": 5}, "reconcile"),
        ({"validator": {}}, "validator"),
        ({"validator": lambda arguments: None, "parameters": {"type": "array"}}, "object"),
        ({"validator": lambda arguments: None, "parameters": None}, "object"),
        ({"approval": "no"}, "approval"),
        ({"approval": "yes"}, "approval"),
        ({"approval": 1}, "approval"),
        ({"approval": False, "effect": "idempotent_write"}, "unattended"),
        ({"approval": False, "effect": "non_idempotent_write"}, "unattended"),
        ({"remote": True, "effect": "idempotent_write"}, "remote"),
        ({"remote": True, "approval": False}, '"no"'),
        ({"remote": True, "approval": "No"}, '"no"'),
        ({"remote": True, "approval": "yes"}, '"no"'),
        ({"remote": True, "approval": ""}, '"no"'),
        ({"remote": True, "approval": 0}, '"no"'),
    ],
    ids=shown,
)
def test_bad_declarations_are_refused_in_words(options, why):
    """A tool that cannot be declared is refused at start-up, and the error says what is wrong (T1)."""
    with pytest.raises(ToolDeclarationError, match=why) as caught:
        make(**options)

    assert caught.value.tool == "a"
    assert isinstance(caught.value, CallerError)


def expected_approval(effect, remote, approval, unattended):
    """T3 as a table of words, first match wins."""
    rules = [
        (approval is True, True),
        (remote and (effect is ToolEffect.READ_ONLY or approval == "no"), False),
        (remote, True),
        (unattended, False),
        (effect is not ToolEffect.READ_ONLY, True),
    ]
    return next((answer for applies, answer in rules if applies), False)


@pytest.mark.parametrize(
    ("effect", "remote", "approval", "unattended"),
    list(itertools.product(ToolEffect, [False, True], [None, True, "no", False], [False, True])),
)
def test_every_cell_of_needs_approval(effect, remote, approval, unattended):
    """Marker, remote, unattended, effect: in this order, for every tool that can be declared (T3)."""
    try:
        tool = make(effect=effect, remote=remote, approval=approval)
    except ToolDeclarationError:
        undeclarable = (
            (remote and (effect is ToolEffect.IDEMPOTENT_WRITE or approval is False))
            or (not remote and approval == "no")
            or (not remote and approval is False and effect.writes)
        )
        assert undeclarable
        return
    names = {"other", "a"} if unattended else {"other"}

    assert needs_approval(tool, names) is expected_approval(effect, remote, approval, unattended)


@pytest.mark.parametrize(
    ("options", "unattended", "needed"),
    [
        ({"effect": "non_idempotent_write"}, (), True),
        ({"effect": "non_idempotent_write"}, ("a",), False),
        ({"effect": "non_idempotent_write", "approval": True}, ("a",), True),
        ({"effect": "non_idempotent_write", "remote": True}, ("a",), True),
        ({"effect": "non_idempotent_write", "remote": True, "approval": "no"}, (), False),
        ({"effect": "read_only", "remote": True}, (), False),
        ({"effect": "read_only", "remote": True, "approval": True}, (), True),
        ({"effect": "read_only", "approval": True}, ("a",), True),
        ({"effect": "read_only"}, (), False),
    ],
    ids=shown,
)
def test_what_needs_approval_in_plain_cases(options, unattended, needed):
    """The cases a host meets, spelled out (T3)."""
    assert needs_approval(make(**options), unattended) is needed


def test_one_text_is_no_list_of_unattended_tools():
    """A name is not found inside a longer one: "a" must not go unattended because "a_draft" does."""
    with pytest.raises(InvalidValueError):
        needs_approval(make(effect="idempotent_write"), "a_draft")


def test_a_tool_is_on_for_everyone_unless_it_says_otherwise():
    """What is not declared: in the default group, on, for all, local, two minutes, its effect decides (T1)."""
    tool = make()

    assert (tool.group, tool.enabled, tool.admin_only, tool.remote) == ("default", True, False, False)
    assert (tool.data_class, tool.approval, tool.deadline) == (None, None, 120.0)
    assert (tool.preview, tool.reconcile, tool.validator) == (None, None, None)


def test_a_tool_keeps_a_copy_of_its_parameters():
    """What was checked is what stays, whatever the host does to its own dict."""
    parameters = {"type": "object", "properties": {"n": {"type": "integer"}}}
    tool = make(parameters=parameters)
    parameters["properties"]["n"]["type"] = "string"

    assert tool.parameters == {"type": "object", "properties": {"n": {"type": "integer"}}}
    assert tool.violation({"n": 1}) is None


def test_a_validator_replaces_the_built_in_check():
    """A schema beyond the built-in keywords is declared together with what checks it."""
    schema = {"type": "object", "patternProperties": {"^x": {"type": "string"}}}
    tool = make(parameters=schema, validator=lambda arguments: None if arguments else "empty")

    assert tool.parameters == schema
    assert tool.violation({"x": 1}) is None
    assert tool.violation({}) == "empty"


def test_a_tool_cannot_be_changed():
    """A declaration holds for as long as the host runs."""
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        make().effect = ToolEffect.READ_ONLY


def test_options_of_a_tool_are_given_by_name():
    """The five things every tool has may be given in order, everything else by name."""
    assert Tool("a", "A.", OBJECT, "read_only", execute).group == "default"
    with pytest.raises(TypeError):
        Tool("a", "A.", OBJECT, "read_only", execute, "pages")


def test_a_context_says_who_acts_in_which_call():
    """Owner, run, call, key, deadline and token: nothing ambient (T13)."""
    names = [field.name for field in attrs.fields(ToolContext)]

    assert names == ["owner", "run_id", "call_id", "key", "deadline", "precondition"]


@pytest.mark.parametrize(("lines", "kept"), [("a\nb", ("a", "b")), (["a"], ("a",)), ((), ()), ("", ())])
def test_a_preview_is_a_text_or_lines(lines, kept):
    """Both forms come to lines (T11)."""
    assert Preview(lines).lines == kept


@pytest.mark.parametrize(
    ("lines", "token"), [(None, None), ([1], None), (5, None), ({"a": 1}, None), ("a", 5), ("a", "\ud800")]
)
def test_anything_else_is_no_preview(lines, token):
    """A preview of the wrong type is refused where it is made."""
    with pytest.raises(InvalidValueError):
        Preview(lines, token)


class Declared:
    """Carries a tool, as a decorated function does."""

    def __init__(self, tool):
        self.tool = tool


@given(st.lists(st.text(NAME, min_size=1, max_size=3), unique=True, max_size=8))
def test_a_registry_keeps_the_order(names):
    """Tools are offered and listed in the order in which they were registered."""
    registry = ToolRegistry(
        make(name=name) if index % 2 else Declared(make(name=name)) for index, name in enumerate(names)
    )

    assert list(registry) == names
    assert [tool.name for tool in registry.values()] == names
    assert len(registry) == len(names)
    assert registry.get("not registered") is None


def test_a_duplicate_name_is_an_error():
    """Two tools of one name are refused at start-up, whatever else they are (T1)."""
    with pytest.raises(DuplicateToolError) as caught:
        ToolRegistry([make(), make(name="b"), Declared(make(effect="idempotent_write"))])

    assert caught.value.tool == "a"


@pytest.mark.parametrize("item", [execute, "a", None, Declared("a")], ids=["function", "text", "None", "other"])
def test_what_is_no_tool_is_refused(item):
    """A function without the decorator is a mistake the error explains."""
    with pytest.raises(ToolDeclarationError, match="@tool"):
        ToolRegistry([item])


def test_a_registry_is_not_changed():
    """There is no way to add a tool behind the gate's back."""
    registry = ToolRegistry([make()])

    with pytest.raises(TypeError):
        registry["b"] = make(name="b")
    assert repr(registry) == "ToolRegistry(a)"
