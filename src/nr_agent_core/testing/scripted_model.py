"""
A model that answers by a script: for tests, demos and benchmarks.
"""

import itertools
import json
import re
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TypeAlias

import attrs

from nr_agent_core.domain.errors import FailureClass, ProviderError
from nr_agent_core.domain.model_dialogue import ModelAnswer, ModelCall, ModelRequest
from nr_agent_core.domain.value import Value
from nr_agent_core.ports.model_provider import Streamed


@attrs.frozen(repr=False, eq=False)
class Cut(Value):
    """
    A scripted answer that breaks off behind *text*: its stream ends there, and a whole answer never comes.
    """

    text: str = ""


Said: TypeAlias = str | ModelAnswer | Cut | BaseException
"""What a scripted model answers: a text, an answer with calls, a stream that is cut, or an error that it raises."""
Scripted: TypeAlias = Said | Callable[[ModelRequest], Said]
"""The same, or a function of the question that says it."""


class ScriptUsedUpError(AssertionError):
    """
    The model was asked more often than its script has answers. Nothing was answered.
    """

    def __init__(self, answers: int) -> None:
        super().__init__(f"the script of {answers} answers is used up; request {answers + 1} has none")
        self.answers = answers


class ScriptedModel:
    """
    Gives one answer of its script after the other, in every way of ``nr_agent_core.ports.model_provider``.

    A stream tells an answer word by word.

    >>> model = ScriptedModel(call("create_page", title="Team"), "The page is saved as a draft.")
    >>> model.complete(ModelRequest("", ())).calls[0].arguments
    '{"title": "Team"}'

    Args:
        answers: texts, whole answers, :class:`Cut` ones, exceptions to raise, or functions of the
            request that return one of these.

        otherwise: what is answered once the script is used up; without it that is an error.

        context_window: tokens the model takes; None when unknown.

        output_limit: the most tokens of an answer; None when unknown.

        streams: whether it can stream; if not, its streams are None.

    Attributes:
        requests: every request so far, in order.
    """

    def __init__(
        self,
        *answers: Scripted,
        otherwise: Scripted | None = None,
        context_window: int | None = None,
        output_limit: int | None = None,
        streams: bool = True,
    ) -> None:
        self._answers, self._otherwise, self._streams = answers, otherwise, streams
        self._context_window, self._output_limit = context_window, output_limit
        self._lock = threading.Lock()
        self.requests: list[ModelRequest] = []

    @property
    def context_window(self) -> int | None:
        """What it was made with."""
        return self._context_window

    @property
    def output_limit(self) -> int | None:
        """What it was made with."""
        return self._output_limit

    def complete(self, request: ModelRequest) -> ModelAnswer:
        """
        The next answer of the script.

        Raises:
            ScriptUsedUpError: there is none. Any exception of the script rises as it stands there.
        """
        said = self._next(request)
        if isinstance(said, Cut):
            raise _cut(said)
        return said

    async def complete_async(self, request: ModelRequest) -> ModelAnswer:
        """The same as :meth:`complete`, without ever waiting."""
        return self.complete(request)

    def stream(self, request: ModelRequest) -> Iterator[Streamed] | None:
        """The next answer of the script, word by word, and then as a whole; a :class:`Cut` one just ends."""
        return self._pieces(request) if self._streams else None

    def stream_async(self, request: ModelRequest) -> AsyncIterator[Streamed] | None:
        """The same as :meth:`stream`, without ever waiting."""
        return self._pieces_async(request) if self._streams else None

    async def _pieces_async(self, request: ModelRequest) -> AsyncIterator[Streamed]:
        for piece in self._pieces(request):
            yield piece

    def _pieces(self, request: ModelRequest) -> Iterator[Streamed]:
        said = self._next(request)
        yield from re.findall(r"\s*\S+\s*$|\s*\S+|\s+", said.text)
        if isinstance(said, ModelAnswer):
            yield said

    def _next(self, request: ModelRequest) -> ModelAnswer | Cut:
        with self._lock:
            number = len(self.requests)
            self.requests.append(request)
        answer = self._answers[number] if number < len(self._answers) else self._otherwise
        if answer is None:
            raise ScriptUsedUpError(len(self._answers))
        said = answer(request) if callable(answer) else answer
        if isinstance(said, BaseException):
            raise said
        if isinstance(said, str):
            return ModelAnswer(said, provider="scripted", model="scripted", finish_reason="stop")
        if isinstance(said, ModelAnswer) and said.finish_reason is None:
            # A stream without one was cut; what is to break off is said by Cut.
            return attrs.evolve(said, finish_reason="tool_calls" if said.calls else "stop")
        return said


def _cut(said: Cut) -> ProviderError:
    return ProviderError(f"the answer broke off behind {len(said.text)} characters", FailureClass.CONNECTION)


def call(name: str, /, **arguments: object) -> ModelAnswer:
    """
    An answer that asks for one call of the tool *name*.
    """
    return ModelAnswer(
        calls=(ModelCall(name, json.dumps(arguments, ensure_ascii=False)),),
        provider="scripted",
        model="scripted",
        finish_reason="tool_calls",
    )


def round_of(*answers: ModelAnswer, text: str = "") -> ModelAnswer:
    """
    One answer with the calls of all *answers* in their order, and *text* beside them.
    """
    calls = tuple(itertools.chain.from_iterable(answer.calls for answer in answers))
    return attrs.evolve(answers[0] if answers else ModelAnswer(), text=text, calls=calls)
