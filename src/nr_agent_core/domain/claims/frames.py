"""
Up to which strength the surroundings of a form block it: frames (V4, V5).

A frame never makes a claim. It says that what looks like one is asked, offered, planned, supposed, instructed, dated,
reported, somebody else's, or how things stand anyway.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from nr_agent_core.domain.claims import word_class as wc
from nr_agent_core.domain.claims.clauses import Clause
from nr_agent_core.domain.claims.lexicon import Lexicon
from nr_agent_core.domain.claims.uses import BARE, BEING, FIRST_PERSON, PASSIVE, Use

_PLANNED: Final = wc.MODAL | wc.CONDITION | wc.QUESTION | wc.DOUBT
_NAMED: Final = wc.PLAN | wc.INSTRUCTION | wc.PLEASE | wc.REPORT | wc.DATED | wc.HISTORY
_STATING: Final = wc.STANDING | wc.STATUS | wc.GENERIC
_REACH: Final = 5
_YEAR: Final = 3
"""A number with fewer digits can be a day of the month."""
_ORDINAL: Final = ("st", "nd", "rd", "th")


class Outside(NamedTuple):
    """
    What stands around a sentence, as classes of words.
    """

    lead: int
    """Of the line that leads into the list or table."""

    earlier: int
    """Of the sentence before in the same paragraph."""

    header: int
    """Of the head of the table column."""

    asks: bool
    """Whether the answer ends in asking for a go-ahead."""

    outline: int
    """Up to which strength the headings above block."""


class Context(NamedTuple):
    """
    What a sentence is, and a way to ask what stands around it.
    """

    question: bool
    listed: bool
    lone: Callable[[], bool]
    """Asks whether its line is a paragraph."""

    heading: bool
    outside: Callable[[bool], Outside]
    """Asked with whether the use at hand is a bare one: more stands against those."""

    describing: Callable[[bool, bool, int], bool]
    """
    Asked with whether a form is used, whether in a past tense, and how many others stand beside it: do the sentences
    around describe?
    """


def outside_block(outside: Outside) -> int:
    """
    Up to which strength a sentence is blocked from outside.
    """
    block = max(lead_block(outside.lead), outside.outline)
    if outside.header & wc.STATUS:
        block = max(block, BEING)
    if outside.asks or lead_block(outside.earlier) == PASSIVE:
        block = max(block, BARE)
    return block


def lead_block(union: int) -> int:
    """
    What a lead of the classes *union* blocks in what it leads into: the list below it, the part behind its colon.
    """
    if union & _PLANNED or (union & _NAMED and not union & wc.PARTICIPLE):
        return PASSIVE
    return BEING if union & _STATING and not union & wc.PARTICIPLE else 0


def clause_block(
    lexicon: Lexicon, tokens: list[str], flags: list[int], clause: Clause, sentence: int, use: Use, before: int
) -> int:
    """
    Up to which strength *clause*, in a sentence of the classes *sentence* and behind a clause of the classes *before*,
    blocks *use*.
    """
    union = clause.union
    if union & (wc.CONDITION | wc.DOUBT):
        return FIRST_PERSON
    if sentence & wc.DATED and (use.past or not lexicon.adjacent):
        return FIRST_PERSON
    if clause.opener & wc.ON_DATE and any(bits & wc.DATE for bits in flags[clause.start : clause.start + 3]):
        return FIRST_PERSON
    if (clause.opener & wc.SINCE and clause.rest & wc.AUXILIARY) or flags[clause.end - 1] & wc.SINCE:
        return PASSIVE
    if use.past and not union & wc.DATE and union & wc.ON_DATE and _timed(tokens, flags, clause):
        return PASSIVE
    if sentence & (wc.REPORT | wc.DATED) or (
        union & wc.DATE and not union & wc.NOW and _dated(lexicon, flags, clause, use)
    ):
        return PASSIVE
    if union & wc.BY and by_other(lexicon, tokens, flags, clause):
        return PASSIVE
    if _relative(lexicon, flags, clause, before):
        return PASSIVE
    if before & wc.AFTER and use.strength == BEING and not (use.past or clause.hard):
        return BEING
    if before & (wc.GENERIC | wc.THEN) and clause.joined and use.strength == BEING:
        return BEING
    if sentence & wc.NO_CHANGE and use.strength <= BEING:
        return BEING
    if (union & (wc.THEN | wc.GENERIC) or clause.opener & wc.SEQUENCE) and not union & wc.NOW:
        return PASSIVE if use.past and use.strength == PASSIVE and not lexicon.adjacent else BEING
    if union & wc.STANDING and not union & (wc.NOW | wc.ALONE):
        return BEING
    return 0


def being_block(lexicon: Lexicon, tokens: list[str], flags: list[int], clause: Clause, index: int, use: Use) -> bool:
    """
    Whether "is" with the form at *index* says how things stand instead of what was done.
    """
    if flags[index] & wc.STATIVE and not (use.past or clause.union & wc.NOW):
        return True
    if not use.past and index - 2 >= clause.start and flags[index - 1] & wc.BE and flags[index - 2] & wc.STATUS:
        return True
    if clause.colon and clause.opener & wc.PREPOSITION and index == clause.end - 1:
        return True
    if _counted(flags, clause) or (clause.opener & wc.PERSON and not clause.union & wc.NOW):
        return True
    ending = "" if use.past and clause.hard else lexicon.generic_plural
    subject = 0
    for bits in flags[clause.start : min(index, clause.start + _REACH)]:
        subject |= bits
    return bool(
        ending
        and not subject & (wc.DETERMINER | wc.QUANTITY | wc.PRONOUN | wc.NOW | wc.QUOTED)
        and any(
            tokens[at].endswith(ending) and not flags[at] & ~wc.NOMINAL
            for at in range(clause.start, min(index, clause.start + 4))
        )
    )


def bare_block(flags: list[int], clauses: list[Clause], number: int, index: int) -> str:
    """
    Why a bare form at *index* of clause *number* is none of a deed, or nothing: a trait, an attribute, a command.
    """
    clause = clauses[number]
    before = clauses[number - 1] if number and not clause.hard else None
    if before and before.union & wc.CONDITION:
        return "follows a condition"
    if _recorded(clauses, number):
        return "one of several traits"
    if _modifies(flags, clauses, number, index):
        return "goes on with the name before it"
    return "a command" if _commands(flags, clause, index) else ""


def _recorded(clauses: list[Clause], number: int) -> bool:
    """
    Whether a bare form is one of several traits: "PO-12: released, 55 pieces", "six left, four of them reserved".
    """
    clause = clauses[number]
    if clause.union & wc.TRAIT and clause.union & wc.QUANTITY and clause.opener & (wc.TRAIT | wc.QUANTITY):
        return True
    if not number or not clauses[number - 1].colon:
        return False
    if clause.union & wc.DATE and clause.union & wc.ON_DATE:
        return True
    following = clauses[number + 1] if number + 1 < len(clauses) else clause
    if following.hard or following is clause or clause.end - clause.start > 1:
        return False
    return bool(following.union & wc.NEG or not following.union & (wc.PARTICIPLE | wc.VERB | wc.CONTRAST))


def _modifies(flags: list[int], clauses: list[Clause], number: int, index: int) -> bool:
    """
    Whether a bare form only goes on with a name before the comma: "flight 12, scheduled for May".
    """
    clause = clauses[number]
    if index > clause.start or clause.hard or not number or clauses[number - 1].hard is False:
        return False
    before = clauses[number - 1].union
    follows = flags[index + 1] if index + 1 < clause.end else 0
    return bool(follows & wc.PREPOSITION and not before & (wc.PARTICIPLE | wc.ALONE | wc.FILLER | wc.VERB))


def _commands(flags: list[int], clause: Clause, index: int) -> bool:
    """
    Whether the clause begins with a bare verb: "book a trip with insurance added".
    """
    following = flags[clause.start + 1] if clause.start + 1 < index else 0
    return bool(clause.opener & wc.BASE and following & (wc.DETERMINER | wc.PRONOUN))


def fixed_block(flags: list[int], clause: Clause, index: int, use: Use) -> bool:
    """
    Whether the form at *index* tells of what no answer changes: "this tool is withheld", "has been switched off".
    """
    if not clause.union & wc.FIXED or use.strength > (PASSIVE if flags[index] & wc.STATIVE else BEING):
        return False
    return any(bits & wc.FIXED for bits in flags[clause.start : min(index, clause.start + _REACH)])


def _relative(lexicon: Lexicon, flags: list[int], clause: Clause, before: int) -> bool:
    """
    Whether *clause* only says of which thing another one speaks: "that was deleted".
    """
    if clause.opener & wc.PASS_ON and before & wc.MATRIX:
        return False
    if clause.hard:
        return bool(clause.opener & wc.SUBORDINATE and not clause.opener & wc.DETERMINER)
    if clause.opener & (wc.SUBORDINATE | wc.PASS_ON):
        return True
    return bool(not lexicon.adjacent and clause.opener & wc.DETERMINER and flags[clause.end - 1] & wc.AUXILIARY)


def _counted(flags: list[int], clause: Clause) -> bool:
    """
    Whether a bare number is the subject: "four are closed", "96 of them are", "reserved are 30".
    """
    verb = wc.BE | wc.WAS
    if numbered(flags, clause):
        return True
    near = range(clause.start, min(clause.end, clause.start + 2 * _REACH) - 1)
    return any(
        flags[at] & verb
        and (counted := flags[at + 1] or (flags[at + 2] if at + 2 < clause.end else 0)) & wc.QUANTITY
        and not counted & (wc.ADVERB | wc.QUOTED)
        for at in near
    )


def tallied(flags: list[int], clause: Clause) -> bool:
    """
    Whether a report only tells how many: "four were closed", "sent were 340 mails" where the form may come first.
    """
    if numbered(flags, clause):
        return True
    first, *behind = flags[clause.start : clause.start + 3]
    return bool(
        len(behind) > 1 and first & wc.PARTICIPLE and behind[0] & (wc.PASSIVE | wc.WAS) and behind[1] & wc.QUANTITY
    )


def numbered(flags: list[int], clause: Clause) -> bool:
    """
    Whether a bare number begins the clause, with its verb or "of" behind it.
    """
    at = clause.start
    while at < clause.end and flags[at] & wc.QUANTITY and not flags[at] & wc.QUOTED:
        at += 1
    return clause.start < at < clause.end and bool(flags[at] & (wc.BE | wc.WAS | wc.PASSIVE | wc.PREPOSITION))


def _dated(lexicon: Lexicon, flags: list[int], clause: Clause, use: Use) -> bool:
    """
    Whether a date in *clause* says when it happened: "since" before it, or "on" in a past tense.
    """
    if clause.dated is None:
        near = 0
        for at in range(clause.start, clause.end):
            if flags[at] & wc.DATE and not flags[at - 1] & wc.BOUND and not flags[at - 2] & wc.BOUND:
                for bits in flags[max(clause.start, at - 3) : at]:
                    near |= bits
        clause.dated = bool(near & wc.SINCE), bool(near & wc.ON_DATE)
    since, on_date = clause.dated
    return since or (on_date and (use.past or lexicon.dated_perfect or use.strength <= BEING))


def _owned(lexicon: Lexicon, flags: list[int], clause: Clause, at: int) -> bool:
    """
    Whether the word of BY at *at* stands before the verb, where the verb frames the clause: "the leave of Ms B is".
    """
    if lexicon.adjacent or not clause.rest & wc.AUXILIARY:
        return False
    return not any(bits & (wc.AUXILIARY | wc.PARTICIPLE) for bits in flags[clause.start : at])


def _timed(tokens: list[str], flags: list[int], clause: Clause) -> bool:
    """
    Whether a time of day or a day of the month says when it was: "at 7:03", "on the 2nd".
    """
    for at in range(clause.start, clause.end - 1):
        if flags[at] & wc.ON_DATE:
            if flags[at] & wc.ON_DAY and tokens[at + 1].isdigit() and len(tokens[at + 1]) < _YEAR:
                return True
            then = tokens[at + 2] if flags[at + 1] & wc.DETERMINER and at + 2 < clause.end else tokens[at + 1]
            if then[0].isdigit() and (":" in then or then.endswith(_ORDINAL)):
                return True
    return False


def by_other(lexicon: Lexicon, tokens: list[str], flags: list[int], clause: Clause) -> bool:
    """
    Whether *clause* names an actor who is not the speaker.
    """
    if clause.by_other is None:
        clause.by_other = _actor_named(lexicon, tokens, flags, clause)
    return clause.by_other


def _actor_named(lexicon: Lexicon, tokens: list[str], flags: list[int], clause: Clause) -> bool:
    for at in range(clause.start, clause.end):
        if flags[at] & wc.BY and not (at > clause.start and _owned(lexicon, flags, clause, at)):
            near = flags[at + 1 : min(clause.end, at + 1 + _REACH)]
            if not near:
                return True
            if lexicon.any_agent and not flags[at - 1] and tokens[at - 1].endswith(lexicon.participle_endings):
                continue
            if (
                near[0] & wc.SELF
                or (near[0] & wc.QUANTITY and not any(bits & wc.OTHER for bits in near[1:2]))
                or any(bits & (wc.QUANTITY | wc.QUOTED) and not near[0] & wc.OTHER for bits in near[1:2])
                or any(bits & wc.BY_NO_ONE for bits in near[:2])
            ):
                continue
            bare = not (near[0] or flags[at] & wc.DETERMINER)
            told = at + 2 < clause.end and flags[at + 2] & wc.PARTICIPLE
            named = (lexicon.named_agent or told) and bare and tokens[at + 1].isalpha()
            if named or lexicon.any_agent or any(bits & wc.OTHER for bits in near):
                return True
    return False
