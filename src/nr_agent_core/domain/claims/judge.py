"""
Which forms of one sentence claim a change, in one language.

Clauses are read from left to right. Each form gets a use; negation, matrix clauses and frames then take uses back.
"""

from collections.abc import Iterator
from functools import reduce
from operator import or_
from typing import Final

from nr_agent_core.domain.claims import chain, frames
from nr_agent_core.domain.claims import word_class as wc
from nr_agent_core.domain.claims.clauses import Clause, cut
from nr_agent_core.domain.claims.frames import Context
from nr_agent_core.domain.claims.lexicon import Lexicon
from nr_agent_core.domain.claims.parts import DEMANDING, Part
from nr_agent_core.domain.claims.states import state_use
from nr_agent_core.domain.claims.uses import (
    BARE,
    BEING,
    FIRST_PERSON,
    GOVERNED,
    PASSIVE,
    Carry,
    Use,
    adjacent,
    frame,
    named_deed,
    unspaced,
)

_OWN: Final = wc.AUXILIARY | wc.FINITE | wc.STATE_VERB | wc.SELF | wc.PRONOUN
_LATER: Final = 3
_NO_NOUN: Final = (
    wc.CUT
    | wc.VERB
    | wc.CONJUNCTION
    | wc.CONTRAST
    | wc.ADVERB
    | wc.PREPOSITION
    | wc.SELF
    | wc.NOW
    | wc.FILLER
    | wc.THEN
    | wc.PARTICIPLE
    | wc.CONDITION
    | wc.SUBORDINATE
    | wc.DATED
    | wc.QUOTED
)
_TELLING: Final = wc.AUXILIARY | wc.FINITE
_REACH: Final = 8
_LOOKED_AT: Final = wc.CLAIMING | wc.MARK | wc.ARROW | wc.BEFORE | wc.LABEL | wc.SWITCHED | wc.CASE
_LEADING_IN: Final = wc.SUBORDINATE | wc.CONDITION | wc.PASS_ON
_DEEDS: Final = wc.PARTICIPLE | wc.ALONE | wc.SELF | wc.PAST | wc.NOW | wc.HAVE | wc.GONE | wc.NEW
_MINE: Final = wc.SELF | wc.SELF_HAVE
_NOT_MINE: Final = wc.OTHER | wc.PRONOUN
_GOVERNING: Final = wc.MODAL | wc.HAD | wc.INFINITIVE | wc.GETS
_UNDECIDED: Final = (
    wc.CUT | wc.CONJUNCTION | wc.ADVERB | wc.NEG | wc.BEEN | wc.BE | wc.WAS | wc.SELF_HAVE | wc.PASSIVE | wc.SELF
)

Found = tuple[int, str]


class Judge:
    """
    Judges one sentence; made for it and dropped after it.
    """

    __slots__ = (
        "_before",
        "_carry",
        "_clauses",
        "_dated",
        "_flags",
        "_lexicon",
        "_outside",
        "_part",
        "_sentence",
        "_shape",
        "_tokens",
        "context",
    )

    def __init__(self, lexicon: Lexicon, tokens: list[str], context: Context) -> None:
        self._lexicon, self._tokens, self.context = lexicon, tokens, context
        self._flags = lexicon.classify(tokens)
        self._shape = unspaced if lexicon.unspaced else adjacent if lexicon.adjacent else frame
        self._clauses: list[Clause] = []
        self._sentence = self._before = self._dated = 0
        self._carry = Carry()
        self._part = Part(0)
        self._outside: dict[bool, int] = {}

    def found(self) -> Iterator[Found]:
        """
        Index and reason of every claim, in order.
        """
        if self._governed():
            return
        union = reduce(or_, self._flags, 0)
        if self._lexicon.adjacent and union & chain.OPEN:
            chain.settle(self._flags)
        self._clauses = cut(self._flags, union, adjacent=self._lexicon.adjacent)
        for clause in self._clauses:
            self._sentence |= clause.union
        asked = self._asked_from()
        self._part = Part(0)
        for number, clause in enumerate(self._clauses):
            if clause.hard and self._sentence & wc.DATED and not (number and self._clauses[number - 1].colon):
                self._dated = chain.stretch(self._clauses, number) & wc.DATED
            if clause.hard and number:
                before = self._clauses[number - 1]
                lead = (
                    frames.lead_block(self._lexicon.told(self._part.union))
                    if before.colon and not self._part.claimed
                    else 0
                )
                if before.colon and before.union & wc.NEG and before.rest & wc.VERB and not clause.union & wc.NOW:
                    lead = max(lead, BEING)
                lead = 0 if self._set(before, clause) else lead
                if self._part.block and before.opener & DEMANDING and not clause.union & wc.NOW:
                    lead = max(lead, BEING)
                self._part = Part(lead)
                self._carry = Carry()
            yield from self._in_clause(number, clause, FIRST_PERSON if number >= asked else 0)

    def _set(self, label: Clause, value: Clause) -> bool:
        """
        Whether a line of its own only names a new state: "Status: published".
        """
        alone = label.union & wc.STATUS and label.end - label.start == 1 and value.end - value.start == 1
        return bool(alone and value.union & wc.PARTICIPLE and len(self._flags) < _LATER + 1 and self.context.lone())

    def _governed(self) -> bool:
        """
        Whether the one claiming word follows a verb that takes it back: nothing else need be known of the sentence.
        """
        forms = [index for index, bits in enumerate(self._flags) if bits & _LOOKED_AT]
        if not forms:
            return True
        if (
            len(forms) > 1
            or not forms[0]
            or not self._lexicon.adjacent
            or self._flags[forms[0]] & ~wc.PARTICIPLE & _LOOKED_AT
        ):
            return False
        before = self._flags[forms[0] - 1]
        return bool(before & _GOVERNING and not before & _UNDECIDED)

    def _in_clause(self, number: int, clause: Clause, asked: int) -> Iterator[Found]:
        part, carry = self._part, self._carry
        self._before = self._clauses[number - 1].union if number and not clause.hard else 0
        side = clause.bracketed or clause.opener & _LEADING_IN
        part.enter(clause, self._flags)
        if self._inverted(number, clause):
            part.block = FIRST_PERSON
        if (clause.rest & _OWN or clause.other <= clause.start + 1 < clause.end) and not side:
            carry.use = None
            if clause.rest & _MINE:
                carry.self_subject = True
            elif clause.rest & _NOT_MINE or not clause.opener & _TELLING:
                carry.self_subject = False
        if clause.union & _LOOKED_AT and asked < FIRST_PERSON:
            yield from self._claims(number, clause)
        if not side:
            carry.union = clause.union
        part.leave(clause)

    def _claims(self, number: int, clause: Clause) -> Iterator[Found]:
        flags, carry = self._flags, self._carry
        handed = self._handed_negation(number, clause) or self._answered(number, clause)
        within = range(clause.start, clause.end) if clause.union & wc.PARTICIPLE else ()
        for index in within:
            if not flags[index] & wc.PARTICIPLE:
                continue
            use = self._shape(flags, clause, index, carry)
            if use.strength == BARE and self._lexicon.past_forms and named_deed(flags, clause, index):
                use = GOVERNED
            if not use.strength:
                carry.use = use if use is GOVERNED else carry.use
                continue
            if self._explained(clause, index):
                continue
            if handed or self._negated(number, clause, index, use):
                use = use._replace(negated=True)
            carry.use = use
            if self._by_self(number, clause):
                use = use._replace(strength=FIRST_PERSON, why="by me")
            if not use.negated and self._stands(number, clause, index, use):
                self._part.claimed = True
                yield index, use.why
        if not handed and not self._part.claimed:
            place = state_use(self._lexicon, self._tokens, flags, self._clauses, number, self.context)
            if place is not None and self._free(clause, place[1]) and not self._described(clause, place[1]):
                self._part.claimed = True
                yield place[0], place[1].why

    def _stands(self, number: int, clause: Clause, index: int, use: Use) -> bool:
        """
        Whether an unnegated use is left standing by all frames and by the kind of its verb.
        """
        bits = self._flags[index]
        if bits & wc.WORLD and use.strength < FIRST_PERSON:
            return False
        if bits & wc.READS and use.strength != PASSIVE and self._looked_at(clause, index):
            return False
        if use.strength == BARE and self.context.heading and index == clause.start and clause.end - index > 1:
            return False
        if use.strength == BARE and (self._subordinated(number, index) or self._one_of_states(clause)):
            return False
        if use.strength == BARE and bits & wc.STATIVE and not number and self._clauses[-1].colon:
            # "Documents blocked for payment:" names what the list below holds.
            return False
        asked = self._sentence & wc.ASKED
        if (
            use.strength == BEING
            and not asked
            and (frames.being_block(self._lexicon, self._tokens, self._flags, clause, index, use))
        ):
            return False
        if use.strength in (BEING, PASSIVE) and not clause.union & wc.NOW and self._unfinished(number):
            return False
        if use.strength == BEING and (self._listed_by_other(number) or (not use.past and self._habitual(number))):
            return False
        if use.past and use.strength == PASSIVE and frames.tallied(self._flags, clause):
            return False
        if frames.fixed_block(self._flags, clause, index, use) or not self._free(clause, use):
            return False
        return bool(asked) or not self._described(clause, use)

    def _subordinated(self, number: int, index: int) -> str:
        return frames.bare_block(self._flags, self._clauses, number, index)

    def _one_of_states(self, clause: Clause) -> bool:
        """
        Whether the form alone is what a list or a table says of a record: "Kiln & Co - confirmed", below a lead that
        names records and tells of no deed.
        """
        if clause.end - clause.start > 1 and not (clause.opener & wc.STATIVE and self.context.listed and clause.start):
            return False
        lead = self.context.outside(True).lead
        return bool(lead & wc.COLON and not lead & _DEEDS)

    def _listed_by_other(self, number: int) -> bool:
        """
        Whether the next clause goes on with what somebody else did: "is posted, approved by the bank".
        """
        following = self._clauses[number + 1 : number + 2]
        return any(
            clause.opener & (wc.PARTICIPLE | wc.BY)
            and clause.union & wc.BY
            and not clause.hard
            and frames.by_other(self._lexicon, self._tokens, self._flags, clause)
            for clause in following
        )

    def _unfinished(self, number: int) -> bool:
        return chain.unfinished(self._flags, self._clauses, number)

    def _described(self, clause: Clause, use: Use) -> bool:
        """
        Whether a use that can tell of a state as well stands in a paragraph that describes.
        """
        going_on = use.why == "being done" and not self._lexicon.adjacent
        if (
            (use.strength == BARE and not going_on)
            or use.strength > PASSIVE
            or clause.union & (wc.NOW | wc.BY_SELF | wc.ABLE)
        ):
            return False
        if use.why == "single word" or (clause.union & wc.CONSEQUENCE and not use.past):
            return False
        weak = (
            use.strength == BEING or going_on or (use.past and not self._lexicon.adjacent) or clause.union & wc.STANDING
        )
        form = use.why in ("is done", "was done", "being done")
        return bool(
            weak
            and self.context.describing(
                form, use.past, 0 if use.past else chain.chained(self._flags, self._clauses, clause)
            )
        )

    def _free(self, clause: Clause, use: Use) -> bool:
        if use.strength <= self._part.block and not (clause.union & wc.NOW and self._part.block == BEING):
            return False
        if use.strength <= frames.clause_block(
            self._lexicon,
            self._tokens,
            self._flags,
            clause,
            self._sentence & ~wc.DATED | self._dated,
            use,
            self._before,
        ):
            return False
        if use.strength > PASSIVE:
            return True
        bare = use.strength == BARE
        if bare not in self._outside:
            self._outside[bare] = frames.outside_block(self.context.outside(bare))
        return use.strength > self._outside[bare]

    def _looked_at(self, clause: Clause, index: int) -> bool:
        flags = self._flags
        behind = min(clause.end, index + _REACH)
        if any(bits & wc.LOOKED_AT for bits in flags[max(clause.start, index - _REACH) : behind]):
            return True
        return any(bits & (wc.AUXILIARY | wc.FINITE) for bits in flags[index + 1 : behind])

    def _negated(self, number: int, clause: Clause, index: int, use: Use) -> bool:
        """
        Whether a negator of the clause, before the form or right behind it, takes the use back.
        """
        if not self._lexicon.adjacent:
            return False
        if clause.negator < index and not (
            use.past and use.strength == FIRST_PERSON and self._flags[clause.negator] & wc.AUXILIARY
        ):
            return True
        behind = self._flags[index + 1 : min(clause.end, index + _LATER)]
        return any(bits & wc.NEG for bits in behind[:2]) and not behind[0] & wc.PREPOSITION

    def _handed_negation(self, number: int, clause: Clause) -> bool:
        return chain.handed_negation(self._clauses, number, adjacent=self._lexicon.adjacent)

    def _answered(self, number: int, clause: Clause) -> bool:
        return chain.answered(self._clauses, number)

    def _by_self(self, number: int, clause: Clause) -> bool:
        """
        Whether the speaker is named as the actor, in the clause or in brackets behind it.
        """
        if clause.union & wc.BY_SELF or not self._sentence & wc.BY_SELF:
            return bool(clause.union & wc.BY_SELF)
        following = self._clauses[number + 1 : number + 2]
        return any(later.bracketed and later.union & wc.BY_SELF for later in following)

    def _explained(self, clause: Clause, index: int) -> bool:
        """
        Whether the form stands in "why I did" or "the draft I made is ...", which take the deed for known.
        """
        flags = self._flags
        told = any(bits & _TELLING for bits in flags[index + 1 : min(clause.end, index + _REACH)])
        for at in range(max(clause.start, index - _LATER - 1), index):
            if flags[at + 1] & wc.SELF and (flags[at] & wc.QUESTION or (not flags[at] & _NO_NOUN and told)):
                return self._lexicon.adjacent
        return False

    def _inverted(self, number: int, clause: Clause) -> bool:
        """
        Whether a verb in front makes the clause a condition without its word: "was it moved, look there".
        """
        if number or self._lexicon.adjacent or not clause.opener & wc.AUXILIARY:
            return False
        return any(later.opener & wc.VERB and not later.hard for later in self._clauses[1:2])

    def _habitual(self, number: int) -> bool:
        return chain.habitual(self._clauses, number)

    def _asked_from(self) -> int:
        """
        The number of the first clause that a question mark covers.
        """
        if not self.context.question:
            return len(self._clauses)
        start = max((n for n, clause in enumerate(self._clauses) if clause.hard), default=0)
        first = self._clauses[start] if self._clauses else None
        if first is not None and start + 1 < len(self._clauses) and self._only_alone(first):
            return start + 1
        last = self._clauses[-1:]
        return len(self._clauses) - 1 if self._lexicon.unspaced and last and last[0].opener & wc.QUESTION else start

    def _only_alone(self, clause: Clause) -> bool:
        allowed = wc.ALONE | wc.FILLER | wc.ADVERB | wc.NOW
        return all(bits & allowed for bits in self._flags[clause.start : clause.end])
