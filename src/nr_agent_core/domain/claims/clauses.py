"""
A sentence as the rules see it: tokens with their classes, cut into clauses.

A clause ends at a comma, a bracket, a contrast word, before a word that begins a subordinate clause, and at "and" when
another finite verb follows. Colons, semicolons and dashes end more: nothing is handed on across them.
"""

from functools import reduce
from operator import or_
from typing import Final

from nr_agent_core.domain.claims import word_class as wc

_SUBJECT: Final = wc.SELF | wc.PRONOUN
_OPENING: Final = wc.SUBORDINATE | wc.CONDITION | wc.PASS_ON
_HARD: Final = wc.BREAK | wc.COLON
_VERBAL: Final = wc.AUXILIARY | wc.FINITE | wc.STATE_VERB
_TURNING: Final = wc.CONTRAST | _OPENING
_SUBJECT_OR_VERB: Final = _VERBAL | _SUBJECT
_TOLD: Final = wc.AUXILIARY | wc.PARTICIPLE | wc.FINITE
_PARTING: Final = wc.CUT | _TURNING | wc.CONJUNCTION
_LED: Final = 4
"""Up to how many words "from here on," is a part of the clause behind its comma."""
_NOTED: Final = wc.CUT | wc.CONTRAST | _OPENING | wc.CONJUNCTION | _VERBAL | _SUBJECT | wc.PARTICIPLE


class Clause:
    """
    Tokens *start* up to *end* of a sentence.

    Attributes:
        union: all classes in it.

        rest: the classes of its words that are no forms.

        negator: where its first negator stands, or its end.

        other: where its first word for somebody else stands, or its end.

        opener: classes of its first word.

        hard: whether it begins a new part of the sentence (behind a colon, semicolon or dash).

        bracketed: whether it stands in brackets.

        dated, by_other: what the frames found out about the clause, once.

        joined: whether "and" comes before it.

        contrasted: whether a contrast word begins it.

        colon: whether a colon ends it.
    """

    __slots__ = (
        "bracketed",
        "by_other",
        "colon",
        "contrasted",
        "dated",
        "end",
        "hard",
        "joined",
        "negator",
        "opener",
        "other",
        "rest",
        "start",
        "union",
    )

    def __init__(self, start: int, end: int, flags: list[int]) -> None:
        self.start, self.end = start, end
        within = flags[start:end]
        union = reduce(or_, within, 0)
        self.union = self.rest = union
        if union & wc.PARTICIPLE:
            self.rest = reduce(or_, [bits for bits in within if not bits & wc.PARTICIPLE], 0)
        self.negator = _first(flags, start, wc.NEG) if union & wc.NEG else end
        self.other = _first(flags, start, wc.OTHER) if union & wc.OTHER else end
        self.opener = flags[start] if end > start else 0
        self.dated: tuple[bool, bool] | None = None
        self.by_other: bool | None = None
        self.contrasted = bool(self.opener & wc.CONTRAST)
        self.joined = self.hard = self.bracketed = self.colon = False


def cut(flags: list[int], union: int, *, adjacent: bool) -> list[Clause]:
    """
    The clauses of a sentence whose tokens have *flags*, together *union*, in one pass.

    Where the verb frames the clause, a contrast word inside it ends nothing before the form has come.
    """
    if flags and not union & _PARTING:
        return [_only(flags)]
    clauses: list[Clause] = []
    start = 0
    depth = 0
    hard = True
    joined = False
    seen_verb = told = False
    joint = -1

    def close(end: int) -> None:
        nonlocal hard, joined
        if end > start:
            clause = Clause(start, end, flags)
            clause.hard, clause.bracketed = hard, depth > 0
            clause.joined = joined
            clauses.append(clause)
            hard = False
        joined = False

    for index, bits in enumerate(flags):
        if not bits & _NOTED or (bits & wc.COMMA and _led(flags, start, index)):
            continue
        if bits & wc.CUT:
            close(index)
            if bits & _HARD:
                hard = True
                if bits & wc.COLON and clauses and clauses[-1].end >= index - bool(flags[index - 1] & wc.CLOSE):
                    clauses[-1].colon = True
            depth = max(0, depth + bool(bits & wc.OPEN) - bool(bits & wc.CLOSE))
            start, seen_verb, told, joint = index + 1, False, False, -1
        elif bits & _TURNING and index > start and not _continues(bits, flags[index - 1]):
            if bits & wc.CONTRAST and not (adjacent or told):
                continue
            close(index)
            start, seen_verb, told, joint = index, False, False, -1
        elif bits & wc.CONJUNCTION:
            joint = index
        elif joint >= 0 and seen_verb and bits & _SUBJECT_OR_VERB:
            if _own_clause(flags, joint, index, bits):
                close(joint)
                start, joined = joint + 1, True
            joint = -1
        if bits & _TOLD:
            seen_verb = True
            told = told or bool(bits & wc.PARTICIPLE)
    close(len(flags))
    return clauses


def _only(flags: list[int]) -> Clause:
    clause = Clause(0, len(flags), flags)
    clause.hard = True
    return clause


def _first(flags: list[int], at: int, mask: int) -> int:
    """
    The first place from *at* on with a class of *mask*; there is one.
    """
    while not flags[at] & mask:
        at += 1
    return at


def _led(flags: list[int], start: int, comma: int) -> bool:
    """
    Whether only "from here on" stands before the *comma*: it belongs to what follows.
    """
    return start < comma <= start + _LED and bool(
        flags[start] & (wc.NOW | wc.CONJUNCTION) and flags[comma - 1] & wc.NOW
    )


def _continues(bits: int, before: int) -> bool:
    """
    Whether a word that could begin a clause goes on with one: "even if", "and that".
    """
    return bool(before & _OPENING) and not bits & wc.CONTRAST


def _own_clause(flags: list[int], joint: int, index: int, bits: int) -> bool:
    """
    Whether what follows the conjunction at *joint* has a subject or verb of its own at *index*.
    """
    if bits & _SUBJECT or index == joint + 1:
        return True
    return not any(flags[at] & wc.PARTICIPLE for at in range(joint + 1, index))
