"""
Claims without a participle: states that begin now, single words, labels, marks and arrows (V4).
"""

from typing import Final

from nr_agent_core.domain.claims import beginnings
from nr_agent_core.domain.claims import word_class as wc
from nr_agent_core.domain.claims.beginnings import PREDICATE, Place
from nr_agent_core.domain.claims.clauses import Clause
from nr_agent_core.domain.claims.frames import Context
from nr_agent_core.domain.claims.lexicon import Lexicon
from nr_agent_core.domain.claims.uses import BARE, BEING, FIRST_PERSON, Use

_BESIDE: Final = wc.ALONE | wc.FILLER | wc.ADVERB | wc.NOW | wc.MARK | wc.CONJUNCTION
_STATING: Final = (wc.CLAIMING & ~wc.PARTICIPLE) | wc.MARK | wc.ARROW | wc.BEFORE | wc.SWITCHED | wc.LABEL | wc.CASE
_REPORTING: Final = wc.FINITE | wc.STATE_VERB
_DONE: Final = wc.ALONE | wc.GONE
_DEED: Final = wc.ALONE | wc.PARTICIPLE
_RESULT: Final = _DONE | wc.SWITCHED | wc.SHUT | wc.OUTWARD | wc.FINAL | wc.NO_LONGER
_SHORT: Final = 9
_EARLY: Final = 4
"""How far from the beginning of its clause a state without a verb may stand."""


def state_use(
    lexicon: Lexicon, tokens: list[str], flags: list[int], clauses: list[Clause], number: int, context: Context
) -> Place | None:
    """
    The first claim of clause *number* that needs no participle, or none.
    """
    clause = clauses[number]
    union, opener = clause.union, clause.opener
    if opener & wc.BE and opener & wc.PRONOUN and union & _DEED and (place := _that_is(flags, clause)):
        return place
    if not union & _STATING:
        return None
    if union & wc.ALONE and (place := _alone(flags, clause, clauses[number - 1] if number else None)):
        return place
    if union & (wc.MANAGED | wc.DID | wc.PAST) and (place := _deed(flags, clause, first=not number)):
        return place
    if union & wc.CASE and _shut(lexicon, tokens, clause):
        return clause.end - 1, Use(BEING, "shut")
    if union & (wc.MARK | wc.ARROW | wc.BEFORE) and (place := _mark(lexicon, flags, clauses, clause, context)):
        return place
    if union & wc.SWITCHED and (place := _value(clauses, number, context) or _switched(flags, clause)):
        return place
    if union & wc.LABEL and number == 0 and clause.colon and clause.end - clause.start == 1:
        return clause.start, Use(BARE, "label")
    if union & wc.REPLACED and (place := _replaced(flags, clauses, number, context)):
        return place
    if union & wc.PLACE and (place := beginnings.placed(flags, clause)):
        return place
    if union & wc.OUTWARD and _out(flags, clause):
        return clause.end - 1, Use(BEING, "state")
    return _from_now(lexicon, tokens, flags, clauses, number)


def _from_now(
    lexicon: Lexicon, tokens: list[str], flags: list[int], clauses: list[Clause], number: int
) -> Place | None:
    """
    A state that begins, comes back or ends now, and a deed that is told while it is done.
    """
    clause = clauses[number]
    union = clause.union
    if not (lexicon.adjacent or clause.hard) and clause.opener & wc.DETERMINER and flags[clause.end - 1] & wc.VERB:
        # A relative clause: its verb stands last.
        return None
    if (
        union & wc.ABLE
        and union & (wc.NOW | wc.RESUMED | wc.NO_LONGER)
        and (place := beginnings.enabled(flags, clause))
    ):
        return place
    if union & (wc.MODAL | wc.HAD | wc.WAS) and not union & wc.FIND:
        return None
    if union & wc.NO_MORE and union & wc.NEG and (place := beginnings.ended(flags, clause)):
        return place
    if union & wc.NEG and not union & wc.NO_LONGER:
        return None
    if union & wc.RESUMED and (place := beginnings.resumed(lexicon, tokens, flags, clause)):
        return place
    if clause.opener & wc.NOW and number and clauses[number - 1].colon and not union & (wc.VERB | wc.INSTRUCTION):
        return (clause.start, Use(BARE, "value now")) if clause.end - clause.start < _SHORT else None
    if union & (wc.GONE | wc.NOW | wc.NO_LONGER | wc.FINAL) and not clause.bracketed:
        return _standing(lexicon, tokens, flags, clause)
    if union & wc.DOING and clause.opener & wc.DOING and not clause.rest & wc.VERB and clause is clauses[-1]:
        told = any(before.rest & wc.VERB for before in clauses[:number])
        return None if told else (clause.start, Use(BARE, "doing it"))
    if union & wc.SPLIT and clause is clauses[-1]:
        return _split(lexicon, tokens, flags, clause)
    return None


def _out(flags: list[int], clause: Clause) -> bool:
    """
    "The newsletter is out", of a thing.
    """
    person = clause.opener & wc.PERSON or clause.other <= clause.start + 1 < clause.end
    return bool(flags[clause.end - 1] & wc.OUTWARD and not (clause.union & (wc.NEG | wc.MODAL) or person))


def _that_is(flags: list[int], clause: Clause) -> Place | None:
    """
    "That's the approval chain done", "that's everyone assigned": a form that closes what "that's" begins.
    """
    last = clause.end - 1
    if (
        last < clause.start + 2
        or not flags[last] & _DEED
        or clause.union & (wc.NEG | wc.MODAL | wc.SUBORDINATE | wc.QUESTION | wc.DATED | wc.TRAIT)
    ):
        return None
    named = not flags[last - 1] or flags[last - 1] & (
        wc.EITHER | wc.NOMINAL | wc.OTHER | wc.QUOTED | wc.QUANTITY | wc.PERSON
    )
    return (last, Use(BARE, "that is done")) if named and not flags[last - 1] & wc.BE else None


def _alone(flags: list[int], clause: Clause, before: Clause | None) -> Place | None:
    """
    "All done here": nothing but the word and what may stand beside it, or the word behind "is".
    """
    first = next(at for at in range(clause.start, clause.end) if flags[at] & wc.ALONE)
    if before is not None and not clause.hard and flags[before.end - 1] & wc.BASE:
        # "Enter the address, choose the zoom, done": the last step of instructions.
        return None
    within = flags[clause.start : clause.end]
    if first == clause.start and wc.MARK & (within[1] if len(within) > 1 else 0):
        return first, Use(BEING, "single word")
    if len(within) < _SHORT and all(bits & _BESIDE for bits in within) and not clause.bracketed:
        return first, Use(BEING, "single word")
    if (
        clause.rest & wc.BE
        and not clause.union & (wc.NEG | wc.MODAL | wc.HAD)
        and not (clause.opener & wc.QUANTITY and not clause.union & wc.NOW)
        and (flags[first] | flags[max(first - 1, 0)]) & (wc.BE | wc.ADVERB)
    ):
        return first, Use(BEING, "is done")
    return None


def _deed(flags: list[int], clause: Clause, *, first: bool) -> Place | None:
    """
    The speaker's own deed without a participle: "I did change it", "I rewrote it", "Wrote it off".
    """
    union = clause.union
    if union & wc.SELF:
        if union & wc.MANAGED and not union & wc.NEG and flags[clause.end - 1] & wc.BASE:
            return clause.end - 1, Use(FIRST_PERSON, "I could", past=True)
        if union & wc.DID and (place := _emphatic(flags, clause)):
            return place
        if union & wc.PAST and (place := _told(flags, clause)):
            return place
    if first and clause.opener & wc.PAST and _elided(flags, clause):
        return clause.start, Use(BARE, "I did")
    return None


def _emphatic(flags: list[int], clause: Clause) -> Place | None:
    """
    "I did change it".
    """
    for at in range(clause.start + 1, clause.end - 1):
        if flags[at] & wc.DID and not flags[at] & wc.NEG and flags[at + 1] & wc.BASE and _own(flags, clause, at):
            return at + 1, Use(FIRST_PERSON, "I did", past=True)
    return None


def _told(flags: list[int], clause: Clause) -> Place | None:
    """
    "I rewrote the intro": a past tense that is no participle.
    """
    at = next(at for at in range(clause.start, clause.end) if flags[at] & wc.PAST)
    looked = any(bits & wc.LOOKED_AT for bits in flags[at + 1 : min(clause.end, at + 5)])
    if at == clause.start or clause.union & wc.NEG or looked or not _own(flags, clause, at - 1):
        return None
    return at, Use(FIRST_PERSON, "I did", past=True)


def _elided(flags: list[int], clause: Clause) -> bool:
    """
    "Wrote off the difference": the speaker is left out, an object or a particle follows.
    """
    behind = flags[clause.start + 1] if clause.start + 1 < clause.end else 0
    return bool(behind & (wc.DETERMINER | wc.PRONOUN | wc.PREPOSITION | wc.QUOTED | wc.SWITCHED))


def _shut(lexicon: Lexicon, tokens: list[str], clause: Clause) -> bool:
    """
    "The ticket is shut", whatever phrase its words may begin.
    """
    if clause.end - clause.start < _SHORT - 6 or clause.union & (wc.NEG | wc.STANDING):
        return False
    verb, last = (lexicon.words[tokens[at]] for at in (clause.end - 2, clause.end - 1))
    return bool(verb & wc.BE and last & wc.SHUT)


def _own(flags: list[int], clause: Clause, at: int) -> bool:
    """
    Whether the speaker stands before the verb that ends at *at*.
    """
    while at > clause.start and flags[at] & (wc.DID | wc.ADVERB) and not flags[at] & wc.SELF:
        at -= 1
    return bool(flags[at] & wc.SELF)


def _mark(lexicon: Lexicon, flags: list[int], clauses: list[Clause], clause: Clause, context: Context) -> Place | None:
    """
    A check mark that begins or ends the line, "12 files -> archive" in a list, "25 (was 10)".
    """
    short = len(flags) < 2 * _SHORT and not context.question
    if clause.union & wc.NEG or not short or clauses[-1].colon or context.heading:
        return None
    if clause.union & wc.MARK and (flags[0] & wc.MARK or flags[-1] & wc.MARK):
        at = 0 if flags[0] & wc.MARK else len(flags) - 1
        return (at, Use(BARE, "check mark")) if _ticked(lexicon, flags, context) else None
    if clause.union & wc.ARROW and context.listed and clauses[0].opener & wc.QUANTITY:
        arrows = [at for at, bits in enumerate(flags) if bits & wc.ARROW]
        return (arrows[0], Use(BARE, "arrow")) if len(arrows) == 1 else None
    labelled = context.listed or clauses[0].colon
    if clause.union & wc.ARROW and labelled and (at := _from_to(flags, clause)):
        return at, Use(BARE, "arrow")
    if clause.bracketed and clause.opener & wc.BEFORE and clause.end - clause.start < _SHORT - 4 and labelled:
        return clause.start, Use(BARE, "value before")
    return None


def _from_to(flags: list[int], clause: Clause) -> int:
    """
    Where the one arrow between two numbers stands: "quantity 40 -> 55"; 0 for none.
    """
    arrows = [at for at in range(clause.start, clause.end) if flags[at] & wc.ARROW]
    if len(arrows) != 1 or not clause.start < arrows[0] < clause.end - 1 or clause.rest & wc.VERB:
        return 0
    return arrows[0] if flags[arrows[0] - 1] & flags[arrows[0] + 1] & wc.QUANTITY else 0


def _replaced(flags: list[int], clauses: list[Clause], number: int, context: Context) -> Place | None:
    """
    "Budget: 260 instead of 240", as the value of a label or an item of a list.
    """
    clause = clauses[number]
    labelled = context.listed or (number and clauses[number - 1].colon)
    if not labelled or context.question or clause.rest & wc.VERB or clause.union & (wc.NEG | wc.CONDITION | wc.PLAN):
        return None
    at = next(at for at in range(clause.start, clause.end) if flags[at] & wc.REPLACED)
    return (at, Use(BARE, "in place of")) if clause.start < at < clause.end - 1 else None


def _ticked(lexicon: Lexicon, flags: list[int], context: Context) -> bool:
    """
    Whether a result is told beside a check mark or by what leads into its list: elsewhere it only decorates a line.
    """
    if len(flags) == 1 or not flags[0] & wc.MARK:
        return True
    if any(bits & (_DONE if lexicon.unspaced else _RESULT) for bits in flags):
        return True
    lead = context.outside(True).lead
    told = lead & (_DONE | (wc.RESULT | wc.HAVE if lexicon.unspaced else wc.PARTICIPLE))
    return bool(told and lead & wc.COLON and not lead & (wc.NEG | wc.OTHER | wc.DATED))


def _value(clauses: list[Clause], number: int, context: Context) -> Place | None:
    """
    "The valve: on".
    """
    clause = clauses[number]
    alone = clause.end - clause.start == 1 and number == len(clauses) - 1
    if alone and clause.hard and number and clauses[number - 1].colon and not context.listed:
        return clause.start, Use(BARE, "value")
    return None


def _switched(flags: list[int], clause: Clause) -> Place | None:
    """
    "The form is back on", "is off for the team", "it's up": more is said than how the thing stands.
    """
    if clause.union & (wc.NEG | wc.MODAL | wc.HAD | wc.WAS) or not clause.rest & wc.BE:
        return None
    for at in range(clause.start + 1, clause.end):
        if not flags[at] & wc.SWITCHED:
            continue
        before = flags[at - 1]
        last = at + 1 == clause.end
        again = before & wc.AGAIN and at - 2 >= clause.start and flags[at - 2] & wc.BE and last
        it = before & wc.BE and before & wc.PRONOUN and at - 1 == clause.start and last
        bound = before & wc.BE and not last and flags[at + 1] & wc.BOUND and not clause.opener & wc.QUANTITY
        if again or it or bound:
            return at, Use(BEING, "switched")
    return None


def _standing(lexicon: Lexicon, tokens: list[str], flags: list[int], clause: Clause) -> Place | None:
    """
    A state that is so from now on: "is live", "shows the new price now", "you will find it there now".
    """
    union = clause.union
    start = next(
        at for at in range(clause.start, clause.end) if flags[at] & (wc.GONE | wc.NOW | wc.NO_LONGER | wc.FINAL)
    )
    if union & wc.FIND and union & wc.NOW:
        return start, Use(BEING, "to be found now")
    if clause.rest & (wc.SELF | wc.SELF_HAVE) or union & (wc.FIND | wc.PROGRESS | wc.SOUND) or _counts(clause):
        return None
    verb = wc.BE if lexicon.adjacent else wc.BE | wc.STATE_VERB
    if (
        union & wc.GONE
        and clause.rest & verb
        and (
            _beside(flags, clause, start) & (verb | wc.ADVERB | wc.NOW)
            or (start == clause.end - 1 and not lexicon.adjacent)
        )
    ):
        verb_at = start - 1
        while verb_at > clause.start and flags[verb_at] & wc.ADVERB:
            verb_at -= 1
        reported = any(bits & _REPORTING for bits in flags[clause.start : max(verb_at, clause.start)])
        return None if reported else (start, Use(BEING, "state"))
    length = clause.end - clause.start
    last = clause.end - 1
    if clause.opener & wc.GONE and length > 1 and flags[clause.start + 1] & wc.NOW and not clause.rest & wc.AUXILIARY:
        return clause.start, Use(BARE, "state")
    if clause.hard and length < _SHORT - 3 and flags[last] & (wc.GONE | wc.FINAL) and _verbless(flags, clause):
        return last, Use(BARE, "state")
    if clause.hard and clause.start < start < clause.start + _EARLY and union & wc.GONE and _verbless(flags, clause):
        return (start, Use(BARE, "state")) if flags[start + 1 if start < last else last] & wc.PREPOSITION else None
    verbs = PREDICATE | (wc.PASSIVE if lexicon.adjacent else 0) if union & wc.NOW else wc.STATE_VERB
    told = clause.rest & verbs or beginnings.present(lexicon, tokens, flags, clause)
    if union & (wc.NOW | wc.NO_LONGER) and told and _lasting(lexicon, tokens, flags, clause):
        return start, Use(BEING, "state from now on")
    return None


def _beside(flags: list[int], clause: Clause, at: int) -> int:
    """
    Classes of the word at *at* and of its neighbours in the clause.
    """
    union = 0
    for bits in flags[max(clause.start, at - 1) : min(clause.end, at + 2)]:
        union |= bits
    return union


def _verbless(flags: list[int], clause: Clause) -> bool:
    return not any(bits & wc.VERB and not bits & wc.FINAL for bits in flags[clause.start : clause.end])


def _counts(clause: Clause) -> bool:
    """
    Whether a number is the subject.
    """
    return bool(clause.opener & wc.QUANTITY and not clause.opener & wc.DETERMINER and not clause.union & wc.NOW)


def _lasting(lexicon: Lexicon, tokens: list[str], flags: list[int], clause: Clause) -> bool:
    """
    Whether the subject is no person and the verb says how things are, not what is going on.
    """
    if clause.opener & wc.PERSON:
        return False
    endings, leads = lexicon.progressive, wc.BE | wc.NOW | wc.ADVERB
    return not any(
        flags[at - 1] & leads and not flags[at - 1] & wc.AS and tokens[at].endswith(endings)
        for at in range(clause.start + 1, clause.end)
        if endings
    )


def _split(lexicon: Lexicon, tokens: list[str], flags: list[int], clause: Clause) -> Place | None:
    """
    "I switch the lamp off": said in the present while it is done.
    """
    if clause.union & (wc.NEG | wc.MODAL | wc.THEN | wc.CONDITION) or not clause.union & wc.SELF:
        return None
    if clause.opener & wc.FILLER and clause.opener & wc.ANSWERS:
        # "Gladly I switch it off": an offer.
        return None
    for at in range(clause.start, clause.end):
        if flags[at] & wc.SPLIT and tokens[clause.end - 1] in lexicon.split_verbs[tokens[at]]:
            return at, Use(BARE, "doing it")
    return None
