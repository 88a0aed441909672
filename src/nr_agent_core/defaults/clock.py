"""
The machine's own clock.
"""

import time


class SystemClock:
    """
    Tells the time of the machine (:class:`~nr_agent_core.ports.clock.Clock`).
    """

    def now(self) -> float:
        """Seconds since 1970-01-01 UTC."""
        return time.time()
