"""
How the host hears of writes.
"""

from collections.abc import Callable
from typing import Protocol

from nr_agent_core.domain.provenance import AiRecordWritten

Listener = Callable[[AiRecordWritten], object]


class EventBus(Protocol):
    """
    Carries each announced write to every listener (W1, W2).

    Every implementation must pass ``nr_agent_core.testing.contracts.EventBusContract``.
    """

    def subscribe(self, listener: Listener) -> None:
        """From now on *listener* gets every event. It is held strongly."""
        ...

    def announce(self, event: AiRecordWritten) -> None:
        """
        Give *event* to every listener, in the caller's thread.

        A listener that raises an ``Exception`` is logged; the others still get the event and
        nothing is raised. A ``BaseException`` is a crash and rises.
        """
        ...
