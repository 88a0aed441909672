"""
Several models in an order: the next one is asked when one fails.
"""

import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator
from typing import TypeVar

from nr_agent_core.adapters.model_access import asking
from nr_agent_core.domain.context_window import UNKNOWN_WINDOW
from nr_agent_core.domain.errors import FailureClass, InvalidValueError, ProviderError
from nr_agent_core.domain.failures import classify
from nr_agent_core.domain.model_dialogue import ModelAnswer, ModelRequest
from nr_agent_core.domain.sanitiser import sanitised_chain
from nr_agent_core.ports.model_provider import AnyModel, Streamed

_log = logging.getLogger(__name__)

_Told = TypeVar("_Told")

# A refusal is not shopped around.
_FALLING_ON = frozenset(FailureClass) - {FailureClass.CONTENT_REFUSED}


class FallbackModel:
    """
    Asks the first of its models, and the next one when that fails; each question begins at the first.

    Who answered stands in the answer, and so in the run's ``model`` event. A stream that has told
    a piece of an answer is not begun again elsewhere: its failure rises. When all have failed, what
    rises has the class that their failures have together (R10): set-up before all, else the first's.

    >>> from nr_agent_core.testing.scripted_model import ScriptedModel
    >>> broken = ScriptedModel(otherwise=ConnectionError())
    >>> FallbackModel(broken, ScriptedModel("Hello.")).complete(ModelRequest("", ())).text
    'Hello.'

    Args:
        models: in the order in which they are asked.

        on: after which failures the next one is asked; None: after all but a refusal.

        within: seconds from the first question on in which the next model is still asked. With the
            deadline of a last question this stays below a run's lease (R8).

    Raises:
        InvalidValueError: no model, or something that is none.
    """

    def __init__(self, *models: AnyModel, on: Collection[FailureClass] | None = None, within: float = 55.0) -> None:
        if not models:
            raise InvalidValueError("the models of a FallbackModel", models, "one or more")
        for number, model in enumerate(models, 1):
            asking.checked_model(f"model {number} of a FallbackModel", model)
        self._models, self._on, self._within = models, _FALLING_ON if on is None else frozenset(on), within

    @property
    def context_window(self) -> int | None:
        """The smallest of them, so that any can answer; None when none is known (R11)."""
        windows = [getattr(model, "context_window", None) for model in self._models]
        if not any(windows):
            return None
        return min(window or UNKNOWN_WINDOW for window in windows)

    @property
    def output_limit(self) -> int | None:
        """The largest that is known (R11)."""
        return max((getattr(model, "output_limit", None) or 0 for model in self._models), default=0) or None

    def complete(self, request: ModelRequest) -> ModelAnswer:
        """
        The answer of the first model that gives one.

        Raises:
            ProviderError: none did.
        """
        return self._first(lambda model: asking.complete(model, request))

    async def complete_async(self, request: ModelRequest) -> ModelAnswer:
        """
        The asynchronous twin of :meth:`complete`.
        """
        return await self._first_async(lambda model: asking.complete_async(model, request))

    def stream(self, request: ModelRequest) -> Iterator[Streamed]:
        """
        The stream of the first model that tells a piece of its answer.

        Raises:
            ProviderError: none did, or the one that had begun failed; while the stream is read.
        """
        first, rest = self._first(lambda model: asking.begun(model, request))
        try:
            yield first
            yield from rest
        finally:
            asking.close(rest)

    async def stream_async(self, request: ModelRequest) -> AsyncIterator[Streamed]:
        """
        The asynchronous twin of :meth:`stream`.
        """
        first, rest = await self._first_async(lambda model: asking.begun_async(model, request))
        try:
            yield first
            async for piece in rest:
                yield piece
        finally:
            await asking.aclose(rest)

    def _first(self, ask: Callable[[AnyModel], _Told]) -> _Told:
        """What the first model tells that does not fail."""
        failed = _Failed(self._on, self._within)
        for model in self._models:
            try:
                return ask(model)
            except Exception as error:
                if not failed.goes_on(error):
                    raise
        raise failed.all()

    async def _first_async(self, ask: Callable[[AnyModel], Awaitable[_Told]]) -> _Told:
        failed = _Failed(self._on, self._within)
        for model in self._models:
            try:
                return await ask(model)
            except Exception as error:
                if not failed.goes_on(error):
                    raise
        raise failed.all()


class _Failed:
    """The failures of one question so far."""

    def __init__(self, on: frozenset[FailureClass], within: float) -> None:
        self._on, self._end = on, time.monotonic() + within
        self._errors: list[Exception] = []

    def goes_on(self, error: Exception) -> bool:
        """Whether the next model is asked."""
        found = classify(error)
        self._errors.append(error)
        _log.warning("model %d gave no answer: %s", len(self._errors), sanitised_chain(error))
        return found in self._on and time.monotonic() < self._end

    def all(self) -> ProviderError:
        """What rises when there is no next one."""
        if len(self._errors) == 1 and isinstance(self._errors[0], ProviderError):
            return self._errors[0]
        together = ExceptionGroup("every model failed", self._errors)
        told = "; ".join(
            str(error) if isinstance(error, ProviderError) else type(error).__name__ for error in self._errors
        )
        found = ProviderError(f"none of {len(self._errors)} models answered: {told}", classify(together))
        found.__cause__ = together
        return found
