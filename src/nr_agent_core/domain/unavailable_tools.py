"""
The tools a run may not use, and why: told to the model so that it can say so (G3, G4).

This informs and decides nothing: the gate never depends on it (P8).
"""

from collections.abc import Iterable

import attrs

from nr_agent_core.domain.gate import DenialReason, Gate
from nr_agent_core.domain.value import Value


@attrs.frozen(repr=False, eq=False)
class UnavailableTool(Value):
    """
    A registered tool that the gate refuses this run, and THE reason.
    """

    name: str
    reason: DenialReason


_IN_WORDS = {
    DenialReason.NOT_REGISTERED: "it is not installed here",
    DenialReason.TOOL_DISABLED: "it is switched off",
    DenialReason.REQUIRES_ADMIN: "it is for administrators only",
    DenialReason.CONFIGURATION_GROUP: "it is not among the tools set up for this chat",
    DenialReason.TRUST_ZONE: "it handles data that may not leave for where this model runs",
    DenialReason.NOT_STORED: "it changes something or needs an approval, and this run is not stored",
}

_BEFORE = "These tools exist here but are withheld from this conversation; you cannot call them:"
_AFTER = (
    "If what the user asks for would need one of them, say that such a tool exists, say why it is "
    "withheld, and point the user to an administrator. Never work around it with another tool."
)


def withheld(gate: Gate, *, owner_is_administrator: bool) -> tuple[UnavailableTool, ...]:
    """
    The refused decisions over every registered tool, in registry order (G3).

    A tool offered in observe mode is not refused, so not listed. Names of remote tools are only
    for administrators.

    Args:
        gate: the gate of the run.
        owner_is_administrator: whether the run's owner is one, not who caused this segment.
    """
    return tuple(
        UnavailableTool(decision.tool, decision.reason)
        for decision in gate.decisions()
        if decision.reason is not None and (owner_is_administrator is True or not gate.registry[decision.tool].remote)
    )


class GateUnavailableTools:
    """
    The simplest resolver of withheld tools: exactly what the gate refuses (G3).
    """

    def unavailable(self, owner: str, gate: Gate, *, owner_is_administrator: bool) -> tuple[UnavailableTool, ...]:
        """What :func:`withheld` says; *owner* plays no part."""
        return withheld(gate, owner_is_administrator=owner_is_administrator)


def prompt_section(tools: Iterable[UnavailableTool]) -> str:
    """
    The section of the system prompt that lists *tools*, one line each; ``""`` when there are none (G4).
    """
    lines = [f"- {tool.name}: {_IN_WORDS[tool.reason]}" for tool in tools]
    return "\n".join([_BEFORE, *lines, _AFTER]) if lines else ""
