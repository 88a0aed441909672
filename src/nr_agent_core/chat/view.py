"""
A conversation rendered for one reader, per request (O3, P2).
"""

from nr_agent_core.chat.replies import Replies
from nr_agent_core.chat.results import ConversationView, ErrorView, MessageView, NoticeView
from nr_agent_core.domain.approvals import Card
from nr_agent_core.domain.conversation import Message, conversation_status
from nr_agent_core.domain.errors import NotFoundError, RunUnreadableError, StoredFormError
from nr_agent_core.domain.failures import FailureCode, link_target
from nr_agent_core.domain.notices import Notice, NoticeCode
from nr_agent_core.domain.reader import Reader
from nr_agent_core.domain.run import Run
from nr_agent_core.domain.run_status import RunStatus
from nr_agent_core.domain.texts import failure_sentence
from nr_agent_core.ports.conversation_store import ConversationRow
from nr_agent_core.ports.run_store import RunRow
from nr_agent_core.runtime import Runtime
from nr_agent_core.runtime.limits import whole_number
from nr_agent_core.runtime.outcomes import as_known_now


class Views:
    """
    Renders conversations.
    """

    def __init__(self, runtime: Runtime, replies: Replies, links: dict[str, str]) -> None:
        self._runtime, self._replies, self._links = runtime, replies, links
        self._translator = runtime.wiring.translator

    def view(self, row: ConversationRow, reader: Reader, *, before: int | None, limit: int) -> ConversationView:
        """See :meth:`Chat.view`."""
        limit = whole_number("the limit of a view", limit, least=1)
        before = None if before is None else whole_number("the position before which a view ends", before, least=0)
        last = row.last_run
        run = self._run_that_waits(last)
        card = None if run is None else self._runtime.cards.card(run, reader)
        if last is not None and card is None and not last.status.settled:
            # Looking may have ended it: its approval had expired.
            last = self._runtime.segments.store.run_row(last.id)
        messages = self._runtime.segments.store.messages(row.id, before=before, limit=limit)
        return ConversationView(
            row.id,
            conversation_status(None if last is None else last.status),
            tuple(self._message(message, reader) for message in messages),
            self.error(last, reader),
            card,
            bool(messages) and messages[0].position > 0,
            self._waiting(run, reader),
        )

    def _waiting(self, run: Run | None, reader: Reader) -> str | None:
        if run is None or run.status is not RunStatus.WAITING_FOR_APPROVAL:
            return None
        return self._replies.sentence(self._runtime.cards.held_by(run, reader), reader)

    def card(self, last: RunRow | None, reader: Reader) -> Card | None:
        """The card of the run that waits, for a reader who may decide on it."""
        run = self._run_that_waits(last)
        return None if run is None else self._runtime.cards.card(run, reader)

    def _run_that_waits(self, last: RunRow | None) -> Run | None:
        if last is None or last.status is not RunStatus.WAITING_FOR_APPROVAL:
            return None
        segments = self._runtime.segments
        try:
            return segments.settle_expired(segments.load(last.id))
        except (NotFoundError, RunUnreadableError, StoredFormError):
            return None

    def _message(self, message: Message, reader: Reader) -> MessageView:
        notices = tuple(self._notice(message, notice, reader) for notice in message.notices)
        return MessageView(message.position, message.role, message.text, message.at, message.run_id, notices)

    def _notice(self, message: Message, notice: Notice, reader: Reader) -> NoticeView:
        if notice.code is NoticeCode.WRITE_OUTCOME_UNKNOWN and message.run_id is not None:
            notice = as_known_now(notice, message.run_id, self._runtime.segments.store)
        return NoticeView(notice.code, self._replies.notice_label(notice, reader), notice)

    def error(self, last: RunRow | None, reader: Reader) -> ErrorView | None:
        """(F2) An administrator gets the stored text and a link; everybody else a sentence."""
        if last is None or last.status is not RunStatus.FAILED:
            return None
        code = last.code or FailureCode.INTERNAL
        sentence = failure_sentence(code, reader.language, translator=self._translator)
        if not self._runtime.wiring.access.is_administrator(reader.id):
            return ErrorView(code, sentence)
        target = link_target(code)
        return ErrorView(code, last.error or sentence, self._links.get(target) if target else None)
