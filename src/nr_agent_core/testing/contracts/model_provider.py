"""
What every model provider must do, asked at once, as a stream, and from an event loop (R10, F1).
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing, contextmanager
from typing import Any, cast

import pytest

from nr_agent_core.domain.errors import FailureClass
from nr_agent_core.domain.failures import classify
from nr_agent_core.domain.model_dialogue import ModelAnswer, ModelCall, ModelMessage, ModelRequest, OfferedTool
from nr_agent_core.ports.model_provider import Streamed

_REQUEST = ModelRequest(
    "Be brief.",
    (
        ModelMessage("user", "Find page 7."),
        ModelMessage("assistant", "", calls=(ModelCall("find", '{"uid": 7}', "c1"),)),
        ModelMessage("tool", "Page 7: Team", call_id="c1"),
        ModelMessage("user", "And page 8? Grüße 😀"),
    ),
    (OfferedTool("find", "Find a page.", {"type": "object", "properties": {"uid": {"type": "integer"}}}),),
)
"""A question with a history, calls of it, and a tool."""

_TEXT = "Page 8 is  called\n“Größe 😀”, and\tends here. "
_CALLS = (ModelCall("find", '{"uid": 8}', "c2"), ModelCall("find", '{"uid": 9}', "c3"))


class ModelProviderContract:
    """
    Subclass it and give it three fixtures that make a provider over a backend of yours.

    .. code-block:: python

        class TestOurModel(ModelProviderContract):
            @pytest.fixture
            def answering(self):
                return lambda answer: OurModel(transport=transport_that_says(answer))

            @pytest.fixture
            def failing(self):
                return lambda failure_class: OurModel(transport=transport_that_fails(failure_class))

            @pytest.fixture
            def cutting(self):
                return lambda text: OurModel(transport=transport_that_breaks_off_behind(text))

    Failure classes that your backend has no sign for are left out by :attr:`failure_classes`.
    """

    failure_classes: tuple[FailureClass, ...] = tuple(FailureClass)
    """The failures that ``failing`` can bring about."""

    @pytest.fixture
    def answering(self) -> Callable[[ModelAnswer], Any]:
        """Makes a provider whose backend gives this answer each time it is asked."""
        raise NotImplementedError("a contract needs a fixture 'answering'")

    @pytest.fixture
    def failing(self) -> Callable[[FailureClass], Any]:
        """Makes a provider whose backend fails like this, asked at once or as a stream."""
        raise NotImplementedError("a contract needs a fixture 'failing'")

    @pytest.fixture
    def cutting(self) -> Callable[[str], Any]:
        """Makes a provider whose stream breaks off behind this text, without an end or a finish reason."""
        raise NotImplementedError("a contract needs a fixture 'cutting'")

    # -- the two ways to ask, overridden by the asynchronous suite ----------------------------

    def complete(self, provider: Any, request: ModelRequest = _REQUEST) -> ModelAnswer:
        """What the provider answers."""
        return cast(ModelAnswer, provider.complete(request))

    def stream(self, provider: Any, *, most: int | None = None) -> list[Streamed] | None:
        """What the provider streams, or the first *most* pieces of it; None when it does not stream."""
        begin = getattr(provider, "stream", None)
        pieces: Iterator[Streamed] | None = None if begin is None else begin(_REQUEST)
        if pieces is None:
            return None
        read: list[Streamed] = []
        for piece in pieces:
            read.append(piece)
            if len(read) == most:
                break
        close = getattr(pieces, "close", None)
        if close is not None:
            close()
        return read

    def _streamed(self, provider: Any) -> list[Streamed]:
        read = self.stream(provider)
        if read is None:
            pytest.skip("this provider does not stream")
        return read

    # -- asked at once ------------------------------------------------------------------------

    @pytest.mark.parametrize("limit", ["context_window", "output_limit"])
    def test_a_limit_is_a_number_of_tokens_or_unknown(
        self, answering: Callable[[ModelAnswer], Any], limit: str
    ) -> None:
        """What is not known is None, never 0 (R11)."""
        tokens = getattr(answering(ModelAnswer(_TEXT)), limit)

        assert tokens is None or (type(tokens) is int and tokens > 0)

    def test_a_text_arrives_as_it_was_said(self, answering: Callable[[ModelAnswer], Any]) -> None:
        """Every character of the answer, white space at its ends included."""
        assert self.complete(answering(ModelAnswer(_TEXT, finish_reason="stop"))).text == _TEXT

    def test_calls_arrive_in_their_order(self, answering: Callable[[ModelAnswer], Any]) -> None:
        """Name, provider's id and arguments of each call; the arguments as JSON text (T12)."""
        answer = self.complete(answering(ModelAnswer(calls=_CALLS, finish_reason="tool_calls")))

        assert [(call.name, call.id) for call in answer.calls] == [("find", "c2"), ("find", "c3")]
        assert [json.loads(call.arguments) for call in answer.calls] == [{"uid": 8}, {"uid": 9}]

    def test_text_beside_calls_is_kept(self, answering: Callable[[ModelAnswer], Any]) -> None:
        """An answer may hold both."""
        answer = self.complete(answering(ModelAnswer(_TEXT, _CALLS, finish_reason="tool_calls")))

        assert (answer.text, len(answer.calls)) == (_TEXT, 2)

    def test_the_same_provider_can_be_asked_again(self, answering: Callable[[ModelAnswer], Any]) -> None:
        """An answer leaves nothing behind."""
        provider = answering(ModelAnswer(_TEXT, finish_reason="stop"))

        assert self.complete(provider) == self.complete(provider)

    def test_a_plain_question_without_tools_is_answered(self, answering: Callable[[ModelAnswer], Any]) -> None:
        """Without tools, and with an empty system prompt, the model answers in text."""
        plain = ModelRequest("", (ModelMessage("user", "Hello?"),))

        assert self.complete(answering(ModelAnswer(_TEXT, finish_reason="stop")), plain).text == _TEXT

    @pytest.mark.parametrize("failure_class", FailureClass, ids=lambda found: found.value)
    def test_a_failure_has_its_class(self, failing: Callable[[FailureClass], Any], failure_class: FailureClass) -> None:
        """What rises is classified as what happened; so the right code is stored and shown (R10, F1)."""
        if failure_class not in self.failure_classes:
            pytest.skip("the backend has no sign for it")
        provider = failing(failure_class)

        with pytest.raises(Exception) as raised:
            self.complete(provider)

        assert classify(raised.value) is failure_class

    # -- asked as a stream --------------------------------------------------------------------

    def test_a_stream_ends_with_the_answer_that_it_told(self, answering: Callable[[ModelAnswer], Any]) -> None:
        """Pieces of text, none of them empty, and at the end, once, the whole answer with its reason to end."""
        *pieces, last = self._streamed(answering(ModelAnswer(_TEXT, finish_reason="stop")))

        assert isinstance(last, ModelAnswer)
        assert last.finish_reason
        assert all(isinstance(piece, str) and piece for piece in pieces)
        assert "".join(cast(list[str], pieces)) == last.text == _TEXT

    def test_calls_come_with_the_whole_answer_only(self, answering: Callable[[ModelAnswer], Any]) -> None:
        """Half a call is nothing that anybody may act on."""
        *pieces, last = self._streamed(answering(ModelAnswer(_TEXT, _CALLS, finish_reason="tool_calls")))

        assert isinstance(last, ModelAnswer)
        assert [json.loads(call.arguments) for call in last.calls] == [{"uid": 8}, {"uid": 9}]
        assert [call.id for call in last.calls] == ["c2", "c3"]
        assert "".join(cast(list[str], pieces)) == _TEXT

    def test_calls_without_text_stream_no_text(self, answering: Callable[[ModelAnswer], Any]) -> None:
        """Then the answer is all there is."""
        (last,) = self._streamed(answering(ModelAnswer(calls=_CALLS, finish_reason="tool_calls")))

        assert isinstance(last, ModelAnswer)
        assert len(last.calls) == 2

    def test_a_streamed_answer_is_the_one_that_asking_at_once_brings(
        self, answering: Callable[[ModelAnswer], Any]
    ) -> None:
        """What is stored does not tell which way was taken (V9)."""
        provider = answering(ModelAnswer(_TEXT, finish_reason="stop"))
        streamed, asked = self._streamed(provider)[-1], self.complete(provider)

        assert isinstance(streamed, ModelAnswer)
        assert (streamed.text, streamed.calls) == (asked.text, asked.calls)

    @pytest.mark.parametrize("text", ["", _TEXT], ids=["at once", "behind a text"])
    def test_a_cut_stream_is_a_lost_connection_and_no_answer(self, cutting: Callable[[str], Any], text: str) -> None:
        """
        A stream that breaks off raises something worth another try, or ends without an answer.

        What was read of it is never an answer, however complete it looks.
        """
        read: list[Streamed] = []
        with _retryable_or_nothing():
            read = self._streamed(cutting(text))

        assert not any(isinstance(piece, ModelAnswer) and piece.finish_reason for piece in read)

    @pytest.mark.parametrize("failure_class", FailureClass, ids=lambda found: found.value)
    def test_a_stream_fails_as_asking_at_once_does(
        self, failing: Callable[[FailureClass], Any], failure_class: FailureClass
    ) -> None:
        """The same classes, whichever way was taken (R10)."""
        if failure_class not in self.failure_classes:
            pytest.skip("the backend has no sign for it")
        with pytest.raises(Exception) as raised:
            self._streamed(failing(failure_class))

        assert classify(raised.value) is failure_class

    def test_a_reader_may_stop_early(self, answering: Callable[[ModelAnswer], Any]) -> None:
        """A stream that is closed behind its first piece leaves the provider as good as new."""
        provider = answering(ModelAnswer(_TEXT, finish_reason="stop"))
        if self.stream(provider, most=1) is None:
            pytest.skip("this provider does not stream")

        assert self.complete(provider).text == _TEXT


@contextmanager
def _retryable_or_nothing() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if not classify(error).retryable:
            raise


class AsyncModelProviderContract(ModelProviderContract):
    """
    The same promises, kept by ``complete_async`` and ``stream_async``.
    """

    def complete(self, provider: Any, request: ModelRequest = _REQUEST) -> ModelAnswer:
        """What the provider answers."""
        answer: ModelAnswer = asyncio.run(provider.complete_async(request))
        return answer

    def stream(self, provider: Any, *, most: int | None = None) -> list[Streamed] | None:
        """What the provider streams, or the first *most* pieces of it; None when it does not stream."""
        return asyncio.run(_read(provider, most))


async def _read(provider: Any, most: int | None) -> list[Streamed] | None:
    begin = getattr(provider, "stream_async", None)
    pieces: AsyncIterator[Streamed] | None = None if begin is None else begin(_REQUEST)
    if pieces is None:
        return None
    read: list[Streamed] = []
    if not hasattr(pieces, "aclose"):
        return [piece async for piece in pieces]
    async with aclosing(cast(Any, pieces)):
        async for piece in pieces:
            read.append(piece)
            if len(read) == most:
                break
    return read
