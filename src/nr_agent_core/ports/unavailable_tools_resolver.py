"""
Port: which tools the model is told to be withheld.
"""

from collections.abc import Sequence
from typing import Protocol

from nr_agent_core.domain.gate import Gate
from nr_agent_core.domain.unavailable_tools import UnavailableTool


class UnavailableToolsResolver(Protocol):
    """
    Names the tools a run may not use, for the system prompt (G3).

    Asked when a segment opens. Without a resolver, or when it raises, nothing is listed and the
    chat works on; the gate does not depend on it. The simplest adapter is
    :class:`~nr_agent_core.domain.unavailable_tools.GateUnavailableTools`.
    """

    def unavailable(self, owner: str, gate: Gate, *, owner_is_administrator: bool) -> Sequence[UnavailableTool]:
        """
        The withheld tools, in registry order.

        Args:
            owner: id of the run's owner.
            gate: the gate of the run.
            owner_is_administrator: whether that owner is an administrator; remote tools are
                named to nobody else.
        """
        ...
