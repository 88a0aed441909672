"""
Who looks or acts: an id, a language, and what only this segment's prompt is told. No role is on it (O4).
"""

import attrs

from nr_agent_core.domain.errors import InvalidValueError
from nr_agent_core.domain.value import Value

LONGEST_ID = 255
LONGEST_TAG = 35
_TAG_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-")


@attrs.frozen(repr=False, eq=False)
class Reader(Value):
    """
    An actor with a language. Nothing of it is stored but the id.

    Args:
        id: 1 to 255 characters, compared exactly.
        language: a language tag such as ``de`` or ``pt-BR``.
        context: what the host says about this person, for the prompt (M3).
        instructions: this person's own wishes for answers; fenced, last in the prompt (M3).

    Raises:
        InvalidValueError: a value is of another type or outside what is allowed.
    """

    id: str
    language: str = "en"
    context: str = ""
    instructions: str = ""

    def __attrs_post_init__(self) -> None:
        actor_id(self.id)
        tag = self.language
        if not isinstance(tag, str) or not 1 <= len(tag) <= LONGEST_TAG or not _TAG_CHARACTERS.issuperset(tag):
            raise InvalidValueError("the language of a reader", tag, "a tag of letters, digits and hyphens, up to 35")
        for name in ("context", "instructions"):
            if not isinstance(getattr(self, name), str):
                raise InvalidValueError(f"the {name} of a reader", getattr(self, name), "a text")


def actor_id(value: object) -> str:
    """
    The id of an actor: of a :class:`Reader`, or the id itself.

    Raises:
        InvalidValueError: it is no text of 1 to 255 characters.
    """
    found = value.id if isinstance(value, Reader) else value
    if not isinstance(found, str) or not 1 <= len(found) <= LONGEST_ID or not _encodes(found):
        raise InvalidValueError("the id of an actor", found, f"a text of 1 to {LONGEST_ID} characters")
    return found


def _encodes(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
