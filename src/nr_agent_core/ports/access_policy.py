"""
Who may do what, asked at the moment (O4).
"""

import enum
from typing import Protocol

import attrs

from nr_agent_core.domain.value import Value


class Action(enum.Enum):
    """
    What somebody may or may not do to a conversation or run.
    """

    SEE = "see"
    SEND = "send"
    DECIDE = "decide"
    CANCEL = "cancel"
    READ_PREVIEW = "read_preview"


@attrs.frozen(repr=False, eq=False)
class Subject(Value):
    """
    What the action is about: somebody's conversation, somebody's run, or both.
    """

    owner: str
    conversation: str | None = None
    run_id: str | None = None

    def __str__(self) -> str:
        names = (("conversation", self.conversation), ("run", self.run_id))
        return " of ".join(f"{kind} {name!r}" for kind, name in reversed(names) if name) or "anything"


class AccessPolicy(Protocol):
    """
    Answers from the host's present rights, never from a stored flag. Knowing an id authorises nothing.

    An exception refuses: it rises to the host and no role is assumed.
    """

    def may(self, actor: str, action: Action, subject: Subject) -> bool:
        """Whether *actor* may do *action* to *subject* now."""
        ...

    def is_administrator(self, actor: str) -> bool:
        """Whether *actor* is an administrator now (G1, F2)."""
        ...
