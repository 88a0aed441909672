"""
What a host's route calls: a body in, server-sent events out.

Whatever a client sends is answered by frames, failures too, so a route has nothing to catch. Who the
reader is comes from the host's own authentication, never from a body.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing

from nr_agent_core.adapters.agui.chats import (
    AsyncTurn,
    LoopChat,
    PlainChat,
    ShownConversation,
    Turn,
)
from nr_agent_core.adapters.agui.encoder import BEAT, AgUiEncoder
from nr_agent_core.adapters.agui.requests import BODY_LIMIT, AgUiRequest, decoded
from nr_agent_core.domain.errors import (
    AccessDeniedError,
    InvalidValueError,
    MessageRejectedError,
    NotFoundError,
)
from nr_agent_core.domain.failures import FailureCode
from nr_agent_core.domain.reader import Reader
from nr_agent_core.domain.sanitiser import sanitised_chain
from nr_agent_core.domain.texts import failure_sentence, request_sentence
from nr_agent_core.domain.turn_events import TurnEvent
from nr_agent_core.ports.translator import Translator

_log = logging.getLogger("nr_agent_core")

MEDIA_TYPE = "text/event-stream"
"""The content type of an answer."""

HEARTBEAT = 15.0
DAY = 86_400.0
"""The longest silence that is worth a heartbeat; the clocks of threads end not far behind."""

_REFUSALS: tuple[tuple[type[Exception], str], ...] = (
    (NotFoundError, "notFound"),
    (AccessDeniedError, "accessDenied"),
    (MessageRejectedError, "messageRejected"),
)


class _Endpoint:
    """What the two endpoints share."""

    def __init__(self, messages: int, body_limit: int, heartbeat: float | None, translator: Translator | None) -> None:
        self._messages = _whole("the messages of an endpoint", messages)
        self._body_limit = _whole("the body limit of an endpoint", body_limit)
        if heartbeat is not None and not _is_wait(heartbeat):
            raise InvalidValueError("the heartbeat of an endpoint", heartbeat, "seconds above 0, up to a day, or None")
        self._heartbeat, self._translator = heartbeat, translator

    def _read(self, body: bytes | str, reader: Reader) -> tuple[AgUiRequest | None, AgUiEncoder, tuple[str, ...]]:
        """The request and its encoder; without a request, the frames that say why."""
        try:
            asked = decoded(body, limit=self._body_limit)
        except InvalidValueError as wrong:
            encoder = AgUiEncoder(thread="", run="")
            sentence = request_sentence("invalidRequest", reader.language, self._translator)
            return None, encoder, encoder.encode_failure("invalidRequest", sentence, str(wrong))
        return asked, AgUiEncoder(thread=asked.thread, run=asked.run), ()

    def _failure(self, encoder: AgUiEncoder, error: Exception, reader: Reader) -> tuple[str, ...]:
        """The end of a request whose call raised."""
        for kind, code in _REFUSALS:
            if isinstance(error, kind):
                return encoder.encode_failure(code, request_sentence(code, reader.language, self._translator))
        _log.error("a request of AG-UI failed: %s", sanitised_chain(error))
        internal = FailureCode.INTERNAL
        return encoder.encode_failure(internal.value, failure_sentence(internal, reader.language, self._translator))


class AgUiEndpoint(_Endpoint):
    """
    Answers requests of AG-UI clients by a :class:`nr_agent_core.Chat`, in the thread that reads the frames.

    Args:
        chat: the application's chat.
        messages: the most messages of a snapshot.
        body_limit: the longest body, in bytes.
        heartbeat: after so many seconds without an event a comment is sent, so that no proxy takes the
            connection for dead; None for never.
        translator: the host's own texts, as given to the chat.

    Raises:
        InvalidValueError: an option is outside what is allowed.
    """

    def __init__(
        self,
        chat: PlainChat,
        *,
        messages: int = 100,
        body_limit: int = BODY_LIMIT,
        heartbeat: float | None = HEARTBEAT,
        translator: Translator | None = None,
    ) -> None:
        super().__init__(messages, body_limit, heartbeat, translator)
        self._chat = chat

    def frames(self, body: bytes | str, reader: Reader) -> Iterator[str]:
        """
        The answer to one request, frame by frame.

        Nothing happens before the first frame is asked for. A reader who goes away misses frames; the run
        goes on.

        Args:
            body: the body of the request, as it came.
            reader: who sent it, by the host's own authentication.
        """
        asked, encoder, refused = self._read(body, reader)
        if asked is None:
            yield from refused
            return
        try:
            yield from self._answered(asked, encoder, reader)
        except Exception as error:  # noqa: BLE001 - whatever it is, the client is told by a code and a sentence
            yield from self._failure(encoder, error, reader)

    def _answered(self, asked: AgUiRequest, encoder: AgUiEncoder, reader: Reader) -> Iterator[str]:
        turn = self._turn(asked, reader)
        if turn is None:
            yield from encoder.encode_view(self._chat.view(asked.thread, reader, limit=self._messages))
            return
        try:
            for event in self._beating(turn):
                if event is None:
                    yield BEAT
                    continue
                view = self._view(encoder.thread, reader) if encoder.wants_view(event) else None
                yield from encoder.encode(event, view)
        finally:
            turn.close()

    def _beating(self, turn: Turn) -> Iterator[TurnEvent | None]:
        """The events of *turn*, and None whenever there was none for a while."""
        while True:
            while self._heartbeat is not None and not turn.ready(self._heartbeat):
                yield None
            try:
                event = next(turn)
            except StopIteration:
                return
            yield event

    def _turn(self, asked: AgUiRequest, reader: Reader) -> Turn | None:
        if asked.answer is not None:
            answer = asked.answer
            return self._chat.stream_decide(asked.thread, answer.decision, card=answer.card, by=reader)
        if asked.text is not None:
            return self._chat.stream(asked.text, reader, conversation=asked.thread or None)
        return None

    def _view(self, thread: str, reader: Reader) -> ShownConversation | None:
        try:
            return self._chat.view(thread, reader, limit=self._messages)
        except NotFoundError:
            # Whoever decides on a run need not see its conversation.
            return None


class AsyncAgUiEndpoint(_Endpoint):
    """
    Answers requests of AG-UI clients by a :class:`nr_agent_core.AsyncChat`, in an event loop.

    Args:
        chat: the application's chat.
        messages: the most messages of a snapshot.
        body_limit: the longest body, in bytes.
        heartbeat: after so many seconds without an event a comment is sent, so that no proxy takes the
            connection for dead; None for never.
        translator: the host's own texts, as given to the chat.

    Raises:
        InvalidValueError: an option is outside what is allowed.
    """

    def __init__(
        self,
        chat: LoopChat,
        *,
        messages: int = 100,
        body_limit: int = BODY_LIMIT,
        heartbeat: float | None = HEARTBEAT,
        translator: Translator | None = None,
    ) -> None:
        super().__init__(messages, body_limit, heartbeat, translator)
        self._chat = chat

    async def frames(self, body: bytes | str, reader: Reader) -> AsyncGenerator[str, None]:
        """
        The answer to one request, frame by frame; see :meth:`AgUiEndpoint.frames`.

        Args:
            body: the body of the request, as it came.
            reader: who sent it, by the host's own authentication.
        """
        asked, encoder, refused = self._read(body, reader)
        for frame in refused:
            yield frame
        if asked is None:
            return
        try:
            async with aclosing(self._answered(asked, encoder, reader)) as answered:
                async for frames in answered:
                    for frame in frames:
                        yield frame
        except Exception as error:  # noqa: BLE001 - whatever it is, the client is told by a code and a sentence
            for frame in self._failure(encoder, error, reader):
                yield frame

    async def _answered(
        self, asked: AgUiRequest, encoder: AgUiEncoder, reader: Reader
    ) -> AsyncGenerator[tuple[str, ...], None]:
        turn = self._turn(asked, reader)
        if turn is None:
            yield encoder.encode_view(await self._chat.view(asked.thread, reader, limit=self._messages))
            return
        try:
            async with aclosing(self._beating(turn)) as beating:
                async for event in beating:
                    if event is None:
                        yield (BEAT,)
                        continue
                    view = await self._view(encoder.thread, reader) if encoder.wants_view(event) else None
                    yield encoder.encode(event, view)
        finally:
            await turn.aclose()

    async def _beating(self, turn: AsyncTurn) -> AsyncGenerator[TurnEvent | None, None]:
        """
        The events of *turn*, and None whenever there was none for a while.

        The turn is read by a task of its own, for silence must not interrupt the reading: an asynchronous
        generator would be over.
        """
        told: asyncio.Queue[TurnEvent | BaseException | None] = asyncio.Queue()
        reading = asyncio.create_task(_read(turn, told.put_nowait))
        try:
            while True:
                try:
                    async with asyncio.timeout(self._heartbeat):
                        event = await told.get()
                except TimeoutError:
                    yield None
                    continue
                if isinstance(event, BaseException):
                    raise event
                if event is None:
                    return
                yield event
        finally:
            reading.cancel()
            await asyncio.wait((reading,))

    def _turn(self, asked: AgUiRequest, reader: Reader) -> AsyncTurn | None:
        if asked.answer is not None:
            answer = asked.answer
            return self._chat.stream_decide(asked.thread, answer.decision, card=answer.card, by=reader)
        if asked.text is not None:
            return self._chat.stream(asked.text, reader, conversation=asked.thread or None)
        return None

    async def _view(self, thread: str, reader: Reader) -> ShownConversation | None:
        try:
            return await self._chat.view(thread, reader, limit=self._messages)
        except NotFoundError:
            # Whoever decides on a run need not see its conversation.
            return None


async def _read(turn: AsyncTurn, tell: Callable[[TurnEvent | BaseException | None], None]) -> None:
    """Tell all of *turn*, and then what it ended with; None is an end in order."""
    end = None
    try:
        async for event in turn:
            tell(event)
    except BaseException as error:  # noqa: BLE001 - raised to whoever is told, who may be waiting
        end = error
    tell(end)


def _is_wait(seconds: object) -> bool:
    return isinstance(seconds, int | float) and not isinstance(seconds, bool) and 0 < seconds <= DAY


def _whole(subject: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InvalidValueError(subject, value, "a number from 1")
    return value
