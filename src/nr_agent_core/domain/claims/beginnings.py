"""
States that begin, come back or end now, by their verb (V4): "can log in again", "gets no more mail", "now leads there".
"""

from typing import Final

from nr_agent_core.domain.claims import word_class as wc
from nr_agent_core.domain.claims.clauses import Clause
from nr_agent_core.domain.claims.lexicon import Lexicon
from nr_agent_core.domain.claims.uses import BEING, Use

PREDICATE: Final = wc.BE | wc.HAVE | wc.STATE_VERB
"""Verbs that say how a thing is."""
_COMPLEMENT: Final = wc.DETERMINER | wc.PREPOSITION | wc.QUANTITY | wc.QUOTED | wc.SWITCHED
_SHORT: Final = 9
_AHEAD: Final = 7

Place = tuple[int, Use]


def _third(clause: Clause, *, somebody: bool = False) -> bool:
    """
    Whether *clause* says of a thing or a third person, or of *somebody*, how it is: neither as a habit nor as a step.
    """
    without = wc.CONDITION | wc.THEN | wc.GENERIC | wc.STANDING | wc.HAD | wc.WAS | wc.FIND | wc.PLAN
    return not (
        clause.union & without
        or clause.rest & (wc.SELF | wc.SELF_HAVE)
        or clause.opener & (wc.SUBORDINATE | wc.PASS_ON)
        or (clause.opener & wc.PERSON and not somebody)
        or clause.bracketed
    )


def enabled(flags: list[int], clause: Clause) -> Place | None:
    """
    "Mr Smith can log in again", "visitors can now comment".
    """
    if clause.union & wc.NEG and not clause.union & wc.NO_LONGER:
        return None
    if clause.union & wc.FUTURE and not clause.union & wc.NO_LONGER:
        return None
    if any(bits & wc.MODAL and not bits & wc.ABLE for bits in flags[clause.start : clause.end]):
        return None
    if not _third(clause, somebody=bool(clause.union & wc.FUTURE and clause.union & wc.NO_LONGER)):
        return None
    able = next(at for at in range(clause.start, clause.end) if flags[at] & wc.ABLE)
    beside = [flags[at] for at in (able - 1, able + 1) if clause.start <= at < clause.end]
    if any(bits & wc.BOUND and not bits & wc.PREPOSITION for bits in flags[clause.start : able]):
        return None
    if able == clause.start or any(bits & wc.PRONOUN and not bits & wc.OTHER for bits in beside):
        return None
    return able, Use(BEING, "can from now on")


def placed(flags: list[int], clause: Clause) -> Place | None:
    """
    "The link is in Gwen's inbox": where the work went, said of a thing that is named.
    """
    subject = clause.opener & (wc.QUANTITY | wc.PREPOSITION) or (
        clause.opener & wc.PRONOUN and not clause.opener & wc.DETERMINER
    )
    if subject or not _third(clause) or clause.union & (wc.NEG | wc.MODAL | wc.TRAIT | wc.PARTICIPLE):
        return None
    for at in range(clause.start + 1, clause.end - 2):
        if not flags[at] & (wc.BE | wc.STATE_VERB) or not flags[at + 1] & wc.PREPOSITION:
            continue
        for place in range(at + 2, min(at + _AHEAD, clause.end)):
            if flags[place] & wc.PLACE:
                return place, Use(BEING, "is there")
    return None


def ended(flags: list[int], clause: Clause) -> Place | None:
    """
    "He gets no advertising any more", where the negator and the word of the end stand apart.
    """
    at = next(at for at in range(clause.start, clause.end) if flags[at] & wc.NO_MORE)
    behind = flags[at + 1] if at + 1 < clause.end else 0
    if at < clause.negator or behind & wc.AS or clause.union & wc.TRAIT or not clause.rest & wc.STATE_VERB:
        return None
    return (at, Use(BEING, "state from now on")) if _third(clause) else None


def resumed(lexicon: Lexicon, tokens: list[str], flags: list[int], clause: Clause) -> Place | None:
    """
    "The shop is open again".
    """
    at = next(at for at in range(clause.start, clause.end) if flags[at] & wc.RESUMED)
    if not _third(clause) or clause.union & (wc.PARTICIPLE | wc.SOUND) or clause.end - clause.start > _SHORT:
        return None
    if lexicon.adjacent:
        if lexicon.progressive and tokens[at - 1].endswith(lexicon.progressive):
            return None
        told = bool(at + 1 == clause.end and clause.rest & PREDICATE and not clause.opener & PREDICATE)
    else:
        told = bool(at - 1 > clause.start and flags[at - 1] & (wc.BE | wc.STATE_VERB))
    return (at, Use(BEING, "state again")) if told else None


def present(lexicon: Lexicon, tokens: list[str], flags: list[int], clause: Clause) -> bool:
    """
    Whether a word that looks like a verb in the present stands beside the word of NOW: "now sends".
    """
    mask = wc.NOW | wc.NO_LONGER
    for at in range(clause.start + 1, clause.end):
        near = (
            mask
            if clause.union & wc.EFFECTIVE
            else flags[max(clause.start, at - 1)] | (flags[at + 1] if at + 1 < clause.end else 0)
        )
        if (
            near & mask
            and not flags[at] & ~(wc.FINITE | wc.PHRASE | wc.EITHER)
            and tokens[at].endswith(lexicon.present_endings)
        ):
            return True
    return _closing(lexicon, tokens, flags, clause) or _plural(lexicon, tokens, flags, clause)


def _closing(lexicon: Lexicon, tokens: list[str], flags: list[int], clause: Clause) -> bool:
    """
    Whether a clause that the word of NOW closes has a verb that no list holds: "the old address leads there now".
    """
    last = flags[clause.end - 1]
    if last & wc.NO_LONGER and any(bits & wc.FINITE and bits & wc.NEG for bits in flags[clause.start : clause.end]):
        return bool(clause.opener & wc.DETERMINER or not clause.opener & wc.PRONOUN)
    if not last & (wc.NOW | wc.NO_LONGER) or clause.rest & wc.VERB:
        return False
    for at in range(clause.start + 1, clause.end - 2):
        if flags[at] or not flags[at + 1] & _COMPLEMENT:
            continue
        plural = lexicon.generic_plural and not flags[at - 1] and tokens[at - 1].endswith(lexicon.generic_plural)
        if plural or tokens[at].endswith(lexicon.present_endings):
            return True
    return False


def _plural(lexicon: Lexicon, tokens: list[str], flags: list[int], clause: Clause) -> bool:
    """
    Whether a bare plural has its verb behind the word of NOW: "visitors now end up".
    """
    if not lexicon.generic_plural:
        return False
    for at in range(clause.start + 1, clause.end - 1):
        if flags[at] & wc.NOW and not flags[at - 1] & (wc.VERB | wc.PHRASE | wc.CUT):
            subject = any(tokens[name].endswith(lexicon.generic_plural) for name in range(clause.start, at))
            return subject and not flags[at + 1] & ~(wc.FINITE | wc.EITHER | wc.BASE | wc.PHRASE | wc.STATE_VERB)
    return False
