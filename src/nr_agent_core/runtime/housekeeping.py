"""
The part of upkeep that needs neither tools nor a model (O2): what waits too long ends, what cannot be
read ends, what is past its window goes.
"""

import logging
from collections.abc import Iterator

import attrs

from nr_agent_core.domain.errors import (
    ContentKeyError,
    IllegalMoveError,
    LostRaceError,
    NewerFormError,
    RunUnreadableError,
    StoredFormError,
)
from nr_agent_core.domain.run import fold
from nr_agent_core.domain.run_events import ApprovalRequested, RunCancelled
from nr_agent_core.domain.run_status import RunReason, RunStatus
from nr_agent_core.domain.sanitiser import sanitised_chain
from nr_agent_core.ports.retention import Purged, Retention
from nr_agent_core.ports.run_store import RunRow
from nr_agent_core.runtime.recovery import QUEUED_GRACE, Recovery
from nr_agent_core.runtime.results import UpkeepReport
from nr_agent_core.runtime.segments import Segments

_log = logging.getLogger("nr_agent_core")

PORTION = 200
"""How much is deleted in one transaction; others write in between."""

_PAGE = 100
_MOST_KNOWN = 100_000


class Housekeeping:
    """
    Ends and deletes what nobody goes on with.
    """

    def __init__(self, segments: Segments, recovery: Recovery) -> None:
        self._segments, self._recovery = segments, recovery
        self._asked_at: dict[tuple[str, int], float] = {}

    def upkeep(self, report: UpkeepReport, retention: Retention | None, *, limit: int) -> UpkeepReport:
        """
        *report*, and what was ended and deleted beyond it. Without a *retention* nothing is deleted.
        """
        store = self._segments.store
        for run in store.unreadable_runs(limit=limit):
            _log.error("the row of run %s cannot be read", run.id)
            report = self._recovery.end_unreadable(run, report)
        met = {*report.expired, *report.failed, *report.left}
        for row in self._waiting():
            if row.id not in met:
                report = self._look_at(row, report, retention)
        if retention is not None:
            report = attrs.evolve(report, purged=self._purge(retention))
        store.tidy()
        return report

    def end_unreadable(self, *, limit: int) -> UpkeepReport:
        """
        Ends what nobody drives any more and nobody can read; for a caller who can recover nothing. What can be
        read is left as it is.
        """
        report = UpkeepReport()
        for row in self._segments.store.due_runs(queued_grace=QUEUED_GRACE, limit=limit):
            try:
                self._segments.load(row.id)
            except (NewerFormError, ContentKeyError):
                report = attrs.evolve(report, left=(*report.left, row.id))
            except (RunUnreadableError, StoredFormError) as error:
                _log.error("run %s cannot be read: %s", row.id, sanitised_chain(error))
                report = self._recovery.end_unreadable(row, report)
        return report

    def overdue(self, retention: Retention) -> tuple[str, ...]:
        """The waiting runs that :meth:`upkeep` would end by now, those that cannot be read among them."""
        return tuple(row.id for row in self._waiting() if self._would_end(row, retention))

    def _would_end(self, row: RunRow, retention: Retention) -> bool:
        try:
            return self._is_overdue(row, retention)
        except (NewerFormError, ContentKeyError):
            return False
        except (RunUnreadableError, StoredFormError):
            return True

    def _purge(self, retention: Retention) -> Purged:
        purged = self._segments.store.purge(retention, limit=PORTION)
        while purged.more:
            purged += self._segments.store.purge(retention, limit=PORTION)
        return purged

    def _waiting(self) -> Iterator[RunRow]:
        """All that waits; the pages grow, because a page has no place to go on from."""
        seen, size = set[str](), _PAGE
        while True:
            rows = self._segments.store.waiting_runs(limit=size)
            yield from (row for row in rows if row.id not in seen)
            if len(rows) < size:
                return
            seen.update(row.id for row in rows)
            size *= 2

    def _look_at(self, row: RunRow, report: UpkeepReport, retention: Retention | None) -> UpkeepReport:
        try:
            if not self._is_overdue(row, retention):
                return report
            run = self._segments.load(row.id)
            if run.status is not RunStatus.WAITING_FOR_APPROVAL:
                return report
            self._segments.settle(run, (RunCancelled(RunReason.APPROVAL_EXPIRED, outside=True),))
        except LostRaceError:
            return attrs.evolve(report, left=(*report.left, row.id))
        except (NewerFormError, ContentKeyError) as error:
            # A process of a newer release, or one with the key, can read it.
            _log.warning("run %s is left to others: %s", row.id, sanitised_chain(error))
            return report
        except (RunUnreadableError, StoredFormError) as error:
            return self._end_if_it_still_waits(row, error, report)
        return attrs.evolve(report, expired=(*report.expired, row.id))

    def _end_if_it_still_waits(self, row: RunRow, error: Exception, report: UpkeepReport) -> UpkeepReport:
        """What moved on or went while it was read is not damaged."""
        try:
            now = self._segments.store.run_row(row.id)
        except StoredFormError:
            return report
        if now is None or now.sequence != row.sequence:
            return report
        _log.error("waiting run %s cannot be read: %s", row.id, sanitised_chain(error))
        return self._recovery.end_unreadable(row, report)

    def _is_overdue(self, row: RunRow, retention: Retention | None) -> bool:
        """Whether its approval has expired, or its card stands longer than is kept; its stream was read once."""
        now, asked_at = self._segments.wiring.now(), self._waiting_since(row)
        expired = row.expires_at is not None and row.expires_at <= now
        return expired or (retention is not None and asked_at <= retention.waiting_until(now))

    def _waiting_since(self, row: RunRow) -> float:
        place = row.id, row.sequence
        if place not in self._asked_at:
            events = self._segments.store.events(row.id)
            try:
                fold(row.id, (stored.event for stored in events))
            except IllegalMoveError as error:
                raise RunUnreadableError(row.id, str(error)) from error
            if len(self._asked_at) >= _MOST_KNOWN:
                self._asked_at.clear()
            asked = (stored.at for stored in reversed(events) if type(stored.event) is ApprovalRequested)
            self._asked_at[place] = next(asked, row.created_at)
        return self._asked_at[place]
