"""
What becomes of a message: routed by where the run stands, never by what it says alone (C1-C7).
"""

import logging
from typing import Any, NamedTuple, assert_never

import attrs

from nr_agent_core.chat.replies import Replies
from nr_agent_core.chat.results import SendOutcome, Sent
from nr_agent_core.domain.context_window import estimate
from nr_agent_core.domain.continue_phrases import ContinuePhraseRouter, Route, Standing, phrase_matters, route
from nr_agent_core.domain.conversation import MessageRole, NewMessage
from nr_agent_core.domain.errors import (
    AccessDeniedError,
    LostRaceError,
    NotFoundError,
    RunUnreadableError,
    StoredFormError,
)
from nr_agent_core.domain.notices import Notice, NoticeCode, ReplyCode
from nr_agent_core.domain.reader import Reader
from nr_agent_core.domain.run import Run
from nr_agent_core.domain.run_events import RunCancelled
from nr_agent_core.domain.run_status import RunReason, RunStatus
from nr_agent_core.domain.sanitiser import sanitised_chain
from nr_agent_core.domain.value import Value
from nr_agent_core.domain.verdict import declined_last, finished_outside_notice
from nr_agent_core.driver import Work
from nr_agent_core.ports.access_policy import Action, Subject
from nr_agent_core.ports.conversation_store import ConversationRow
from nr_agent_core.ports.run_store import RunRow
from nr_agent_core.ports.unit_of_work import AddMessages, Change, LetGo, OpenConversation
from nr_agent_core.runtime import Runtime

_log = logging.getLogger("nr_agent_core")

_TRIES = 3


@attrs.frozen(repr=False, eq=False)
class _Standing(Value):
    """A conversation, how its last run stands, and that run where it can be read."""

    row: ConversationRow
    standing: Standing
    run: Run | None = None


class Way(NamedTuple):
    """
    How a message's run is driven: here, or ``queued`` for a worker, on the host's ``connection`` if there is one.
    """

    queued: bool = False
    connection: Any | None = None


class Sending:
    """
    Takes messages into conversations.
    """

    def __init__(self, runtime: Runtime, phrases: ContinuePhraseRouter, replies: Replies) -> None:
        self._runtime, self._phrases, self._replies = runtime, phrases, replies
        self._wiring, self._segments = runtime.wiring, runtime.segments

    def send(self, text: str, reader: Reader, conversation: str | None, way: Way) -> Work[Sent]:
        """See :meth:`Chat.send`."""
        if conversation is None:
            return (yield from self._first(text, reader, way))
        for _ in range(_TRIES):
            at = yield from self.standing(conversation, reader)
            sent = yield from self._take(text, reader, at, way)
            if sent is not None:
                return sent
        return self._busy(conversation, None, reader)

    def standing(self, conversation: str, reader: Reader) -> Work[_Standing]:
        """
        The conversation, recovered and expired first where that is due (R8, A4).

        Raises:
            NotFoundError: no such conversation, or not this reader's to see.
            AccessDeniedError: this reader may see it and not send to it.
        """
        row = self.row(conversation, reader, Action.SEND)
        last = row.last_run
        if last is None:
            return _Standing(row, Standing.NONE if row.unreadable_run is None else Standing.UNANSWERABLE)
        if last.status.settled:
            return _Standing(row, _standing_of(row, last))
        try:
            run = yield from self._caught_up(last)
        except (RunUnreadableError, StoredFormError, NotFoundError):
            return _Standing(row, Standing.UNANSWERABLE)
        row = self.row(conversation, reader, Action.SEND)
        if row.last_run is None or row.last_run.id != last.id:
            return _Standing(row, Standing.RUNNING)
        standing = _standing_of(row, row.last_run)
        if standing is Standing.WAITING and run is None:
            # It was at work at the first look and paused since: look again.
            return (yield from self.standing(conversation, reader))
        return _Standing(row, standing, run)

    def row(self, conversation: str, reader: Reader, *actions: Action) -> ConversationRow:
        """
        The conversation's row, if *reader* may do one of *actions*.

        Raises:
            NotFoundError, AccessDeniedError: see :meth:`standing`.
        """
        row = self._segments.store.conversation_row(conversation) if isinstance(conversation, str) else None
        if row is None:
            raise NotFoundError("conversation", str(conversation))
        access, subject = self._wiring.access, Subject(row.owner, row.id)
        if not any(access.may(reader.id, action, subject) for action in actions):
            if Action.SEE in actions or not access.may(reader.id, Action.SEE, subject):
                raise NotFoundError("conversation", conversation)
            raise AccessDeniedError(reader.id, actions[0].value, str(subject))
        return row

    def holds(self, conversation: str, run_id: object) -> bool:
        """Whether this run is one of *conversation*."""
        row = self._segments.store.run_row(run_id) if isinstance(run_id, str) else None
        return row is not None and row.conversation == conversation

    def retry(self, conversation: str, reader: Reader, way: Way) -> Work[Sent]:
        """See :meth:`Chat.retry`."""
        for _ in range(_TRIES):
            sent = yield from self._retry(conversation, reader, way)
            if sent is not None:
                return sent
        return self._busy(conversation, None, reader)

    def _retry(self, conversation: str, reader: Reader, way: Way) -> Work[Sent | None]:
        """The answer to a retry, or None when the conversation changed meanwhile."""
        at = yield from self.standing(conversation, reader)
        last = at.row.last_run
        if at.standing in (Standing.RUNNING, Standing.QUEUED):
            return self._busy(conversation, last, reader)
        if at.standing is Standing.WAITING:
            return self._held(at, reader)
        refusal = self._retry_refusal(at)
        if refusal is not None or last is None or last.message is None:
            return self._replies.sent(
                SendOutcome.REFUSED, conversation, last, refusal or ReplyCode.NOTHING_TO_RETRY, reader
            )
        before = self._segments.store.messages(conversation, before=last.message + 1, limit=1)
        if not before or before[-1].position != last.message:
            return self._replies.sent(SendOutcome.REFUSED, conversation, last, ReplyCode.NOTHING_TO_RETRY, reader)
        # Nothing may have been stored since the look, or two retries would both run.
        unchanged = AddMessages(conversation, (), at.row.last_position + 1)
        user = before[-1]
        changes, owner, place = (unchanged,), at.row.owner, user.position
        return (
            yield from self._turn(user.text, reader, conversation, changes, owner=owner, at=place, way=way, stored=True)
        )

    # -- how the last run stands --------------------------------------------------------------

    def _caught_up(self, last: RunRow) -> Work[Run | None]:
        """The last run, taken over or expired where that is due; None while somebody drives it."""
        now = self._wiring.now()
        if last.status is RunStatus.RUNNING:
            return None if last.lease_until > now else (yield from self._recovered(last))
        if last.status is RunStatus.WAITING_FOR_APPROVAL:
            return self._segments.settle_expired(self._segments.load(last.id))
        return None

    def _recovered(self, last: RunRow) -> Work[Run | None]:
        try:
            self._wiring.configuration(last.conversation, last.owner)
        except Exception as error:  # noqa: BLE001 - whatever a host's resolver raises: the run is left where it is
            _log.error("run %s was not recovered: %s", last.id, sanitised_chain(error))
            return None
        try:
            end = yield from self._runtime.recovery.recover(last.id)
        except LostRaceError:
            return None
        return end if isinstance(end, Run) else end.run

    # -- the ways of a message ----------------------------------------------------------------

    def _take(self, text: str, reader: Reader, at: _Standing, way: Way) -> Work[Sent | None]:
        """The answer to a message, or None when the conversation changed meanwhile."""
        row, last, following = at.row, at.row.last_run, at.row.last_position + 1
        if at.standing is Standing.WAITING and self._unconfigured(row):
            return self._replies.sent(SendOutcome.HELD, row.id, last, ReplyCode.CHAT_NOT_CONFIGURED, reader)
        kind = self._phrases.phrase_kind(text) if phrase_matters(at.standing) else None
        match route(kind, at.standing):
            case Route.HELD:
                return self._held(at, reader)
            case Route.BUSY:
                return self._busy(row.id, last, reader)
            case Route.DELIVERED:
                return self._deliver(text, reader, at, way)
            case Route.SUPERSEDE:
                return (yield from self._supersede(text, reader, at, way))
            case Route.LET_GO:
                run_id = row.unreadable_run if last is None else last.id
                let_go: tuple[Change, ...] = () if run_id is None else (LetGo(run_id),)
                return (yield from self._turn(text, reader, row.id, let_go, owner=row.owner, at=following, way=way))
            case Route.ORDINARY:
                return (yield from self._turn(text, reader, row.id, (), owner=row.owner, at=following, way=way))
            case other:
                assert_never(other)

    def _unconfigured(self, row: ConversationRow) -> bool:
        configuration = self._wiring.configuration_if_any(row.id, row.owner)
        return configuration is None or configuration.model is None

    def _first(self, text: str, reader: Reader, way: Way) -> Work[Sent]:
        self._segments.require_send(reader)
        conversation = self._wiring.ids.conversation_id()
        opened = OpenConversation(conversation, reader.id)
        sent = yield from self._turn(text, reader, conversation, (opened,), owner=reader.id, at=0, way=way)
        return self._busy(conversation, None, reader) if sent is None else sent

    def _supersede(self, text: str, reader: Reader, at: _Standing, way: Way) -> Work[Sent | None]:
        """C6: the waiting run ends and the new turn begins in one transaction."""
        assert at.run is not None
        ended, _ = self._segments.settling(at.run, (RunCancelled(RunReason.SUPERSEDED, reader.id),))
        # The run's own message comes before the new one.
        following = at.row.last_position + 2
        return (yield from self._turn(text, reader, at.row.id, ended, owner=at.row.owner, at=following, way=way))

    def _turn(
        self,
        text: str,
        reader: Reader,
        conversation: str,
        before: tuple[Change, ...],
        *,
        owner: str,
        at: int,
        way: Way,
        stored: bool = False,
    ) -> Work[Sent | None]:
        """
        Run on the message at position *at*, which is stored there now unless it is *stored* already.

        None: somebody else was first, and nothing was stored.
        """
        run_id = self._wiring.ids.run_id()
        if not stored:
            message = NewMessage(MessageRole.USER, text, run_id, estimate(text), position=at)
            before = (*before, AddMessages(conversation, (message,)))
        try:
            end = yield from self._segments.start(
                run_id,
                reader,
                text=text,
                owner=owner,
                conversation=conversation,
                message=at,
                opening_changes=before,
                queued=way.queued,
                connection=way.connection,
            )
        except LostRaceError:
            row = self._segments.store.run_row(run_id)
            return None if row is None else self._replies.accepted(conversation, row.id, row.status)
        assert end.run.status is not None
        return self._replies.accepted(conversation, run_id, end.run.status)

    def _deliver(self, text: str, reader: Reader, at: _Standing, way: Way) -> Sent | None:
        """C4: the message and the line that names what the run wrote, together; no run starts."""
        last = at.row.last_run
        assert last is not None
        notice = self._finished_outside(last)
        expected = at.row.last_position + 1
        user = NewMessage(MessageRole.USER, text, None, estimate(text), position=expected)
        told = NewMessage(MessageRole.ASSISTANT, "", last.id, 0, (notice,), position=expected + 1)
        try:
            self._wiring.commit((AddMessages(at.row.id, (user, told)),), way.connection)
        except LostRaceError:
            return None
        label = self._replies.notice_label(notice, reader)
        code = NoticeCode.RUN_FINISHED_OUTSIDE
        return Sent(SendOutcome.DELIVERED, at.row.id, last.id, last.status, code, label)

    def _finished_outside(self, last: RunRow) -> Notice:
        written = self._segments.store.writes_of(last.id)
        try:
            run = self._segments.load(last.id)
        except (RunUnreadableError, StoredFormError):
            return finished_outside_notice(last.status, written)
        unknown, declined = run.evidence.unknown_tools, declined_last(run)
        return finished_outside_notice(last.status, written, unknown, declined=declined)

    def _held(self, at: _Standing, reader: Reader) -> Sent:
        """C2: the decision is taken on the card, or elsewhere by somebody who may."""
        assert at.run is not None  # what waits was read
        code = self._runtime.cards.held_by(at.run, reader)
        return self._replies.sent(SendOutcome.HELD, at.row.id, at.row.last_run, code, reader)

    def _busy(self, conversation: str, last: RunRow | None, reader: Reader) -> Sent:
        return self._replies.sent(SendOutcome.BUSY, conversation, last, ReplyCode.CONVERSATION_BUSY, reader)

    def _retry_refusal(self, at: _Standing) -> ReplyCode | None:
        """F5: only the message of a run that wrote nothing and left nothing open may be tried again."""
        last, store = at.row.last_run, self._segments.store
        if last is None or last.status not in (RunStatus.FAILED, RunStatus.CANCELLED):
            return ReplyCode.NOTHING_TO_RETRY
        newest = store.messages(at.row.id, limit=1)
        ended = newest and any(notice.code is NoticeCode.RUN_ENDED for notice in newest[-1].notices)
        if not ended or newest[-1].run_id != last.id:
            return ReplyCode.NOTHING_TO_RETRY
        try:
            evidence = self._segments.load(last.id).evidence
        except (RunUnreadableError, StoredFormError):
            return ReplyCode.RETRY_REFUSED
        clean = not (evidence.records or evidence.open_calls or evidence.released_tools or evidence.unproven_tools)
        return None if clean else ReplyCode.RETRY_REFUSED


def _standing_of(row: ConversationRow, last: RunRow) -> Standing:
    if last.status is RunStatus.WAITING_FOR_APPROVAL:
        return Standing.WAITING
    if last.status is RunStatus.QUEUED:
        return Standing.QUEUED
    if last.status is RunStatus.RUNNING:
        return Standing.RUNNING
    unheard = last.message is None or row.last_user_position <= last.message
    return Standing.ENDED_OUTSIDE if last.outside and unheard else Standing.ENDED_HERE
