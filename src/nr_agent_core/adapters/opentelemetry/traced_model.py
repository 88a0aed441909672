"""
A model whose questions are spans, named as OpenTelemetry's conventions for generative AI name them.

Rule: a span holds no content: no prompt, answer, argument, tool result or text of an error (P9).
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

from opentelemetry import trace

from nr_agent_core.adapters.model_access import asking
from nr_agent_core.domain.errors import InvalidValueError
from nr_agent_core.domain.failures import classify
from nr_agent_core.domain.model_dialogue import ModelAnswer, ModelRequest
from nr_agent_core.ports.model_provider import AnyModel, Streamed

OPERATION = "gen_ai.operation.name"
PROVIDER = "gen_ai.provider.name"
REQUEST_MODEL = "gen_ai.request.model"
RESPONSE_MODEL = "gen_ai.response.model"
FINISH_REASONS = "gen_ai.response.finish_reasons"
INPUT_TOKENS = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
ERROR_TYPE = "error.type"


class TracedModel:
    """
    Makes a span of each question, with who answered, tokens, and why the answer ended.

    A failed question has the failure class as ``error.type``. A stream that its reader closes ends
    its span without an answer's attributes. Around a decorator the span holds all its questions;
    inside one there is a span for each.

    Args:
        model: who is asked.

        name: the name under which it is asked, for ``gen_ai.request.model``.

        provider: for ``gen_ai.provider.name`` until an answer says it.

        tracer: the tracer; by default the one of the global provider.

    Raises:
        InvalidValueError: a model that is none.
    """

    def __init__(
        self, model: AnyModel, *, name: str = "", provider: str = "", tracer: trace.Tracer | None = None
    ) -> None:
        asking.checked_model("the model of a TracedModel", model)
        if not isinstance(name, str) or not isinstance(provider, str):
            raise InvalidValueError("name and provider of a TracedModel", (name, provider), "texts")
        self._model, self._name, self._provider = model, name, provider
        self._tracer = tracer or trace.get_tracer("nr_agent_core")

    @property
    def context_window(self) -> int | None:
        """The model's."""
        return self._model.context_window

    @property
    def output_limit(self) -> int | None:
        """The model's."""
        return self._model.output_limit

    def complete(self, request: ModelRequest) -> ModelAnswer:
        """
        The model's answer; what it raises rises.
        """
        with self._span() as span:
            answer = asking.complete(self._model, request)
            _answered(span, answer)
            return answer

    async def complete_async(self, request: ModelRequest) -> ModelAnswer:
        """
        The asynchronous twin of :meth:`complete`.
        """
        with self._span() as span:
            answer = await asking.complete_async(self._model, request)
            _answered(span, answer)
            return answer

    def stream(self, request: ModelRequest) -> Iterator[Streamed]:
        """
        The model's stream; what it raises rises.
        """
        with self._span(current=False) as span:
            with trace.use_span(span, record_exception=False, set_status_on_exception=False):
                first, rest = asking.begun(self._model, request)
            try:
                _answered(span, first)
                yield first
                for piece in rest:
                    _answered(span, piece)
                    yield piece
            finally:
                asking.close(rest)

    async def stream_async(self, request: ModelRequest) -> AsyncIterator[Streamed]:
        """
        The asynchronous twin of :meth:`stream`.
        """
        with self._span(current=False) as span:
            with trace.use_span(span, record_exception=False, set_status_on_exception=False):
                first, rest = await asking.begun_async(self._model, request)
            try:
                _answered(span, first)
                yield first
                async for piece in rest:
                    _answered(span, piece)
                    yield piece
            finally:
                await asking.aclose(rest)

    @contextmanager
    def _span(self, *, current: bool = True) -> Iterator[trace.Span]:
        """The span of one question. One of a stream is not the current one while its reader works."""
        attributes = {OPERATION: "chat", PROVIDER: self._provider, REQUEST_MODEL: self._name}
        span = self._tracer.start_span(
            f"chat {self._name}".strip(),
            kind=trace.SpanKind.CLIENT,
            attributes={name: found for name, found in attributes.items() if found},
        )
        try:
            if current:
                with trace.use_span(span, record_exception=False, set_status_on_exception=False):
                    yield span
            else:
                yield span
        except Exception as error:
            span.set_attribute(ERROR_TYPE, classify(error).value)
            span.set_status(trace.StatusCode.ERROR)
            raise
        finally:
            span.end()


def _answered(span: trace.Span, piece: Streamed) -> None:
    if not isinstance(piece, ModelAnswer):
        return
    found = {
        PROVIDER: piece.provider or None,
        RESPONSE_MODEL: piece.model or None,
        INPUT_TOKENS: piece.input_tokens,
        OUTPUT_TOKENS: piece.output_tokens,
    }
    span.set_attributes({name: value for name, value in found.items() if value is not None})
    if piece.finish_reason:
        span.set_attribute(FINISH_REASONS, (piece.finish_reason,))
