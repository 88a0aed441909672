"""
An event bus whose listeners may be asynchronous: called in their order, each isolated from the others (W1, W2).
"""

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable

from nr_agent_core.domain.errors import InvalidValueError
from nr_agent_core.domain.provenance import AiRecordWritten

_log = logging.getLogger("nr_agent_core")


class AsyncioEventBus:
    """
    Gives every event to one listener after the other, in the order in which they were subscribed.

    Coroutine functions are awaited in the event loop of the run, plain ones are called in a thread.
    A plain chat calls plain ones in the announcing thread, and runs a loop there for each of the others.
    """

    def __init__(self) -> None:
        self._listeners: list[Callable[[AiRecordWritten], object]] = []

    def subscribe(self, listener: Callable[[AiRecordWritten], object]) -> None:
        """
        From now on *listener* gets every event, once, however often it was subscribed. It is held strongly.

        Raises:
            InvalidValueError: *listener* cannot be called. Nothing was subscribed.
        """
        given: object = listener
        if not callable(given):
            raise InvalidValueError("a listener", given, "a function of one event")
        if listener not in self._listeners:
            self._listeners.append(listener)

    def announce(self, event: AiRecordWritten) -> None:
        """
        Give *event* to every listener. What one raises is logged; a ``BaseException`` is a crash and rises (W2).
        """
        for listener in tuple(self._listeners):
            try:
                returned = listener(event)
                if isinstance(returned, Awaitable):
                    asyncio.run(_awaited(returned))
            except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - one listener's failure is not the run's
                _failed(event, error)

    async def announce_async(self, event: AiRecordWritten) -> None:
        """
        The same from an event loop, which no listener holds up.
        """
        for listener in tuple(self._listeners):
            try:
                if inspect.iscoroutinefunction(listener):
                    await listener(event)
                else:
                    returned = await asyncio.to_thread(listener, event)
                    if isinstance(returned, Awaitable):
                        await returned
            except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - one listener's failure is not the run's
                _failed(event, error)


async def _awaited(returned: Awaitable[object]) -> object:
    return await returned


def _failed(event: AiRecordWritten, error: BaseException) -> None:
    from nr_agent_core.domain.sanitiser import sanitised_chain

    _log.error("a listener failed on %s (%s): %s", event.reference, event.kind.value, sanitised_chain(error))
