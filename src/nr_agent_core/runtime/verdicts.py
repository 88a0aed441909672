"""
The verdict of one segment's completed turn: what the domain judges, with failures kept from the answer (V2, V6-V9).
"""

import logging

from nr_agent_core.domain.claims import Claim, ClaimDetector, ClaimPolicy
from nr_agent_core.domain.model_briefing import Briefing
from nr_agent_core.domain.notices import Notice
from nr_agent_core.domain.run import Run
from nr_agent_core.domain.sanitiser import sanitised_chain
from nr_agent_core.domain.verdict import decided_outside, verdict

_log = logging.getLogger("nr_agent_core")


class Verdicts:
    """
    Judges the answer that a segment brings.

    Args:
        detector: the host's detector of claims (V2).
        briefing: what the model is told in this segment (V7).
        rounds_before: how many rounds of the run an earlier segment asked.
    """

    __slots__ = ("_briefing", "_detector", "_rounds_before")

    def __init__(self, detector: ClaimDetector, briefing: Briefing, *, rounds_before: int = 0) -> None:
        self._detector, self._briefing, self._rounds_before = detector, briefing, rounds_before

    def __call__(self, text: str, run: Run) -> tuple[Notice, ...]:
        """
        The notices beside the answer *text* of *run*. What cannot be judged costs a notice, never the answer.
        """
        from nr_agent_core.domain.statements.statements import Statements

        # Only a conversation has a chat that a decision can be taken outside of.
        outside = decided_outside(run) and run.conversation is not None
        statements = Statements(
            run,
            lambda: self._briefing.told(run),
            earlier=self._briefing.earlier_writes,
            claims=self._claims,
            rounds_before=self._rounds_before,
        )
        try:
            notices = verdict(text, run, self._claims_change, outside=outside, statements=statements)
        except Exception as error:  # noqa: BLE001 - it costs these notices, never the answer (V2, V7)
            _log.error("the statements of an answer could not be judged: %s", sanitised_chain(error))
            return verdict(text, run, self._claims_change, outside=outside)
        for doubt in statements.doubts:
            _log.info("no notice beside the answer of run %s: %s", run.id, doubt)
        return notices

    def _claims_change(self, text: str) -> bool:
        try:
            return self._detector.claims_change(text)
        except Exception as error:  # noqa: BLE001 - it costs the notice, never the answer (V2)
            _log.error("the claim detector failed: %s", sanitised_chain(error))
            return False

    def _claims(self, text: str) -> tuple[Claim, ...]:
        """
        The claims with their places, where the host's detector finds any.

        How a word is used decides what is compared, so the asserted rule is asked whatever the policy.
        """
        if not self._claims_change(text):
            return ()
        detector = self._detector
        asserted = isinstance(detector, ClaimDetector) and detector.policy is ClaimPolicy.ASSERTED
        return (detector if asserted else ClaimDetector()).claims(text)
