"""
A conversation: its owner, its messages, and how it stands (O1). Messages are append-only.
"""

import enum

import attrs

from nr_agent_core.domain.notices import Notice
from nr_agent_core.domain.run_status import RunStatus
from nr_agent_core.domain.value import Value


class MessageRole(enum.Enum):
    """
    Whose message it is.
    """

    USER = "user"
    ASSISTANT = "assistant"


class ConversationStatus(enum.Enum):
    """
    How a conversation stands, derived from its last run (O1).
    """

    IDLE = "idle"
    PROCESSING = "processing"
    AWAITING_APPROVAL = "awaiting_approval"
    FAILED = "failed"


@attrs.frozen(repr=False, eq=False)
class Message(Value):
    """
    A stored message. ``text`` is as the model or the user gave it (P3); ``tokens`` is its estimate (R11).
    """

    position: int
    role: MessageRole
    text: str
    run_id: str | None
    at: float
    tokens: int
    notices: tuple[Notice, ...] = ()


@attrs.frozen(repr=False, eq=False)
class NewMessage(Value):
    """
    A message to be stored. With a position it is refused when that position is taken already.
    """

    role: MessageRole
    text: str
    run_id: str | None
    tokens: int
    notices: tuple[Notice, ...] = ()
    position: int | None = None


_STATUS = {
    RunStatus.QUEUED: ConversationStatus.PROCESSING,
    RunStatus.RUNNING: ConversationStatus.PROCESSING,
    RunStatus.WAITING_FOR_APPROVAL: ConversationStatus.AWAITING_APPROVAL,
    RunStatus.COMPLETED: ConversationStatus.IDLE,
    RunStatus.FAILED: ConversationStatus.FAILED,
    RunStatus.CANCELLED: ConversationStatus.IDLE,
}


def conversation_status(last_run: RunStatus | None) -> ConversationStatus:
    """
    The status of a conversation whose last run stands at *last_run* (O1).
    """
    return ConversationStatus.IDLE if last_run is None else _STATUS[last_run]
