"""
Why a place that was looked at is no claim: for people who wonder, never on the way of an answer (V2).

The sentence is judged once more by a judge that notes which of its questions took each candidate back. The verdicts are
those of the plain judge, by inheritance.
"""

from collections.abc import Iterator
from typing import Any, Final

from nr_agent_core.domain.claims import frames
from nr_agent_core.domain.claims import word_class as wc
from nr_agent_core.domain.claims.clauses import Clause
from nr_agent_core.domain.claims.frames import Context
from nr_agent_core.domain.claims.judge import Found, Judge
from nr_agent_core.domain.claims.lexicon import Lexicon
from nr_agent_core.domain.claims.uses import BARE, BEING, FIRST_PERSON, GOVERNED, Carry, Use

DRAFTED: Final = "a text that is only proposed"
OTHER_LANGUAGE: Final = "the words around it are of another language"
_NO_STATE: Final = "no state that begins now"
_CANDIDATES: Final = wc.CLAIMING | wc.MARK | wc.ARROW | wc.BEFORE | wc.LABEL | wc.SWITCHED | wc.CASE


class ExplainingJudge(Judge):
    """
    Judges like its base, and remembers what took each candidate back.

    Attributes:
        reasons: by index of the token, the rule that rejected it.
    """

    __slots__ = ("_last", "reasons")

    def __init__(self, lexicon: Lexicon, tokens: list[str], context: Context) -> None:
        super().__init__(lexicon, tokens, context)
        self.reasons: dict[int, str] = {}
        self._last = ""
        plain = self._shape

        def noted(flags: list[int], clause: Clause, index: int, carry: Carry) -> Use:
            use = plain(flags, clause, index, carry)
            if not use.strength:
                why = "governed by the verb before it" if use is GOVERNED else "no use that claims"
                self.reasons[index] = why
            elif use.negated:
                self.reasons[index] = "negated"
            return use

        self._shape = noted

    def reason(self, index: int) -> str:
        """
        Why the token at *index*, which is no claim, is none.
        """
        return self.reasons.get(index, _NO_STATE)

    def is_candidate(self, index: int) -> bool:
        """
        Whether the token at *index* is of a class that can claim.
        """
        return bool(self._flags[index] & _CANDIDATES)

    def _note(self, clause: Clause, why: str) -> None:
        for index in range(clause.start, clause.end):
            if self.is_candidate(index):
                self.reasons.setdefault(index, why)

    def _governed(self) -> bool:
        governed = super()._governed()
        if governed:
            self._note(Clause(0, len(self._flags), self._flags), "governed by the verb before it")
        return governed

    def _in_clause(self, number: int, clause: Clause, asked: int) -> Iterator[Found]:
        if asked >= FIRST_PERSON:
            self._note(clause, "a question")
        yield from super()._in_clause(number, clause, asked)
        if clause.union & wc.NEG and not clause.union & wc.NO_LONGER:
            self._note(clause, "negated")
        elif clause.union & wc.MODAL:
            self._note(clause, "not yet so, or only possible")

    def _explained(self, clause: Clause, index: int) -> bool:
        return self._told(super()._explained(clause, index), "the deed is taken for known", index)

    def _negated(self, number: int, clause: Clause, index: int, use: Use) -> bool:
        return self._told(super()._negated(number, clause, index, use), "negated", index)

    def _handed_negation(self, number: int, clause: Clause) -> bool:
        handed = super()._handed_negation(number, clause)
        if handed:
            self._note(clause, "negated or doubted by the clause before")
        return handed

    def _answered(self, number: int, clause: Clause) -> bool:
        answered = super()._answered(number, clause)
        if answered:
            self._note(clause, "a label whose value denies or counts")
        return answered

    def _told(self, rejected: bool, why: str, index: int) -> bool:
        if rejected:
            self.reasons[index] = why
        return rejected

    def _stands(self, number: int, clause: Clause, index: int, use: Use) -> bool:
        self._last = ""
        stands = super()._stands(number, clause, index, use)
        if not stands:
            self.reasons[index] = self._last or self._kind(clause, index, use)
        return stands

    def _kind(self, clause: Clause, index: int, use: Use) -> str:
        """
        Which question without a method of its own took the use back.
        """
        bits = self._flags[index]
        if bits & wc.WORLD and use.strength < FIRST_PERSON:
            return "happens in the world: only the speaker's own deed would claim"
        if use.strength == BARE and self.context.heading:
            return "a heading"
        if use.strength == BEING and frames.being_block(self._lexicon, self._tokens, self._flags, clause, index, use):
            return "says how things stand, of some or of all such things"
        if frames.tallied(self._flags, clause):
            return "counts"
        return "a tool or a setting that no answer changes"

    def _because(self, rejected: bool, why: str) -> bool:
        if rejected:
            self._last = why
        return rejected

    def _looked_at(self, clause: Clause, index: int) -> bool:
        return self._because(super()._looked_at(clause, index), "something was only looked at")

    def _subordinated(self, number: int, index: int) -> str:
        why = super()._subordinated(number, index)
        self._last = why or self._last
        return why

    def _unfinished(self, number: int) -> bool:
        return self._because(super()._unfinished(number), "the sentence says what is not so yet")

    def _listed_by_other(self, number: int) -> bool:
        return self._because(super()._listed_by_other(number), "goes on with what somebody else did")

    def _habitual(self, number: int) -> bool:
        return self._because(super()._habitual(number), "holds whenever a condition does")

    def _described(self, clause: Clause, use: Use) -> bool:
        described = self._because(super()._described(clause, use), "the sentences beside it describe records")
        if described:
            self._note(clause, self._last)
        return described

    def _free(self, clause: Clause, use: Use) -> bool:
        free = super()._free(clause, use)
        if not free:
            self._last = self._frame(clause, use)
            self._note(clause, self._last)
        return free

    def _frame(self, clause: Clause, use: Use) -> str:
        """
        Which frame blocks *use*.
        """
        if use.strength <= self._part.block:
            return "led by a condition, an instruction, a plan or a doubt"
        arguments: tuple[Any, ...] = (
            self._lexicon,
            self._tokens,
            self._flags,
            clause,
            self._sentence,
            use,
            self._before,
        )
        if use.strength <= frames.clause_block(*arguments):
            return _of_clause(clause.union | self._sentence & (wc.DATED | wc.REPORT | wc.DATE))
        outside = self.context.outside(use.strength == BARE)
        if frames.lead_block(outside.lead) >= use.strength:
            return "the line above leads into plans, questions or states"
        if outside.outline >= use.strength:
            return "the heading above announces plans or states"
        if outside.header & wc.STATUS:
            return "a column of states"
        return "the answer asks for a go-ahead" if outside.asks else "the sentence before asks, plans or supposes"


def _of_clause(union: int) -> str:
    """
    What in a clause of the classes *union* blocks it.
    """
    for mask, why in _FRAMES:
        if union & mask:
            return why
    return "a clause that only says which thing is meant"


_FRAMES: Final = (
    (wc.CONDITION, "a condition"),
    (wc.DOUBT, "a doubt"),
    (wc.REPORT, "a report of somebody or something else"),
    (wc.DATED, "dated: told of an earlier time"),
    (wc.DATE, "dated: told of a day"),
    (wc.BY, "done by somebody else"),
    (wc.THEN | wc.GENERIC | wc.SEQUENCE, "a habit or a step of several"),
    (wc.STANDING, "how things stand already"),
)
