"""
What reading an answer begins with and ends with, whatever the protocol.
"""

from typing import Any

from nr_agent_core.adapters.model_access import wire_form
from nr_agent_core.adapters.model_access.streamed_text import StreamedText
from nr_agent_core.domain.model_dialogue import ModelAnswer, ModelCall


class InBandError(Exception):
    """
    A failure that a server reported inside an answer.
    """

    def __init__(self, body: object) -> None:
        super().__init__("a failure inside an answer")
        self.body = body


class AnswerReading:
    """
    One answer as it is read. Whole documents and streams end in the same way.

    Args:
        provider: what the facts call the provider.
        model: the model that was asked; the answer may name another one.
    """

    def __init__(self, provider: str, model: str) -> None:
        self._provider, self._model = provider, model
        self._text = StreamedText()
        self._usage: dict[str, Any] = {}
        self._reason: str | None = None

    def rest(self) -> str:
        """What of the text still waited."""
        return self._text.rest()

    def _made(self, calls: tuple[ModelCall, ...], *, counted: tuple[int | None, str], echo: str | None) -> ModelAnswer:
        """
        The whole answer.

        Args:
            calls: what it calls.
            counted: the input tokens, and under which name the usage has those of the output.
            echo: what the server wants back.
        """
        input_tokens, output = counted
        return ModelAnswer(
            str(self._text),
            calls,
            provider=self._provider,
            model=self._model,
            input_tokens=input_tokens,
            output_tokens=wire_form.tokens(self._usage.get(output)),
            finish_reason=self._reason,
            provider_data=echo,
        )
