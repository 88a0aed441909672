"""
The chat: what a host calls about conversations.
"""

import functools
import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Unpack

from nr_agent_core.chat.replies import Replies
from nr_agent_core.chat.results import ConversationView, SendOutcome, Sent
from nr_agent_core.chat.sending import Sending
from nr_agent_core.domain.approvals import Card, Decision
from nr_agent_core.domain.continue_phrases import ContinuePhraseRouter
from nr_agent_core.domain.errors import InvalidValueError
from nr_agent_core.domain.failures import LINK_TARGETS
from nr_agent_core.domain.notices import ReplyCode
from nr_agent_core.domain.reader import Reader
from nr_agent_core.domain.run_status import RunStatus
from nr_agent_core.driver import InPlace, Work, driven
from nr_agent_core.ports.access_policy import Action
from nr_agent_core.ports.unit_of_work import OpenConversation
from nr_agent_core.runtime import Runtime, UpkeepReport
from nr_agent_core.runtime.limits import checked_reader
from nr_agent_core.runtime.stored_runs import MESSAGE_LIMIT
from nr_agent_core.runtime.wiring import Parts, checked_parts

if TYPE_CHECKING:
    from nr_agent_core.chat.calls import ChatCalls
    from nr_agent_core.chat.streams import AtWork, TurnStream
    from nr_agent_core.chat.telling import Telling
    from nr_agent_core.chat.view import Views
    from nr_agent_core.ports.retention import Retention


class Chat:
    """
    One application's embedded chat: it states what its runs did, not what they said.

    Args:
        message_limit: the longest message, in UTF-8 bytes.
        links: what the targets ``providers`` and ``tasks`` map to, for administrators (F2).
        phrases: which messages are "go on" and the like (C1).
        parts: the parts of :class:`~nr_agent_core.runtime.wiring.Wiring`: ``store``, ``model`` or
            ``configuration``, ``tools``, ``access``, ``bus``, ``translator`` and so on.

    Raises:
        InvalidValueError, ToolDeclarationError: the parts do not fit together.
    """

    def __init__(
        self,
        *,
        message_limit: int = MESSAGE_LIMIT,
        links: Mapping[str, str] | None = None,
        phrases: ContinuePhraseRouter | None = None,
        **parts: Unpack[Parts],
    ) -> None:
        checked_parts("a chat", parts, "message_limit", "links", "phrases")
        if parts["store"] is None:
            raise InvalidValueError("the store of a chat", None, "a store; only a Runtime works without one")
        if isinstance(message_limit, bool) or not isinstance(message_limit, int) or message_limit < 1:
            raise InvalidValueError("the message limit", message_limit, "bytes from 1")
        if links is not None and not (isinstance(links, Mapping) and LINK_TARGETS.issuperset(links)):
            raise InvalidValueError("the links of a chat", links, " and ".join(sorted(LINK_TARGETS)))
        if phrases is not None and not isinstance(phrases, ContinuePhraseRouter):
            raise InvalidValueError("the phrases of a chat", phrases, "a ContinuePhraseRouter")
        self.runtime = Runtime(**parts)
        self._replies = Replies(self.runtime.wiring.translator)
        self._sending = Sending(self.runtime, phrases or ContinuePhraseRouter(), self._replies)
        self._message_limit = message_limit
        self._links = dict(links or {})

    @functools.cached_property
    def calls(self) -> "ChatCalls":
        """The calls that may drive a run, as work for a driver; loaded by the first one."""
        from nr_agent_core.chat.calls import ChatCalls

        return ChatCalls(self.runtime, self._sending, self._replies, self._message_limit)

    @functools.cached_property
    def _views(self) -> "Views":
        from nr_agent_core.chat.view import Views

        return Views(self.runtime, self._replies, self._links)

    def open(self, reader: Reader) -> str:
        """
        A new, empty conversation of *reader*; its id.

        :meth:`send` without a conversation opens one too, with a commit less.

        Raises:
            AccessDeniedError: this reader may not send. Nothing was stored.
        """
        self.runtime.segments.require_send(checked_reader(reader))
        conversation = self.runtime.wiring.ids.conversation_id()
        self.runtime.segments.store.commit((OpenConversation(conversation, checked_reader(reader).id),))
        return conversation

    def send(
        self,
        text: str,
        reader: Reader,
        *,
        conversation: str | None = None,
        queued: bool = False,
        connection: Any | None = None,
    ) -> Sent:
        """
        Take a message and drive its run to its answer, its pause, or its failure; or have a worker do so.

        While an approval waits, "go on" and the like are held: nothing is stored (C2). No text is
        ever consent (P6).

        Args:
            text: the message, not blank, within the message limit.
            reader: who sends it.
            conversation: where; None opens one of *reader*'s in the message's own transaction.
            queued: only store the message and its run; a worker drives it, and the status is ``queued``.
            connection: the host's own, with a transaction open in the store's database: message and
                run become part of it, and are there once the host commits. Needs *queued* and a queue
                that shares the database; nothing that a tool does is ever stored on it (R6).

        Returns:
            What became of it, with a sentence for this reader unless it was accepted.

        Raises:
            MessageRejectedError: blank, too long, or no text. Nothing was stored.
            NoQueueError: *queued* without a queue. Nothing was stored.
            InvalidValueError: *connection* without *queued*, or nothing can be stored on it. Nothing was stored.
            NotFoundError: no such conversation, or not this reader's to see.
            AccessDeniedError: this reader may see it and not send to it. Nothing was stored.
            StoreError: the store cannot be used; the run, if there is one, is left to its lease.
        """
        work = self.calls.send(text, reader, conversation=conversation, queued=queued, connection=connection)
        return driven(work, self.runtime.in_place)

    def retry(self, conversation: str, reader: Reader, *, queued: bool = False) -> Sent:
        """
        Run again on the message whose run failed or was cancelled, if it wrote nothing (F5).

        Args:
            conversation: which.
            reader: who asks for it.
            queued: see :meth:`send`.

        Raises:
            NotFoundError, AccessDeniedError, NoQueueError: see :meth:`send`.
        """
        return driven(self.calls.retry(conversation, reader, queued=queued), self.runtime.in_place)

    def work(
        self,
        *,
        threads: int = 4,
        name: str = "worker",
        stop: threading.Event | None = None,
        look_every: float = 15.0,
    ) -> None:
        """
        Be a worker of this chat's queue in the calling thread; see :meth:`Runtime.work`.
        """
        self.runtime.work(threads=threads, name=name, stop=stop, look_every=look_every)

    def decide(self, conversation: str, decision: Decision | str, *, card: Card | str | None, by: Reader) -> Sent:
        """
        Decide on the waiting round IN the conversation's chat, on what the card shows (A1).

        With a queue a worker goes on, and the status is ``queued``. An inbox or any other place calls
        :meth:`Runtime.decide` instead, so that the conversation can be told.

        Args:
            conversation: whose waiting run is decided.
            decision: ``approve`` or ``deny``, of the round as a whole.
            card: the card that was seen, its reference, or its digest alone, which is held against the last run;
                None counts as a stale one.
            by: who decides.

        Returns:
            ``accepted`` with the run's status, or ``refused`` with the code that says what is so now.

        Raises:
            NotFoundError: no such conversation, or not yours to see.
            ToolMissingError: this process does not know a waiting tool. The run waits on.
        """
        return driven(self.calls.decide(conversation, decision, card=card, by=by), self.runtime.in_place)

    # -- told while it happens ----------------------------------------------------------------

    def stream(self, text: str, reader: Reader, *, conversation: str | None = None) -> "TurnStream":
        """
        :meth:`send`, told while it happens: an iterator of ``nr_agent_core.domain.turn_events``.

        The run is driven in a thread of its own, with a queue too: a worker has nobody who watches.
        Nothing about it depends on the reader: one that stops reading misses events, and the run goes
        on to where it ends.
        """
        return self._stream(lambda: self.calls.send(text, reader, conversation=conversation), reader)

    def stream_retry(self, conversation: str, reader: Reader) -> "TurnStream":
        """
        :meth:`retry`, told while it happens.
        """
        return self._stream(lambda: self.calls.retry(conversation, reader), reader)

    def stream_decide(
        self, conversation: str, decision: Decision | str, *, card: Card | str | None, by: Reader
    ) -> "TurnStream":
        """
        :meth:`decide`, told while it happens; with a queue a worker goes on, and ``TurnLeft`` is all that is told.
        """
        return self._stream(lambda: self.calls.decide(conversation, decision, card=card, by=by), by)

    def _stream(self, work: Callable[[], Work[Sent]], reader: Reader) -> "TurnStream":
        from nr_agent_core.chat.streams import TurnStream

        executor, told = self.runtime.wiring.executor, self.telling.told
        return TurnStream(lambda watch: driven(told(work(), reader), InPlace(executor, watch)), self._at_work)

    @functools.cached_property
    def _at_work(self) -> "AtWork":
        from nr_agent_core.chat.streams import AtWork

        return AtWork()

    @functools.cached_property
    def telling(self) -> "Telling":
        """What a watched call ends with; loaded when somebody watches."""
        from nr_agent_core.chat.telling import Telling

        return Telling(self.runtime, self._replies, self._views)

    # -- beside a turn ------------------------------------------------------------------------

    def cancel(self, conversation: str, by: Reader) -> Sent:
        """
        End the conversation's unsettled run (R9).

        Returns:
            ``accepted`` with code ``runCancelled``, or ``refused`` without a code: there was nothing to end.

        Raises:
            NotFoundError: no such conversation, or not yours to see.
            AccessDeniedError: *by* may see it, not cancel it. Nothing happened.
        """
        row = self._sending.row(conversation, checked_reader(by), Action.CANCEL)
        if row.last_run is None or row.last_run.status.settled:
            return Sent(SendOutcome.REFUSED, row.id)
        run = self.runtime.segments.cancel(row.last_run.id, by.id, outside=False)
        now = self.runtime.segments.store.run_row(run.id)
        if now is None or now.status is not RunStatus.CANCELLED:
            # It ended by itself first.
            return Sent(SendOutcome.REFUSED, row.id, run.id, run.status)
        return self._replies.sent(SendOutcome.ACCEPTED, row.id, now, ReplyCode.RUN_CANCELLED, by)

    def view(
        self, conversation: str, reader: Reader, *, before: int | None = None, limit: int = 50
    ) -> ConversationView:
        """
        The conversation rendered for one reader: messages, labels, error, card, status (O3).

        Args:
            conversation: which.
            reader: who looks, and in which language.
            before: only messages below this position.
            limit: the most messages.

        Raises:
            NotFoundError: no such conversation, or not this reader's to see.
        """
        row = self._sending.row(conversation, checked_reader(reader), Action.SEE)
        return self._views.view(row, reader, before=before, limit=limit)

    def upkeep(self, *, limit: int = 100, retention: "Retention | None" = None) -> UpkeepReport:
        """
        Recover, expire and fail what is due, and delete what is past its window; see :meth:`Runtime.upkeep` (O2).
        """
        return self.runtime.upkeep(limit=limit, retention=retention)

    def close(self, *, wait: float = 0.0) -> int:
        """
        Try for *wait* seconds to store late outcomes, then let go of the store; see :meth:`Runtime.close`.

        Streams that are at work are waited for first, within the same seconds.
        """
        end = time.monotonic() + wait
        if "_at_work" in vars(self):
            self._at_work.wait(wait)
        return self.runtime.close(wait=max(0.0, end - time.monotonic()))
