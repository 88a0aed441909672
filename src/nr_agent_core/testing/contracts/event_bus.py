"""
What every event bus must do (W1, W2, W3).
"""

import logging
import threading

import pytest

from nr_agent_core.domain.provenance import AiRecordWritten
from nr_agent_core.domain.tool_result import RecordReference, WriteKind
from nr_agent_core.ports.event_bus import EventBus


class _Died(BaseException):
    """
    Stands for the end of a process.
    """


def _event(uid: int = 42, run_id: str = "run-1", kind: WriteKind = WriteKind.CREATED) -> AiRecordWritten:
    return AiRecordWritten(run_id, RecordReference("pages", uid), kind)


class EventBusContract:
    """
    Subclass it and give it a fixture ``bus`` that makes a new, empty bus.

    .. code-block:: python

        class TestOurBus(EventBusContract):
            @pytest.fixture
            def bus(self):
                return OurBus()
    """

    @pytest.fixture
    def bus(self) -> EventBus:
        """The bus under test."""
        raise NotImplementedError("a contract needs a fixture 'bus'")

    def test_a_listener_gets_the_three_values_and_nothing_else(self, bus: EventBus) -> None:
        """An event arrives as it was announced: run, record, kind (W1)."""
        heard: list[AiRecordWritten] = []
        bus.subscribe(heard.append)

        bus.announce(_event(42, "run-1", WriteKind.UPDATED))

        assert [_event(42, "run-1", WriteKind.UPDATED)] == heard

    def test_every_listener_gets_every_event_in_the_order_of_the_writes(self, bus: EventBus) -> None:
        """Each listener hears all events, in the order in which they were announced (W1)."""
        first: list[AiRecordWritten] = []
        second: list[AiRecordWritten] = []
        bus.subscribe(first.append)
        bus.subscribe(second.append)

        for uid in range(1, 6):
            bus.announce(_event(uid))

        assert [_event(uid) for uid in range(1, 6)] == first == second

    def test_without_listeners_nothing_happens(self, bus: EventBus) -> None:
        """Announcing to nobody is no error, and who comes later hears what is announced from then on."""
        heard: list[AiRecordWritten] = []
        bus.announce(_event(1))

        bus.subscribe(heard.append)
        bus.announce(_event(2))

        assert _event(2) in heard

    def test_a_listener_is_held_strongly(self, bus: EventBus) -> None:
        """A function that nobody else holds still hears (W2)."""
        heard: list[AiRecordWritten] = []

        def subscribe() -> None:
            def listen(event: AiRecordWritten) -> None:
                heard.append(event)

            bus.subscribe(listen)

        subscribe()
        bus.announce(_event())

        assert [_event()] == heard

    def test_a_method_of_an_object_nobody_holds_still_hears(self, bus: EventBus) -> None:
        """The object behind a bound method lives as long as the bus (W2)."""
        heard: list[AiRecordWritten] = []

        class Audit:
            def note(self, event: AiRecordWritten) -> None:
                heard.append(event)

        bus.subscribe(Audit().note)
        bus.announce(_event())

        assert [_event()] == heard

    @pytest.mark.parametrize("failing", [0, 1, 2])
    def test_a_listener_that_raises_is_logged_and_the_others_hear(
        self, bus: EventBus, failing: int, caplog: pytest.LogCaptureFixture
    ) -> None:
        """A failure is one line in the log; nothing is raised and nobody else misses the event (W2)."""
        heard: list[int] = []

        def listener(number: int) -> None:
            def listen(_: AiRecordWritten) -> None:
                if number == failing:
                    raise LookupError("no row for token=sk-abcdefghijklmnopqrstuvwx")
                heard.append(number)

            bus.subscribe(listen)

        for number in range(3):
            listener(number)
        with caplog.at_level(logging.ERROR, "nr_agent_core"):
            bus.announce(_event())

        assert sorted({0, 1, 2} - {failing}) == sorted(heard)
        assert len(caplog.records) == 1
        assert "LookupError" in caplog.text
        assert "pages:42" in caplog.text

    def test_the_log_is_sanitised(self, bus: EventBus, caplog: pytest.LogCaptureFixture) -> None:
        """Neither the text nor the cause of a failure brings a secret into the log (W2, F3)."""

        def listen(_: AiRecordWritten) -> None:
            try:
                raise OSError("https://user:hunter2secret@db.internal/label refused")
            except OSError as error:
                raise RuntimeError("Authorization: Bearer abcdef0123456789abcdef") from error

        bus.subscribe(listen)
        with caplog.at_level(logging.ERROR, "nr_agent_core"):
            bus.announce(_event())

        assert "hunter2secret" not in caplog.text
        assert "abcdef0123456789" not in caplog.text
        assert "RuntimeError" in caplog.text
        assert "OSError" in caplog.text

    def test_a_failed_listener_hears_the_next_event(self, bus: EventBus) -> None:
        """One failure does not unsubscribe anybody (W2)."""
        heard: list[int | str] = []

        def listen(event: AiRecordWritten) -> None:
            heard.append(event.reference.uid)
            if len(heard) == 1:
                raise ValueError("once")

        bus.subscribe(listen)
        bus.announce(_event(1))
        bus.announce(_event(2))

        assert heard == [1, 2]

    def test_a_base_exception_is_a_crash_and_rises(self, bus: EventBus) -> None:
        """The end of the process is no failure of a listener (W2)."""

        def listen(_: AiRecordWritten) -> None:
            raise _Died

        bus.subscribe(listen)

        with pytest.raises(_Died):
            bus.announce(_event())

    def test_the_same_values_may_come_again(self, bus: EventBus) -> None:
        """A bus drops no repeats: consumers do (W3)."""
        heard: list[AiRecordWritten] = []
        bus.subscribe(heard.append)

        bus.announce(_event())
        bus.announce(_event())

        assert [_event(), _event()] == heard

    def test_listeners_run_in_the_announcing_thread(self, bus: EventBus) -> None:
        """The event was heard when ``announce`` returns, in the caller's own thread."""
        threads: list[int] = []
        bus.subscribe(lambda _: threads.append(threading.get_ident()))

        bus.announce(_event())

        assert [threading.get_ident()] == threads

    def test_a_listener_may_subscribe_another(self, bus: EventBus) -> None:
        """Whoever is subscribed while an event is given out hears from the next one on at the latest."""
        heard: list[int | str] = []

        def listen(event: AiRecordWritten) -> None:
            if event.reference.uid == 1:
                bus.subscribe(lambda later: heard.append(later.reference.uid))

        bus.subscribe(listen)
        bus.announce(_event(1))
        bus.announce(_event(2))

        assert 2 in heard
