"""
The buses that ship, held to the contract.
"""

import asyncio
import logging

import pytest

from nr_agent_core.adapters.asyncio_event_bus import AsyncioEventBus
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


class TestAsyncioEventBus(EventBusContract):
    @pytest.fixture
    def bus(self) -> AsyncioEventBus:
        """A new bus."""
        return AsyncioEventBus()

    @pytest.mark.parametrize("listener", [None, "audit", 7])
    def test_what_cannot_be_called_is_refused(self, bus: AsyncioEventBus, listener: object) -> None:
        """A listener that could never hear is refused when it is subscribed."""
        with pytest.raises(InvalidValueError, match="a listener is"):
            bus.subscribe(listener)  # type: ignore[arg-type]

    @pytest.mark.parametrize("in_loop", [True, False], ids=["in a loop", "without a loop"])
    def test_plain_and_asynchronous_listeners_hear_in_their_order(self, bus: AsyncioEventBus, in_loop: bool) -> None:
        """One after the other, each once, each when the one before has ended, whatever that raised (W2)."""
        heard: list[str] = []

        async def first(event: AiRecordWritten) -> None:
            await asyncio.sleep(0)
            heard.append("first")

        def second(event: AiRecordWritten) -> None:
            heard.append("second")

        async def third(event: AiRecordWritten) -> None:
            heard.append("third")
            raise asyncio.CancelledError

        async def fourth(event: AiRecordWritten) -> None:
            heard.append("fourth")
            raise LookupError("no row")

        def fifth(event: AiRecordWritten) -> object:
            return first(event)

        for listener in (first, second, third, fourth, first, fifth):
            bus.subscribe(listener)
        event = AiRecordWritten("run-1", RecordReference("pages", 1), WriteKind.CREATED)

        if in_loop:
            asyncio.run(bus.announce_async(event))
        else:
            bus.announce(event)

        assert heard == ["first", "second", "third", "fourth", "first"]

    def test_what_an_asynchronous_listener_raises_is_one_line_of_the_log(
        self, bus: AsyncioEventBus, caplog: pytest.LogCaptureFixture
    ) -> None:
        """Whole, through the sanitiser (W2, F3)."""

        async def listen(event: AiRecordWritten) -> None:
            raise RuntimeError("Authorization: Bearer abcdef0123456789abcdef")

        bus.subscribe(listen)
        with caplog.at_level(logging.ERROR, "nr_agent_core"):
            asyncio.run(bus.announce_async(AiRecordWritten("run-1", RecordReference("pages", 1), WriteKind.CREATED)))

        assert len(caplog.records) == 1
        assert "RuntimeError" in caplog.text
        assert "abcdef0123456789" not in caplog.text
