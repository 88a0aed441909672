"""
The places of an answer that claim a change, with as much text around them as a reader needs.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

import attrs

from nr_agent_core.domain.claims import Claim

AROUND: Final = 160
AT_MOST: Final = 5
_BLANK: Final = re.compile(r"\s+")


@attrs.frozen
class Passage:
    """
    A stretch of an answer as pieces ``(text, claimed)``, and whether the answer goes on at either end.
    """

    pieces: tuple[tuple[str, bool], ...]
    cut_before: bool
    cut_after: bool


def passages(text: str, claims: Iterable[Claim], *, around: int = AROUND) -> list[Passage]:
    """
    The stretches of *text* that hold *claims*, in order; without claims, its beginning.

    Args:
        text: the answer.
        claims: spans in it; they may touch or overlap.
        around: characters shown on either side of a claim.
    """
    spans = _joined(sorted((claim.start, claim.end) for claim in claims), 0)
    windows = [(_back(text, start, around), _on(text, end, around)) for start, end in spans]
    return [
        Passage(tuple(_pieces(text, start, end, spans)), start > 0, end < len(text))
        for start, end in _joined(windows or [(0, min(2 * around, len(text)))], 1)
    ]


def _back(text: str, place: int, around: int) -> int:
    start = max(place - around, 0)
    blank = _BLANK.search(text, start, place) if start else None
    return blank.end() if blank else start


def _on(text: str, place: int, around: int) -> int:
    end = min(place + around, len(text))
    if end == len(text):
        return end
    blanks = [blank.start() for blank in _BLANK.finditer(text, place, end)]
    return blanks[-1] if blanks and blanks[-1] > place else end


def _joined(spans: Iterable[tuple[int, int]], gap: int) -> list[tuple[int, int]]:
    """
    Sorted spans, those that overlap or are less than *gap* apart made one.
    """
    joined: list[tuple[int, int]] = []
    for start, end in spans:
        if joined and start < joined[-1][1] + gap:
            joined[-1] = joined[-1][0], max(joined[-1][1], end)
        else:
            joined.append((start, end))
    return joined


def _pieces(text: str, start: int, end: int, spans: Iterable[tuple[int, int]]) -> Iterator[tuple[str, bool]]:
    place = start
    for claim_start, claim_end in spans:
        if not start <= claim_start < end:
            continue
        if place < claim_start:
            yield text[place:claim_start], False
        yield text[claim_start:claim_end], True
        place = claim_end
    if place < end:
        yield text[place:end], False
