"""
Where new names come from.
"""

from typing import Protocol


class IdSource(Protocol):
    """
    Makes identifiers that nobody can guess and nobody else makes.
    """

    def run_id(self) -> str:
        """A new run's id; it is the correlation id of all its writes."""
        ...

    def conversation_id(self) -> str:
        """A new conversation's id."""
        ...

    def segment_token(self) -> str:
        """The random token of a segment's opening (R6)."""
        ...
