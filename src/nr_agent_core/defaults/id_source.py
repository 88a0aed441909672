"""
Identifiers from the system's source of chance.
"""

import os
import time


class RandomIds:
    """
    Makes identifiers that nobody can guess (:class:`~nr_agent_core.ports.id_source.IdSource`).

    Ids of runs and conversations are 32 lower hexadecimal characters: 12 of milliseconds, so that
    later ids sort behind earlier ones and a store appends instead of scattering, and 20 of chance.
    The system is asked for each of them, so a fork never repeats its parent's.
    """

    def run_id(self) -> str:
        """A new run's id."""
        return _ordered()

    def conversation_id(self) -> str:
        """A new conversation's id."""
        return _ordered()

    def segment_token(self) -> str:
        """The token of a segment's opening: 16 lower hexadecimal characters of chance (R6)."""
        return os.urandom(8).hex()


def _ordered() -> str:
    return f"{time.time_ns() // 1_000_000:012x}{os.urandom(10).hex()}"
