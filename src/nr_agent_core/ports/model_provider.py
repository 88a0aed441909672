"""
The model behind the chat: asked at once or as a stream, and both again for an event loop.

One object may keep all of these promises: the asynchronous twins have names of their own.
"""

from collections.abc import AsyncIterator, Iterator
from typing import Protocol, TypeAlias

from nr_agent_core.domain.model_dialogue import ModelAnswer, ModelRequest

MODEL_DEADLINE = 120.0
"""Seconds that one question to a model may take (R8)."""

Streamed: TypeAlias = str | ModelAnswer
"""A piece of text that is not empty, or, at the end and once, the whole answer."""


class ModelLimits(Protocol):
    """
    What is known of a model before it is asked.
    """

    @property
    def context_window(self) -> int | None:
        """The model's window in tokens; None when unknown (R11)."""
        ...

    @property
    def output_limit(self) -> int | None:
        """The most tokens an answer may have; None when unknown (R11)."""
        ...


class ModelProvider(ModelLimits, Protocol):
    """
    Asks a model. Retries and fallbacks belong to decorators over this port.

    Every implementation must pass ``nr_agent_core.testing.contracts.ModelProviderContract``.
    """

    def complete(self, request: ModelRequest) -> ModelAnswer:
        """
        The model's whole answer.

        Raises:
            ProviderError: the model could not be asked or did not answer; its failure class says
                why. Any other exception is classified by its chain (R10).
        """
        ...


class StreamingModelProvider(ModelProvider, Protocol):
    """
    A provider that can also tell an answer while the model makes it.

    Who reads the stream may stop early and close the iterator; the question is then given up.
    """

    def stream(self, request: ModelRequest) -> Iterator[Streamed] | None:
        """
        Pieces of the answer's text as they come, and last of all the whole answer.

        The pieces together are the answer's text; calls come with the answer alone. The answer has a
        ``finish_reason``: a stream that ends without an answer, or with one that no reason ended,
        was cut, and counts as a lost connection, whatever was read of it.

        Returns:
            The stream; None when this model, or this request, cannot be streamed. It is then
            asked by :meth:`complete`, and its text is one piece.

        Raises:
            ProviderError: as in :meth:`complete`; here, or while the stream is read.
        """
        ...


class AsyncModelProvider(ModelLimits, Protocol):
    """
    Asks a model from an event loop; see :class:`ModelProvider`.

    Cancelling what is awaited gives the question up. Every implementation must pass
    ``nr_agent_core.testing.contracts.AsyncModelProviderContract``.
    """

    async def complete_async(self, request: ModelRequest) -> ModelAnswer:
        """
        The model's whole answer.

        Raises:
            ProviderError: see :meth:`ModelProvider.complete`.
        """
        ...


class AsyncStreamingModelProvider(AsyncModelProvider, Protocol):
    """
    The asynchronous twin of :class:`StreamingModelProvider`.
    """

    def stream_async(self, request: ModelRequest) -> AsyncIterator[Streamed] | None:
        """
        The stream, or None when there is none; see :meth:`StreamingModelProvider.stream`.

        A plain method: an asynchronous generator function is one, seen from its caller.

        Raises:
            ProviderError: here, or while the stream is read.
        """
        ...


AnyModel: TypeAlias = ModelProvider | AsyncModelProvider
"""A model that can be asked in one of the two ways at least."""
