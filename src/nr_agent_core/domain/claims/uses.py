"""
How a form is used, as a strength from 1 to 4 (0: it claims nothing).

4 first person perfect or past; 3 passive perfect; 2 "is" or "was" with the form; 1 an ellipsis, a state, a label, a
mark. Two shapes of language: where the auxiliary stands directly before the form (adjacent), and where it stands
anywhere in the clause (frame).
"""

from typing import Final, NamedTuple

from nr_agent_core.domain.claims import word_class as wc
from nr_agent_core.domain.claims.clauses import Clause

FIRST_PERSON: Final = 4
PASSIVE: Final = 3
BEING: Final = 2
BARE: Final = 1

_BETWEEN: Final = wc.ADVERB | wc.NOW | wc.STANDING | wc.NEG | wc.GENERIC | wc.THEN | wc.DOUBT
_NAME_END: Final = (
    wc.BOUND
    | wc.CUT
    | wc.CONJUNCTION
    | wc.PREPOSITION
    | wc.ADVERB
    | wc.NOW
    | wc.VERB
    | wc.BY
    | wc.DETERMINER
    | wc.PRONOUN
)
_SHORT: Final = 6
_ARTICLE: Final = wc.DETERMINER | wc.ADVERB | wc.ON_DATE | wc.FUNCTION | wc.PHRASE
_NO_THING: Final = wc.MODAL | wc.PERSON | wc.SELF
_LIGHT: Final = wc.ADVERB | wc.FILLER | wc.CONJUNCTION | wc.NOW | wc.PREPOSITION
"""What may stand before a verb whose speaker is left out, where nothing parts the words."""

_OBJECT: Final = wc.DETERMINER | wc.PRONOUN | wc.SELF | wc.OTHER


class Use(NamedTuple):
    """
    How one form is used.
    """

    strength: int
    why: str
    past: bool = False
    """Told in a past tense: a date beside it makes it a report."""

    negated: bool = False


NO_USE: Final = Use(0, "")
GOVERNED: Final = Use(0, "governed")
"""Somebody else's, or not yet: handed on to the forms that share its verb."""


class Carry:
    """
    What the clauses before hand on within one part of a sentence.

    Attributes:
        use: of the last form judged there, if any.

        self_subject: whether the speaker is the subject so far.

        union: classes of the clause before.
    """

    __slots__ = ("self_subject", "union", "use")

    def __init__(self) -> None:
        self.use: Use | None = None
        self.self_subject = False
        self.union = 0


def adjacent(flags: list[int], clause: Clause, index: int, carry: Carry) -> Use:
    """
    The use of the form at *index* where its auxiliary must stand directly before it.
    """
    if index > clause.start and flags[index - 1] & wc.AS:
        return NO_USE
    at, negated = _back(flags, clause.start, index - 1)
    before = flags[at] if at >= clause.start else 0
    if flags[index] & wc.BY_FORM:
        return _by_form(flags[index], before, negated=negated)
    if before & wc.BEEN:
        return _perfect_passive(flags, clause, at, negated)
    if before & (wc.MODAL | wc.HAD | wc.INFINITIVE):
        return GOVERNED
    if before & (wc.HAVE | wc.SELF_HAVE):
        use = _perfect(flags, clause, at, carry, negated)
        if use is GOVERNED and flags[index] & wc.MOVES and clause.other >= index and not clause.rest & _NO_THING:
            return Use(BEING, "has moved", negated=negated)
        return use
    if before & wc.BE:
        return Use(BEING, "is done", negated=negated)
    if before & wc.WAS:
        return Use(BEING, "was done", past=True, negated=negated)
    if before & wc.PASSIVE:
        return Use(PASSIVE, "got done", negated=negated)
    if before & wc.PROGRESS:
        if clause.rest & (wc.OTHER | wc.SELF):
            return NO_USE
        return Use(BARE, "being done", negated=negated)
    if before & wc.SELF:
        return Use(FIRST_PERSON, "I did", past=True, negated=negated)
    if before & (wc.GETS | wc.DID | wc.OTHER | wc.FINITE) or (before & wc.PRONOUN and not before & wc.DETERMINER):
        return _bare(flags, clause, index, negated) if _field(flags, clause, at) else GOVERNED
    if before & wc.CONJUNCTION or at < clause.start:
        return _joined(flags, clause, index, carry, negated)
    return _alone_or_elided(flags, clause, index, negated)


def _field(flags: list[int], clause: Clause, at: int) -> bool:
    """
    Whether the word at *at*, which could be somebody, is the name of a field: "Owner set to Priya".
    """
    if at != clause.start or not flags[at] & wc.OTHER or at + 2 >= clause.end:
        return False
    return bool(flags[at + 1] & wc.STATIVE and flags[at + 2] == flags[at + 1])


def unspaced(flags: list[int], clause: Clause, index: int, carry: Carry) -> Use:
    """
    The use of the verb at *index* where words have no forms and nothing parts them: small words around it tell.
    """
    behind = flags[index + 1 : min(clause.end, index + 3)]
    if behind and (behind[0] & wc.LINK or (behind[0] & wc.RESULT and behind[-1] & wc.LINK)):
        return NO_USE
    before = 0
    for bits in flags[clause.start : index]:
        before |= bits
    have = next((at for at in range(clause.start, index) if flags[at] & wc.HAVE), index)
    if before & wc.MODAL or (clause.other < have and _acts(flags, clause, have)):
        return GOVERNED
    if any(bits & wc.BY and bits & wc.OTHER for bits in flags[have:index]):
        return GOVERNED
    if clause.opener & wc.CONJUNCTION and carry.use is GOVERNED and not before & wc.SELF:
        return GOVERNED
    shared = carry.use is not None and carry.use.strength and flags[index - 1] & wc.CONJUNCTION and index
    if have < index and (_spent(flags, have, index) or (clause.bracketed and behind and not behind[0])):
        return NO_USE
    if have == index and not _ended(flags, clause, index, before):
        return carry.use if shared and carry.use is not None else NO_USE
    if flags[index] & wc.EITHER and not _parted_off(flags, clause, index, before):
        return NO_USE
    strength = FIRST_PERSON if before & wc.SELF else PASSIVE
    return Use(strength, "was done", negated=bool(before & wc.NEG))


def _acts(flags: list[int], clause: Clause, verb: int) -> bool:
    """
    Whether the first one named in *clause* does what *verb* begins, and is not whom it is for or who only said so.
    """
    given = clause.other > clause.start and flags[clause.other - 1] & wc.PREPOSITION
    return not given and not any(bits & wc.LINK for bits in flags[clause.other : verb])


def _spent(flags: list[int], start: int, index: int) -> bool:
    """
    Whether what says that something is done belongs to another verb between *start* and *index*.
    """
    for at in range(start, index):
        if flags[at] & wc.LINK and flags[at - 1] & (wc.PARTICIPLE | wc.RESULT):
            return True
        if flags[at] & wc.FINITE and not any(bits & wc.CONJUNCTION for bits in flags[at:index]):
            return True
    return False


def _ended(flags: list[int], clause: Clause, index: int, before: int) -> bool:
    """
    Whether an ending makes the verb at *index* a deed of the speaker, or the end of what is said of a thing.
    """
    if flags[index] & wc.MOVES and before & wc.SELF and not before & wc.THEN:
        return not _spent(flags, clause.start, index)
    stop = wc.RESULT | wc.MODAL | wc.FINITE | wc.NEG
    done = next((at for at in range(index + 1, clause.end) if flags[at] & stop), clause.end)
    if done == clause.end or not flags[done] & wc.RESULT or _spent(flags, clause.start, index):
        return False
    direct = done == index + 1
    if all(bits & (wc.RESULT | wc.FILLER) for bits in flags[done : clause.end]) and (direct or not clause.start):
        return True
    if before & wc.SELF:
        return direct or done == clause.end - 1
    return direct and all(
        flags[at] & _LIGHT or (flags[at] & wc.QUOTED and at > clause.start and flags[at - 1] & wc.PREPOSITION)
        for at in range(clause.start, index)
    )


def _parted_off(flags: list[int], clause: Clause, index: int, before: int) -> bool:
    """
    Whether the syllable at *index* is a verb and no part of a longer word that is not listed.
    """
    behind = flags[index + 1] if index + 1 < clause.end else wc.RESULT
    if behind & wc.RESULT:
        return bool(before & (wc.SELF | wc.HAVE)) or index == clause.start or bool(flags[index - 1])
    return index > clause.start and bool(flags[index - 1] & (wc.HAVE | wc.ADVERB) and behind)


def _by_form(bits: int, before: int, *, negated: bool) -> Use:
    """
    A form of the classes *bits* that needs no auxiliary.
    """
    if bits & wc.TOLD:
        return Use(FIRST_PERSON, "I did", past=True, negated=negated)
    if bits & wc.IMPERSONAL or before & wc.REFLEXIVE:
        return Use(PASSIVE, "was done", past=True, negated=negated)
    return GOVERNED


def frame(flags: list[int], clause: Clause, index: int, carry: Carry) -> Use:
    """
    The use of the form at *index* where its auxiliary may stand anywhere in the clause.
    """
    if index > clause.start and flags[index - 1] & wc.AS:
        return NO_USE
    if flags[index + 1 : index + 2] and flags[index + 1] & wc.REFLEXIVE:
        return NO_USE
    union = clause.rest
    negated = bool(union & wc.NEG)
    if union & wc.PROGRESS and _under_way(flags, clause, index):
        return Use(BARE, "being done", negated=negated)
    if union & (wc.MODAL | wc.HAD):
        return GOVERNED
    if union & wc.PASSIVE:
        return Use(PASSIVE, "was done", past=True, negated=negated)
    if union & (wc.HAVE | wc.SELF_HAVE):
        mine = union & (wc.SELF_HAVE | wc.SELF) or (carry.self_subject and not union & wc.OTHER)
        return Use(FIRST_PERSON, "I have done", negated=negated) if mine else GOVERNED
    if union & wc.BE:
        return Use(PASSIVE if union & wc.BEEN else BEING, "is done", negated=negated)
    if union & wc.WAS or union & wc.PROGRESS:
        return NO_USE
    if union & (wc.FINITE | wc.STATE_VERB):
        return NO_USE
    if carry.use is not None and (shared := _shared(carry.use, clause, negated=negated)):
        return shared
    if carry.union & (wc.MODAL | wc.HAD | wc.HAVE) and not clause.hard:
        return NO_USE
    if index == clause.start and not clause.hard and flags[index + 1 : index + 2] and flags[index + 1] & wc.DETERMINER:
        # "..., erzeugt das System": the present of a verb that looks like its form.
        return NO_USE
    return _bare(flags, clause, index, negated)


def _under_way(flags: list[int], clause: Clause, index: int) -> bool:
    """
    Whether a short sentence says what is going on: "Blinds are being closed." in the present passive.
    """
    if clause.start or index + 1 != len(flags) or len(flags) > _SHORT or not flags[index - 1] & wc.PROGRESS:
        return False
    if clause.union & (wc.GENERIC | wc.THEN | wc.STANDING | wc.CONDITION | wc.QUANTITY | wc.OTHER | wc.PRONOUN):
        return False
    return not any(bits & wc.MODAL and not bits & wc.PROGRESS for bits in flags)


def _back(flags: list[int], start: int, at: int) -> tuple[int, bool]:
    """
    The first word to the left that is no adverb, and whether a negator was passed.
    """
    negated = False
    while at >= start and flags[at] & _BETWEEN and not flags[at] & (wc.AUXILIARY | wc.BEEN | wc.SELF):
        negated = negated or bool(flags[at] & wc.NEG)
        at -= 1
    return at, negated or (at >= start and bool(flags[at] & wc.NEG))


def _perfect_passive(flags: list[int], clause: Clause, at: int, negated: bool) -> Use:
    at, passed = _back(flags, clause.start, at - 1)
    before = flags[at] if at >= clause.start else 0
    if before & (wc.HAVE | wc.BE) and not before & wc.MODAL:
        if at > clause.start and flags[_back(flags, clause.start, at - 1)[0]] & wc.MODAL:
            return NO_USE
        return Use(PASSIVE, "has been done", negated=negated or passed)
    if before & (wc.HAD | wc.MODAL):
        return NO_USE
    return Use(BARE, "been done", negated=negated or passed)


def _perfect(flags: list[int], clause: Clause, at: int, carry: Carry, negated: bool) -> Use:
    """
    "have" with the form: the speaker's own, or somebody else's.
    """
    if flags[at] & (wc.SELF | wc.SELF_HAVE):
        return Use(FIRST_PERSON, "I have done", negated=negated)
    at, passed = _back(flags, clause.start, at - 1)
    before = flags[at] if at >= clause.start else 0
    if before & wc.MODAL:
        return GOVERNED
    if before & wc.SELF or ((before & wc.CONJUNCTION or at < clause.start) and carry.self_subject):
        return Use(FIRST_PERSON, "I have done", negated=negated or passed)
    return GOVERNED


def _joined(flags: list[int], clause: Clause, index: int, carry: Carry, negated: bool) -> Use:
    """
    A form that begins its clause or follows "and": it shares what governs the form before it, if there is one.
    """
    if carry.use is not None and (shared := _shared(carry.use, clause, negated=negated)):
        return shared
    union = carry.union | clause.rest
    if union & (wc.MODAL | wc.HAD) and not clause.hard:
        return NO_USE
    if carry.self_subject:
        return Use(FIRST_PERSON, "I did", past=True, negated=negated)
    return _alone_or_elided(flags, clause, index, negated)


def _shared(use: Use, clause: Clause, *, negated: bool) -> Use | None:
    """
    The *use* of the form before for one that shares its verb; "not deleted but moved" takes back the negation alone.
    """
    if not clause.contrasted:
        return use._replace(negated=use.negated or negated)
    return use._replace(negated=negated) if use.negated else None


def _alone_or_elided(flags: list[int], clause: Clause, index: int, negated: bool) -> Use:
    """
    A bare form where subject and object tell an ellipsis from somebody else's past.
    """
    return NO_USE if clause.other < index else _bare(flags, clause, index, negated)


def named_deed(flags: list[int], clause: Clause, index: int) -> bool:
    """
    Whether an unlisted word before the form and its object behind it make somebody's deed of it: "Maria closed May".
    """
    if index + 1 >= clause.end or index == clause.start or flags[index - 1] or flags[index] & wc.EITHER:
        return False
    after = flags[index + 1]
    return not after or bool(after & wc.QUANTITY and not after & (wc.QUOTED | wc.DATE))


def _bare(flags: list[int], clause: Clause, index: int, negated: bool) -> Use:
    """
    A form without auxiliary: an ellipsis, unless it is an attribute, somebody else's past or governed by another verb.
    """
    if clause.bracketed or clause.rest & (wc.VERB | wc.GETS):
        return NO_USE
    before = flags[index - 1] if index > clause.start else 0
    after = flags[index + 1] if index + 1 < clause.end else wc.COMMA
    if after & wc.ARROW or (clause.union & wc.ARROW and sum(bool(bits & wc.ARROW) for bits in flags) > 1):
        return NO_USE
    if flags[index] & wc.EITHER and index > clause.start and not after & wc.PREPOSITION:
        return NO_USE
    if not after & _NAME_END and _attribute(flags, clause, index, before):
        return NO_USE
    if before & wc.DETERMINER and not before & ~_ARTICLE:
        return NO_USE
    if index > clause.start and after & _OBJECT and not before & (wc.ADVERB | wc.NOW | wc.CONJUNCTION):
        return NO_USE
    return Use(BARE, "bare form", negated=negated)


def _attribute(flags: list[int], clause: Clause, index: int, before: int) -> bool:
    """
    Whether the form at *index*, with a noun behind it, belongs to that noun: "the saved search", "combined total:".
    """
    leading = wc.DETERMINER | wc.QUANTITY | wc.PREPOSITION
    if index == clause.start:
        if clause.colon and clause.end - index > 1:
            return True
        return any(bits & wc.EITHER for bits in flags[index + 2 : min(clause.end, index + 5)])
    if before & leading:
        return True
    return index - 1 > clause.start and not before & ~wc.QUANTITY and bool(flags[index - 2] & leading)
