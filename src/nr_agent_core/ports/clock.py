"""
What time it is.
"""

from typing import Protocol


class Clock(Protocol):
    """
    Tells the time. Used for stamps, expiry and leases, never for an order of events.
    """

    def now(self) -> float:
        """Seconds since 1970-01-01 UTC."""
        ...
