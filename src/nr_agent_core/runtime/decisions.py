"""
Decisions: judged against what is so now, then one guarded append, then the stored calls (A1, A2).
"""

from nr_agent_core.domain.approvals import Decider, Decision, Refusal, decider_refusal, state_refusal
from nr_agent_core.domain.errors import DecisionRefusedError, LostRaceError, ToolMissingError
from nr_agent_core.domain.look import recorded_arguments
from nr_agent_core.domain.notices import ReplyCode
from nr_agent_core.domain.reader import Reader
from nr_agent_core.domain.run import Run
from nr_agent_core.domain.run_events import ApprovalDecided, DecisionPlace
from nr_agent_core.ports.access_policy import Action, Subject
from nr_agent_core.ports.configuration_resolver import Configuration
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
    ) -> SegmentEnd | Run:
        """
        Take *choice* on the round that *digest* names and carry it out.

        Raises:
            DecisionRefusedError: what is so now refuses it; nothing was appended or executed.
            ToolMissingError: this process does not know a waiting write's tool; the run waits on.
            NotFoundError: no such run, or not this actor's to see.
            RunUnreadableError, StoredFormError: the stream cannot be read; nothing was appended.
        """
        run = self._segments.load(run_id)
        run = self._segments.settle_expired(run)
        configuration = self._judge(run, choice, digest, by)
        request = run.request
        assert request is not None
        token = self._wiring.ids.segment_token()
        event = ApprovalDecided(choice is Decision.APPROVE, by.id, where, request.digest, token)
        try:
            return self._segments.perform(run, (event,), configuration, reader=by)
        except LostRaceError:
            return self._after_lost_race(run_id, digest, token)

    def _judge(self, run: Run, choice: Decision, digest: object, by: Reader) -> Configuration:
        access = self._wiring.access
        subject = Subject(run.owner, run.conversation, run.id)
        decider = Decider(
            id=by.id,
            may_decide=access.may(by.id, Action.DECIDE, subject),
            administrator=access.is_administrator(by.id),
        )
        if not decider.may_decide and not access.may(by.id, Action.SEE, subject):
            raise self._segments.not_found(run.id)
        self._refuse(run.id, state_refusal(run, digest))
        configuration = self._wiring.resolver.resolve(run.conversation, run.owner)
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

    def _after_lost_race(self, run_id: str, digest: object, token: str) -> Run:
        """Somebody was first: either before our decision, or after it, when it stands all the same."""
        now = self._segments.load(run_id)
        if any(at.decision is not None and at.decision.segment == token for at in now.rounds):
            return now
        refusal = state_refusal(now, digest) or Refusal(ReplyCode.STALE_DECISION, "the run moved on")
        raise DecisionRefusedError(run_id, refusal.code, refusal.why) from None
