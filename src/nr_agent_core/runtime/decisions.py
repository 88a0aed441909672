"""
Decisions: judged against what is so now, then one guarded append, then the stored calls (A1, A2).
"""

from nr_agent_core.domain.approvals import Decider, Decision, Refusal, decider_refusal, state_refusal
from nr_agent_core.domain.errors import (
    DecisionRefusedError,
    LostRaceError,
    RunUnreadableError,
    StoredFormError,
    ToolMissingError,
)
from nr_agent_core.domain.look import recorded_arguments
from nr_agent_core.domain.notices import ReplyCode
from nr_agent_core.domain.reader import Reader
from nr_agent_core.domain.run import Run
from nr_agent_core.domain.run_events import ApprovalDecided, DecisionPlace
from nr_agent_core.driver import Work
from nr_agent_core.ports.access_policy import Action, Subject
from nr_agent_core.ports.configuration_resolver import Configuration
from nr_agent_core.ports.run_store import RunRow
from nr_agent_core.ports.unit_of_work import AppendEvents
from nr_agent_core.runtime.segments import Segments
from nr_agent_core.steps import SegmentEnd


class Decisions:
    """
    Takes decisions on waiting runs.
    """

    def __init__(self, segments: Segments) -> None:
        self._segments, self._wiring = segments, segments.wiring

    def decide(
        self, run_id: str, choice: Decision, *, digest: object, by: Reader, where: DecisionPlace
    ) -> Work[SegmentEnd | Run]:
        """
        Take *choice* on the round that *digest* names, and carry it out or have a worker do so.

        Raises:
            DecisionRefusedError: what is so now refuses it; nothing was appended or executed.
            ToolMissingError: this process does not know a waiting write's tool; the run waits on.
            NotFoundError: no such run, or not this actor's to see.
            RunUnreadableError, StoredFormError: the stream cannot be read; nothing was appended.
        """
        row = self._row(run_id, by)
        run = self._segments.settle_expired(self._load(row, digest))
        configuration = self._judge(run, choice, digest, by)
        request = run.request
        assert request is not None
        # With a queue a worker goes on: whoever decides waits for nothing but the append (R6).
        token = self._wiring.ids.segment_token() if self._wiring.queue is None else None
        event = ApprovalDecided(choice is Decision.APPROVE, by.id, where, request.digest, token)
        try:
            if token is None:
                return self._hand_over(run, event)
            return (yield from self._segments.perform(run, (event,), configuration, reader=by))
        except LostRaceError:
            return self._after_lost_race(run_id, digest, token)

    def _row(self, run_id: object, by: Reader) -> RunRow:
        """The row of a run that *by* may know of: whether it can be read is nobody else's to learn (E5)."""
        row = self._segments.store.run_row(run_id) if isinstance(run_id, str) else None
        if row is None:
            raise self._segments.not_found(run_id)
        subject, access = self._segments.subject_of(row), self._wiring.access
        if not any(access.may(by.id, action, subject) for action in (Action.DECIDE, Action.SEE)):
            raise self._segments.not_found(run_id)
        return row

    def _load(self, row: RunRow, digest: object) -> Run:
        """The run; of one that ended and cannot be read its row says what is so (C5)."""
        try:
            return self._segments.load(row.id)
        except (RunUnreadableError, StoredFormError):
            if row.status.settled:
                self._refuse(row.id, state_refusal(Run(row.id, row.status, reason=row.reason), digest))
            raise

    def _judge(self, run: Run, choice: Decision, digest: object, by: Reader) -> Configuration:
        access = self._wiring.access
        subject = Subject(run.owner, run.conversation, run.id)
        decider = Decider(
            id=by.id,
            may_decide=access.may(by.id, Action.DECIDE, subject),
            administrator=access.is_administrator(by.id),
        )
        if run.request is not None and not decider.may_decide:
            raise DecisionRefusedError(run.id, ReplyCode.MAY_NOT_DECIDE, f"{by.id!r} may not decide on it")
        self._refuse(run.id, state_refusal(run, digest))
        configuration = self._wiring.configuration_if_any(run.conversation, run.owner)
        four_eyes = configuration is not None and configuration.four_eyes
        self._refuse(
            run.id, decider_refusal(run, choice, decider, four_eyes=four_eyes, admin_tools=self._wiring.admin_tools)
        )
        if configuration is None or configuration.model is None:
            raise DecisionRefusedError(run.id, ReplyCode.CHAT_NOT_CONFIGURED, "no configuration is in force")
        for call in run.rounds[-1].waiting_calls:
            if call.effect.writes and call.tool not in self._wiring.registry:
                raise ToolMissingError(run.id, call.tool)
            recorded_arguments(run, run.rounds[-1], call)
        return configuration

    def _refuse(self, run_id: str, refusal: Refusal | None) -> None:
        if refusal is not None:
            raise DecisionRefusedError(run_id, refusal.code, refusal.why)

    def _hand_over(self, run: Run, event: ApprovalDecided) -> Run:
        queued = run.after(event)
        self._wiring.commit((AppendEvents(queued, run.sequence, (event,)),))
        return queued

    def _after_lost_race(self, run_id: str, digest: object, token: str | None) -> Run:
        """Somebody was first: either before our decision, or after it, when it stands all the same."""
        now = self._segments.load(run_id)
        if token is not None and any(at.decision is not None and at.decision.segment == token for at in now.rounds):
            return now
        refusal = state_refusal(now, digest) or Refusal(ReplyCode.STALE_DECISION, "the run moved on")
        raise DecisionRefusedError(run_id, refusal.code, refusal.why) from None
