"""
The model behind the chat.
"""

from typing import Protocol

from nr_agent_core.domain.model_dialogue import ModelAnswer, ModelRequest


class ModelProvider(Protocol):
    """
    Asks a model. Retries and fallbacks belong to decorators over this port.
    """

    @property
    def context_window(self) -> int | None:
        """The model's window in tokens; None when unknown (R11)."""
        ...

    @property
    def output_limit(self) -> int | None:
        """The most tokens an answer may have; None when unknown (R11)."""
        ...

    def complete(self, request: ModelRequest) -> ModelAnswer:
        """
        The model's whole answer.

        Raises:
            ProviderError: the model could not be asked or did not answer; its failure class says
                why. Any other exception is classified by its chain (R10).
        """
        ...
