"""
One claim of a change in an answer, and by which rule claims are found.
"""

import enum

import attrs

from nr_agent_core.domain.value import Value


class ClaimPolicy(enum.Enum):
    """
    By which rule an answer is read (V3, V4, V5).
    """

    SEED_RULE = "seed_rule"
    ASSERTED = "asserted"


@attrs.frozen(repr=False, eq=False)
class Claim(Value):
    """
    A place of an answer that claims a change (V2).

    Attributes:
        start, end: the span in the text as it was given, in code points; never empty.

        word: the form that was found, lower case, as the data lists it.

        language: code of the data file whose rule it was.

        why: short name of the rule or form, for logs and for explaining a notice.

        rejected_by: the rule that took the claim back; only ever set where an explanation was asked for.
    """

    start: int
    end: int
    word: str
    language: str
    why: str
    rejected_by: str | None = None
