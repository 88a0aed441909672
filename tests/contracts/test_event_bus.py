"""
The buses that ship, held to the contract.
"""

import pytest

from nr_agent_core.adapters.blinker_event_bus import BlinkerEventBus
from nr_agent_core.domain.errors import InvalidValueError
from nr_agent_core.domain.provenance import AiRecordWritten
from nr_agent_core.domain.tool_result import RecordReference, WriteKind
from nr_agent_core.testing.contracts.event_bus import EventBusContract


class TestBlinkerEventBus(EventBusContract):
    @pytest.fixture
    def bus(self) -> BlinkerEventBus:
        """A new bus."""
        return BlinkerEventBus()

    def test_a_listener_subscribed_twice_hears_once(self, bus: BlinkerEventBus) -> None:
        """Subscribing again changes nothing."""
        heard: list[AiRecordWritten] = []

        def listen(event: AiRecordWritten) -> None:
            heard.append(event)

        bus.subscribe(listen)
        bus.subscribe(listen)

        bus.announce(AiRecordWritten("run-1", RecordReference("pages", 1), WriteKind.CREATED))

        assert len(heard) == 1

    @pytest.mark.parametrize("listener", [None, "audit", 7])
    def test_what_cannot_be_called_is_refused(self, bus: BlinkerEventBus, listener: object) -> None:
        """A listener that could never hear is refused when it is subscribed."""
        with pytest.raises(InvalidValueError, match="a listener is"):
            bus.subscribe(listener)  # type: ignore[arg-type]

    def test_a_coroutine_function_is_refused(self, bus: BlinkerEventBus) -> None:
        """Nobody would run its body, so it is refused in words."""

        async def listen(event: AiRecordWritten) -> None: ...

        with pytest.raises(InvalidValueError, match="plain function"):
            bus.subscribe(listen)

    def test_two_buses_hear_nothing_of_each_other(self, bus: BlinkerEventBus) -> None:
        """There is no global signal behind a bus."""
        heard: list[AiRecordWritten] = []
        BlinkerEventBus().subscribe(heard.append)

        bus.announce(AiRecordWritten("run-1", RecordReference("pages", 1), WriteKind.CREATED))

        assert heard == []
