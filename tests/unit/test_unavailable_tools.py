"""
Withheld tools and what the model is told about them (G3, G4).
"""

import attrs
import pytest

from nr_agent_core.domain.gate import DenialReason, Gate
from nr_agent_core.domain.tools import Tool, ToolRegistry
from nr_agent_core.domain.unavailable_tools import GateUnavailableTools, UnavailableTool, prompt_section, withheld
from nr_agent_core.ports.unavailable_tools_resolver import UnavailableToolsResolver


@attrs.frozen
class Rules:
    """A configuration for externalGlobal with one group."""

    tool_groups: object = ("default",)
    tools_on: object = ()
    tools_off: object = ("off",)
    trust_zone: object = "externalGlobal"
    enforcement: object = "enforce"
    unattended: object = ()


def make(name, **options):
    """A harmless tool, unless *options* say otherwise."""
    given = {"description": "", "parameters": {"type": "object"}, "effect": "read_only", "data_class": "public"}
    return Tool(name=name, execute=lambda arguments, context: None, **{**given, **options})


REGISTRY = ToolRegistry(
    [
        make("off"),
        make("fine"),
        make("remote_off", remote=True, enabled=False),
        make("secret", data_class="secretAdjacent"),
        make("other_group", group="pages"),
        make("admin", admin_only=True),
        make("writer", effect="idempotent_write"),
        make("remote_secret", remote=True, data_class="secretAdjacent"),
    ]
)


def names(*, administrator=False, stored=True, **rules):
    """The names and reasons that are listed."""
    gate = Gate(REGISTRY, Rules(**rules), administrator=administrator, stored=stored)
    listed = withheld(gate, owner_is_administrator=administrator)
    return [(tool.name, tool.reason.value) for tool in listed]


def test_refused_tools_are_listed_in_registry_order():
    """Local ones for everyone, admin-only ones too; remote ones not for everyone (G3)."""
    assert names() == [
        ("off", "toolDisabled"),
        ("secret", "trustZone"),
        ("other_group", "configurationGroup"),
        ("admin", "requiresAdmin"),
    ]


def test_an_administrator_hears_of_remote_tools():
    """In registry order with the others (G3)."""
    assert names(administrator=True) == [
        ("off", "toolDisabled"),
        ("remote_off", "toolDisabled"),
        ("secret", "trustZone"),
        ("other_group", "configurationGroup"),
        ("remote_secret", "trustZone"),
    ]


@pytest.mark.parametrize("seen", [False, None, 0, 1, "yes"], ids=repr)
def test_names_of_remote_tools_need_a_certain_administrator(seen):
    """Only True names them, whatever the gate was told (P9)."""
    listed = withheld(Gate(REGISTRY, Rules(), administrator=True), owner_is_administrator=seen)

    assert listed
    assert not [tool for tool in listed if tool.name.startswith("remote")]


def test_a_tool_that_is_only_observed_is_not_listed():
    """It is offered, so nothing is withheld (G3)."""
    assert ("secret", "trustZone") not in names(enforcement="observe")


def test_a_run_without_store_lists_its_writers():
    """The reason is the store, not the tool (R12)."""
    assert ("writer", "notStored") in names(stored=False)


def test_the_simplest_resolver_says_what_the_gate_refuses():
    """The port's default is the function itself (G3)."""
    gate = Gate(REGISTRY, Rules(), administrator=False)
    resolver: UnavailableToolsResolver = GateUnavailableTools()

    assert resolver.unavailable("anna", gate, owner_is_administrator=True) == withheld(
        gate, owner_is_administrator=True
    )


def test_an_empty_list_makes_no_section():
    """Nothing withheld, nothing said (G4)."""
    assert prompt_section([]) == ""
    assert prompt_section(iter(())) == ""


@pytest.mark.parametrize("reason", DenialReason)
def test_every_reason_is_said_in_plain_words(reason):
    """One line with name and reason; the code itself is no plain word (G4)."""
    (line,) = [
        line for line in prompt_section([UnavailableTool("a_tool", reason)]).splitlines() if line.startswith("- ")
    ]

    assert line.startswith("- a_tool: ")
    assert reason.value not in line
    assert len(line) > len("- a_tool: ") + 10


def test_reasons_are_told_apart():
    """No two reasons read the same."""
    sections = {prompt_section([UnavailableTool("a", reason)]) for reason in DenialReason}

    assert len(sections) == len(DenialReason)


def test_the_section_lists_each_tool_once_and_says_what_to_do():
    """Say that it exists, why it is withheld, point to an administrator, no way around (G4)."""
    tools = [UnavailableTool("a", DenialReason.TOOL_DISABLED), UnavailableTool("b", DenialReason.REQUIRES_ADMIN)]
    section = prompt_section(tools)

    assert [line[2] for line in section.splitlines() if line.startswith("- ")] == ["a", "b"]
    for words in ("exists", "why it is withheld", "administrator", "Never work around"):
        assert words in section
