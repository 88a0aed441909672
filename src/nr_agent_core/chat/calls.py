"""
The calls about conversations that may drive a run, as work for whichever driver.

Each is described with :class:`~nr_agent_core.chat.Chat`.
"""

from typing import Any

from nr_agent_core.chat.replies import Replies
from nr_agent_core.chat.results import SendOutcome, Sent
from nr_agent_core.chat.sending import Sending, Way
from nr_agent_core.domain.approvals import Card, Decision, named_card
from nr_agent_core.domain.approvals import decision as decision_of
from nr_agent_core.domain.errors import DecisionRefusedError, InvalidValueError, NoQueueError
from nr_agent_core.domain.notices import ReplyCode
from nr_agent_core.domain.reader import Reader
from nr_agent_core.domain.run import Run
from nr_agent_core.domain.run_events import DecisionPlace
from nr_agent_core.driver import Work
from nr_agent_core.ports.access_policy import Action
from nr_agent_core.runtime import Runtime
from nr_agent_core.runtime.limits import checked_reader


class ChatCalls:
    """
    What the two facades of conversations share.
    """

    def __init__(self, runtime: Runtime, sending: Sending, replies: Replies, message_limit: int) -> None:
        self._runtime, self._sending, self._replies, self._limit = runtime, sending, replies, message_limit

    def send(
        self,
        text: str,
        reader: Reader,
        *,
        conversation: str | None = None,
        queued: bool = False,
        connection: Any | None = None,
    ) -> Work[Sent]:
        """See :meth:`Chat.send`."""
        way = self._way(queued=queued, connection=connection)
        text = self._runtime.segments.message_text(text, self._limit)
        return (yield from self._sending.send(text, checked_reader(reader), conversation, way))

    def retry(self, conversation: str, reader: Reader, *, queued: bool = False) -> Work[Sent]:
        """See :meth:`Chat.retry`."""
        way = self._way(queued=queued, connection=None)
        return (yield from self._sending.retry(conversation, checked_reader(reader), way))

    def _way(self, *, queued: bool, connection: Any | None) -> Way:
        if connection is not None and not queued:
            raise InvalidValueError(
                "the connection of a message", type(connection).__name__, "none without queued=True"
            )
        if queued and self._runtime.wiring.queue is None:
            raise NoQueueError("queued=True")
        return Way(queued, connection)

    def decide(self, conversation: str, decision: Decision | str, *, card: Card | str | None, by: Reader) -> Work[Sent]:
        """See :meth:`Chat.decide`."""
        choice, by = decision_of(decision), checked_reader(by)
        row = self._sending.row(conversation, by, Action.SEE, Action.DECIDE)
        last = row.last_run
        if last is None:
            return self._replies.sent(SendOutcome.REFUSED, row.id, None, ReplyCode.STALE_DECISION, by)
        named, digest = named_card(card)
        # A digest alone is held against the conversation's last run.
        run_id = last.id if named is None else named
        if run_id != last.id and not self._sending.holds(row.id, run_id):
            return self._replies.sent(SendOutcome.REFUSED, row.id, last, ReplyCode.STALE_DECISION, by)
        try:
            end = yield from self._runtime.decisions.decide(
                run_id, choice, digest=digest, by=by, where=DecisionPlace.CHAT
            )
        except DecisionRefusedError as refused:
            now = self._runtime.segments.store.run_row(run_id)
            code = refused.code if isinstance(refused.code, ReplyCode) else ReplyCode.STALE_DECISION
            return self._replies.sent(SendOutcome.REFUSED, row.id, now, code, by)
        run = end if isinstance(end, Run) else end.run
        assert run.status is not None
        return self._replies.accepted(row.id, run.id, run.status)
