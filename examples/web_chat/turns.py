"""
A turn while it happens: the library's AG-UI endpoint behind this page's sign-in.
"""

import json
from collections.abc import AsyncIterator
from contextlib import aclosing

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from examples.web_chat.guards import Visitor, body_of, host_of, require_token, signed_in, visitor_of
from nr_agent_core.adapters.agui import MEDIA_TYPE, AsyncAgUiEndpoint


@signed_in
async def turn(request: Request, visitor: Visitor) -> Response:
    """
    A message, or a decision on the card that the page showed, answered by AG-UI events.

    The conversation is the path's, whatever the body names. When the sign-in ends meanwhile, no more is
    told; the run goes on.
    """
    body = await body_of(request)
    require_token(request, request.headers.get("x-csrf-token"))
    conversation = request.path_params["conversation"]
    try:
        named = json.loads(body)["threadId"]
    except (ValueError, LookupError, TypeError, RecursionError):
        named = None
    if named != conversation:
        return JSONResponse({"error": "refused_form", "text": visitor.words("refused_form")}, 400)
    chat = host_of(request).chat
    # Who may decide and not see the conversation does it in the inbox, so that the conversation is told.
    await chat.view(conversation, visitor.reader, limit=1)
    endpoint = AsyncAgUiEndpoint(chat, messages=1)
    # No proxy on the way may collect the pieces.
    headers = {"X-Accel-Buffering": "no"}
    return StreamingResponse(_told(request, endpoint, body, visitor), media_type=MEDIA_TYPE, headers=headers)


async def _told(request: Request, endpoint: AsyncAgUiEndpoint, body: bytes, visitor: Visitor) -> AsyncIterator[str]:
    async with aclosing(endpoint.frames(body, visitor.reader)) as frames:
        async for frame in frames:
            if visitor_of(request) is None:
                return
            yield frame
