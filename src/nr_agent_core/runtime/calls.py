"""
The calls about runs that may drive one, as work for whichever driver.

Each is described with :class:`~nr_agent_core.runtime.Runtime`.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import attrs

from nr_agent_core.domain.approvals import Decision
from nr_agent_core.domain.approvals import decision as decision_of
from nr_agent_core.domain.errors import InvalidValueError
from nr_agent_core.domain.reader import Reader
from nr_agent_core.domain.run_events import DecisionPlace
from nr_agent_core.driver import Work
from nr_agent_core.ports.retention import Retention
from nr_agent_core.runtime.decisions import Decisions
from nr_agent_core.runtime.limits import reader_of, whole_number
from nr_agent_core.runtime.recovery import Recovery
from nr_agent_core.runtime.results import RunResult, UpkeepReport, run_result
from nr_agent_core.runtime.segments import Segments

if TYPE_CHECKING:
    from nr_agent_core.runtime.housekeeping import Housekeeping


class RunCalls:
    """
    What the two facades of runs share.
    """

    def __init__(
        self,
        segments: Segments,
        decisions: Decisions,
        recovery: Recovery,
        housekeeping: "Callable[[], Housekeeping]",
    ) -> None:
        self._segments, self._decisions, self._recovery = segments, decisions, recovery
        self._housekeeping = housekeeping

    def start(self, text: str, owner: str | Reader, *, instructions: str = "") -> Work[RunResult]:
        """See :meth:`Runtime.start`."""
        reader = reader_of(owner)
        self._segments.require_send(reader)
        if instructions:
            reader = attrs.evolve(reader, instructions=instructions)
        run_id = self._segments.wiring.ids.run_id()
        text = self._segments.message_text(text)
        return run_result((yield from self._segments.start(run_id, reader, text=text)))

    def decide(self, run_id: str, decision: Decision | str, *, digest: str, by: Reader | str) -> Work[RunResult]:
        """See :meth:`Runtime.decide`."""
        choice, reader, place = decision_of(decision), reader_of(by), DecisionPlace.OUTSIDE
        end = yield from self._decisions.decide(run_id, choice, digest=digest, by=reader, where=place)
        return run_result(end)

    def recover(self, run_id: str) -> Work[RunResult]:
        """See :meth:`Runtime.recover`."""
        return run_result((yield from self._recovery.recover(run_id)))

    def upkeep(self, *, limit: int = 100, retention: Retention | None = None) -> Work[UpkeepReport]:
        """See :meth:`Runtime.upkeep`."""
        limit = whole_number("the limit of an upkeep", limit, least=1)
        if retention is not None and not isinstance(retention, Retention):
            raise InvalidValueError("the retention of an upkeep", retention, "a Retention, or None to delete nothing")
        report = yield from self._recovery.upkeep(limit=limit)
        return self._housekeeping().upkeep(report, retention, limit=limit)
