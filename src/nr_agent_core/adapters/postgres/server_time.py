"""
The server's time, without asking for it each time.
"""

import time

_AGE = 60.0
"""Seconds after which the server is asked again."""


class ServerTime:
    """
    How far the server's clock is from a clock of this machine that is never set.
    """

    __slots__ = ("_learned",)

    def __init__(self) -> None:
        self._learned: tuple[float, float] | None = None

    def learn(self, server: float) -> None:
        """The server's clock says *server* now."""
        here = _running()
        self._learned = here, server - here

    def now(self) -> float | None:
        """The server's time; None when it has to be asked for."""
        here, learned = _running(), self._learned
        if learned is None or here - learned[0] > _AGE:
            return None
        return here + learned[1]


def _running() -> float:
    """Seconds since some moment, those in which the machine slept included where the system counts them."""
    boottime = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boottime is None else time.clock_gettime(boottime)
