"""
The gate: what decides whether a run may use a tool, and THE reason when it may not (G1).

There is one gate and no variant that lets everything through. It is asked when tools are
offered, again at execution, and again after every pause. What the model was told never
matters here (P8).
"""

import enum
import functools
from collections.abc import Collection
from typing import Protocol

import attrs

from nr_agent_core.domain.errors import InvalidValueError
from nr_agent_core.domain.tools import Tool, ToolRegistry, needs_approval
from nr_agent_core.domain.trust_zones import TrustZones
from nr_agent_core.domain.value import Value

OBSERVE = "observe"


class DenialReason(enum.Enum):
    """
    Why a tool is refused, in the order in which the reasons are asked; the first is THE reason (G1).
    """

    NOT_REGISTERED = "notRegistered"
    TOOL_DISABLED = "toolDisabled"
    REQUIRES_ADMIN = "requiresAdmin"
    CONFIGURATION_GROUP = "configurationGroup"
    TRUST_ZONE = "trustZone"
    NOT_STORED = "notStored"


class ToolRules(Protocol):
    """
    What the configuration in force says about tools (G0).
    """

    @property
    def tool_groups(self) -> Collection[str] | None:
        """Groups whose tools may be used. None: no restriction. Empty: none at all."""
        ...

    @property
    def tools_on(self) -> Collection[str]:
        """Names switched on, where the tool itself is off by default."""
        ...

    @property
    def tools_off(self) -> Collection[str]:
        """Names switched off. This wins over ``tools_on`` and over the tool's own default."""
        ...

    @property
    def trust_zone(self) -> str:
        """Where the model runs; an unknown zone counts as the least trusted (G2)."""
        ...

    @property
    def enforcement(self) -> str:
        """Only the literal ``observe`` observes; anything else enforces (G2)."""
        ...

    @property
    def unattended(self) -> Collection[str]:
        """Names of local tools that write without approval (T3)."""
        ...


@attrs.frozen(repr=False, eq=False)
class GateDecision(Value):
    """
    What the gate says about one tool.

    ``reason`` is None exactly when ``allowed``. ``observed_only``: the tool is allowed, although
    the trust zone would refuse it, because the configuration only observes. ``data_class``,
    ``zone`` and ``ceiling`` are what was compared; for an unregistered name ``data_class`` is the
    last class.
    """

    tool: str
    allowed: bool
    reason: DenialReason | None
    data_class: str
    zone: str
    ceiling: str
    observed_only: bool = False


class Gate:
    """
    Decides for one run's owner which of the registered tools may be used (G1).

    The rules are read once, here: a gate is made when a segment opens.

    Switching: a name in ``tools_off`` is off; otherwise one in ``tools_on`` is on; otherwise the
    tool's own ``enabled`` decides. Being switched on by name lifts none of the later reasons: a
    tool outside the configuration's groups stays refused.

    Args:
        registry: all tools of the host.
        rules: the configuration in force.
        administrator: whether the run's owner is an administrator. Only True counts: an owner
            that cannot be resolved is none.
        stored: whether the run is kept in a store. Without one, tools that write or need
            approval are refused (R12).
        zones: the host's trust zones.

    Raises:
        InvalidValueError: a list of names is one text.
    """

    def __init__(
        self,
        registry: ToolRegistry,
        rules: ToolRules,
        *,
        administrator: bool,
        stored: bool = True,
        zones: TrustZones | None = None,
    ) -> None:
        self.registry = registry
        self.administrator = administrator is True
        self.stored = stored
        self.zones = _default_zones() if zones is None else zones
        self.unattended = _names("unattended", rules.unattended)
        self._on = _names("tools_on", rules.tools_on)
        self._off = _names("tools_off", rules.tools_off)
        self._groups = None if rules.tool_groups is None else _names("tool_groups", rules.tool_groups)
        self._observes = rules.enforcement == OBSERVE
        self.zone = self.zones.zone(rules.trust_zone)
        self.ceiling = self.zones.ceiling(self.zone)
        self._decided: dict[str, GateDecision] = {}

    def decide(self, name: str) -> GateDecision:
        """The decision on the tool *name*, registered or not."""
        decision = self._decided.get(name)
        if decision is None:
            tool = self.registry.get(name)
            if tool is None:
                return self._decision(name, None, DenialReason.NOT_REGISTERED)
            decision = self._decided[name] = self._decide(tool)
        return decision

    def _decide(self, tool: Tool) -> GateDecision:
        reason = self._reason_before_zone(tool)
        observed = False
        if reason is None and not self._zone_allows(tool):
            observed = self._observes and not tool.remote
            reason = None if observed else DenialReason.TRUST_ZONE
        if reason is None and not self.stored and (tool.effect.writes or needs_approval(tool, self.unattended)):
            reason = DenialReason.NOT_STORED
        return self._decision(tool.name, tool.data_class, reason, observed=observed)

    def offered(self) -> tuple[Tool, ...]:
        """The tools this run may be offered, in registry order."""
        return tuple([tool for name, tool in self.registry.items() if self.decide(name).allowed])

    def decisions(self) -> tuple[GateDecision, ...]:
        """The decision on every registered tool, in registry order."""
        return tuple(self.decide(name) for name in self.registry)

    def needs_approval(self, tool: Tool) -> bool:
        """Whether a call of *tool* waits for a person under these rules (T3)."""
        return needs_approval(tool, self.unattended)

    def _reason_before_zone(self, tool: Tool) -> DenialReason | None:
        if tool.name in self._off or not (tool.enabled or tool.name in self._on):
            return DenialReason.TOOL_DISABLED
        if tool.admin_only and not self.administrator:
            return DenialReason.REQUIRES_ADMIN
        if self._groups is not None and tool.group not in self._groups:
            return DenialReason.CONFIGURATION_GROUP
        return None

    def _zone_allows(self, tool: Tool) -> bool:
        # An operator who did not say what a remote tool may bring back has not released it, in any zone.
        if tool.remote and not self.zones.declared(tool.data_class):
            return False
        return self.zones.allows(self.zone, tool.data_class)

    def _decision(
        self, name: str, data_class: str | None, reason: DenialReason | None, *, observed: bool = False
    ) -> GateDecision:
        return GateDecision(
            tool=name,
            allowed=reason is None,
            reason=reason,
            data_class=self.zones.data_class(data_class),
            zone=self.zone,
            ceiling=self.ceiling,
            observed_only=observed and reason is None,
        )


@functools.cache
def _default_zones() -> TrustZones:
    return TrustZones()


def _names(subject: str, value: Collection[str]) -> frozenset[str]:
    # "in" on one text finds parts of names: an unattended "create_page_draft" would cover "create_page".
    if isinstance(value, str):
        raise InvalidValueError(subject, value, "a collection of names")
    return frozenset(value)
