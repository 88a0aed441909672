"""
Fallback, retries and spans, over scripted models: in all four ways to ask.
"""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
import stamina
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from nr_agent_core import FailureClass, InvalidValueError, ModelAnswer, ModelMessage, ModelRequest, ProviderError
from nr_agent_core.adapters.fallback_model import FallbackModel
from nr_agent_core.adapters.opentelemetry import TracedModel
from nr_agent_core.adapters.retrying_model import RetryingModel
from nr_agent_core.domain.failures import classify
from nr_agent_core.testing import Cut, ScriptedModel
from nr_agent_core.testing.contracts import AsyncModelProviderContract, ModelProviderContract

QUESTION = ModelRequest("Secret prompt.", (ModelMessage("user", "Secret question?"),))
WAYS = ("complete", "stream", "complete_async", "stream_async")
LINE = ProviderError("line", FailureClass.CONNECTION)


def read(model: Any, way: str) -> list[Any]:
    """The pieces and the answer, or the answer alone."""

    async def streamed() -> list[Any]:
        return [piece async for piece in model.stream_async(QUESTION)]

    match way:
        case "complete":
            return [model.complete(QUESTION)]
        case "stream":
            return list(model.stream(QUESTION))
        case "complete_async":
            return [asyncio.run(model.complete_async(QUESTION))]
        case _:
            return asyncio.run(streamed())


class Half:
    """A model whose stream fails behind its first piece."""

    context_window = output_limit = None

    def __init__(self) -> None:
        self.asked = 0

    def complete(self, request: ModelRequest) -> ModelAnswer:
        """Never."""
        raise LINE

    def stream(self, request: ModelRequest) -> Any:
        """Half an answer."""
        self.asked += 1
        yield "Half"
        raise LINE

    async def complete_async(self, request: ModelRequest) -> ModelAnswer:
        """Never."""
        raise LINE

    async def stream_async(self, request: ModelRequest) -> Any:
        """Half an answer."""
        for piece in self.stream(request):
            yield piece


class Plain:
    """A model that can only be asked at once, in a thread."""

    context_window = output_limit = None

    def complete(self, request: ModelRequest) -> ModelAnswer:
        """An answer without a reason."""
        return ModelAnswer("Plain.")


class _Decorated:
    decorate: Callable[[Any], Any]

    @pytest.fixture
    def answering(self) -> Callable[[ModelAnswer], Any]:
        """Always gives the answer."""
        return lambda answer: type(self).decorate(ScriptedModel(otherwise=answer))

    @pytest.fixture
    def failing(self) -> Callable[[FailureClass], Any]:
        """Always fails."""
        return lambda found: type(self).decorate(ScriptedModel(otherwise=ProviderError("it fails", found)))

    @pytest.fixture
    def cutting(self) -> Callable[[str], Any]:
        """Always breaks off."""
        return lambda text: type(self).decorate(ScriptedModel(otherwise=Cut(text)))


class _OfFallback(_Decorated):
    decorate = staticmethod(lambda model: FallbackModel(model, model))


class TestFallbackModel(_OfFallback, ModelProviderContract):
    """Over one model that stands for both."""


class TestFallbackModelInALoop(_OfFallback, AsyncModelProviderContract):
    """The same from an event loop."""


class _OfRetries(_Decorated):
    decorate = staticmethod(lambda model: RetryingModel(model, pause=0, jitter=0))


class TestRetryingModel(_OfRetries, ModelProviderContract):
    """With pauses of nothing."""


class TestRetryingModelInALoop(_OfRetries, AsyncModelProviderContract):
    """The same from an event loop."""


class _OfSpans(_Decorated):
    decorate = staticmethod(TracedModel)


class TestTracedModel(_OfSpans, ModelProviderContract):
    """Without an exporter."""


class TestTracedModelInALoop(_OfSpans, AsyncModelProviderContract):
    """The same from an event loop."""


# -- fallback ------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("failure_class", sorted(set(FailureClass), key=lambda found: found.value))
def test_the_next_model_is_asked_after_every_failure_but_a_refusal(way: str, failure_class: FailureClass) -> None:
    """Who answered stands in the answer; a refusal is not shopped around."""
    second = ScriptedModel(ModelAnswer("Second.", provider="b", model="b-1", finish_reason="stop"))
    model = FallbackModel(ScriptedModel(otherwise=ProviderError("no", failure_class)), second)

    if failure_class is FailureClass.CONTENT_REFUSED:
        with pytest.raises(ProviderError):
            read(model, way)
        assert second.requests == []
    else:
        answer = read(model, way)[-1]
        assert (answer.text, answer.provider, answer.model) == ("Second.", "b", "b-1")


@pytest.mark.parametrize("way", WAYS)
def test_when_all_fail_set_up_decides_else_the_first(way: str) -> None:
    """The failure names each model's, and has the class that their chain has (R10)."""
    rate, line = ProviderError("slow", FailureClass.RATE_LIMIT), ProviderError("gone", FailureClass.CONNECTION)
    key = ProviderError("no key", FailureClass.AUTHENTICATION)
    for errors, expected in (((rate, line), FailureClass.RATE_LIMIT), ((rate, key), FailureClass.AUTHENTICATION)):
        with pytest.raises(ProviderError) as raised:
            read(FallbackModel(*(ScriptedModel(otherwise=error) for error in errors)), way)

        assert raised.value.failure_class is classify(raised.value) is expected
        assert all(str(error) in str(raised.value) for error in errors)


@pytest.mark.parametrize("way", ["stream", "stream_async"])
@pytest.mark.parametrize(
    "decorate", [lambda m: FallbackModel(m, ScriptedModel("No.")), lambda m: RetryingModel(m, pause=0)]
)
def test_what_was_told_is_not_told_again(way: str, decorate: Callable[[Any], Any]) -> None:
    """A stream that failed behind its first piece is asked once, and its failure rises."""
    half = Half()

    with pytest.raises(ProviderError):
        read(decorate(half), way)

    assert half.asked == 1


@pytest.mark.parametrize("way", WAYS)
def test_a_cut_without_a_word_is_another_models_turn(way: str) -> None:
    """Nothing was told, so the answer may come from elsewhere."""
    assert read(FallbackModel(ScriptedModel(otherwise=Cut("")), ScriptedModel("Here.")), way)[-1].text == "Here."


@pytest.mark.parametrize("way", WAYS)
def test_a_model_that_can_only_be_asked_at_once_is_asked_so(way: str) -> None:
    """Its text is one piece; its answer counts as ended."""
    for model in (FallbackModel(Plain()), RetryingModel(Plain()), TracedModel(Plain())):
        *told, answer = read(model, way)

        assert told == (["Plain."] if "stream" in way else [])
        assert answer.text == "Plain."


def test_limits_of_several_models_are_those_that_fit_all() -> None:
    """The smallest window, an unknown one taken for what it counts as; the largest answer (R11)."""
    large, small = ScriptedModel(context_window=200_000, output_limit=8_000), ScriptedModel(context_window=8_000)

    assert (FallbackModel(large, small).context_window, FallbackModel(large, small).output_limit) == (8_000, 8_000)
    assert FallbackModel(large, ScriptedModel()).context_window == 32_768
    assert (FallbackModel(Plain()).context_window, FallbackModel(Plain()).output_limit) == (None, None)
    assert (RetryingModel(large).context_window, TracedModel(large).output_limit) == (200_000, 8_000)


@pytest.mark.parametrize(
    "make", [FallbackModel, lambda: FallbackModel(5), lambda: RetryingModel(5), lambda: TracedModel(5)]
)  # type: ignore[arg-type]
def test_what_is_no_model_is_refused(make: Callable[[], Any]) -> None:
    """At once, where it is wired."""
    with pytest.raises(InvalidValueError):
        make()


def test_no_further_model_is_asked_when_time_is_up() -> None:
    """The lease of a run is reckoned for one question (R8)."""
    second = ScriptedModel("Second.")

    with pytest.raises(ProviderError):
        FallbackModel(ScriptedModel(otherwise=LINE), second, within=-1).complete(QUESTION)
    assert second.requests == []


# -- retries -------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("failure_class", sorted(set(FailureClass), key=lambda found: found.value))
def test_only_what_may_pass_is_asked_again(way: str, failure_class: FailureClass) -> None:
    """Retryable classes, up to the number of attempts; then the last failure rises (R10)."""
    failing = ScriptedModel(otherwise=ProviderError("no", failure_class))

    with pytest.raises(ProviderError) as raised:
        read(RetryingModel(failing, pause=0, jitter=0), way)

    assert raised.value.failure_class is failure_class
    assert len(failing.requests) == (3 if failure_class.retryable else 1)


@pytest.mark.parametrize("way", WAYS)
def test_a_failure_that_passes_is_not_seen(way: str) -> None:
    """The second answer is the answer."""
    model = ScriptedModel(LINE, Cut(""), "There.")

    assert read(RetryingModel(model, pause=0, jitter=0), way)[-1].text == "There."


def test_a_server_is_heard_and_no_longer_pause_than_the_longest_is_made() -> None:
    """What it asks for is waited for; more than the longest pause ends the question."""
    waits: list[float] = []
    stamina.instrumentation.set_on_retry_hooks([lambda details: waits.append(details.wait_for)])
    try:
        short = ProviderError("later", FailureClass.RATE_LIMIT, retry_after=0.01)
        assert RetryingModel(ScriptedModel(short, "There."), pause=9).complete(QUESTION).text == "There."
        long = ScriptedModel(otherwise=ProviderError("later", FailureClass.RATE_LIMIT, retry_after=60))
        with pytest.raises(ProviderError):
            RetryingModel(long).complete(QUESTION)
    finally:
        stamina.instrumentation.set_on_retry_hooks(None)

    assert waits == [0.01]
    assert len(long.requests) == 1


def test_a_question_that_is_given_up_is_not_asked_again() -> None:
    """Cancelling ends it at once, even on top of a failure that may pass."""

    class Cancelled(Plain):
        async def complete_async(self, request: ModelRequest) -> ModelAnswer:
            """A failure, and then the caller has gone."""
            try:
                raise LINE
            except ProviderError:
                raise asyncio.CancelledError from None

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(RetryingModel(Cancelled()).complete_async(QUESTION))


@pytest.mark.parametrize("options", [{"attempts": 0}, {"attempts": True}, {"within": -1}, {"pause": float("inf")}])
def test_a_number_that_cannot_be_meant_is_refused(options: dict[str, Any]) -> None:
    """At once, where it is wired."""
    with pytest.raises(InvalidValueError):
        RetryingModel(ScriptedModel(), **options)


# -- spans ---------------------------------------------------------------------------------------


@pytest.fixture
def spans() -> InMemorySpanExporter:
    """What was exported."""
    return InMemorySpanExporter()


def traced(model: Any, spans: InMemorySpanExporter) -> TracedModel:
    """A model whose spans are exported here."""
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    return TracedModel(model, name="gpt-x", provider="openai", tracer=provider.get_tracer("test"))


@pytest.mark.parametrize("way", WAYS)
def test_a_question_is_a_span_without_content(way: str, spans: InMemorySpanExporter) -> None:
    """Names of the conventions, who answered, tokens, the reason; no text of anybody (P9)."""
    answer = ModelAnswer(
        "Secret answer.", provider="b", model="b-1", input_tokens=7, output_tokens=2, finish_reason="stop"
    )
    read(traced(ScriptedModel(answer), spans), way)

    (span,) = spans.get_finished_spans()
    assert span.name == "chat gpt-x"
    assert dict(span.attributes or {}) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "b",
        "gen_ai.request.model": "gpt-x",
        "gen_ai.response.model": "b-1",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": 7,
        "gen_ai.usage.output_tokens": 2,
    }
    assert "secret" not in span.to_json().lower()


@pytest.mark.parametrize("way", WAYS)
def test_a_failure_is_a_class_in_its_span(way: str, spans: InMemorySpanExporter) -> None:
    """Its text is not exported."""
    with pytest.raises(ProviderError):
        read(traced(ScriptedModel(otherwise=ProviderError("secret", FailureClass.QUOTA)), spans), way)

    (span,) = spans.get_finished_spans()
    assert span.attributes is not None
    assert span.attributes["error.type"] == "quota"
    assert span.status.status_code.name == "ERROR"
    assert "secret" not in span.to_json()


def test_a_stream_that_its_reader_closes_ends_its_span(spans: InMemorySpanExporter) -> None:
    """No span stays open."""
    stream = traced(ScriptedModel("One two three."), spans).stream(QUESTION)
    next(stream)
    stream.close()  # type: ignore[attr-defined]

    assert len(spans.get_finished_spans()) == 1


class _Unended:
    """A model whose streams hold an answer that no reason ended."""

    context_window = output_limit = None

    def complete(self, request: ModelRequest) -> ModelAnswer:
        """Nothing."""
        raise AssertionError

    def stream(self, request: ModelRequest) -> Any:
        """An answer alone."""
        yield ModelAnswer("Half of")


def test_a_stream_that_was_cut_before_it_told_anything_is_asked_for_elsewhere() -> None:
    """An answer that no reason ended is none, and nobody has read anything of it yet."""
    pieces = FallbackModel(_Unended(), ScriptedModel("All of it.")).stream(ModelRequest("", ()))

    *told, answer = pieces
    assert "".join(str(piece) for piece in told) == "All of it."
    assert isinstance(answer, ModelAnswer)
