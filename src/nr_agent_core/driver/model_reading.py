"""
Reading a model's stream: what is told of it, and what makes it an answer.
"""

from typing import Any

from nr_agent_core.domain.errors import FailureClass, ProviderError
from nr_agent_core.domain.model_dialogue import ModelAnswer
from nr_agent_core.domain.turn_events import TextDelta
from nr_agent_core.driver.waits import Watch


class Reading:
    """
    One stream as it is read. A stream that was cut is a lost connection, never an answer.
    """

    __slots__ = ("_answer", "_length", "_round", "_watch")

    def __init__(self, number: int, watch: Watch) -> None:
        self._round, self._watch = number, watch
        self._answer: ModelAnswer | None = None
        self._length = 0

    def take(self, piece: object) -> None:
        """
        The next piece of the stream.

        Raises:
            ProviderError: it is neither a text nor an answer, or comes behind the answer.
        """
        if self._answer is not None or not isinstance(piece, str | ModelAnswer):
            what = "goes on behind its answer" if self._answer is not None else f"holds a {type(piece).__name__}"
            raise ProviderError(f"the stream of the model {what}")
        if isinstance(piece, ModelAnswer):
            self._answer = piece
        elif piece:
            self._length += len(piece)
            self._watch(TextDelta(self._round, piece))

    def answer(self) -> ModelAnswer:
        """
        The whole answer.

        Raises:
            ProviderError: the stream ended without one, or nothing says why it ended.
        """
        if self._answer is None or not self._answer.finish_reason:
            read = f"{self._length} characters were read of it"
            raise ProviderError(f"the stream of the model was cut; {read}", FailureClass.CONNECTION)
        return self._answer


def told_at_once(answer: Any, number: int, watch: Watch) -> Any:
    """
    *answer*, whose whole text is one piece: its model does not stream.
    """
    if isinstance(answer, ModelAnswer) and isinstance(answer.text, str) and answer.text:
        watch(TextDelta(number, answer.text))
    return answer
