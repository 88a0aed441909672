"""
How the host hears of writes.
"""

from collections.abc import Callable
from typing import Protocol

from nr_agent_core.domain.provenance import AiRecordWritten

Listener = Callable[[AiRecordWritten], object]
"""Who hears of writes; what it returns is not looked at."""


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


class AsyncEventBus(EventBus, Protocol):
    """
    A bus that can also announce from an event loop, so that listeners may be asynchronous.
    """

    async def announce_async(self, event: AiRecordWritten) -> None:
        """
        Give *event* to every listener, in order, as :meth:`EventBus.announce` does.

        It has ended when every listener has heard; an asynchronous chat stores the outcome after it.
        """
        ...
