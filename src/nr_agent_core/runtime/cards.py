"""
The card of a waiting run, as one reader sees it (A1, A3, T11).
"""

from nr_agent_core.domain.approvals import Card, call_cards
from nr_agent_core.domain.notices import ReplyCode
from nr_agent_core.domain.reader import Reader
from nr_agent_core.domain.run import Run
from nr_agent_core.domain.run_events import ApprovalRequested
from nr_agent_core.domain.texts.cards import card_notes
from nr_agent_core.ports.access_policy import Action, Subject
from nr_agent_core.runtime.wiring import Wiring


class Cards:
    """
    Renders cards, with every right asked at the moment (O4).
    """

    def __init__(self, wiring: Wiring) -> None:
        self._wiring = wiring

    def card(self, run: Run, reader: Reader) -> Card | None:
        """
        The card of *run* for *reader*; None while it does not wait, or if this reader may not decide.
        """
        request = run.request
        subject = Subject(run.owner, run.conversation, run.id)
        if request is None or not self._wiring.access.may(reader.id, Action.DECIDE, subject):
            return None
        readable = self._wiring.access.may(reader.id, Action.READ_PREVIEW, subject)
        calls = call_cards(run, request, readable=readable)
        # Without the tool of every waiting write no decision could be carried out here (A1).
        known = all(not call.effect.writes or call.tool in self._wiring.registry for call in calls)
        can_approve = known and self._second_eye_sees(run, reader)
        asked_at = self._asked_at(run)
        notes = card_notes(
            calls,
            asked_at=asked_at,
            expires_at=request.expires_at,
            can_approve=can_approve or not known,
            now=self._wiring.now(),
            language=reader.language,
            translator=self._wiring.translator,
        )
        return Card(run.id, request.digest, calls, asked_at, request.expires_at, can_approve, known, notes)

    def may_approve(self, run: Run, reader: Reader) -> bool:
        """Whether *reader* gets a card that can approve (C2, A3)."""
        subject = Subject(run.owner, run.conversation, run.id)
        may = self._wiring.access.may(reader.id, Action.DECIDE, subject)
        return may and self._second_eye_sees(run, reader)

    def held_by(self, run: Run, reader: Reader) -> ReplyCode:
        """Where the decision on *run*, which waits, is taken: on the card of *reader*, or elsewhere (C2)."""
        return ReplyCode.APPROVAL_PENDING if self.may_approve(run, reader) else ReplyCode.APPROVAL_PENDING_ELSEWHERE

    def _asked_at(self, run: Run) -> float:
        """When the previews were made: late outcomes may stand behind the request in the stream."""
        store = self._wiring.store
        if store is None:
            return self._wiring.now()
        # As a rule it is the last event that the run was folded from.
        for after in (run.sequence - 2, -1):
            events = store.events(run.id, after=after)
            asked = [stored.at for stored in events if isinstance(stored.event, ApprovalRequested)]
            if asked:
                return asked[-1]
        return self._wiring.now()

    def _second_eye_sees(self, run: Run, reader: Reader) -> bool:
        if reader.id != run.owner:
            return True
        configuration = self._wiring.configuration_if_any(run.conversation, run.owner)
        return configuration is None or not configuration.four_eyes
