"""
One question while it is recorded.
"""

import math
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, Self

from nr_agent_core.domain.errors import ProviderError
from nr_agent_core.domain.failures import chain, classify
from nr_agent_core.domain.model_dialogue import ModelAnswer
from nr_agent_core.domain.sanitiser import sanitise
from nr_agent_core.ports.model_provider import Streamed
from nr_agent_core.testing._recording.file import Broken, Exchange, Failed, Form, Outcome, answer_form, answer_of
from nr_agent_core.testing._recording.matching import Secrets


class OpenExchange:
    """
    A question that is being recorded. As a context manager it is a stream, and ends with it.

    Args:
        asked: the request, without secrets.
        secrets: takes them out of what comes.
        keep: is given the exchange, without secrets, once it is over.
    """

    def __init__(self, asked: Form, secrets: Secrets, keep: Callable[[Exchange], None]) -> None:
        self._asked, self._secrets, self._keep = asked, secrets, keep
        self._told: list[str] | None = None
        self._over = False

    def __enter__(self) -> Self:
        self._told = []
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is None:
            self.end(Broken.CUT)
        elif isinstance(error, Exception):
            self.fail(error)
        elif self._told:
            # Of one that told nothing there is nothing to replay.
            self.end(Broken.GIVEN_UP)

    def take(self, piece: Streamed) -> None:
        """The next piece. With its answer a stream is over, whether or not its reader reads on."""
        if isinstance(piece, ModelAnswer):
            self.end(piece)
        elif self._told is not None:
            self._told.append(piece)

    def fail(self, error: Exception) -> None:
        """It failed."""
        self.end(failed(error, self._secrets))

    def end(self, outcome: Outcome) -> None:
        """What came of it; the first word counts."""
        if self._over:
            return
        self._over = True
        whole = isinstance(outcome, ModelAnswer)
        if isinstance(outcome, ModelAnswer):
            outcome = answer_of(self._secrets.without(answer_form(outcome)))
        pieces = None if self._told is None else self._secrets.of_stream(self._told, whole=whole)
        self._keep(Exchange(self._asked, pieces, outcome))


def failed(error: Exception, secrets: Secrets) -> Failed:
    """A failure as it is recorded: its class, its text without secrets, addresses and paths (F3)."""
    seconds: Iterator[Any] = (getattr(level, "retry_after", None) for level in chain(error))
    after = next((found for found in seconds if isinstance(found, int | float) and 0 <= found < math.inf), None)
    text = str(error) if isinstance(error, ProviderError) else f"{type(error).__name__}: {error}"
    # Before the text is cut: half a secret looks like nothing that is known.
    safe = secrets.without(sanitise(secrets.without(text)))
    return Failed(classify(error), safe, None if after is None else float(after))
