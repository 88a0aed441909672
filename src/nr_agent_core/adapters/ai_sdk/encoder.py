"""
A turn as chunks of a UI message stream, version 1.

A part of a message cannot be taken back there. So text is sent as the answer once it is the answer;
while it comes, it is a transient draft that no message keeps (V9).
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, assert_never

from nr_agent_core.domain.card_values import card_values
from nr_agent_core.domain.notices import Notice
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

HEADERS: Mapping[str, str] = {
    "content-type": "text/event-stream",
    "cache-control": "no-cache",
    "x-vercel-ai-ui-message-stream": "v1",
    "x-accel-buffering": "no",
}
"""The headers of a response that holds such a stream."""

_DONE = "data: [DONE]\n\n"

Fields = dict[str, Any]


class AiSdkEncoder:
    """
    Encodes one turn, from ``start`` to ``[DONE]``.

    The events are those of ``Chat.stream`` and its like. Decisions are taken by a route of the host's,
    which calls ``Chat.stream_decide`` with the digest of the card; a message is never one (P6).
    """

    def __init__(self) -> None:
        self._begun = self._ended = False
        self._run: str | None = None
        self._open_calls: list[str] = []

    def encode(self, event: TurnEvent) -> tuple[str, ...]:
        """The frames that tell *event*; behind the last event of a turn also the end of the stream."""
        return tuple(self._frames(event))

    def encode_failure(self, text: str) -> tuple[str, ...]:
        """
        The frames that end a turn which could not be begun or told; none behind an end.

        Args:
            text: a sentence for this reader.
        """
        if self._ended:
            return ()
        self._ended = True
        return (_frame({"type": "error", "errorText": text}), _DONE)

    def _frames(self, event: TurnEvent) -> Iterable[str]:
        if isinstance(event, TurnStarted):
            self._run = event.run_id
        if not self._begun:
            self._begun = True
            yield _frame(self._start(event))
        elif isinstance(event, TurnStarted):
            # Another run was brought to its end first. The message is of this one.
            yield _frame({"type": "message-metadata", "messageMetadata": _about(event)})
        for chunk in self._chunks(event):
            yield _frame(chunk)
        if self._ended:
            yield _DONE

    def _start(self, event: TurnEvent) -> Fields:
        if not isinstance(event, TurnStarted):
            return {"type": "start"}
        return {"type": "start", "messageId": event.run_id, "messageMetadata": _about(event)}

    def _chunks(self, event: TurnEvent) -> Iterable[Fields]:
        match event:
            case TurnStarted():
                pass
            case TextDelta(number, text):
                yield _data("draft", {"round": number, "delta": text}, transient=True)
            case TextWasInterim(number):
                yield _data("interim", {"round": number}, transient=True)
            case ToolCallStarted():
                yield self._call(event)
            case ToolCallFinished():
                yield from self._result(self._call_id(event.call_id), event.outcome)
            case RecordWritten(run_id, reference, kind):
                yield _data(
                    "record", {"run": run_id, "table": reference.table, "uid": reference.uid, "kind": kind.value}
                )
            case _:
                self._ended = True
                for call_id in tuple(self._open_calls):
                    yield from self._result(call_id, Outcome.UNKNOWN)
                yield from _last(event)

    def _call(self, event: ToolCallStarted) -> Fields:
        call_id = self._call_id(event.call_id)
        self._open_calls.append(call_id)
        # Carried out here: no client is to think that it is asked to.
        ran = {"dynamic": True, "providerExecuted": True}
        return {"type": "tool-input-available", "toolCallId": call_id, "toolName": event.tool, "input": {}, **ran}

    def _result(self, call_id: str, outcome: Outcome) -> Iterable[Fields]:
        """How a call ended. What it returned is the run's, and for the model (E4)."""
        if call_id not in self._open_calls:
            return
        self._open_calls.remove(call_id)
        ran = {"toolCallId": call_id, "dynamic": True, "providerExecuted": True}
        if outcome is Outcome.ERROR:
            yield {"type": "tool-output-error", "errorText": outcome.value, **ran}
        else:
            yield {"type": "tool-output-available", "output": outcome.value, **ran}

    def _call_id(self, call_id: str) -> str:
        return f"{self._run}.{call_id}"


def _about(event: TurnStarted) -> Fields:
    return {"run": event.run_id, "conversation": event.conversation}


def _last(event: ApprovalNeeded | TurnCompleted | TurnFailed | TurnLeft | MessageNotTaken) -> Iterable[Fields]:
    match event:
        case TurnCompleted():
            answer = f"{event.run_id}.answer"
            yield {"type": "text-start", "id": answer}
            yield {"type": "text-delta", "id": answer, "delta": event.text}
            yield {"type": "text-end", "id": answer}
            yield from _notices(event.notices, event.labels)
            yield _finish("stop")
        case ApprovalNeeded():
            card = None if event.card is None else card_values(event.card)
            yield _data("approval", {"run": event.run_id, "card": card})
            yield _finish("tool-calls")
        case TurnFailed():
            yield from _notices(event.notices, event.labels)
            if event.status is RunStatus.CANCELLED:
                yield {"type": "abort", "reason": event.text}
                return
            yield _data("failure", {"code": None if event.code is None else event.code.value})
            yield {"type": "error", "errorText": event.text}
            yield _finish("error")
        case TurnLeft():
            yield _data("status", {"run": event.run_id, "status": event.status.value})
            yield _finish("other")
        case MessageNotTaken():
            yield _data("reply", {"code": None if event.code is None else event.code.value, "text": event.text})
            yield _finish("other")
        case other:
            assert_never(other)


def _notices(notices: Sequence[Notice], labels: Sequence[str]) -> Iterable[Fields]:
    for notice, label in zip(notices, labels, strict=True):
        yield _data("notice", {"code": notice.code.value, "label": label})


def _data(name: str, data: Mapping[str, Any], *, transient: bool = False) -> Fields:
    return {"type": f"data-{name}", "data": data, **({"transient": True} if transient else {})}


def _finish(reason: str) -> Fields:
    return {"type": "finish", "finishReason": reason}


def _frame(chunk: Mapping[str, Any]) -> str:
    """One chunk as a frame of server-sent events; ASCII, so that nothing in a text ends a line of it."""
    return f"data: {json.dumps(chunk, separators=(',', ':'))}\n\n"
