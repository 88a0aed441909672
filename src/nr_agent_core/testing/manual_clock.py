"""
A clock that stands until it is told to go on.
"""


class ManualClock:
    """
    Tells the time it was set to (:class:`~nr_agent_core.ports.clock.Clock`).

    >>> clock = ManualClock(1000.0)
    >>> clock.advance(60)
    >>> clock.now()
    1060.0

    Args:
        start: seconds since 1970-01-01 UTC.
    """

    def __init__(self, start: float = 1_700_000_000.0) -> None:
        self._now = float(start)

    def now(self) -> float:
        """The time it stands at."""
        return self._now

    def advance(self, seconds: float) -> None:
        """Let *seconds* pass; with a negative number the clock is put back, as real ones are."""
        self._now += seconds
