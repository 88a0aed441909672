"""
Tables that set old values beside new ones: they claim a change without a verb (V4).
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from nr_agent_core.domain.claims import frames
from nr_agent_core.domain.claims import word_class as wc
from nr_agent_core.domain.claims.context import Surroundings
from nr_agent_core.domain.claims.lexicon import Lexicon
from nr_agent_core.domain.claims.segments import Segments, Span
from nr_agent_core.domain.claims.tokens import TOKEN

_HEAD: Final = re.compile(r"^[ \t]*\|[^\n]*\n(?=[ \t]*\|[ \t]*:?-[-:| \t]*$)", re.MULTILINE)
RULED: Final = re.compile(r"^[ \t]*\|[ \t]*:?-", re.MULTILINE)
"""The rule of dashes below the head of a table."""
_OLD: Final = wc.OLD | wc.BEFORE
_NEW: Final = wc.NEW | wc.NOW
_LOGGED: Final = wc.ON_DATE | wc.BY | wc.PARTICIPLE | wc.QUESTION
"""In a head: the column of a log, which tells when it was, or by whom."""
_MOST: Final = 50
"""How many tables of one text are looked at."""

Tabled = tuple[int, int, Lexicon, str]


def changes(segments: Segments, around: Surroundings, lexicons: Sequence[Lexicon]) -> Iterator[Tabled]:
    """
    The word for "new" in the head of every table with an old and a new column, unless the answer only proposes it.
    """
    for number, head in enumerate(_HEAD.finditer(segments.text)):
        if number == _MOST:
            return
        cells = segments.sentences(segments.around(head.start()).line)
        for lexicon in lexicons:
            place = _new_column(segments.text, cells, lexicon)
            if place and not _blocked(around, cells[0], lexicon):
                yield (*place, lexicon, "a new column")
                break


def _new_column(text: str, cells: list[Span], lexicon: Lexicon) -> tuple[int, int] | None:
    """
    Where the head says "new", if another of its cells says "old" and none belongs to a log.
    """
    seen, place = 0, None
    for cell in cells:
        flags = lexicon.classify(TOKEN.findall(text, cell.start, cell.end))
        for bits, (start, end) in zip(flags, lexicon.spans(text, cell.start, cell.end), strict=False):
            seen |= bits
            place = place or ((start, end) if bits & _NEW and not bits & _OLD else None)
    return place if seen & _OLD and not seen & _LOGGED else None


def _blocked(around: Surroundings, cell: Span, lexicon: Lexicon) -> bool:
    outside = around.of(cell, lexicon).outside(True)
    return bool(outside.asks or outside.outline or frames.lead_block(outside.lead))
