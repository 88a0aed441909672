"""
Conversations and their messages.
"""

from collections.abc import Mapping
from typing import Protocol

import attrs

from nr_agent_core.domain.conversation import Message
from nr_agent_core.domain.tool_result import RecordWrite
from nr_agent_core.domain.value import Value
from nr_agent_core.ports.run_store import RunRow


@attrs.frozen(repr=False, eq=False)
class ConversationRow(Value):
    """
    A conversation as its store knows it. Positions are -1 while there is no such message.

    ``unreadable_run`` names the last run when its row is damaged; ``last_run`` is None then. The
    conversation can let go of it (C5).
    """

    id: str
    owner: str
    created_at: float
    last_run: RunRow | None
    last_position: int
    last_user_position: int
    unreadable_run: str | None = None


@attrs.frozen(repr=False, eq=False)
class History(Value):
    """
    The newest messages of a conversation, oldest first, and what their runs did.

    ``writes`` holds, by run, the records it wrote; ``declined``, by run, the tools of calls that
    needed approval and that a person denied (M4), of runs that left an answer here. ``complete``
    says that no older message was left out.
    """

    messages: tuple[Message, ...] = ()
    writes: Mapping[str, tuple[RecordWrite, ...]] = attrs.field(factory=dict)
    complete: bool = True
    declined: Mapping[str, tuple[str, ...]] = attrs.field(factory=dict)


class ConversationStore(Protocol):
    """
    Append-only messages per conversation. Appends go through the unit of work.

    Every implementation must pass ``nr_agent_core.testing.contracts.ConversationStoreContract``.
    """

    def conversation_row(self, conversation: str) -> ConversationRow | None:
        """
        The conversation with its last run, or None when there is none.

        A damaged row of that run costs the row, not the conversation (C5).
        """
        ...

    def messages(self, conversation: str, *, before: int | None = None, limit: int = 50) -> tuple[Message, ...]:
        """The newest *limit* messages below position *before* (None: from the end), oldest first."""
        ...

    def history(self, conversation: str, *, budget: int) -> History:
        """
        The newest messages whose token estimates fit into *budget*, read backwards; always at
        least the newest one. Flat in the conversation's length (R11, M5).
        """
        ...
