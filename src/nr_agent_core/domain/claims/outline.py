"""
The headings of a text, and which of them stand above a line.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import Final

from nr_agent_core.domain.claims.segments import Line

_HEADING: Final = re.compile(r"^(#{1,6})(?!#)[^\n]{0,200}", re.MULTILINE)


class Outline:
    """
    All headings of *text*, found in one pass.
    """

    __slots__ = ("_lines", "_parents", "_starts")

    def __init__(self, text: str) -> None:
        self._starts: list[int] = []
        self._lines: list[Line] = []
        self._parents: list[int] = []
        open_at: list[tuple[int, int]] = []
        for number, match in enumerate(_HEADING.finditer(text) if "#" in text else ()):
            level = len(match[1])
            while open_at and open_at[-1][0] >= level:
                open_at.pop()
            self._parents.append(open_at[-1][1] if open_at else -1)
            open_at.append((level, number))
            self._starts.append(match.start())
            self._lines.append(Line(match.start(), match.end(), match.end(1)))

    def above(self, position: int) -> Iterator[Line]:
        """
        The nearest heading above *position*, the one above that of a higher rank, and so on: six at most.
        """
        number = bisect_left(self._starts, position) - 1
        while number >= 0:
            yield self._lines[number]
            number = self._parents[number]
