"""
What an asynchronous host calls about conversations: the same calls, awaited.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Self, Unpack

from nr_agent_core.chat.facade import Chat
from nr_agent_core.chat.results import ConversationView, Sent
from nr_agent_core.domain.approvals import Card, Decision
from nr_agent_core.domain.continue_phrases import ContinuePhraseRouter
from nr_agent_core.domain.reader import Reader
from nr_agent_core.domain.turn_events import TurnEvent
from nr_agent_core.driver.waits import Watch, Work
from nr_agent_core.ports.retention import Retention
from nr_agent_core.runtime import UpkeepReport
from nr_agent_core.runtime.async_facade import THREADS, AsyncRuntime
from nr_agent_core.runtime.stored_runs import MESSAGE_LIMIT
from nr_agent_core.runtime.wiring import Parts


class AsyncChat:
    """
    :class:`~nr_agent_core.chat.Chat` for an event loop of asyncio; see :class:`AsyncRuntime`.

    It has no ``work``: a worker drives runs in threads, so it is a plain chat of the same parts.

    Args:
        message_limit: the longest message, in UTF-8 bytes.
        links: what the targets ``providers`` and ``tasks`` map to, for administrators (F2).
        phrases: which messages are "go on" and the like (C1).
        threads: the most threads that work with the store at a time.
        parts: see :class:`~nr_agent_core.chat.Chat`.

    Raises:
        InvalidValueError, ToolDeclarationError: the parts do not fit together.
    """

    def __init__(
        self,
        *,
        message_limit: int = MESSAGE_LIMIT,
        links: Mapping[str, str] | None = None,
        phrases: ContinuePhraseRouter | None = None,
        threads: int = THREADS,
        **parts: Unpack[Parts],
    ) -> None:
        self._chat = Chat(message_limit=message_limit, links=links, phrases=phrases, **parts)
        self.runtime = AsyncRuntime.over(self._chat.runtime, threads=threads)

    async def open(self, reader: Reader) -> str:
        """See :meth:`Chat.open`."""
        return await self.runtime.beside(self._chat.open, reader)

    async def send(
        self,
        text: str,
        reader: Reader,
        *,
        conversation: str | None = None,
        queued: bool = False,
        connection: Any | None = None,
    ) -> Sent:
        """
        Take a message and drive its run to its end, or have a worker do so; see :meth:`Chat.send`.

        A caller that is cancelled leaves; the run goes on. With a *connection*, a plain one, which is
        used in a thread meanwhile, a cancelled caller leaves once nothing uses it any more.
        """
        work = self._chat.calls.send(text, reader, conversation=conversation, queued=queued, connection=connection)
        return await self.runtime.driven(work, borrows=connection is not None)

    async def retry(self, conversation: str, reader: Reader, *, queued: bool = False) -> Sent:
        """See :meth:`Chat.retry`."""
        return await self.runtime.driven(self._chat.calls.retry(conversation, reader, queued=queued))

    async def decide(self, conversation: str, decision: Decision | str, *, card: Card | str | None, by: Reader) -> Sent:
        """
        Decide IN the conversation's chat; see :meth:`Chat.decide`.
        """
        return await self.runtime.driven(self._chat.calls.decide(conversation, decision, card=card, by=by))

    async def cancel(self, conversation: str, by: Reader) -> Sent:
        """See :meth:`Chat.cancel`."""
        return await self.runtime.beside(self._chat.cancel, conversation, by)

    async def view(
        self, conversation: str, reader: Reader, *, before: int | None = None, limit: int = 50
    ) -> ConversationView:
        """See :meth:`Chat.view`."""
        return await self.runtime.beside(self._chat.view, conversation, reader, before=before, limit=limit)

    async def upkeep(self, *, limit: int = 100, retention: Retention | None = None) -> UpkeepReport:
        """See :meth:`Chat.upkeep`."""
        return await self.runtime.upkeep(limit=limit, retention=retention)

    async def close(self, *, wait: float = 0.0) -> int:
        """See :meth:`AsyncRuntime.close`."""
        return await self.runtime.close(wait=wait)

    # -- told while it happens ----------------------------------------------------------------

    def stream(self, text: str, reader: Reader, *, conversation: str | None = None) -> "AsyncTurnStream":
        """
        :meth:`send`, told while it happens; see :meth:`Chat.stream`.
        """
        return self._stream(lambda: self._chat.calls.send(text, reader, conversation=conversation), reader)

    def stream_retry(self, conversation: str, reader: Reader) -> "AsyncTurnStream":
        """
        :meth:`retry`, told while it happens.
        """
        return self._stream(lambda: self._chat.calls.retry(conversation, reader), reader)

    def stream_decide(
        self, conversation: str, decision: Decision | str, *, card: Card | str | None, by: Reader
    ) -> "AsyncTurnStream":
        """
        :meth:`decide`, told while it happens; see :meth:`Chat.stream_decide`.
        """
        return self._stream(lambda: self._chat.calls.decide(conversation, decision, card=card, by=by), by)

    def _stream(self, work: Callable[[], Work[Sent]], reader: Reader) -> "AsyncTurnStream":
        return AsyncTurnStream(lambda watch: self.runtime.begun(self._chat.telling.told(work(), reader), watch))


class AsyncTurnStream(AsyncIterator[TurnEvent]):
    """
    The events of one turn in an event loop; see :class:`~nr_agent_core.chat.streams.TurnStream`.
    """

    def __init__(self, begin: Callable[[Watch], "asyncio.Task[Sent]"]) -> None:
        self._begin = begin
        self._told: asyncio.Queue[TurnEvent | asyncio.Task[Sent]] | None = None
        self._closed = False
        self._sent: Sent | None = None

    @property
    def sent(self) -> Sent | None:
        """What the call brought back, once all events were read."""
        return self._sent

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> TurnEvent:
        if self._closed:
            raise StopAsyncIteration
        if self._told is None:
            self._told = asyncio.Queue()
            self._begin(self._told.put_nowait).add_done_callback(self._told.put_nowait)
        told: Any = await self._told.get()
        if not isinstance(told, asyncio.Task):
            event: TurnEvent = told
            return event
        self._closed = True
        self._sent = told.result()
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Read no more of it. The run goes on."""
        self._closed = True
