"""
Which plural form a number takes, by rules as data (V10).

A rule is written as Unicode's tables of plural rules (CLDR) write it, so it can be taken over from there:
``i % 10 = 2..4 and i % 100 != 12..14``. Counts are whole numbers; whatever a rule says of decimals is about none.
"""

import functools
from typing import Final, TypeAlias

FORMS: Final = ("zero", "one", "two", "few", "many", "other")
"""The names that a form may have."""

_WHOLE: Final = frozenset("ni")
_Relation: TypeAlias = tuple[str, int, bool, tuple[tuple[int, int], ...]]
_Rule: TypeAlias = tuple[tuple[_Relation, ...], ...]


@functools.cache
def read_rule(text: str) -> _Rule:
    """
    A rule, ready to be asked; an empty one is none at all and holds for every number.

    Raises:
        ValueError: the rule cannot be read; says at which relation.
    """
    if not text.strip():
        return ()
    return tuple(tuple(_relation(part) for part in choice.split(" and ")) for choice in text.split(" or "))


def holds(text: str, number: int) -> bool:
    """Whether the rule *text* holds for *number*, whatever its sign."""
    rule = read_rule(text)
    return not rule or any(all(_is_so(relation, abs(number)) for relation in choice) for choice in rule)


def _relation(text: str) -> _Relation:
    import re

    found = re.fullmatch(r"([niwvftce])(?: ?% ?(\d{1,6}))? ?(!?=) ?(\d[\d., ]*)", text.strip())
    if found is None:
        raise ValueError(f"{text.strip()!r} is no relation such as 'i % 10 = 2..4'")
    ranges = [part.strip().split("..") for part in found[4].split(",")]
    if not all(len(ends) in (1, 2) and all(end.isdecimal() for end in ends) for ends in ranges) or (
        found[2] and not int(found[2])
    ):
        raise ValueError(f"{text.strip()!r} is no relation such as 'i % 10 = 2..4'")
    return found[1], int(found[2] or 0), found[3] == "=", tuple((int(ends[0]), int(ends[-1])) for ends in ranges)


def _is_so(relation: _Relation, number: int) -> bool:
    operand, modulus, equal, ranges = relation
    value = number if operand in _WHOLE else 0
    value = value % modulus if modulus else value
    return any(first <= value <= last for first, last in ranges) is equal
