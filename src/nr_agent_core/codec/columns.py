"""
The columns of one change, before any store has seen them.

What an append keeps and what it forgets is decided here, once for every store:

- an append that settles its run stores only content that its level keeps, and so it is kept of the
  run's earlier events; a late outcome stores none (E4);
- only a running run has a lease, and a late outcome leaves it as it is (R7, R8);
- only a waiting run has an expiry (A4).

A text that no store can hold is refused here, before a transaction is open.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias, assert_never

from nr_agent_core.codec.forms import dump, dump_notices, escape_nul, load, member, require_storable, restore_nul
from nr_agent_core.domain.conversation import NewMessage
from nr_agent_core.domain.errors import InvalidValueError, StoredFormError
from nr_agent_core.domain.failures import FailureCode
from nr_agent_core.domain.privacy import Privacy
from nr_agent_core.domain.run import Run
from nr_agent_core.domain.run_events import ApprovalDecided, Claimed, RunCancelled, RunEvent, RunFailed, ToolFinished
from nr_agent_core.domain.run_status import RunReason, RunStatus
from nr_agent_core.domain.tool_result import RecordWrite
from nr_agent_core.ports.run_store import RunRow
from nr_agent_core.ports.unit_of_work import AddMessages, AppendEvents, Change, LetGo, OpenConversation


class EventColumns(NamedTuple):
    """
    One event as it is stored; its time is the commit's.
    """

    number: int
    kind: str
    facts: str
    content: str | None


class AppendColumns(NamedTuple):
    """
    An append as it is stored.

    ``declined`` is None when no call was denied in it, else the tools of all denied calls of the
    run. ``lease_for`` is None when the lease stays as it is. ``claims`` asks for a queued run whose
    time has come, or a running one whose lease has expired. ``keeps`` is None unless the append
    settles its run; then it says what becomes of the content of the run's earlier events, and
    ``redacted`` what takes the place of the content of some.
    """

    run: Run
    status: RunStatus
    expected: int
    events: tuple[EventColumns, ...]
    writes: tuple[tuple[int, RecordWrite], ...]
    declined: tuple[str, ...] | None
    expires_at: float | None
    lease_for: float | None
    claims: bool
    keeps: Privacy | None
    redacted: tuple[tuple[int, str | None], ...] = ()

    @property
    def forgets(self) -> bool:
        """Whether the content of all earlier events goes."""
        return self.keeps is Privacy.METADATA

    @property
    def redacts(self) -> bool:
        """Whether the content of earlier events has to be redacted first (:func:`with_redaction`)."""
        return self.keeps is Privacy.REDACTED and self.expected > 0


class MessageColumns(NamedTuple):
    """
    A message as it is stored, NUL escaped; ``expected`` is the position it must get, or None.
    """

    expected: int | None
    role: str
    text: str
    run_id: str | None
    tokens: int
    notices: str | None


class AddColumns(NamedTuple):
    """
    Messages at the end of a conversation; ``expected`` is how many it must hold before, or None.
    """

    conversation: str
    messages: tuple[MessageColumns, ...]
    expected: int | None = None


class LetGoColumns(NamedTuple):
    """
    The event that ends a run which cannot be read, and what its row says from then on.
    """

    run_id: str
    kind: str
    facts: str
    status: RunStatus
    reason: RunReason
    code: FailureCode | None
    error: str | None
    outside: bool


ChangeColumns: TypeAlias = OpenConversation | AddColumns | AppendColumns | LetGoColumns


def columns_of(change: Change) -> ChangeColumns:
    """
    What *change* stores.

    Raises:
        InvalidValueError: an append has no events, its state does not follow from them, or a text
            cannot be stored. Nothing was stored.
    """
    match change:
        case AppendEvents():
            return _append(change)
        case AddMessages(conversation, messages, expected):
            subject = f"a message of conversation {conversation!a}"
            require_storable(subject, conversation)
            return AddColumns(conversation, tuple([_message(message, subject) for message in messages]), expected)
        case OpenConversation(conversation, owner):
            require_storable("a conversation", conversation, owner)
            return change
        case LetGo(run_id, event):
            return _let_go(run_id, event)
        case _:
            assert_never(change)


def _append(change: AppendEvents) -> AppendColumns:
    run, expected, events = change.run, change.expected, change.events
    if not events or expected < 0 or run.status is None or run.sequence != expected + len(events):
        found = f"{len(events)} events behind {expected} for a state at {run.sequence}"
        raise InvalidValueError(f"an append to run {run.id!r}", found, "events that lead to the state given with them")
    require_storable(f"run {run.id!a}", run.id, run.owner, run.conversation, run.error)
    late_only = all(map(_late, events))
    # A late outcome finds its run settled, and what was kept then stays.
    keeps = change.privacy if run.settled and not late_only else None
    request = run.request
    return AppendColumns(
        run=run,
        status=run.status,
        expected=expected,
        events=tuple(_event_columns(number, event, keeps) for number, event in enumerate(events, expected)),
        writes=tuple(_writes(events, expected)),
        declined=_declined(change),
        expires_at=None if request is None else request.expires_at,
        lease_for=None if late_only else change.lease_for if run.status is RunStatus.RUNNING else 0.0,
        claims=any(type(event) is Claimed for event in events),
        keeps=keeps,
    )


def with_redaction(
    stored: Sequence[ChangeColumns], rows_of: Callable[[str], Iterable[Sequence[Any]]]
) -> list[ChangeColumns]:
    """
    *stored*, knowing what takes the place of content that has to be redacted.

    It is read before the transaction: the expected sequence shows that nothing was added since.

    Args:
        stored: what one commit stores.
        rows_of: number, kind, facts and content of the events of a run that have content.
    """
    return [
        columns._replace(redacted=tuple(_redacted(rows_of(columns.run.id))))
        if isinstance(columns, AppendColumns) and columns.redacts
        else columns
        for columns in stored
    ]


def _redacted(rows: Iterable[Sequence[Any]]) -> Iterable[tuple[int, str | None]]:
    """What changes. What cannot be read cannot be redacted: it is forgotten."""
    from nr_agent_core.domain.redaction import redacted_event

    for number, kind, facts, content in rows:
        try:
            kept = dump(redacted_event(load(kind, facts, content)))[2]
        except StoredFormError:
            kept = None
        if kept != content:
            yield number, kept


def _declined(change: AppendEvents) -> tuple[str, ...] | None:
    """What later turns are told about a run that goes on without calls that a person denied (M4)."""
    if not any(type(event) is ApprovalDecided and not event.approved for event in change.events):
        return None
    from nr_agent_core.domain.model_briefing import declined_tools

    return declined_tools(change.run)


def _let_go(run_id: str, event: RunCancelled | RunFailed) -> LetGoColumns:
    status, code, error = RunStatus.CANCELLED, None, None
    if isinstance(event, RunFailed):
        status, code, error = RunStatus.FAILED, event.code, event.text
    require_storable(f"run {run_id!a}", run_id, error)
    kind, facts, _ = dump(event)
    return LetGoColumns(run_id, kind, facts, status, event.reason, code, error, event.outside)


def read_run_row(columns: Sequence[Any]) -> RunRow:
    """
    The row that a store keeps beside a run's stream, from its columns in the order of
    :class:`~nr_agent_core.ports.run_store.RunRow`.

    Raises:
        StoredFormError: a column holds what this release never wrote (E6).
    """
    (run_id, owner, conversation, status, sequence, message, created, lease, due, expires, reason, code, error, out) = (
        columns
    )
    subject = f"row of run {run_id!r}"
    if out not in (0, 1) or sequence < 1:
        raise StoredFormError(subject, "its marks are none that were ever written")
    return RunRow(
        id=run_id,
        owner=owner,
        conversation=conversation,
        status=member(RunStatus, status, subject),
        sequence=sequence,
        message=message,
        created_at=created,
        lease_until=lease,
        not_before=due,
        expires_at=expires,
        reason=None if reason is None else member(RunReason, reason, subject),
        code=None if code is None else member(FailureCode, code, subject),
        error=None if error is None else restore_nul(error),
        outside=bool(out),
    )


def _message(message: NewMessage, subject: str) -> MessageColumns:
    require_storable(subject, message.text, message.run_id)
    notices = dump_notices(message.notices)
    text = escape_nul(message.text)
    return MessageColumns(message.position, message.role.value, text, message.run_id, message.tokens, notices)


def _late(event: RunEvent) -> bool:
    return type(event) is ToolFinished and event.late


def _event_columns(number: int, event: RunEvent, keeps: Privacy | None) -> EventColumns:
    if keeps is Privacy.REDACTED:
        from nr_agent_core.domain.redaction import redacted_event

        event = redacted_event(event)
    return EventColumns(number, *dump(event, content=not (keeps is Privacy.METADATA or _late(event))))


def _writes(events: Sequence[RunEvent], expected: int) -> list[tuple[int, RecordWrite]]:
    return [
        (number, write)
        for number, event in enumerate(events, expected)
        if type(event) is ToolFinished
        for write in event.writes
    ]
