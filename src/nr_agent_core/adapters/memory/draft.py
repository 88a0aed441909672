"""
What a commit would leave behind: read through to what is stored, published as a whole or not at all.
"""

from typing import TypeVar

import attrs

from nr_agent_core.codec import AddColumns, AppendColumns, LetGoColumns, MessageColumns
from nr_agent_core.domain.errors import (
    ConversationBusyError,
    IllegalMoveError,
    InvalidValueError,
    LeaseHeldError,
    NotFoundError,
    StaleAppendError,
)
from nr_agent_core.domain.provenance import AiRecordWritten, StoredWrite
from nr_agent_core.domain.run_status import RunStatus
from nr_agent_core.domain.value import Value
from nr_agent_core.ports.run_store import RunRow

_K = TypeVar("_K")
_V = TypeVar("_V")


class StoredRun:
    """
    A run's row, its events, and the tools of its denied calls.
    """

    __slots__ = ("declined", "events", "row")

    def __init__(self, row: RunRow, events: "tuple[StoredForm, ...]" = (), declined: tuple[str, ...] = ()) -> None:
        self.row, self.events, self.declined = row, events, declined


class StoredConversation:
    """
    A conversation, its messages with their times, and the ids of its runs in order.
    """

    __slots__ = ("created_at", "messages", "owner", "runs")

    def __init__(self, owner: str, created_at: float) -> None:
        self.owner, self.created_at = owner, created_at
        self.messages: tuple[tuple[MessageColumns, float], ...] = ()
        self.runs: tuple[str, ...] = ()


@attrs.frozen(repr=False, eq=False)
class StoredForm(Value):
    """
    One stored event.
    """

    number: int
    kind: str
    facts: str
    content: str | None
    at: float


class State:
    """
    All that is stored.
    """

    __slots__ = ("conversations", "position", "runs", "writes")

    def __init__(self) -> None:
        self.conversations: dict[str, StoredConversation] = {}
        self.runs: dict[str, StoredRun] = {}
        self.writes: list[tuple[StoredWrite, str | None]] = []
        self.position = 0
        """The newest position that was ever given."""

    def copy(self) -> "State":
        """The same, to be changed by itself; what it holds is replaced, never changed."""
        other = State()
        other.conversations, other.runs = self.conversations.copy(), self.runs.copy()
        other.writes, other.position = self.writes.copy(), self.position
        return other


class Draft:
    """
    The changes of one commit. Nothing of them is stored before :meth:`publish`.
    """

    def __init__(self, stored: State, now: float) -> None:
        self._stored, self._now = stored, now
        self._conversations: dict[str, StoredConversation] = {}
        self._runs: dict[str, StoredRun] = {}
        self._writes: list[tuple[StoredWrite, str | None]] = []

    def publish(self) -> None:
        """From now on everybody sees the changes."""
        self._stored.conversations.update(self._conversations)
        self._stored.runs.update(self._runs)
        self._stored.writes.extend(self._writes)
        self._stored.position += len(self._writes)

    def open_conversation(self, conversation: str, owner: str) -> None:
        """A conversation comes into being; one that exists already is somebody else's."""
        if self._find(self._conversations, self._stored.conversations, conversation) is not None:
            raise ConversationBusyError(conversation)
        self._conversations[conversation] = StoredConversation(owner, self._now)

    def add_messages(self, columns: AddColumns) -> None:
        """Messages at the end of a conversation that exists, each at the position it expects."""
        conversation = columns.conversation
        stored = self._conversation(conversation)
        if columns.expected not in (None, len(stored.messages)):
            raise ConversationBusyError(conversation)
        for message in columns.messages:
            at = len(stored.messages)
            if message.expected is not None and message.expected < at:
                raise ConversationBusyError(conversation)
            if message.expected is not None and message.expected > at:
                raise InvalidValueError(f"the position of a message in {conversation!r}", message.expected, f"{at}")
            stored.messages = (*stored.messages, (message, self._now))

    def append(self, columns: AppendColumns) -> None:
        """Events behind the expected ones, the row beside them, and their writes in the feed."""
        run = columns.run
        stored = self._begin(columns) if columns.expected == 0 else self._go_on(columns)
        lease, due = stored.row.lease_until, stored.row.not_before
        if columns.lease_for is not None:
            lease = self._now + columns.lease_for if columns.status is RunStatus.RUNNING else 0.0
            due = max(run.not_before, self._now) if columns.status is RunStatus.QUEUED else run.not_before
        stored.row = attrs.evolve(
            stored.row,
            status=columns.status,
            sequence=run.sequence,
            lease_until=lease,
            not_before=due,
            expires_at=columns.expires_at,
            reason=run.reason,
            code=run.code,
            error=run.error,
            outside=run.outside,
        )
        if columns.declined is not None:
            stored.declined = columns.declined
        if columns.forgets:
            stored.events = tuple(attrs.evolve(event, content=None) for event in stored.events)
        if columns.redacted:
            kept = dict(columns.redacted)
            stored.events = tuple(
                attrs.evolve(event, content=kept.get(event.number, event.content)) for event in stored.events
            )
        stored.events += tuple(StoredForm(*event, at=self._now) for event in columns.events)
        for _, write in columns.writes:
            position = self._stored.position + len(self._writes) + 1
            written = AiRecordWritten(run.id, write.reference, write.kind)
            self._writes.append((StoredWrite(position, written), run.conversation))

    def let_go(self, columns: LetGoColumns) -> None:
        """End an unsettled run without reading its stream; a settled one, or none, stays as it is."""
        run_id = columns.run_id
        found = self._find(self._runs, self._stored.runs, run_id)
        if found is None or found.row.status.settled:
            return
        stored = self._copy_of(run_id, found)
        number = max([stored.row.sequence, *(event.number + 1 for event in stored.events)])
        forgotten = [attrs.evolve(event, content=None) for event in stored.events]
        stored.events = (*forgotten, StoredForm(number, columns.kind, columns.facts, None, self._now))
        stored.row = attrs.evolve(
            stored.row,
            status=columns.status,
            sequence=number + 1,
            lease_until=0.0,
            expires_at=None,
            reason=columns.reason,
            code=columns.code,
            error=columns.error,
            outside=columns.outside,
        )

    def _begin(self, columns: AppendColumns) -> StoredRun:
        run = columns.run
        known = self._find(self._runs, self._stored.runs, run.id)
        if known is not None:
            raise StaleAppendError(run.id, 0, known.row.sequence)
        if run.conversation is not None:
            conversation = self._conversation(run.conversation)
            if any(not self._run(earlier).row.status.settled for earlier in conversation.runs):
                raise ConversationBusyError(run.conversation)
            conversation.runs = (*conversation.runs, run.id)
        row = RunRow(
            id=run.id,
            owner=run.owner,
            conversation=run.conversation,
            status=RunStatus.RUNNING,
            sequence=0,
            message=run.message,
            created_at=self._now,
            lease_until=0.0,
            not_before=0.0,
            expires_at=None,
            reason=None,
            code=None,
            error=None,
            outside=False,
        )
        stored = self._runs[run.id] = StoredRun(row)
        return stored

    def _go_on(self, columns: AppendColumns) -> StoredRun:
        run_id, expected = columns.run.id, columns.expected
        known = self._find(self._runs, self._stored.runs, run_id)
        if known is None or known.row.sequence != expected:
            raise StaleAppendError(run_id, expected, 0 if known is None else known.row.sequence)
        if columns.claims:
            self._require_claimable(known.row)
        return self._copy_of(run_id, known)

    def _require_claimable(self, row: RunRow) -> None:
        """The one place where a lease is read (R8)."""
        if row.status not in (RunStatus.QUEUED, RunStatus.RUNNING):
            raise IllegalMoveError(row.id, row.status.value, "claimed")
        until = row.not_before if row.status is RunStatus.QUEUED else row.lease_until
        if until > self._now:
            raise LeaseHeldError(row.id, until)

    def _run(self, run_id: str) -> StoredRun:
        found = self._find(self._runs, self._stored.runs, run_id)
        assert found is not None, run_id  # noqa: S101 - a conversation's runs are stored with it
        return found

    def _copy_of(self, run_id: str, stored: StoredRun) -> StoredRun:
        copy = self._runs[run_id] = StoredRun(stored.row, stored.events, stored.declined)
        return copy

    def _conversation(self, conversation: str) -> StoredConversation:
        """The draft's own copy of a conversation that exists."""
        found = self._find(self._conversations, self._stored.conversations, conversation)
        if found is None:
            raise NotFoundError("conversation", conversation)
        copy = self._conversations[conversation] = StoredConversation(found.owner, found.created_at)
        copy.messages, copy.runs = found.messages, found.runs
        return copy

    def _find(self, drafted: dict[_K, _V], stored: dict[_K, _V], key: _K) -> _V | None:
        found = drafted.get(key)
        return stored.get(key) if found is None else found
