"""
Whether a paragraph describes how records stand and came to stand, or tells what was done just now (V4, V5).

"The page is published" is a state in one answer and a claim in another. The sentences beside it tell: counts, dates,
denials and traits of the record on one side; the speaker's own deeds, what is new and what it replaces on the other.
"""

from collections.abc import Iterable
from typing import Final

from nr_agent_core.domain.claims import word_class as wc

_TELLING: Final = wc.NOW | wc.BEFORE | wc.MARK | wc.ANSWERS
_PAST: Final = wc.WAS | wc.PASSIVE | wc.HAVE | wc.BEEN
_COUNTED: Final = wc.BE | wc.WAS | wc.HAVE | wc.PREPOSITION | wc.STATE_VERB | wc.PASSIVE | wc.TRAIT
_SHORT: Final = 4
_ENOUGH: Final = 2
"""What makes a description: a denial alone stands beside a claim as well."""
_DESCRIBING: Final = wc.DATED | wc.TRAIT | wc.REPORT


def describes(sentences: Iterable[list[int]]) -> bool:
    """
    Whether *sentences*, as classes of their words, describe and none of them tells of a change.
    """
    weight = 0
    for flags in sentences:
        union = 0
        for bits in flags:
            union |= bits
        if _tells(flags, union):
            return False
        weight += _weight(flags, union)
    return weight >= _ENOUGH


def _tells(flags: list[int], union: int) -> bool:
    """
    Whether the sentence says that something is new, or what the speaker did.
    """
    if union & wc.NEG and not union & wc.NOW:
        return False
    if union & _TELLING or (union & wc.ALONE and len(flags) < _SHORT):
        return True
    mine = union & (wc.SELF | wc.SELF_HAVE) and union & (wc.PARTICIPLE | wc.PAST)
    return bool(mine and not union & (wc.MODAL | wc.CONDITION | wc.DATED))


def _weight(flags: list[int], union: int) -> int:
    """
    How much the sentence speaks for a description: it counts, dates or names a trait, or, for less, it denies an event.
    """
    if (union & _DESCRIBING and not union & wc.CONDITION) or (union & wc.DATE and union & wc.SINCE):
        return _ENOUGH
    if union & wc.NEG and union & _PAST and union & wc.PARTICIPLE and not union & (wc.SELF | wc.MODAL | wc.CONDITION):
        return 1
    at = 0
    while at < len(flags) and flags[at] & wc.QUANTITY and not flags[at] & wc.QUOTED:
        at += 1
    return _ENOUGH if 0 < at < len(flags) and flags[at] & _COUNTED else 0
