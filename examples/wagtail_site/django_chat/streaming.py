"""
A turn as server-sent events, under an event loop.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor

from django.http import HttpRequest, HttpResponseBase, StreamingHttpResponse

from nr_agent_core import (
    ApprovalNeeded,
    MessageNotTaken,
    NoticeCode,
    TextDelta,
    TextWasInterim,
    TurnCompleted,
    TurnEvent,
    TurnFailed,
    TurnLeft,
    TurnStream,
)

_WATCHERS = ThreadPoolExecutor(max_workers=32, thread_name_prefix="chat-watcher")
"""Each stream that is watched waits in a thread; a further one waits for a free one, and its run does not."""


def can_stream(request: HttpRequest) -> bool:
    """Whether the server that brought *request* can send a piece at a time without holding a worker."""
    return hasattr(request, "scope")


def streamed(events: TurnStream, show_at: str) -> HttpResponseBase:
    """
    The response that tells *events*, and at the end where to look.

    The first event is asked for here: what the call raises, it raises before any response.
    """
    first = next(events, None)
    response = StreamingHttpResponse(_told(first, events, show_at), content_type="text/event-stream")
    response["Cache-Control"], response["X-Accel-Buffering"] = "no-store", "no"
    return response


async def _told(event: TurnEvent | None, events: TurnStream, show_at: str) -> AsyncIterator[bytes]:
    loop = asyncio.get_running_loop()
    try:
        while event is not None:
            kind, fields = _said(event)
            if kind:
                yield _line(kind, fields)
            event = await loop.run_in_executor(_WATCHERS, next, events, None)
        yield _line("end", {"url": show_at})
    finally:
        # Nobody reads any more; what the call still raises goes to the log.
        events.close()


def _said(event: TurnEvent) -> tuple[str, dict[str, str]]:
    match event:
        case TextDelta():
            return "text", {"text": event.text}
        case TextWasInterim():
            return "interim", {}
        case MessageNotTaken() if not isinstance(event.code, NoticeCode):
            return "held", {"text": event.text or ""}
        case ApprovalNeeded() | TurnCompleted() | TurnFailed() | TurnLeft() | MessageNotTaken():
            # What stands then is in the view, for this reader; the page asks for it. So it is with a message that was
            # delivered: it is stored, beside what became of the run.
            return "", {}
        case _:
            return "work", {}


def _line(kind: str, fields: dict[str, str]) -> bytes:
    return f"event: {kind}\ndata: {json.dumps(fields)}\n\n".encode()
