"""
A model that is asked again when it fails in a way that may pass. Needs the extra ``retry``.
"""

import math
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, TypeVar

from nr_agent_core.adapters.model_access import asking
from nr_agent_core.domain.errors import InvalidValueError
from nr_agent_core.domain.failures import chain, classify
from nr_agent_core.domain.model_dialogue import ModelAnswer, ModelRequest
from nr_agent_core.ports.model_provider import AnyModel, Streamed

try:
    import stamina
except ModuleNotFoundError as missing:
    if missing.name != "stamina":
        raise
    raise ModuleNotFoundError(
        "a RetryingModel needs 'stamina': install nr-agent-core[retry]", name="stamina"
    ) from missing

_Told = TypeVar("_Told")


class RetryingModel:
    """
    Asks a model again after failures of retryable classes, after pauses that grow (R8, R10).

    A server that says when it wants to be asked again is heard, as long as the time allows it. A
    stream that has told a piece of an answer is not begun again: its failure rises.

    Args:
        model: who is asked.

        attempts: how often, the first time included.

        within: seconds from the first question on in which the last one begins. With the deadline
            of that one this stays below a run's lease.

        pause: seconds before the second question; before each further one twice as many.

        longest_pause: the most seconds of one pause. A server that asks for more is not waited for.

        jitter: up to how many seconds each pause is longer, by chance.

    Raises:
        InvalidValueError: a model that is none, no attempt, or a time that is none.
    """

    def __init__(
        self,
        model: AnyModel,
        *,
        attempts: int = 3,
        within: float = 55.0,
        pause: float = 0.5,
        longest_pause: float = 20.0,
        jitter: float = 0.5,
    ) -> None:
        asking.checked_model("the model of a RetryingModel", model)
        if isinstance(attempts, bool) or not isinstance(attempts, int) or attempts < 1:
            raise InvalidValueError("attempts of a RetryingModel", attempts, "a number from 1 on")
        for name, seconds in (
            ("within", within),
            ("pause", pause),
            ("longest_pause", longest_pause),
            ("jitter", jitter),
        ):
            if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds < math.inf:
                raise InvalidValueError(f"{name} of a RetryingModel", seconds, "seconds from 0 on")
        self._model, self._attempts, self._longest = model, attempts, longest_pause
        self._timing: dict[str, Any] = {
            "attempts": attempts,
            # It looks at the clock before a pause; the question behind the pause still begins in time.
            "timeout": max(within - longest_pause, 1e-9),
            "wait_initial": pause,
            "wait_max": longest_pause,
            "wait_jitter": jitter,
        }

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
        The model's answer.

        Raises:
            ProviderError: the last failure, or the first one that no repeat mends.
        """
        return self._tried(lambda: asking.complete(self._model, request))

    async def complete_async(self, request: ModelRequest) -> ModelAnswer:
        """
        The asynchronous twin of :meth:`complete`.
        """
        return await self._tried_async(lambda: asking.complete_async(self._model, request))

    def stream(self, request: ModelRequest) -> Iterator[Streamed]:
        """
        The model's stream; begun again as long as it has told nothing.

        Raises:
            ProviderError: as in :meth:`complete`, while the stream is read.
        """
        first, rest = self._tried(lambda: asking.begun(self._model, request))
        try:
            yield first
            yield from rest
        finally:
            asking.close(rest)

    async def stream_async(self, request: ModelRequest) -> AsyncIterator[Streamed]:
        """
        The asynchronous twin of :meth:`stream`.
        """
        first, rest = await self._tried_async(lambda: asking.begun_async(self._model, request))
        try:
            yield first
            async for piece in rest:
                yield piece
        finally:
            await asking.aclose(rest)

    def _tried(self, ask: Callable[[], _Told]) -> _Told:
        """What the first try tells that does not fail."""
        for attempt in self._tries():
            with attempt:
                return ask()
        raise AssertionError("a last failure rises")

    async def _tried_async(self, ask: Callable[[], Awaitable[_Told]]) -> _Told:
        async for attempt in self._tries():
            with attempt:
                return await ask()
        raise AssertionError("a last failure rises")

    def _tries(self) -> Any:
        return stamina.retry_context(on=self._again, **self._timing)

    def _again(self, error: BaseException) -> bool | float:
        """Whether it is asked again; a number is the pause that the server asked for."""
        if not isinstance(error, Exception) or not classify(error).retryable:
            return False
        asked_for = next((found for level in chain(error) if (found := _seconds(level)) is not None), None)
        if asked_for is None:
            return True
        return asked_for if asked_for <= self._longest else False


def _seconds(level: BaseException) -> float | None:
    found = getattr(level, "retry_after", None)
    return float(found) if isinstance(found, int | float) and not isinstance(found, bool) and found >= 0 else None
