"""
How a turn ended, told to the one who watched it: what a view shows of the same run (V9, F2).
"""

from nr_agent_core.chat.replies import Replies
from nr_agent_core.chat.results import SendOutcome, Sent
from nr_agent_core.chat.view import Views
from nr_agent_core.domain.conversation import Message, MessageRole
from nr_agent_core.domain.failures import FailureCode
from nr_agent_core.domain.reader import Reader
from nr_agent_core.domain.run_status import RunStatus
from nr_agent_core.driver import Tell, Work
from nr_agent_core.runtime import Runtime
from nr_agent_core.runtime.limits import checked_reader

_LOOK_BACK = 10


class Telling:
    """
    Ends a watched call by its last event.
    """

    def __init__(self, runtime: Runtime, replies: Replies, views: Views) -> None:
        self._runtime, self._replies, self._views = runtime, replies, views

    def told(self, work: Work[Sent], reader: Reader) -> Work[Sent]:
        """*work*, and what became of it as the last event."""
        sent = yield from work
        yield Tell(*self._last(sent, checked_reader(reader)))
        return sent

    def _last(self, sent: Sent, reader: Reader) -> tuple[str, *tuple[object, ...]]:
        run_id, status = sent.run_id, sent.status
        if sent.outcome is not SendOutcome.ACCEPTED or run_id is None or status is None:
            return ("MessageNotTaken", sent.code, sent.text)
        if status in (RunStatus.RUNNING, RunStatus.QUEUED):
            return ("TurnLeft", run_id, status)
        segments = self._runtime.segments
        row = segments.store.conversation_row(sent.conversation)
        last = None if row is None else row.last_run
        if status is RunStatus.WAITING_FOR_APPROVAL:
            waits = last is not None and last.id == run_id
            return ("ApprovalNeeded", run_id, self._views.card(last, reader) if waits else None)
        message = self._answer(sent.conversation, run_id)
        notices = () if message is None else message.notices
        labels = tuple(self._replies.notice_label(notice, reader) for notice in notices)
        if status is RunStatus.COMPLETED:
            return ("TurnCompleted", run_id, "" if message is None else message.text, notices, labels)
        error = self._views.error(segments.store.run_row(run_id), reader)
        text = error.text if error is not None else "; ".join(labels)
        code: FailureCode | None = None if error is None else error.code
        return ("TurnFailed", run_id, status, code, text, notices, labels)

    def _answer(self, conversation: str, run_id: str) -> Message | None:
        """The message that the run left: the newest one, unless somebody wrote since."""
        for message in reversed(self._runtime.segments.store.messages(conversation, limit=_LOOK_BACK)):
            if message.run_id == run_id and message.role is MessageRole.ASSISTANT:
                return message
        return None
