"""
What a call to the chat brings back, and a conversation rendered for one reader (V11, O3).
"""

import enum

import attrs

from nr_agent_core.domain.approvals import Card
from nr_agent_core.domain.conversation import ConversationStatus, MessageRole
from nr_agent_core.domain.failures import FailureCode
from nr_agent_core.domain.notices import Notice, NoticeCode, ReplyCode
from nr_agent_core.domain.run_status import RunStatus
from nr_agent_core.domain.value import Value


class SendOutcome(enum.Enum):
    """
    What became of a call (V11).

    ``accepted``: a run took it. ``held``: an approval waits; nothing was stored. ``busy``: a run is
    at work; nothing was stored. ``delivered``: the run was ended outside, its message was stored
    (C4). ``refused``: nothing happened.
    """

    ACCEPTED = "accepted"
    HELD = "held"
    BUSY = "busy"
    DELIVERED = "delivered"
    REFUSED = "refused"


@attrs.frozen(repr=False, eq=False)
class Sent(Value):
    """
    The answer to one call.

    ``text`` is the sentence for this reader, None when accepted.
    """

    outcome: SendOutcome
    conversation: str
    run_id: str | None = None
    status: RunStatus | None = None
    code: ReplyCode | NoticeCode | None = None
    text: str | None = None


@attrs.frozen(repr=False, eq=False)
class NoticeView(Value):
    """
    A notice with its label in the reader's language.
    """

    code: NoticeCode
    label: str
    notice: Notice


@attrs.frozen(repr=False, eq=False)
class MessageView(Value):
    """
    A message as one reader sees it; its text is as it was given (P3).
    """

    position: int
    role: MessageRole
    text: str
    at: float
    run_id: str | None
    notices: tuple[NoticeView, ...] = ()


@attrs.frozen(repr=False, eq=False)
class ErrorView(Value):
    """
    Why the conversation's last run failed, for this reader (F2).

    ``link`` is what the host maps the code's target to; administrators only.
    """

    code: FailureCode
    text: str
    link: str | None = None


@attrs.frozen(repr=False, eq=False)
class ConversationView(Value):
    """
    A conversation rendered for one reader (O3).

    ``card`` is there while a decision waits that this reader may take. ``waiting`` is a sentence for
    this reader while any decision waits: to take it on the card, or that somebody else has to (C2).
    ``more`` says that older messages exist.
    """

    id: str
    status: ConversationStatus
    messages: tuple[MessageView, ...]
    error: ErrorView | None = None
    card: Card | None = None
    more: bool = False
    waiting: str | None = None
