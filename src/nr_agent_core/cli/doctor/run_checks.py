"""
Runs and conversations, as every store in SQL holds them.
"""

from collections.abc import Iterator
from typing import Any, Final

from nr_agent_core import codec
from nr_agent_core.cli.doctor.findings import Check, Finding, Level, counted, listed
from nr_agent_core.cli.stores.tables import Tables
from nr_agent_core.domain.errors import IllegalMoveError, NewerFormError, RunUnreadableError, StoredFormError
from nr_agent_core.domain.run import fold
from nr_agent_core.runtime.recovery import QUEUED_GRACE

SETTLED: Final = "('completed', 'failed', 'cancelled')"
NEWEST: Final = 1000
"""How many settled runs, messages and entries are read unless all are asked for."""

_LET_GO: Final = ("superseded", "cancelled")
_DAY: Final = 86_400.0
_RUN: Final = (
    "id, owner, conversation, status, sequence, message, created_at, lease_until, not_before, expires_at, "
    "reason, code, error, outside"
)
_EVENTS: Final = "SELECT seq, kind, facts, content, at FROM event WHERE run = ? ORDER BY seq"
_MESSAGES: Final = "SELECT position, role, text, run, at, tokens, notices, conversation FROM message"
_COUNTS: Final = """
    SELECT (SELECT count(*) FROM conversation), (SELECT count(*) FROM message), (SELECT count(*) FROM run),
        (SELECT count(*) FROM event), (SELECT count(*) FROM tool_write)
"""
_ORPHANS: Final = {
    "messages of no conversation": """
        SELECT count(*) FROM message WHERE NOT EXISTS (SELECT 1 FROM conversation WHERE id = message.conversation)""",
    "runs of no conversation that is there": """
        SELECT count(*) FROM run WHERE conversation IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM conversation WHERE conversation.id = run.conversation)""",
    "events of no run": "SELECT count(*) FROM event WHERE NOT EXISTS (SELECT 1 FROM run WHERE id = event.run)",
}
_GAPS: Final = """
    SELECT conversation FROM message GROUP BY conversation HAVING min(position) <> 0 OR count(*) <> max(position) + 1
"""


class RunChecks:
    """
    Looks at what is stored. Content is read and never shown.

    Args:
        tables: the store.
        everything: whether all settled runs and messages are read, not only the newest.
    """

    def __init__(self, tables: Tables, *, everything: bool) -> None:
        self._tables, self._now = tables, tables.now()
        self._limit = 2**62 if everything else NEWEST
        self._stuck: dict[str, None] = {}

    def all(self) -> list[tuple[str, Check]]:
        """All checks, in order; the last one sums up what others saw."""
        return [
            ("rows", self._counts),
            ("orphans", self._orphans),
            ("leases", self._leases),
            ("queue", self._queue),
            ("approvals", self._approvals),
            ("runs", self._unreadable_runs),
            ("messages", self._unreadable_messages),
            ("feed", self._unreadable_entries),
            ("conversations", self._stuck_conversations),
        ]

    def _counts(self) -> Iterator[Finding]:
        conversations, messages, runs, events, writes = self._tables.ask(_COUNTS)[0]
        yield Finding(
            Level.NOTE,
            "rows",
            f"{counted(conversations, 'conversation', 'conversations')} with "
            f"{counted(messages, 'message', 'messages')}, "
            f"{counted(runs, 'run', 'runs')} with {counted(events, 'event', 'events')}, "
            f"{counted(writes, 'entry', 'entries')} of the feed",
        )

    def _orphans(self) -> Iterator[Finding]:
        found = [(what, self._tables.ask(statement)[0][0]) for what, statement in _ORPHANS.items()]
        for what, number in found:
            if number:
                yield Finding(Level.ERROR, "orphans", f"{number} {what}: deleted behind the store's back")
        gaps = [row[0] for row in self._tables.ask(_GAPS)]
        if gaps:
            yield Finding(Level.ERROR, "orphans", f"messages are missing in the middle of {listed(gaps)}")
        if not gaps and not any(number for _, number in found):
            yield Finding(Level.FINE, "orphans", "every row has what it belongs to")

    def _leases(self) -> Iterator[Finding]:
        rows = self._overdue("status = 'running' AND lease_until <= ?", "lease_until", self._now)
        if not rows:
            yield Finding(Level.FINE, "leases", "no run has lost its process")
        else:
            yield self._late("leases", rows, "whose process is gone; upkeep of the application recovers them")

    def _queue(self) -> Iterator[Finding]:
        rows = self._overdue("status = 'queued' AND not_before <= ?", "not_before", self._now - QUEUED_GRACE)
        if not rows:
            yield Finding(Level.FINE, "queue", "no queued run is overdue")
        else:
            yield self._late("queue", rows, f"queued for more than {QUEUED_GRACE:g} seconds; is a worker at work?")

    def _approvals(self) -> Iterator[Finding]:
        waiting = self._tables.ask("SELECT count(*) FROM run WHERE status = 'waiting_for_approval'")[0][0]
        rows = self._overdue("status = 'waiting_for_approval' AND expires_at <= ?", "expires_at", self._now)
        old = self._overdue("status = 'waiting_for_approval' AND created_at <= ?", "created_at", self._now - 90 * _DAY)
        if rows:
            yield self._late("approvals", rows, "waiting past their expiry; upkeep ends them")
        if old:
            yield Finding(Level.NOTE, "approvals", f"{counted(len(old), 'run', 'runs')} older than 90 days still wait")
        if not rows:
            yield Finding(Level.FINE, "approvals", f"{counted(waiting, 'run waits', 'runs wait')} for a decision")

    def _overdue(self, condition: str, since: str, until: float) -> list[Any]:
        return self._tables.ask(f"SELECT id, conversation, {since} FROM run WHERE {condition} ORDER BY {since}", until)

    def _late(self, check: str, rows: list[Any], why: str) -> Finding:
        self._stuck.update((row[1], None) for row in rows if row[1] is not None)
        longest = _duration(self._now - rows[0][2])
        ids = listed([row[0] for row in rows])
        return Finding(Level.WARNING, check, f"{counted(len(rows), 'run', 'runs')} {why} (longest {longest}): {ids}")

    # ------------------------------------------------------------------------------------ forms

    def _unreadable_runs(self) -> Iterator[Finding]:
        unsettled = f"SELECT {_RUN} FROM run WHERE status NOT IN {SETTLED}"
        settled = f"SELECT {_RUN} FROM run WHERE status IN {SETTLED} ORDER BY number DESC LIMIT {self._limit}"
        damaged, newer, given_up, read = list[str](), list[str](), list[str](), 0
        for row in (*self._tables.ask(unsettled), *self._tables.ask(settled)):
            read += 1
            try:
                self._read_run(row)
            except NewerFormError as error:
                newer.append(f"{row[0]!r} ({error.why}: {error.found})")
            except (StoredFormError, RunUnreadableError) as error:
                # What could not be read when it was ended cannot be read now.
                ended = row[3] in ("failed", "cancelled") and (row[11] == "interrupted" or row[10] in _LET_GO)
                (given_up if ended else damaged).append(f"{row[0]!r} ({error.why})")
                if row[2] is not None and f"'{row[3]}'" not in SETTLED:
                    self._stuck[row[2]] = None
        yield from _forms("runs", damaged, newer, counted(read - len(given_up), "run", "runs"))
        if given_up:
            yield Finding(Level.NOTE, "runs", f"{len(given_up)} could not be read and were ended: {_some(given_up)}")

    def _read_run(self, row: Any) -> None:
        known = codec.read_run_row(self._tables.run_columns(row))
        events = [(*each[:3], _plain(each[3]), each[4]) for each in self._tables.ask(_EVENTS, row[0])]
        stream = codec.read_stream(known.id, known.sequence, events, -1)
        try:
            run = fold(known.id, (stored.event for stored in stream))
        except IllegalMoveError as error:
            raise RunUnreadableError(known.id, f"its events do not follow from each other: {error}") from None
        # A run that was let go of has an end that follows from nothing but its row.
        if run.status is not known.status:
            raise RunUnreadableError(known.id, "its row says something else than its stream")

    def _unreadable_messages(self) -> Iterator[Finding]:
        damaged, newer, read = list[str](), list[str](), 0
        order = f"ORDER BY at DESC, position DESC LIMIT {self._limit}"
        for row in self._tables.ask(f"{_MESSAGES} {order}"):
            read += 1
            place = f"{row[7]!r} at {row[0]}"
            try:
                codec.read_message(self._tables.message_columns(row))
            except NewerFormError as error:
                newer.append(f"{place} ({error.why})")
            except StoredFormError as error:
                damaged.append(f"{place} ({error.why})")
        yield from _forms("messages", damaged, newer, counted(read, "message", "messages"))

    def _unreadable_entries(self) -> Iterator[Finding]:
        damaged, read = list[str](), 0
        columns = "position, record_table, record_uid, uid_type, kind"
        for position, *columns_of in self._tables.ask(
            f"SELECT {columns} FROM tool_write ORDER BY position DESC LIMIT {self._limit}"
        ):
            read += 1
            try:
                codec.read_write(*columns_of)
            except StoredFormError:
                damaged.append(f"position {position}")
        yield from _forms("feed", damaged, [], counted(read, "entry", "entries"))

    def _stuck_conversations(self) -> Iterator[Finding]:
        if self._stuck:
            names = list(self._stuck)
            yield Finding(
                Level.WARNING,
                "conversations",
                f"{counted(len(names), 'conversation is', 'conversations are')} stuck until upkeep or their next "
                f"message: {listed(names)}",
            )
        else:
            yield Finding(Level.FINE, "conversations", "none is stuck")


def _forms(check: str, damaged: list[str], newer: list[str], read: str) -> Iterator[Finding]:
    if damaged:
        yield Finding(Level.ERROR, check, f"{len(damaged)} cannot be read: {_some(damaged)}")
    if newer:
        yield Finding(Level.ERROR, check, f"{len(newer)} of a newer release, upgrade: {_some(newer)}")
    if not damaged and not newer:
        yield Finding(Level.FINE, check, f"{read} read, all sound")


def _some(places: list[str]) -> str:
    shown = places[:5]
    return "; ".join(shown) + (f"; and {len(places) - 5} more" if len(places) > 5 else "")


def _plain(content: object) -> str | None:
    """Content as far as it can be read by everybody; what is encrypted is not looked at."""
    return content if isinstance(content, str) and content.startswith("{") else None


def _duration(seconds: float) -> str:
    for size, name in ((_DAY, "days"), (3600.0, "hours"), (60.0, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {name}"
    return f"{max(seconds, 0):.0f} seconds"
