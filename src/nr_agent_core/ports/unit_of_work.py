"""
All that changes is one commit of one or more changes: all of them, or none.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias

import attrs

from nr_agent_core.domain.conversation import NewMessage
from nr_agent_core.domain.privacy import Privacy
from nr_agent_core.domain.run import Run
from nr_agent_core.domain.run_events import RunCancelled, RunEvent, RunFailed
from nr_agent_core.domain.run_status import RunReason
from nr_agent_core.domain.value import Value
from nr_agent_core.ports.conversation_store import ConversationStore
from nr_agent_core.ports.run_store import RunStore

if TYPE_CHECKING:
    from nr_agent_core.ports.retention import Purged, Retention


@attrs.frozen(repr=False, eq=False)
class OpenConversation(Value):
    """
    A conversation comes into being.
    """

    conversation: str
    owner: str


@attrs.frozen(repr=False, eq=False)
class AddMessages(Value):
    """
    Messages at the end of a conversation, in this order.

    With *expected* the conversation must hold just so many messages before them; none at all may
    follow, which then only asks that (F5).
    """

    conversation: str
    messages: tuple[NewMessage, ...]
    expected: int | None = None


@attrs.frozen(repr=False, eq=False)
class AppendEvents(Value):
    """
    Events of one run behind the *expected* ones. ``run`` is the state after them; ``lease_for``
    is how many seconds nobody may take the run over (R3, R8). ``privacy`` is what an append that
    settles its run keeps of the run's content (E4).
    """

    run: Run
    expected: int
    events: tuple[RunEvent, ...]
    lease_for: float = 0.0
    privacy: Privacy = Privacy.METADATA


@attrs.frozen(repr=False, eq=False)
class LetGo(Value):
    """
    End an unsettled run that cannot be read: *event* behind its row's sequence, without a fold.

    A settled run, or none, is left as it is (C5, O2).
    """

    run_id: str
    event: RunCancelled | RunFailed = RunCancelled(RunReason.SUPERSEDED)


Change: TypeAlias = OpenConversation | AddMessages | AppendEvents | LetGo
"""One change of a commit."""


class UnitOfWork(ConversationStore, RunStore, Protocol):
    """
    A store: reading, and one way to write.

    Every implementation must pass ``nr_agent_core.testing.contracts.UnitOfWorkContract``.
    """

    def now(self) -> float:
        """The store's time, seconds since 1970-01-01 UTC: of leases, stamps and expiry."""
        ...

    def commit(self, changes: Sequence[Change]) -> None:
        """
        Store all *changes* in their order in one durable transaction on a connection of the store's own.

        Each appended event becomes a row; each of its writes a row of the feed with a position in
        commit order (E2). An append that settles its run stores only content that its level keeps,
        and what the level does not keep of the run's earlier events is forgotten in the same
        transaction, or redacted; what was redacted or kept stays so from then on. ``LetGo`` keeps
        no content, and a late outcome brings none, whatever the level (E4).

        A ``claimed`` is taken for a queued run once its time has come, and for a running one once
        its lease has expired, checked in the same statement (R8). The time of a queued run has come
        when it was queued, unless a later one was named.

        Raises:
            StaleAppendError: a run is not at the expected sequence.
            LeaseHeldError: a claimed run is still driven, or its time has not come.
            ConversationBusyError: the conversation has an unsettled run, the position of a message
                is taken, or the conversation to be opened is there already.
            IllegalMoveError: a run is claimed that is neither queued nor running.
            NotFoundError: messages or a run are for a conversation that is not there.
            InvalidValueError: a state does not follow from its events, a position is not the next
                one, or a text holds half a surrogate pair.
            StoredFormError: the row of a run and its stream disagree.
            StoreUnavailableError: the store is locked, full or gone; the changes count as refused.
                Also ContentKeyError: content of the run, or of the commit, needs a key that is not here (E7).

        In all cases nothing of *changes* was stored, except that after StoreUnavailableError it is
        not known.
        """
        ...

    def purge(self, retention: "Retention", *, limit: int = 200) -> "Purged":
        """
        Delete one portion of what is past its window, in one durable transaction; call it again while
        ``more`` of the answer is true (O2).

        Kept are unsettled runs, a conversation's last run as long as the conversation, and entries
        of the feed as long as their run or their conversation. A position of the feed is never given
        twice. Waiting runs are not its matter: they are ended, not deleted.

        Args:
            retention: the windows; the store's time counts.
            limit: about how much goes at once: runs, conversations (ten messages count as one more), entries.

        Raises:
            StoreUnavailableError: the store is locked, full or gone; a portion may or may not have gone.
        """
        ...

    def purgeable(self, retention: "Retention") -> "Purged":
        """What :meth:`purge` would delete by now if it were called to the end. Nothing is changed."""
        ...

    def tidy(self) -> None:
        """
        Give back what is not needed any more, as far as that is possible at once: what was deleted or
        forgotten is gone from the files, too, where that is in the store's hands (E4).
        """
        ...

    def close(self) -> None:
        """Let go of files and connections of the calling thread."""
        ...
