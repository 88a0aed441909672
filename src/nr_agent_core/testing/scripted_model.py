"""
A model that answers by a script: for tests, demos and benchmarks.
"""

import itertools
import json
import threading
from collections.abc import Callable
from typing import TypeAlias

import attrs

from nr_agent_core.domain.model_dialogue import ModelAnswer, ModelCall, ModelRequest

Said: TypeAlias = str | ModelAnswer | BaseException
Scripted: TypeAlias = Said | Callable[[ModelRequest], Said]


class ScriptUsedUpError(AssertionError):
    """
    The model was asked more often than its script has answers. Nothing was answered.
    """

    def __init__(self, answers: int) -> None:
        super().__init__(f"the script of {answers} answers is used up; request {answers + 1} has none")
        self.answers = answers


class ScriptedModel:
    """
    Gives one answer of its script after the other (:class:`~nr_agent_core.ports.model_provider.ModelProvider`).

    >>> model = ScriptedModel(call("create_page", title="Team"), "The page is saved as a draft.")
    >>> model.complete(ModelRequest("", ())).calls[0].arguments
    '{"title": "Team"}'

    Args:
        answers: texts, whole answers, exceptions to raise, or functions of the request that
            return one of these.

        otherwise: what is answered once the script is used up; without it that is an error.

        context_window: tokens the model takes; None when unknown.

        output_limit: the most tokens of an answer; None when unknown.

    Attributes:
        requests: every request so far, in order.
    """

    def __init__(
        self,
        *answers: Scripted,
        otherwise: Scripted | None = None,
        context_window: int | None = None,
        output_limit: int | None = None,
    ) -> None:
        self._answers, self._otherwise = answers, otherwise
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
        with self._lock:
            number = len(self.requests)
            self.requests.append(request)
        answer = self._answers[number] if number < len(self._answers) else self._otherwise
        if answer is None:
            raise ScriptUsedUpError(len(self._answers))
        said = answer(request) if callable(answer) else answer
        if isinstance(said, BaseException):
            raise said
        return said if isinstance(said, ModelAnswer) else ModelAnswer(said, provider="scripted", model="scripted")


def call(name: str, /, **arguments: object) -> ModelAnswer:
    """
    An answer that asks for one call of the tool *name*.
    """
    return ModelAnswer(
        calls=(ModelCall(name, json.dumps(arguments, ensure_ascii=False)),), provider="scripted", model="scripted"
    )


def round_of(*answers: ModelAnswer, text: str = "") -> ModelAnswer:
    """
    One answer with the calls of all *answers* in their order, and *text* beside them.
    """
    calls = tuple(itertools.chain.from_iterable(answer.calls for answer in answers))
    return attrs.evolve(answers[0] if answers else ModelAnswer(), text=text, calls=calls)
