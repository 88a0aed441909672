"""
What clients call things: texts that every store and every wire can hold.
"""

from nr_agent_core.domain.errors import InvalidValueError

LONGEST = 255


def name_of(subject: str, value: object, *, least: int = 1, most: int = LONGEST) -> str:
    """
    *value*, a text of *least* to *most* characters, without NUL and lone surrogates.

    Raises:
        InvalidValueError: it is something else.
    """
    if not isinstance(value, str) or not least <= len(value) <= most or "\0" in value or not _encodes(value):
        raise InvalidValueError(subject, value, f"a text of {least} to {most} characters")
    return value


def _encodes(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
