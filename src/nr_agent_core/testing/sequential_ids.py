"""
Identifiers that a test can foresee.
"""

import itertools


class SequentialIds:
    """
    Counts, each kind for itself (:class:`~nr_agent_core.ports.id_source.IdSource`).

    >>> ids = SequentialIds()
    >>> ids.run_id(), ids.run_id(), ids.conversation_id()
    ('run-0001', 'run-0002', 'conversation-0001')
    """

    def __init__(self) -> None:
        self._runs, self._conversations, self._segments = (itertools.count(1) for _ in range(3))

    def run_id(self) -> str:
        """``run-0001`` and so on."""
        return f"run-{next(self._runs):04d}"

    def conversation_id(self) -> str:
        """``conversation-0001`` and so on."""
        return f"conversation-{next(self._conversations):04d}"

    def segment_token(self) -> str:
        """``segment-0001`` and so on."""
        return f"segment-{next(self._segments):04d}"
