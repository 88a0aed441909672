"""
Streams of events, one per run, and what can be asked about them.
"""

from typing import Protocol

import attrs

from nr_agent_core.domain.failures import FailureCode
from nr_agent_core.domain.provenance import StoredWrite
from nr_agent_core.domain.run_events import RunEvent
from nr_agent_core.domain.run_status import RunReason, RunStatus
from nr_agent_core.domain.tool_result import RecordWrite
from nr_agent_core.domain.value import Value


@attrs.frozen(repr=False, eq=False)
class StoredEvent(Value):
    """
    An event with its number in the stream and its time.
    """

    number: int
    event: RunEvent
    at: float


@attrs.frozen(repr=False, eq=False)
class RunRow(Value):
    """
    What a store keeps beside a run's stream, so that lists need no fold.

    ``sequence`` is the number of stored events. ``outside`` says that something its chat did not
    cause ended or moved the run (C4).
    """

    id: str
    owner: str
    conversation: str | None
    status: RunStatus
    sequence: int
    message: int | None
    created_at: float
    lease_until: float
    not_before: float
    expires_at: float | None
    reason: RunReason | None
    code: FailureCode | None
    error: str | None
    outside: bool


@attrs.frozen(repr=False, eq=False)
class UnreadableRun(Value):
    """
    What is known of an unsettled run whose row is damaged: as much as it takes to end it (O2).
    """

    id: str
    owner: str
    conversation: str | None


class RunStore(Protocol):
    """
    An append-only stream of events per run. Appends go through the unit of work.

    Every implementation must pass ``nr_agent_core.testing.contracts.RunStoreContract``.
    """

    def run_row(self, run_id: str) -> RunRow | None:
        """
        The row beside the run's stream, or None when there is no such run.

        Raises:
            StoredFormError: the row is damaged or newer; it was not read as a default (E6).
        """
        ...

    def events(self, run_id: str, *, after: int = -1) -> tuple[StoredEvent, ...]:
        """
        The run's events with a number above *after*, in order.

        Raises:
            RunUnreadableError: there is no such run, or its stream does not begin with
                ``started`` (E5). It is never returned as an empty stream.
            StoredFormError: an event is damaged or newer (E6).
        """
        ...

    def waiting_runs(self, *, limit: int) -> tuple[RunRow, ...]:
        """Runs that wait for an approval, oldest first (A5)."""
        ...

    def due_runs(self, *, queued_grace: float, limit: int) -> tuple[RunRow, ...]:
        """
        Runs that upkeep has to look at now: running ones whose lease has expired, queued ones
        whose time passed more than *queued_grace* seconds ago, waiting ones whose approval has
        expired; longest overdue first (O2, R8). A damaged row is none of them.
        """
        ...

    def unreadable_runs(self, *, limit: int) -> tuple[UnreadableRun, ...]:
        """
        Runs whose row is damaged, does not say that they are settled, and says no lease that still
        stands; oldest first (O2).
        """
        ...

    def writes(self, *, after: int, limit: int) -> tuple[StoredWrite, ...]:
        """
        The durable feed: announced and stored writes with a position above *after*, in commit
        order. A follower never sees a position before every lower one is committed or void (W4).
        """
        ...

    def writes_of(self, run_id: str) -> tuple[RecordWrite, ...]:
        """The records this run wrote, in order, one entry per record, the last kind counting."""
        ...
