"""
Numbers that a caller gives: how many, and from where.
"""

from nr_agent_core.domain.errors import InvalidValueError


def whole_number(subject: str, value: object, *, least: int) -> int:
    """
    *value*, a whole number from *least* on.

    Raises:
        InvalidValueError: it is something else; True and False are no numbers.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InvalidValueError(subject, value, f"a whole number from {least}")
    return value
