"""
The bus of a host that listens to nothing.
"""

from typing import Never

from nr_agent_core.domain.errors import InvalidValueError
from nr_agent_core.domain.provenance import AiRecordWritten
from nr_agent_core.ports.event_bus import Listener


class SilentBus:
    """
    Drops every event; what a host gets that wires no bus.

    The durable feed tells the same writes later (W4).
    """

    def subscribe(self, listener: Listener) -> Never:
        """
        Refuse: a listener here would never be called.

        Raises:
            InvalidValueError: always. Nothing was subscribed.
        """
        raise InvalidValueError("a listener on the silent bus", listener, "none: wire a bus that carries events")

    def announce(self, event: AiRecordWritten) -> None:
        """Nobody listens."""
