"""
A turn as it is told: iterators of its events, from threads and from an event loop.

Whoever reads one only watches. The run is driven beside the reader and goes on to where it ends
when the reader stalls, stops, or is gone.
"""

import logging
import threading
from collections.abc import Callable, Iterator
from queue import Empty, SimpleQueue
from typing import Self

from nr_agent_core.chat.results import Sent
from nr_agent_core.defaults.tool_executor import ThreadToolExecutor
from nr_agent_core.domain.sanitiser import sanitised_chain
from nr_agent_core.domain.turn_events import TurnEvent
from nr_agent_core.driver.waits import Watch

_log = logging.getLogger("nr_agent_core")


class TurnStream(Iterator[TurnEvent]):
    """
    The events of one turn, made by :meth:`Chat.stream` and its like.

    Nothing happens before the first event is asked for. What the call itself would raise, asking
    for an event raises. A stream can be closed at any time; that ends the reading and nothing else.
    """

    def __init__(self, call: Callable[[Watch], Sent], at_work: "AtWork") -> None:
        self._call, self._at_work = call, at_work
        self._told: SimpleQueue[TurnEvent | _End] = SimpleQueue()
        self._ahead: TurnEvent | _End | None = None
        self._begun = self._closed = False
        self._sent: Sent | None = None

    @property
    def sent(self) -> Sent | None:
        """What the call brought back, once all events were read."""
        return self._sent

    def ready(self, seconds: float) -> bool:
        """Whether the next event, or the end, is there after *seconds* at most; asking begins the turn, too."""
        if self._closed or self._ahead is not None:
            return True
        self._begin()
        try:
            self._ahead = self._told.get(timeout=seconds)
        except Empty:
            return False
        return True

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> TurnEvent:
        if self._closed:
            raise StopIteration
        self._begin()
        told, self._ahead = self._ahead or self._told.get(), None
        if not isinstance(told, _End):
            return told
        self._closed, self._sent = True, told.sent
        if told.error is not None:
            raise told.error
        raise StopIteration

    def close(self) -> None:
        """Read no more of it. The run goes on."""
        self._closed = True

    def _begin(self) -> None:
        if not self._begun:
            self._begun = True
            self._at_work.begins()
            ThreadToolExecutor().start(self._drive)

    def _drive(self) -> None:
        end = _End()
        try:
            end.sent = self._call(self._told.put)
        except BaseException as error:
            end.error = error
            if self._closed:
                _log.error("a call whose reader is gone failed: %s", sanitised_chain(error))
            if not isinstance(error, Exception):
                raise
        finally:
            self._told.put(end)
            self._at_work.ends()


class AtWork:
    """
    How many streams of a chat are driven now; in the chat's own process.
    """

    def __init__(self) -> None:
        self._changed, self._count = threading.Condition(), 0

    def begins(self) -> None:
        """One more."""
        with self._changed:
            self._count += 1

    def ends(self) -> None:
        """One fewer."""
        with self._changed:
            self._count -= 1
            self._changed.notify_all()

    def wait(self, seconds: float) -> bool:
        """Whether none is left, after *seconds* at most."""
        with self._changed:
            return self._changed.wait_for(lambda: self._count == 0, seconds)


class _End:
    """The end of a stream."""

    __slots__ = ("error", "sent")

    def __init__(self) -> None:
        self.sent: Sent | None = None
        self.error: BaseException | None = None
