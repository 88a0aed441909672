"""
The store in memory. It forgets everything with its process, and is otherwise a store like any other.
"""

import threading
from collections.abc import Iterable, Sequence
from typing import assert_never

from nr_agent_core import codec
from nr_agent_core.adapters.memory.draft import Draft, State, StoredForm, StoredRun
from nr_agent_core.adapters.memory.purge import Purge
from nr_agent_core.defaults.clock import SystemClock
from nr_agent_core.domain.conversation import Message, MessageRole
from nr_agent_core.domain.errors import RunUnreadableError
from nr_agent_core.domain.provenance import StoredWrite
from nr_agent_core.domain.run_events import Started
from nr_agent_core.domain.run_status import RunStatus
from nr_agent_core.domain.tool_result import RecordWrite
from nr_agent_core.ports.clock import Clock
from nr_agent_core.ports.conversation_store import ConversationRow, History
from nr_agent_core.ports.retention import Purged, Retention
from nr_agent_core.ports.run_store import RunRow, StoredEvent, UnreadableRun
from nr_agent_core.ports.unit_of_work import Change, OpenConversation


class MemoryStore:
    """
    Conversations and runs in this process's memory (:class:`~nr_agent_core.ports.unit_of_work.UnitOfWork`).

    Safe to use from several threads. A forked process has a copy of its own.

    Args:
        clock: of stamps, leases and expiry; the machine's clock by default.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock: Clock = clock or SystemClock()
        self._lock = threading.Lock()
        self._state = State()

    def now(self) -> float:
        """The store's time, seconds since 1970-01-01 UTC."""
        return self._clock.now()

    def close(self) -> None:
        """Nothing to let go of; what is stored stays as long as this object does."""

    # ------------------------------------------------------------------------------------ writing

    def commit(self, changes: Sequence[Change]) -> None:
        """Store all *changes*, or none (see the port for errors)."""
        stored = codec.with_redaction([codec.columns_of(change) for change in changes], self._contents)
        with self._lock:
            draft = Draft(self._state, self.now())
            for columns in stored:
                match columns:
                    case OpenConversation(conversation, owner):
                        draft.open_conversation(conversation, owner)
                    case codec.AddColumns():
                        draft.add_messages(columns)
                    case codec.AppendColumns():
                        draft.append(columns)
                    case codec.LetGoColumns():
                        draft.let_go(columns)
                    case _:
                        assert_never(columns)
            draft.publish()

    def _contents(self, run_id: str) -> list[tuple[int, str, str, str]]:
        with self._lock:
            stored = self._state.runs.get(run_id)
            rows = stored.events if stored else ()
        return [(row.number, row.kind, row.facts, row.content) for row in rows if row.content is not None]

    # ------------------------------------------------------------------------------------- upkeep

    def purge(self, retention: Retention, *, limit: int = 200) -> Purged:
        """Delete one portion of what is past its window (see the port for what is kept)."""
        with self._lock:
            return Purge(self._state, retention, self.now()).portion(limit)

    def purgeable(self, retention: Retention) -> Purged:
        """What :meth:`purge` would delete by now if it were called to the end."""
        with self._lock:
            return Purge(self._state.copy(), retention, self.now()).everything()

    def tidy(self) -> None:
        """Nothing to give back."""

    # ------------------------------------------------------------------------------ conversations

    def conversation_row(self, conversation: str) -> ConversationRow | None:
        """The conversation with its last run, or None when there is none."""
        with self._lock:
            stored = self._state.conversations.get(conversation)
            if stored is None:
                return None
            last_run = self._state.runs[stored.runs[-1]].row if stored.runs else None
            users = (at for at in reversed(range(len(stored.messages))) if stored.messages[at][0].role == _USER)
            last = len(stored.messages) - 1
            return ConversationRow(conversation, stored.owner, stored.created_at, last_run, last, next(users, -1))

    def messages(self, conversation: str, *, before: int | None = None, limit: int = 50) -> tuple[Message, ...]:
        """The newest *limit* messages below position *before* (None: from the end), oldest first."""
        stored = self._messages(conversation)
        end = len(stored) if before is None else min(max(before, 0), len(stored))
        first = max(end - max(limit, 0), 0)
        return tuple(_message(position, *stored[position]) for position in range(first, end))

    def history(self, conversation: str, *, budget: int) -> History:
        """The newest messages that fit into *budget*, at least one, and the records their runs wrote."""
        stored = self._messages(conversation)
        window: list[Message] = []
        used = 0
        for position in reversed(range(len(stored))):
            used += stored[position][0].tokens
            if window and used > budget:
                break
            window.append(_message(position, *stored[position]))
        window.reverse()
        writes: dict[str, tuple[RecordWrite, ...]] = {}
        declined: dict[str, tuple[str, ...]] = {}
        for run_id in dict.fromkeys(message.run_id for message in window):
            if run_id is not None and (written := self._writes_of(run_id, conversation)):
                writes[run_id] = written
        for run_id in dict.fromkeys(message.run_id for message in window if message.role is MessageRole.ASSISTANT):
            if run_id is not None and (tools := self._declined(run_id, conversation)):
                declined[run_id] = tools
        return History(tuple(window), writes, len(window) == len(stored), declined)

    def _messages(self, conversation: str) -> tuple[tuple[codec.MessageColumns, float], ...]:
        with self._lock:
            stored = self._state.conversations.get(conversation)
            return stored.messages if stored else ()

    # --------------------------------------------------------------------------------------- runs

    def run_row(self, run_id: str) -> RunRow | None:
        """The row beside the run's stream, or None when there is no such run."""
        with self._lock:
            stored = self._state.runs.get(run_id)
            return stored.row if stored else None

    def events(self, run_id: str, *, after: int = -1) -> tuple[StoredEvent, ...]:
        """The run's events with a number above *after*, in order; never an empty stream for an unreadable one."""
        with self._lock:
            stored = self._state.runs.get(run_id)
            rows: tuple[StoredForm, ...] = stored.events if stored else ()
            sequence = stored.row.sequence if stored else 0
        if stored is None:
            raise RunUnreadableError(run_id, "there is no such run")
        if not rows or rows[0].number != 0 or rows[0].kind.partition(".")[0] != Started.kind:
            raise RunUnreadableError(run_id, "its stream does not begin with 'started'")
        if [row.number for row in rows] != list(range(sequence)):
            raise RunUnreadableError(run_id, "an event of its stream is missing")
        return tuple(
            StoredEvent(row.number, codec.load(row.kind, row.facts, row.content), row.at)
            for row in rows
            if row.number > after
        )

    def waiting_runs(self, *, limit: int) -> tuple[RunRow, ...]:
        """Runs that wait for an approval, oldest first."""
        waiting = [row for row in self._rows() if row.status is RunStatus.WAITING_FOR_APPROVAL]
        return tuple(waiting[: max(limit, 0)])

    def due_runs(self, *, queued_grace: float, limit: int) -> tuple[RunRow, ...]:
        """Runs that upkeep has to look at now, longest overdue first."""
        now = self.now()
        due = [(since, row) for row in self._rows() if (since := _due_since(row, queued_grace)) is not None]
        overdue = sorted(((since, row) for since, row in due if since <= now), key=lambda entry: entry[0])
        return tuple(row for _, row in overdue[: max(limit, 0)])

    def unreadable_runs(self, *, limit: int) -> tuple[UnreadableRun, ...]:
        """None: a row in memory is not damaged."""
        return ()

    def writes(self, *, after: int, limit: int) -> tuple[StoredWrite, ...]:
        """The durable feed above position *after*, in commit order."""
        with self._lock:
            feed = [write for write, _ in self._state.writes if write.position > after]
        return tuple(feed[: max(limit, 0)])

    def writes_of(self, run_id: str) -> tuple[RecordWrite, ...]:
        """The records this run wrote, in order, one entry per record, the last kind counting."""
        return self._writes_of(run_id, None)

    def _writes_of(self, run_id: str, conversation: str | None) -> tuple[RecordWrite, ...]:
        with self._lock:
            entries = [
                entry.written
                for entry, where in self._state.writes
                if entry.written.correlation_id == run_id and conversation in (None, where)
            ]
        kinds = {written.reference: written.kind for written in entries}
        return tuple(RecordWrite(reference, kind) for reference, kind in kinds.items())

    def _declined(self, run_id: str, conversation: str) -> tuple[str, ...]:
        with self._lock:
            stored = self._state.runs.get(run_id)
            return stored.declined if stored and stored.row.conversation == conversation else ()

    def _rows(self) -> Iterable[RunRow]:
        with self._lock:
            stored: list[StoredRun] = list(self._state.runs.values())
        return [run.row for run in stored]


_USER = MessageRole.USER.value


def _message(position: int, columns: codec.MessageColumns, at: float) -> Message:
    return Message(
        position=position,
        role=MessageRole(columns.role),
        text=codec.restore_nul(columns.text),
        run_id=columns.run_id,
        at=at,
        tokens=columns.tokens,
        notices=codec.load_notices(columns.notices),
    )


def _due_since(row: RunRow, queued_grace: float) -> float | None:
    """Since when upkeep has something to do with the run; None: never."""
    match row.status:
        case RunStatus.RUNNING:
            return row.lease_until
        case RunStatus.QUEUED:
            return row.not_before + queued_grace
        case RunStatus.WAITING_FOR_APPROVAL:
            return row.expires_at
        case _:
            return None
