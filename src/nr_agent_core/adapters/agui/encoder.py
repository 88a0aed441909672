"""
A turn as AG-UI events, each a frame of server-sent events.

The encoder performs nothing. Where a client has to be told what is stored, it says that it wants a
view, and whoever drives it brings one.
"""

import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, assert_never

from nr_agent_core.adapters.agui.chats import ShownConversation, ShownMessage
from nr_agent_core.adapters.agui.interrupts import answerable, interrupt_of
from nr_agent_core.domain.approvals import Card
from nr_agent_core.domain.conversation import ConversationStatus, MessageRole
from nr_agent_core.domain.notices import Notice, NoticeCode, ReplyCode
from nr_agent_core.domain.run_status import RunStatus
from nr_agent_core.domain.tool_result import Outcome
from nr_agent_core.domain.turn_events import (
    ApprovalNeeded,
    MessageNotTaken,
    RecordWritten,
    TextDelta,
    TextWasInterim,
    ToolCallFinished,
    ToolCallStarted,
    TurnCompleted,
    TurnEvent,
    TurnFailed,
    TurnLeft,
    TurnStarted,
)

PROTOCOL = "1.0"
BEAT = ": \n\n"
"""A comment of server-sent events: it keeps a connection from being taken for dead and tells nothing."""

Fields = dict[str, Any]

# What a message that no run took is answered with. A decision that was not taken ends otherwise: the
# client has to learn that its interrupt is gone, which an error does not tell it.
_NO_RUN_TOOK_IT = frozenset(
    {
        ReplyCode.APPROVAL_PENDING,
        ReplyCode.APPROVAL_PENDING_ELSEWHERE,
        ReplyCode.CONVERSATION_BUSY,
        ReplyCode.CHAT_NOT_CONFIGURED,
    }
)


class AgUiEncoder:
    """
    Encodes one request's turn, from ``RUN_STARTED`` to ``RUN_FINISHED`` or ``RUN_ERROR``.

    Args:
        thread: the conversation that the request names; empty until a new one has its id.
        run: how the client calls the request.
    """

    def __init__(self, *, thread: str, run: str) -> None:
        self.thread, self._run = thread, run
        self._begun = self._ended = False
        self._turn: str | None = None
        self._message: str | None = None
        self._told: list[str] = []
        self._open_calls: list[str] = []

    def wants_view(self, event: TurnEvent) -> bool:
        """Whether :meth:`encode` of *event* needs the conversation as this reader sees it now."""
        match event:
            case TurnStarted():
                # Another run was brought to its end first.
                return self._turn is not None
            case TurnCompleted():
                return bool(self._told) and "".join(self._told) != event.text
            case ApprovalNeeded() | MessageNotTaken():
                return True
            case TextWasInterim() | TurnFailed() | TurnLeft():
                return self._message is not None
            case _:
                return False

    def encode(self, event: TurnEvent, view: ShownConversation | None = None) -> tuple[str, ...]:
        """
        The frames that tell *event*.

        Args:
            event: the next event of the turn.
            view: the conversation, where :meth:`wants_view` asks for it and this reader may see it.
        """
        return tuple(frame(fields) for fields in self._events(event, view))

    def encode_view(self, view: ShownConversation) -> tuple[str, ...]:
        """The frames of a request that only looks: what is stored, and the card that waits."""
        shown = [self._start(), _snapshot(view)]
        if view.error is not None:
            failure = {"code": view.error.code.value, "text": view.error.text, "link": view.error.link}
            shown.append(_custom("failure", failure))
        return tuple(frame(fields) for fields in (*shown, self._waiting(view.card, view.status)))

    def encode_failure(self, code: str, text: str, detail: str | None = None) -> tuple[str, ...]:
        """
        The frame that ends a request which could not be carried out; none behind an end.

        Args:
            code: what is the matter.
            text: a sentence about it for this reader.
            detail: for whoever writes the client: what is wrong with the request's form.
        """
        if self._ended:
            return ()
        metadata = {} if detail is None else {"metadata": {"detail": detail}}
        return (frame({**self._error(code, text), **metadata}),)

    # -- events -------------------------------------------------------------------------------

    def _events(self, event: TurnEvent, view: ShownConversation | None) -> Iterable[Fields]:
        if isinstance(event, TurnStarted) and event.conversation is not None:
            self.thread = event.conversation
        if not self._begun:
            yield self._start()
        match event:
            case TurnStarted():
                yield from self._close_message()
                self._turn = event.run_id
                yield from _seen(view, before=self._turn)
            case TextDelta():
                yield from self._text(event)
            case TextWasInterim():
                yield from self._take_back(view, before=self._turn)
            case ToolCallStarted():
                yield from self._call(event)
            case ToolCallFinished():
                yield from self._result(self._call_id(event.call_id), event.outcome)
            case RecordWritten(run_id, reference, kind):
                value = {"run": run_id, "table": reference.table, "uid": reference.uid, "kind": kind.value}
                yield _custom("recordWritten", value)
            case _:
                yield from self._last(event, view)

    def _last(
        self,
        event: ApprovalNeeded | TurnCompleted | TurnFailed | TurnLeft | MessageNotTaken,
        view: ShownConversation | None,
    ) -> Iterable[Fields]:
        for call_id in tuple(self._open_calls):
            # Whoever drives it on stores what became of it; here nobody hears of it any more.
            yield from self._result(call_id, Outcome.UNKNOWN)
        match event:
            case TurnCompleted():
                yield from self._answer(event, view)
                yield self._finished({"status": RunStatus.COMPLETED.value})
            case ApprovalNeeded():
                yield from self._take_back(view)
                yield from _seen(view)
                yield self._waiting(event.card, RunStatus.WAITING_FOR_APPROVAL)
            case TurnLeft():
                yield from self._take_back(view)
                yield self._finished({"status": event.status.value})
            case TurnFailed():
                yield from self._take_back(view)
                yield from _notices(event.notices, event.labels, None)
                yield self._failed(event)
            case MessageNotTaken():
                yield from self._close_message()
                yield from self._not_taken(event, view)
            case other:
                assert_never(other)

    def _text(self, event: TextDelta) -> Iterable[Fields]:
        message = f"{self._turn}.{event.round}"
        if self._message != message:
            yield from self._close_message()
            self._message = message
            yield {"type": "TEXT_MESSAGE_START", "messageId": message, "role": "assistant"}
        self._told.append(event.text)
        yield {"type": "TEXT_MESSAGE_CONTENT", "messageId": message, "delta": event.text}

    def _take_back(self, view: ShownConversation | None, *, before: str | None = None) -> Iterable[Fields]:
        """What was told is not the answer: clients that know no more are shown what is stored (V9)."""
        message = self._message
        if message is not None:
            yield from self._close_message()
            yield _custom("textWasInterim", {"messageId": message})
            yield from _seen(view, before=before)

    def _close_message(self) -> Iterable[Fields]:
        if self._message is not None:
            yield {"type": "TEXT_MESSAGE_END", "messageId": self._message}
        self._message, self._told = None, []

    def _call(self, event: ToolCallStarted) -> Iterable[Fields]:
        call_id = self._call_id(event.call_id)
        self._open_calls.append(call_id)
        yield {"type": "TOOL_CALL_START", "toolCallId": call_id, "toolCallName": event.tool}
        yield {"type": "TOOL_CALL_END", "toolCallId": call_id}

    def _result(self, call_id: str, outcome: Outcome) -> Iterable[Fields]:
        """How a call ended. What it returned is the run's, and for the model (E4)."""
        if call_id in self._open_calls:
            self._open_calls.remove(call_id)
            result = {"type": "TOOL_CALL_RESULT", "messageId": f"{call_id}.result", "toolCallId": call_id}
            yield {**result, "content": outcome.value, "role": "tool"}

    def _call_id(self, call_id: str) -> str:
        return f"{self._turn}.{call_id}"

    # -- endings ------------------------------------------------------------------------------

    def _answer(self, event: TurnCompleted, view: ShownConversation | None) -> Iterable[Fields]:
        message = self._message or f"{event.run_id}.answer"
        if not self._told:
            yield {"type": "TEXT_MESSAGE_START", "messageId": message, "role": "assistant"}
            yield {"type": "TEXT_MESSAGE_CONTENT", "messageId": message, "delta": event.text}
            yield {"type": "TEXT_MESSAGE_END", "messageId": message}
        elif "".join(self._told) == event.text:
            yield from self._close_message()
        else:
            yield from self._take_back(view)
            message = _newest(view) or message
        yield from _notices(event.notices, event.labels, message)

    def _failed(self, event: TurnFailed) -> Fields:
        if event.status is RunStatus.CANCELLED:
            return self._finish({"outcome": {"type": "cancelled"}})
        return self._error("internal" if event.code is None else event.code.value, event.text)

    def _not_taken(self, event: MessageNotTaken, view: ShownConversation | None) -> Iterable[Fields]:
        code = None if event.code is None else event.code.value
        if isinstance(event.code, NoticeCode):
            yield _custom("notice", {"code": code, "label": event.text, "messageId": _newest(view)})
        else:
            yield _custom("reply", {"code": code, "text": event.text})
        yield from _seen(view)
        card = None if view is None else answerable(view.card)
        if card is not None:
            yield self._waiting(card, RunStatus.WAITING_FOR_APPROVAL)
        elif event.code in _NO_RUN_TOOK_IT:
            yield self._error(str(code), event.text or "")
        else:
            yield self._finished({"code": code, "text": event.text})

    def _waiting(self, card: Card | None, status: RunStatus | ConversationStatus) -> Fields:
        """An end that asks for a decision, of a reader who can take it."""
        asked = answerable(card)
        if asked is None:
            return self._finished({"status": status.value})
        return self._finish({"outcome": {"type": "interrupt", "interrupts": [interrupt_of(asked)]}})

    def _start(self) -> Fields:
        self._begun = True
        return {"type": "RUN_STARTED", "threadId": self.thread, "runId": self._run, "protocolVersion": PROTOCOL}

    def _finished(self, result: Mapping[str, Any]) -> Fields:
        return self._finish({"result": result, "outcome": {"type": "success"}})

    def _finish(self, ending: Mapping[str, Any]) -> Fields:
        self._ended = True
        return {"type": "RUN_FINISHED", "threadId": self.thread, "runId": self._run, **ending}

    def _error(self, code: str, text: str) -> Fields:
        self._ended = True
        return {"type": "RUN_ERROR", "code": code, "message": text}


def frame(fields: Mapping[str, Any]) -> str:
    """
    One event as a frame of server-sent events. It is ASCII, so that nothing in a text ends a line of it.
    """
    return f"data: {json.dumps(fields, separators=(',', ':'))}\n\n"


def _custom(name: str, value: Mapping[str, Any]) -> Fields:
    return {"type": "CUSTOM", "name": name, "value": value}


def _notices(notices: Sequence[Notice], labels: Sequence[str], message: str | None) -> Iterable[Fields]:
    for notice, label in zip(notices, labels, strict=True):
        yield _custom("notice", {"code": notice.code.value, "label": label, "messageId": message})


def _seen(view: ShownConversation | None, *, before: str | None = None) -> Iterable[Fields]:
    if view is not None:
        yield _snapshot(view, before=before)


def _snapshot(view: ShownConversation, *, before: str | None = None) -> Fields:
    """
    What is stored, for this reader; notices stand beside their messages.

    A run may be further than its reader. What it left, and what followed, is kept back *before* the reader
    was told of it, or it would be shown twice.
    """
    messages = itertools.takewhile(
        lambda message: before is None or message.run_id != before or message.role is not MessageRole.ASSISTANT,
        view.messages,
    )
    return {"type": "MESSAGES_SNAPSHOT", "messages": [_message(view, message) for message in messages]}


def _message(view: ShownConversation, message: ShownMessage) -> Fields:
    fields = {"id": _id(view, message), "role": message.role.value, "content": message.text}
    if not message.notices:
        return fields
    notices = [{"code": notice.code.value, "label": notice.label} for notice in message.notices]
    return {**fields, "metadata": {"notices": notices}}


def _newest(view: ShownConversation | None) -> str | None:
    """The id of the newest answer that is shown."""
    messages = () if view is None else view.messages
    answers = [message for message in messages if message.role is MessageRole.ASSISTANT]
    return _id(view, answers[-1]) if view is not None and answers else None


def _id(view: ShownConversation, message: ShownMessage) -> str:
    return f"{view.id}:{message.position}"
