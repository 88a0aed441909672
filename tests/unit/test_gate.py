"""
The gate: who may use which tool, and THE reason when not (G1, G2, R12).
"""

import itertools

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nr_agent_core.domain.errors import InvalidValueError
from nr_agent_core.domain.gate import DenialReason, Gate, GateDecision
from nr_agent_core.domain.tool_result import ToolEffect
from nr_agent_core.domain.tools import Tool, ToolRegistry, needs_approval
from nr_agent_core.domain.trust_zones import TrustZones

ORDER = ["notRegistered", "toolDisabled", "requiresAdmin", "configurationGroup", "trustZone", "notStored"]
ALL_CLASSES = (None, "unheard of", *TrustZones().classes)
ALL_ZONES = ("", "unheard of", *TrustZones().zones)


@attrs.frozen
class Rules:
    """A configuration that restricts nothing, unless told to."""

    tool_groups: object = None
    tools_on: object = ()
    tools_off: object = ()
    trust_zone: object = "local"
    enforcement: object = "enforce"
    unattended: object = ()


def make(name="a", **options):
    """A harmless tool, unless *options* say otherwise."""
    given = {"description": "", "parameters": {"type": "object"}, "effect": "read_only", "data_class": "public"}
    return Tool(name=name, execute=lambda arguments, context: None, **{**given, **options})


def decide(tool, *, administrator=False, stored=True, zones=None, **rules):
    """The decision on one tool."""
    gate = Gate(ToolRegistry([tool]), Rules(**rules), administrator=administrator, stored=stored, zones=zones)
    return gate.decide("a")


def tools(**fixed):
    """Every kind of tool that can be declared."""
    effects = st.sampled_from(ToolEffect)
    return st.builds(
        lambda remote, effect, approval, **options: make(
            remote=remote,
            effect=ToolEffect.READ_ONLY if remote and effect is ToolEffect.IDEMPOTENT_WRITE else effect,
            approval="no" if remote and approval == "no" else (approval is True or None),
            **options,
        ),
        remote=st.booleans(),
        effect=effects,
        approval=st.sampled_from([None, True, "no"]),
        group=st.sampled_from(["default", "pages"]),
        data_class=st.sampled_from(ALL_CLASSES),
        admin_only=st.booleans(),
        enabled=st.booleans(),
        **fixed,
    )


NAMES = st.sampled_from([(), ("a",), ("b",), ("a", "b")])
RULES = st.builds(
    Rules,
    tool_groups=st.sampled_from([None, (), ("default",), ("pages",), ("default", "pages")]),
    tools_on=NAMES,
    tools_off=NAMES,
    trust_zone=st.sampled_from(ALL_ZONES),
    enforcement=st.sampled_from(["enforce", "observe", "Observe", "", "off", None]),
    unattended=NAMES,
)


def test_reasons_stand_in_their_order():
    """The order in which reasons are asked is the order in which they are listed (G1)."""
    assert [reason.value for reason in DenialReason] == ORDER


REFUSALS = {
    "toolDisabled": ({}, {"tools_off": ("a",)}, {}),
    "requiresAdmin": ({"admin_only": True}, {}, {}),
    "configurationGroup": ({"group": "pages"}, {"tool_groups": ("default",)}, {}),
    "trustZone": ({"data_class": "secretAdjacent"}, {"trust_zone": "externalGlobal"}, {}),
    "notStored": ({"effect": "idempotent_write"}, {}, {"stored": False}),
}


@pytest.mark.parametrize("reasons", [c for n in range(1, 6) for c in itertools.combinations(REFUSALS, n)], ids=str)
def test_the_first_reason_is_the_reason(reasons):
    """For every set of reasons that apply at once the first in order is reported (G1)."""
    tool, rules, run = {}, {}, {}
    for reason in reasons:
        for into, more in zip((tool, rules, run), REFUSALS[reason], strict=True):
            into.update(more)
    decision = decide(make(**tool), **rules, **run)

    assert decision.reason is DenialReason(min(reasons, key=ORDER.index))
    assert not decision.allowed


def test_an_unregistered_name_is_refused_before_anything_else():
    """What no host declared is nothing to decide about (G1)."""
    gate = Gate(ToolRegistry([make()]), Rules(tools_on=("b",)), administrator=True)

    assert gate.decide("b") == GateDecision(
        "b", False, DenialReason.NOT_REGISTERED, "secretAdjacent", "local", "secretAdjacent"
    )


def expected_reason(tool, rules, administrator, stored):
    """G1, G2 and R12 once more, as a list of conditions."""
    zones = TrustZones()
    known = tool.data_class in zones.classes
    outside = not zones.allows(rules.trust_zone, tool.data_class) or (tool.remote and not known)
    observed = rules.enforcement == "observe" and not tool.remote
    on = "a" not in rules.tools_off and ("a" in rules.tools_on or tool.enabled)
    conditions = [
        (not on, "toolDisabled"),
        (tool.admin_only and not administrator, "requiresAdmin"),
        (rules.tool_groups is not None and tool.group not in rules.tool_groups, "configurationGroup"),
        (outside and not observed, "trustZone"),
        (not stored and (tool.effect.writes or needs_approval(tool, rules.unattended)), "notStored"),
    ]
    return next((reason for applies, reason in conditions if applies), None), outside and observed


@given(tools(), RULES, st.booleans(), st.booleans())
def test_every_decision_follows_the_rules(tool, rules, administrator, stored):
    """Any tool under any configuration: the reason, and whether it is only observed (G1, G2, R12)."""
    decision = Gate(ToolRegistry([tool]), rules, administrator=administrator, stored=stored).decide("a")
    reason, observed = expected_reason(tool, rules, administrator, stored)

    assert (None if decision.reason is None else decision.reason.value) == reason
    assert decision.allowed is (reason is None)
    assert decision.observed_only is (observed and reason is None)


@given(st.lists(tools(), max_size=5), RULES, st.booleans(), st.booleans())
def test_offered_are_exactly_the_allowed_in_registry_order(drawn, rules, administrator, stored):
    """One gate serves the offer and the execution: what is offered is what it decides (G1)."""
    registry = ToolRegistry(attrs.evolve(tool, name=f"a{index}") for index, tool in enumerate(drawn))
    gate = Gate(registry, rules, administrator=administrator, stored=stored)

    assert [decision.tool for decision in gate.decisions()] == list(registry)
    assert list(gate.offered()) == [registry[name] for name in registry if gate.decide(name).allowed]


@pytest.mark.parametrize(
    ("enabled", "on", "off", "allowed"),
    [
        (True, (), (), True),
        (True, (), ("a",), False),
        (True, ("a",), ("a",), False),
        (False, (), (), False),
        (False, ("a",), (), True),
        (False, ("a",), ("a",), False),
        (False, ("b",), (), False),
    ],
)
def test_off_wins_over_on_wins_over_the_default(enabled, on, off, allowed):
    """How the configuration's lists and the tool's own default meet."""
    assert decide(make(enabled=enabled), tools_on=on, tools_off=off).allowed is allowed


def test_switching_a_tool_on_lifts_no_other_reason():
    """A name in ``tools_on`` is no way around the group or the administrator (G1)."""
    assert decide(make(group="pages"), tools_on=("a",), tool_groups=()).reason is DenialReason.CONFIGURATION_GROUP
    assert decide(make(admin_only=True), tools_on=("a",)).reason is DenialReason.REQUIRES_ADMIN


@pytest.mark.parametrize("administrator", [None, 0, 1, "yes", "False"], ids=repr)
def test_only_true_makes_an_administrator(administrator):
    """An owner that cannot be resolved is no administrator, and nothing truthy makes one (G1)."""
    assert decide(make(admin_only=True), administrator=administrator).reason is DenialReason.REQUIRES_ADMIN


@pytest.mark.parametrize(
    "setting", ["Observe", " observe", "observe ", "OBSERVE", "", "enforce", "observing", None, True]
)
def test_only_the_literal_setting_observes(setting):
    """A typo enforces (G2)."""
    tool = make(data_class="secretAdjacent")

    assert decide(tool, trust_zone="externalGlobal", enforcement=setting).reason is DenialReason.TRUST_ZONE
    assert decide(tool, trust_zone="externalGlobal", enforcement="observe").observed_only


def test_remote_tools_are_always_enforced():
    """Observing never lets data out through somebody else's server (G2)."""
    tool = make(remote=True, data_class="secretAdjacent")

    assert decide(tool, trust_zone="externalGlobal", enforcement="observe").reason is DenialReason.TRUST_ZONE


@pytest.mark.parametrize("enforcement", ["enforce", "observe"])
@pytest.mark.parametrize("data_class", [None, "unheard of"])
def test_an_undeclared_remote_tool_is_not_offered_anywhere(data_class, enforcement):
    """Not even in the local zone, whose ceiling would take the worst class (G2)."""
    remote, local = make(remote=True, data_class=data_class), make(data_class=data_class)

    assert decide(remote, enforcement=enforcement).reason is DenialReason.TRUST_ZONE
    assert decide(local, enforcement=enforcement).allowed


def test_a_decision_carries_what_was_compared():
    """Class, zone and ceiling as they count, not as they were spelled (G2)."""
    decision = decide(make(data_class=None), trust_zone="unheard of")

    assert (decision.data_class, decision.zone, decision.ceiling) == (
        "secretAdjacent",
        "externalGlobal",
        "editorContent",
    )


def test_a_host_may_bring_its_own_zones():
    """The lists are data; unknown still counts as the last (G2)."""
    zones = TrustZones(["in", "out"], ["open", "closed"], ["closed", "open"])

    assert decide(make(data_class="closed"), trust_zone="in", zones=zones).allowed
    assert decide(make(data_class="closed"), trust_zone="local", zones=zones).reason is DenialReason.TRUST_ZONE


@pytest.mark.parametrize(
    ("options", "unattended", "allowed"),
    [
        ({"effect": "read_only"}, (), True),
        ({"effect": "read_only", "approval": True}, (), False),
        ({"effect": "idempotent_write"}, (), False),
        ({"effect": "non_idempotent_write"}, ("a",), False),
        ({"effect": "non_idempotent_write", "remote": True, "approval": "no"}, (), False),
        ({"effect": "read_only", "remote": True}, (), True),
    ],
    ids=str,
)
def test_without_a_store_nothing_writes_and_nothing_waits(options, unattended, allowed):
    """Writing tools, unattended ones too, and those that need approval are refused (R12)."""
    assert decide(make(**options), stored=False, unattended=unattended).allowed is allowed
    assert decide(make(**options), stored=True, unattended=unattended).allowed


@pytest.mark.parametrize("field", ["tool_groups", "tools_on", "tools_off", "unattended"])
def test_one_text_is_no_list_of_names(field):
    """A forgotten comma must not match parts of names."""
    with pytest.raises(InvalidValueError, match=field):
        decide(make(), **{field: "a_longer_name"})


def test_there_is_no_gate_without_rules_and_administrator():
    """Nothing about the gate has a default that lets through (G1)."""
    with pytest.raises(TypeError):
        Gate(ToolRegistry([make()]))
    with pytest.raises(TypeError):
        Gate(ToolRegistry([make()]), Rules())


@given(tools(), NAMES)
def test_the_gate_asks_the_one_predicate_about_approval(tool, unattended):
    """There is one answer to whether a call waits for a person (T3)."""
    gate = Gate(ToolRegistry([tool]), Rules(unattended=unattended), administrator=True)

    assert gate.needs_approval(tool) is needs_approval(tool, unattended)
