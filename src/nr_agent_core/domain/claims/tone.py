"""
Whether a paragraph describes how records stand and came to stand, or tells what was done just now (V4, V5).

"The page is published" is a state in one answer and a claim in another. The sentences beside it tell: counts, dates,
denials and traits of the record on one side; the speaker's own deeds, what is new and what it replaces on the other.
"""

from collections.abc import Iterable
from itertools import pairwise
from typing import Final

from nr_agent_core.domain.claims import word_class as wc

_TELLING: Final = wc.NOW | wc.MARK | wc.ANSWERS
_HAPPENED: Final = wc.HAVE | wc.WAS | wc.PASSIVE | wc.PAST
_PAST: Final = wc.WAS | wc.PASSIVE | wc.HAVE | wc.BEEN
_COUNTED: Final = wc.BE | wc.WAS | wc.HAVE | wc.PREPOSITION | wc.STATE_VERB | wc.PASSIVE | wc.TRAIT
_STATING: Final = wc.BE | wc.PROGRESS
_NO_STATE: Final = wc.SELF | wc.SELF_HAVE | wc.NOW | wc.HAVE | wc.WAS | wc.PASSIVE | wc.CONDITION | wc.PLEASE
_NO_PLAN: Final = wc.SELF | wc.SELF_HAVE | wc.NOW | wc.OTHER | wc.PERSON | wc.CONDITION | wc.NEG
_SHORT: Final = 4
_GREETING: Final = 6
_ENOUGH: Final = 2
"""What makes a description: a denial alone stands beside a claim as well."""
_DATED: Final = 4


def describes(sentences: Iterable[list[int]], *, later: bool, past: bool, chained: int = 0) -> bool:
    """
    Whether *sentences*, as classes of their words, describe and none of them tells of a change.

    Of a sentence that is not the first with a verb, that is so if only nothing speaks against it: *later*. One in the
    *past* takes more: what was done is told with figures, too. Several states in one, *chained*, speak for it as well.
    """
    weight = chained
    for flags in sentences:
        union = 0
        for bits in flags:
            union |= bits
        if _tells(flags, union):
            return False
        later = later and not (union & wc.NEG and union & (wc.SELF | wc.SELF_HAVE))
        weight += _weight(flags, union) - (_ENOUGH if union & wc.STAYS else 0)
    if later:
        return not past or weight >= _ENOUGH
    return weight >= (_DATED if past else _ENOUGH)


def opens(sentences: Iterable[list[int]]) -> bool:
    """
    Whether *sentences* before one say nothing yet: "Good morning!", "Sure."
    """
    return all(len(flags) <= _SHORT or _greets(flags) for flags in sentences)


def _greets(flags: list[int]) -> bool:
    """
    Whether a sentence without a verb is only an opening: "Thanks for the quick reply, Anna."
    """
    opening = len(flags) <= _GREETING or (flags[0] & wc.FILLER and not flags[0] & wc.PERSON)
    return bool(opening) and not any(bits & wc.VERB for bits in flags)


def _tells(flags: list[int], union: int) -> bool:
    """
    Whether the sentence says that something is new, or what the speaker did.
    """
    if union & wc.NEG and not union & wc.NOW:
        return False
    if union & wc.FIND and any(bits & wc.FIND and then & wc.PRONOUN for bits, then in pairwise(flags)):
        return True
    if union & _TELLING or (union & wc.BEFORE and any(bits & wc.BEFORE and not bits & wc.WAS for bits in flags)):
        return True
    if union & wc.ALONE and len(flags) < _SHORT:
        return True
    mine = union & (wc.SELF | wc.SELF_HAVE) and union & (wc.PARTICIPLE | wc.PAST)
    return bool(mine and not union & (wc.MODAL | wc.CONDITION | wc.DATED))


def _dated(union: int) -> bool:
    """
    Whether the sentence says since when something is so, or on which day somebody else did it.
    """
    past = (union & _HAPPENED or (union & wc.PARTICIPLE and union & wc.OTHER)) and not union & (
        wc.SELF | wc.SELF_HAVE | wc.MODAL | wc.NOW
    )
    return bool(union & wc.DATE and (union & wc.SINCE or (past and union & wc.ON_DATE)))


def _has_several(flags: list[int]) -> bool:
    """
    Whether the sentence counts what a record has: "the page has twelve subpages".
    """
    return any(has & wc.HAVE and many & wc.QUANTITY and not many & wc.QUOTED for has, many in pairwise(flags))


def _lasts(union: int) -> bool:
    """
    Whether the sentence says until when something runs.
    """
    return bool(union & wc.DATE and union & wc.BOUND and union & wc.STATE_VERB and not union & (wc.MODAL | wc.SELF))


def _weight(flags: list[int], union: int) -> int:
    """
    How much the sentence speaks for a description: it counts, dates or names a trait, or, for less, it denies an event.
    """
    if (union & (wc.DATED | wc.REPORT) and not union & wc.CONDITION) or _dated(union):
        return _DATED
    if (union & wc.TRAIT or _lasts(union)) and not union & wc.CONDITION:
        return _ENOUGH
    if (
        union & wc.NEG
        and union & (_PAST | wc.BE)
        and union & wc.PARTICIPLE
        and not union & (wc.SELF | wc.MODAL | wc.CONDITION)
    ):
        return 1
    if len(flags) > 1 and flags[0] & wc.PARTICIPLE and flags[1] & (wc.BE | wc.PASSIVE):
        return 1
    if union & wc.HAVE and not union & (wc.PARTICIPLE | wc.SELF | wc.SELF_HAVE | wc.MODAL) and _has_several(flags):
        return _ENOUGH
    if union & _STATING and union & wc.PARTICIPLE and not union & _NO_STATE:
        return 1
    if union & wc.MODAL and union & wc.PARTICIPLE and not union & _NO_PLAN:
        return 1
    at = 0
    while at < len(flags) and flags[at] & wc.QUANTITY and not flags[at] & wc.QUOTED:
        at += 1
    if 0 < at < len(flags) - 1 and not flags[at] and not union & wc.PARTICIPLE:
        return _ENOUGH if flags[at + 1] & wc.BE else 0
    return _ENOUGH if 0 < at < len(flags) and flags[at] & _COUNTED else 0
