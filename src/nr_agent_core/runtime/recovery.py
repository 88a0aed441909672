"""
Runs whose process is gone: taken over by an append once their lease has expired (R7, R8, O2).
"""

import logging
from collections.abc import Callable

import attrs

from nr_agent_core.domain.errors import LostRaceError, NewerFormError, RunUnreadableError, StoredFormError
from nr_agent_core.domain.failures import FailureCode
from nr_agent_core.domain.privacy import privacy_level
from nr_agent_core.domain.run import Run
from nr_agent_core.domain.run_events import Claimed, ClaimReason, RunEvent, RunFailed
from nr_agent_core.domain.run_status import RunReason, RunStatus
from nr_agent_core.domain.sanitiser import sanitised_chain
from nr_agent_core.driver import Work
from nr_agent_core.ports.run_store import RunRow, UnreadableRun
from nr_agent_core.runtime.results import UpkeepReport
from nr_agent_core.runtime.segments import Segments, not_configured
from nr_agent_core.steps import SegmentEnd

_log = logging.getLogger("nr_agent_core")

MOST_ATTEMPTS = 3
QUEUED_GRACE = 300.0


class Recovery:
    """
    Takes over what nobody drives any more.
    """

    def __init__(self, segments: Segments) -> None:
        self._segments, self._wiring = segments, segments.wiring

    def recover(
        self, run_id: str, *, outside: bool = False, on_worker: bool = False, stopping: Callable[[], bool] = bool
    ) -> Work[SegmentEnd | Run]:
        """
        Drive the run on if nobody does; a waiting or settled one is left as it is.

        Args:
            run_id: the run.
            outside: whether something its chat did not cause goes on with it (C4).
            on_worker: whether a worker goes on with it: it asks a model that failed again later (R8).
            stopping: whether this process is to end.

        Raises:
            LeaseHeldError: another process still drives it, or its time has not come. Nothing was stored.
            StaleAppendError: somebody else took it over first. Nothing was stored.
            RunUnreadableError, StoredFormError: the stream cannot be read. Nothing was stored.
        """
        run = self._segments.settle_expired(self._segments.load(run_id))
        if run.status not in (RunStatus.RUNNING, RunStatus.QUEUED):
            return run
        why = self._why(run)
        claimed = Claimed(self._wiring.ids.segment_token(), why, outside)
        if run.attempts >= MOST_ATTEMPTS and why is ClaimReason.RECOVERY:
            return self._give_up(run, claimed)
        configuration = self._wiring.configuration(run.conversation, run.owner)
        if configuration is None or configuration.model is None:
            failed = not_configured(configuration, outside=outside)
            kept = privacy_level(configuration and configuration.privacy)
            return self._segments.settle(run, (claimed, failed), privacy=kept)
        on_worker = on_worker or run.status is RunStatus.QUEUED
        return (
            yield from self._segments.perform(run, (claimed,), configuration, on_worker=on_worker, stopping=stopping)
        )

    def upkeep(self, *, limit: int = 100) -> Work[UpkeepReport]:
        """
        Look after every run that is due; what cannot be recovered ends failed, code ``interrupted`` (O2).
        """
        report = UpkeepReport()
        store = self._segments.store
        for row in store.due_runs(queued_grace=QUEUED_GRACE, limit=limit):
            report = yield from self._look_after(row, report)
        return report

    def _look_after(self, row: RunRow, report: UpkeepReport) -> Work[UpkeepReport]:
        try:
            run = self._segments.load(row.id)
            if run.status is RunStatus.WAITING_FOR_APPROVAL:
                settled = self._segments.settle_expired(run)
                return attrs.evolve(report, expired=(*report.expired, row.id)) if settled.settled else report
            end = yield from self.recover(row.id, outside=True)
        except LostRaceError:
            return attrs.evolve(report, left=(*report.left, row.id))
        except NewerFormError as error:
            # A release that can read it may be at work beside this one: it is theirs.
            _log.warning("run %s is left to a newer release: %s", row.id, sanitised_chain(error))
            return attrs.evolve(report, left=(*report.left, row.id))
        except (RunUnreadableError, StoredFormError) as error:
            _log.error("run %s cannot be recovered: %s", row.id, sanitised_chain(error))
            return self.end_unreadable(row, report)
        except Exception as error:  # noqa: BLE001 - one broken run must not keep the others waiting
            _log.error("run %s was not recovered: %s", row.id, sanitised_chain(error))
            return attrs.evolve(report, left=(*report.left, row.id))
        run = end if isinstance(end, Run) else end.run
        if run.code is FailureCode.INTERRUPTED:
            return attrs.evolve(report, failed=(*report.failed, row.id))
        return attrs.evolve(report, recovered=(*report.recovered, row.id))

    def end_unreadable(self, run: RunRow | UnreadableRun, report: UpkeepReport) -> UpkeepReport:
        """End *run*, which nobody can read, ``failed``/``internal`` with code ``interrupted``; told in the report."""
        try:
            self._segments.end_unreadable(run)
        except LostRaceError:
            # It ended meanwhile: by another upkeep, or here, once it met what cannot be read.
            if not self._has_failed(run.id):
                return attrs.evolve(report, left=(*report.left, run.id))
        return attrs.evolve(report, failed=(*report.failed, run.id))

    def _has_failed(self, run_id: str) -> bool:
        try:
            now = self._segments.store.run_row(run_id)
        except StoredFormError:
            return False
        return now is not None and now.status is RunStatus.FAILED

    def _why(self, run: Run) -> ClaimReason:
        if run.status is RunStatus.RUNNING:
            return ClaimReason.RECOVERY
        return ClaimReason.RETRY if run.retries else ClaimReason.WORKER

    def _give_up(self, run: Run, claimed: Claimed) -> Run:
        failed = RunFailed(RunReason.RETRIES_EXHAUSTED, FailureCode.INTERRUPTED, outside=claimed.outside)
        opening: tuple[RunEvent, ...] = (claimed, failed)
        return self._segments.settle(run, opening)
