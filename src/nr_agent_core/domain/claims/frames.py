"""
Up to which strength the surroundings of a form block it: frames (V4, V5).

A frame never makes a claim. It says that what looks like one is asked, offered, planned, supposed, instructed, dated,
reported, somebody else's, or how things stand anyway.
"""

from typing import Final, NamedTuple

from nr_agent_core.domain.claims import word_class as wc
from nr_agent_core.domain.claims.clauses import Clause
from nr_agent_core.domain.claims.lexicon import Lexicon
from nr_agent_core.domain.claims.uses import BARE, BEING, FIRST_PERSON, PASSIVE, Use

_PLANNED: Final = wc.MODAL | wc.CONDITION | wc.QUESTION | wc.DOUBT
_NAMED: Final = wc.PLAN | wc.INSTRUCTION | wc.PLEASE | wc.REPORT | wc.DATED
_STATING: Final = wc.STANDING | wc.STATUS | wc.GENERIC
_REACH: Final = 5


class Context(NamedTuple):
    """
    What stands around a sentence.
    """

    question: bool = False
    lead: int = 0
    """Classes of the line that leads into the list or table."""

    earlier: int = 0
    """Classes of the sentence before in the same paragraph."""

    header: int = 0
    """Classes of the head of the table column."""

    asks: bool = False
    """Whether the answer ends in asking for a go-ahead."""

    listed: bool = False
    cell: bool = False
    only: bool = False
    """Whether the answer is this one sentence."""


def context_block(context: Context) -> int:
    """
    What blocks a sentence from outside.
    """
    block = lead_block(context.lead)
    if context.header & wc.STATUS:
        block = max(block, BEING)
    if context.asks or lead_block(context.earlier) == PASSIVE:
        block = max(block, BARE)
    return block


def lead_block(union: int) -> int:
    """
    What a lead of the classes *union* blocks in what it leads into: the list below it, the part behind its colon.
    """
    if union & _PLANNED or (union & _NAMED and not union & wc.PARTICIPLE):
        return PASSIVE
    return BEING if union & _STATING and not union & wc.PARTICIPLE else 0


def clause_block(lexicon: Lexicon, flags: list[int], clause: Clause, sentence: int, use: Use) -> int:
    """
    Up to which strength *clause*, in a sentence of the classes *sentence*, blocks *use*.
    """
    union = clause.union
    if union & (wc.CONDITION | wc.DOUBT):
        return FIRST_PERSON
    if sentence & wc.DATED and (use.past or not lexicon.adjacent):
        return FIRST_PERSON
    if sentence & (wc.REPORT | wc.DATED) or (union & wc.DATE and _dated(flags, clause, use)):
        return PASSIVE
    if union & wc.BY and _by_other(lexicon, flags, clause):
        return PASSIVE
    if clause.opener & (wc.SUBORDINATE | wc.PASS_ON) and not clause.opener & wc.MATRIX and use.strength <= PASSIVE:
        return PASSIVE
    if union & (wc.THEN | wc.GENERIC):
        return BEING
    if union & wc.STANDING and not union & (wc.NOW | wc.ALONE):
        return BEING
    return 0


def being_block(lexicon: Lexicon, tokens: list[str], flags: list[int], clause: Clause, index: int) -> bool:
    """
    Whether "is" with the form at *index* says how things stand instead of what was done.
    """
    if flags[index] & wc.STATIVE and not clause.union & wc.NOW:
        return True
    first = flags[clause.start]
    if first & wc.QUANTITY and not clause.union & wc.NOW:
        return True
    ending = lexicon.generic_plural
    return bool(
        ending
        and not clause.union & (wc.DETERMINER | wc.QUANTITY | wc.PRONOUN | wc.NOW | wc.QUOTED)
        and any(
            tokens[at].endswith(ending) and not flags[at] for at in range(clause.start, min(index, clause.start + 4))
        )
    )


def _dated(flags: list[int], clause: Clause, use: Use) -> bool:
    """
    Whether a date in *clause* says when it happened: "on", "since" before it, in a past tense.
    """
    for at in range(clause.start, clause.end):
        if flags[at] & wc.DATE:
            near = 0
            for bits in flags[max(clause.start, at - 3) : at]:
                near |= bits
            if near & wc.SINCE or (near & wc.ON_DATE and (use.past or use.strength == BEING)):
                return True
    return False


def _by_other(lexicon: Lexicon, flags: list[int], clause: Clause) -> bool:
    """
    Whether *clause* names an actor who is not the speaker.
    """
    for at in range(clause.start, clause.end - 1):
        if flags[at] & wc.BY:
            near = flags[at + 1 : min(clause.end, at + 1 + _REACH)]
            if near and near[0] & (wc.SELF | wc.BY_NO_ONE | wc.QUANTITY):
                continue
            if lexicon.any_agent or any(bits & wc.OTHER for bits in near):
                return True
    return False
