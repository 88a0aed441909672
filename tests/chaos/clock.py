"""
The clock of all processes of a chaos: it runs faster than the machine's, and it jumps.
"""

import mmap
import struct
import time
from pathlib import Path

SPEED = 120.0
"""
Seconds of this clock in one of the machine's. So the fixed figures of leases stay as they are (60 seconds of margin,
120 for a model) and pass in half a second and one and a half.
"""
_FORM = struct.Struct("<dd")


class LeapingClock:
    """
    A clock in a file that all processes map: what one of them moves, all see at once.

    Args:
        path: the file; made by :meth:`made`.
    """

    def __init__(self, path: Path) -> None:
        with path.open("r+b") as file:
            self._shared = mmap.mmap(file.fileno(), _FORM.size)

    @classmethod
    def made(cls, path: Path, began: float) -> "LeapingClock":
        """A new one that shows *began* at that moment of the machine's time."""
        path.write_bytes(_FORM.pack(began, 0.0))
        return cls(path)

    def now(self) -> float:
        """Seconds since 1970, as this clock has it."""
        began, leaps = _FORM.unpack_from(self._shared)
        return float(began + (time.time() - began) * SPEED + leaps)

    def leap(self, seconds: float) -> None:
        """Be *seconds* later, or earlier, from now on."""
        began, leaps = _FORM.unpack_from(self._shared)
        _FORM.pack_into(self._shared, 0, began, leaps + seconds)
