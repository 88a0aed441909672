"""
The stretches of a sentence between colons, semicolons and dashes, and what holds throughout one.
"""

from typing import Final

from nr_agent_core.domain.claims import word_class as wc
from nr_agent_core.domain.claims.clauses import Clause
from nr_agent_core.domain.claims.uses import BEING, PASSIVE

DEMANDING: Final = wc.PLEASE | wc.INSTRUCTION
"""What begins a demand: please, or the verb of an instruction."""

_BLOCKING: Final = wc.CONDITION | wc.SINCE | wc.DOUBT | wc.QUANTITY


class Part:
    """
    The stretch of a sentence between colons, semicolons and dashes.
    """

    __slots__ = ("block", "claimed", "union")

    def __init__(self, block: int) -> None:
        self.block, self.claimed, self.union = block, False, 0

    def enter(self, clause: Clause, flags: list[int]) -> None:
        """What a clause blocks from its beginning on."""
        if not clause.opener & DEMANDING:
            return
        noun = clause.start + 1 < clause.end and flags[clause.start + 1] & wc.PARTICIPLE
        if clause.opener & wc.PLEASE or (clause.opener & wc.INSTRUCTION and not noun):
            self.block = max(self.block, PASSIVE)

    def leave(self, clause: Clause) -> None:
        """What a clause blocks behind it."""
        first = not self.union
        self.union |= clause.union
        if not clause.union & _BLOCKING:
            return
        led = clause.opener & wc.CONDITION or (clause.opener & wc.SINCE and clause.rest & wc.VERB)
        if (led and first) or (clause.union & wc.DOUBT and not clause.union & wc.PARTICIPLE):
            self.block = max(self.block, PASSIVE)
        if clause.opener & wc.QUANTITY and clause.rest & wc.BE:
            self.block = max(self.block, BEING if clause.union & wc.NOW else PASSIVE)
