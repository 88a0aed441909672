"""
Codes turned into answers for one reader, in that reader's language (P2).
"""

from nr_agent_core.chat.results import SendOutcome, Sent
from nr_agent_core.domain.notices import Notice, ReplyCode
from nr_agent_core.domain.reader import Reader
from nr_agent_core.domain.run_status import RunStatus
from nr_agent_core.ports.run_store import RunRow
from nr_agent_core.ports.translator import Translator


class Replies:
    """
    Renders what a call to the chat answers.
    """

    def __init__(self, translator: Translator | None) -> None:
        self._translator = translator

    def accepted(self, conversation: str, run_id: str, status: RunStatus) -> Sent:
        """A run took the message."""
        return Sent(SendOutcome.ACCEPTED, conversation, run_id, status)

    def sent(
        self, outcome: SendOutcome, conversation: str, last: RunRow | None, code: ReplyCode, reader: Reader
    ) -> Sent:
        """A call answered by *code*, about the conversation's *last* run."""
        run_id, status = (None, None) if last is None else (last.id, last.status)
        return Sent(outcome, conversation, run_id, status, code, self.sentence(code, reader))

    def sentence(self, code: ReplyCode, reader: Reader) -> str:
        """The sentence of *code* for *reader*."""
        from nr_agent_core.domain.texts import reply_sentence  # what is accepted says nothing

        return reply_sentence(code, reader.language, translator=self._translator)

    def notice_label(self, notice: Notice, reader: Reader) -> str:
        """The label of *notice* for *reader*."""
        from nr_agent_core.domain.texts import notice_label

        return notice_label(notice, reader.language, translator=self._translator)
