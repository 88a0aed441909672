"""
One configuration for everybody: the simplest resolver.
"""

from nr_agent_core.ports.configuration_resolver import Configuration


class FixedConfiguration:
    """
    Resolves every conversation and owner to the same configuration (G0).

    Args:
        configuration: what is in force; None means that the chat is not configured.
    """

    def __init__(self, configuration: Configuration | None) -> None:
        self._configuration = configuration

    def resolve(self, conversation: str | None, owner: str) -> Configuration | None:
        """The configuration given at the start, whoever asks."""
        return self._configuration
