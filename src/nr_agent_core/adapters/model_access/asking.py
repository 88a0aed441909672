"""
Asking a model in a way that it may not know itself: what every decorator over the port needs.

A model that can only be asked at once tells its text as one piece; one that only knows threads is
asked in a thread when an event loop waits for it.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from typing import Any, cast

import attrs

from nr_agent_core.domain.errors import FailureClass, InvalidValueError, ProviderError
from nr_agent_core.domain.model_dialogue import ModelAnswer, ModelRequest
from nr_agent_core.ports.model_provider import Streamed


def checked_model(subject: str, model: object) -> None:
    """
    Nothing, for a model that can be asked.

    Raises:
        InvalidValueError: it knows neither of the two ways.
    """
    ways = [getattr(model, way, None) for way in ("complete", "complete_async")]
    if isinstance(model, type) or not any(map(callable, ways)):
        raise InvalidValueError(subject, model, "an object with a method complete() or complete_async()")


def complete(model: Any, request: ModelRequest) -> ModelAnswer:
    """
    The answer of a model that knows threads.

    Raises:
        ProviderError: it can only be asked from an event loop.
    """
    if getattr(model, "complete", None) is None:
        text = "this model can only be asked from an event loop, by an AsyncChat or an AsyncRuntime"
        raise ProviderError(text, FailureClass.CONFIGURATION)
    return cast(ModelAnswer, model.complete(request))


async def complete_async(model: Any, request: ModelRequest) -> ModelAnswer:
    """
    The answer of any model, for an event loop.
    """
    if getattr(model, "complete_async", None) is None:
        return await asyncio.to_thread(complete, model, request)
    return cast(ModelAnswer, await model.complete_async(request))


def begun(model: Any, request: ModelRequest) -> tuple[Streamed, Iterator[Streamed]]:
    """
    The first piece of a stream and the rest of it.

    Raises:
        ProviderError: nothing came; the stream is closed.
    """
    begin = getattr(model, "stream", None)
    pieces = None if begin is None else begin(request)
    if pieces is None:
        pieces = _at_once(complete(model, request))
    try:
        return _whole(next(pieces, None)), pieces
    except BaseException:
        close(pieces)
        raise


async def begun_async(model: Any, request: ModelRequest) -> tuple[Streamed, AsyncIterator[Streamed]]:
    """
    The asynchronous twin of :func:`begun`.
    """
    begin = getattr(model, "stream_async", None)
    pieces = None if begin is None else begin(request)
    if pieces is None:
        pieces = _at_once_async(await complete_async(model, request))
    try:
        return _whole(await anext(pieces, None)), pieces
    except BaseException:
        await aclose(pieces)
        raise


def close(pieces: object) -> None:
    """Gives a stream up. One that fails at that has already said what it had to say."""
    end = getattr(pieces, "close", None)
    if end is not None:
        with suppress(Exception):
            end()


async def aclose(pieces: object) -> None:
    """The asynchronous twin of :func:`close`."""
    end = getattr(pieces, "aclose", None)
    if end is not None:
        with suppress(Exception):
            await end()


def _whole(piece: Streamed | None) -> Streamed:
    """A stream that was cut before its first piece told nothing: it may be asked for again."""
    if piece is None or (isinstance(piece, ModelAnswer) and not piece.finish_reason):
        raise ProviderError("the stream of the model was cut before it told anything", FailureClass.CONNECTION)
    return piece


def _at_once(answer: ModelAnswer) -> Iterator[Streamed]:
    if answer.text:
        yield answer.text
    yield answer if answer.finish_reason else attrs.evolve(answer, finish_reason="complete")


async def _at_once_async(answer: ModelAnswer) -> AsyncIterator[Streamed]:
    for piece in _at_once(answer):
        yield piece
