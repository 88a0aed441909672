"""
What a caller gives, checked: numbers within their limits, and readers.
"""

from nr_agent_core.domain.errors import InvalidValueError
from nr_agent_core.domain.reader import Reader


def whole_number(subject: str, value: object, *, least: int) -> int:
    """
    *value*, a whole number from *least* on.

    Raises:
        InvalidValueError: it is something else; True and False are no numbers.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InvalidValueError(subject, value, f"a whole number from {least}")
    return value


def reader_of(value: Reader | str) -> Reader:
    """
    The reader that *value* is, or names.
    """
    return value if isinstance(value, Reader) else Reader(value)


def checked_reader(reader: object) -> Reader:
    """
    *reader*, which is one.

    Raises:
        InvalidValueError: it is something else.
    """
    if not isinstance(reader, Reader):
        raise InvalidValueError("a reader", reader, "a Reader")
    return reader
