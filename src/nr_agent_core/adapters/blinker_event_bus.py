"""
The event bus on a signal of blinker (W1, W2).

Blinker's own ``send`` stops at the first receiver that raises and holds receivers weakly; both
would lose announcements, so neither is used.
"""

import inspect
import logging

from nr_agent_core.domain.errors import InvalidValueError
from nr_agent_core.domain.provenance import AiRecordWritten
from nr_agent_core.ports.event_bus import Listener

_log = logging.getLogger("nr_agent_core")


class BlinkerEventBus:
    """
    Gives every event to every listener, whatever the others do.

    Listeners are called in the announcing thread, each once per event even when it was subscribed
    twice, in no particular order.

    Args:
        name: of the signal, seen only in its own representation.
    """

    def __init__(self, name: str = "AiRecordWritten") -> None:
        from blinker import NamedSignal

        self._signal = NamedSignal(name, "an AI wrote a record")

    def subscribe(self, listener: Listener) -> None:
        """
        From now on *listener* gets every event. It is held strongly.

        Raises:
            InvalidValueError: *listener* cannot be called, or is a coroutine function, whose body
                nobody here would run. Nothing was subscribed.
        """
        given: object = listener
        if not callable(given) or inspect.iscoroutinefunction(given):
            raise InvalidValueError("a listener", given, "a plain function of one event")
        self._signal.connect(listener, weak=False)

    def announce(self, event: AiRecordWritten) -> None:
        """
        Give *event* to every listener. What one raises is logged; a ``BaseException`` is a crash and rises (W2).
        """
        # All receivers first: a listener may subscribe another one, who starts with the next event.
        for listener in tuple(self._signal.receivers_for(None)):
            try:
                listener(event)
            except Exception as error:  # noqa: BLE001 - one listener's failure is not the run's (W2)
                from nr_agent_core.domain.sanitiser import sanitised_chain

                _log.error(
                    "a listener failed on %s (%s): %s", event.reference, event.kind.value, sanitised_chain(error)
                )
