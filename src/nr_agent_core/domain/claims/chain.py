"""
What the clauses of one sentence say of each other: what one denies, answers, dates or leaves open for the next (V4).
"""

from itertools import pairwise
from typing import Final

from nr_agent_core.domain.claims import word_class as wc
from nr_agent_core.domain.claims.clauses import Clause

_MINE: Final = wc.SELF | wc.SELF_HAVE
_GOING_ON: Final = wc.AUXILIARY | wc.NEG | wc.STANDING | wc.ADVERB
OPEN: Final = wc.DATED | wc.CLITIC
"""Classes that the next word may decide against."""
_NOUN: Final = wc.NOMINAL | wc.DATE | wc.EITHER
_ASIDE: Final = wc.CONDITION | wc.SINCE | wc.QUESTION
_LATER: Final = 3
_REACH: Final = 8
_MANY: Final = 40
"""Behind so many clauses only the one before is asked what it hands on."""


def settle(flags: list[int]) -> None:
    """
    Take from *flags* what the next word decides against: the date of "the earlier version", the verb of "Ann's file".
    """
    for at in range(len(flags) - 1):
        bits = flags[at]
        if not bits & OPEN or flags[at + 1] & ~_NOUN:
            continue
        if bits & wc.CLITIC:
            flags[at] &= ~(wc.BE | wc.CLITIC)
        elif at and flags[at - 1] & (wc.DETERMINER | wc.QUANTITY):
            flags[at] &= ~wc.DATED


def stretch(clauses: list[Clause], number: int) -> int:
    """
    Classes of the clauses from *number* on up to a semicolon, a dash or a clause that gives the reason.
    """
    union = clauses[number].union
    for before, clause in pairwise(clauses[number:]):
        if (clause.hard and not before.colon) or clause.opener & _ASIDE:
            break
        union |= clause.union
    return union


def unfinished(flags: list[int], clauses: list[Clause], number: int) -> bool:
    """
    Whether the sentence goes on behind clause *number* with what is not so: "is written but not sent".
    """
    for clause in clauses[number + 1 : number + 2]:
        if clause.hard or not clause.union & wc.NEG or clause.union & (_MINE | wc.MODAL):
            continue
        begins = clause.start + bool(clause.opener & wc.CONTRAST)
        if begins == clause.start and not clause.contrasted:
            continue
        return begins < clause.end and bool(flags[begins] & _GOING_ON) and not _names(flags[begins])
    return False


def _names(bits: int) -> bool:
    """
    Whether a word of the classes *bits* begins a subject.
    """
    return bool(bits & (wc.DETERMINER | wc.PRONOUN | wc.SELF) and not bits & wc.AUXILIARY)


def chained(flags: list[int], clauses: list[Clause], clause: Clause) -> int:
    """
    How much a sentence alone looks like a list of states: "is released and scheduled, material is reserved".
    """
    within = sum(bool(bits & wc.PARTICIPLE) for bits in flags[clause.start : clause.end]) > 1
    beside = sum(bool(other.union & wc.PARTICIPLE and other.rest & wc.BE) for other in clauses[:_REACH]) > 1
    return within + beside


def handed_negation(clauses: list[Clause], number: int, *, adjacent: bool) -> bool:
    """
    Whether a clause before hands its negation or doubt down to clause *number*.
    """
    clause = clauses[number]
    if not number or clause.hard:
        return False
    before = clauses[number - 1]
    if clause.opener & wc.PASS_ON and before.union & (wc.NEG | wc.DOUBT) and before.union & (wc.MATRIX | wc.DOUBT):
        return True
    if adjacent or clause.joined or not clause.opener & wc.AUXILIARY:
        return False
    first = next(c for c in reversed(clauses[: number + 1]) if c.hard) if number < _MANY else before
    return bool(
        first is not clause
        and first.union & wc.NEG
        and not first.opener & wc.CONDITION
        and not first.rest & wc.AUXILIARY
    )


def answered(clauses: list[Clause], number: int) -> bool:
    """
    Whether clause *number* is a label whose value denies or counts: "saved: no", "closed: 12".
    """
    clause = clauses[number]
    if not clause.colon or number + 1 == len(clauses):
        return False
    value = clauses[number + 1]
    return bool(value.opener & wc.NEG) or (
        bool(value.opener & wc.QUANTITY) and value.end - value.start == 1 and clause.end - clause.start < _LATER
    )


def habitual(clauses: list[Clause], number: int) -> bool:
    """
    Whether a condition follows clause *number*: "is applied when the order is large".
    """
    return any(clause.opener & wc.CONDITION and not clause.hard for clause in clauses[number + 1 : number + 2])
