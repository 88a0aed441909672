"""
The chat: a conversation as one reader sees it, and what they can do in it.

What is on the page is always what :meth:`AsyncChat.view` says. A stream only shows it sooner.
"""

import hashlib
from asyncio import to_thread
from collections.abc import Mapping
from typing import Any

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from examples.web_chat.guards import RefusedError, Visitor, form_of, host_of, signed_in
from examples.web_chat.own_tables import Written
from examples.web_chat.pages import library_text, page, rendered, see_other, tell_next
from examples.web_chat.rendering import linked, references_in
from examples.web_chat.script import QUESTIONS
from examples.web_chat.wiring import Host
from nr_agent_core import (
    ConversationView,
    MessageView,
    NoticeCode,
    NoticeView,
    SendOutcome,
    Sent,
)

MESSAGE_LIMIT = 100_000
"""Bytes, as the library's own default."""

_SHOWN = 50
_WARNING = {
    NoticeCode.CALL_NOT_MADE,
    NoticeCode.NOTHING_SAVED,
    NoticeCode.OTHER_RECORDS_WRITTEN,
    NoticeCode.UNKNOWN_REFERENCE,
}
_OPEN = {NoticeCode.WRITE_OUTCOME_UNKNOWN}


@signed_in
async def home(request: Request, visitor: Visitor) -> Response:
    """A new conversation: it is opened by its first message."""
    return await _page(request, visitor, None)


@signed_in
async def opened(request: Request, visitor: Visitor) -> Response:
    """The first message of a conversation, or, for a script, the conversation that it will go to."""
    form = await form_of(request)
    text = form.get("text", "")
    problem = _message_problem(text, visitor)
    if problem and form.get("open"):
        return JSONResponse({"error": "refused", "text": problem}, 422)
    if problem:
        return await _page(request, visitor, None, text=text, told=problem, status=422)
    host = host_of(request)
    conversation = await host.chat.open(visitor.reader)
    await to_thread(host.list.add, conversation, visitor.person.id, text)
    if form.get("open"):
        return JSONResponse({"conversation": conversation})
    sent = await host.chat.send(text, visitor.reader, conversation=conversation)
    return await _after(request, visitor, sent, text)


@signed_in
async def conversation(request: Request, visitor: Visitor) -> Response:
    """A conversation."""
    return await _page(request, visitor, request.path_params["conversation"])


@signed_in
async def thread(request: Request, visitor: Visitor) -> Response:
    """What stands in the conversation now, alone; nothing if that is what the script has."""
    host, id_ = host_of(request), request.path_params["conversation"]
    view = await host.chat.view(id_, visitor.reader, limit=_SHOWN)
    html = await thread_html(host, view, visitor)
    tag = f'"{hashlib.sha256(html.encode()).hexdigest()[:32]}"'
    headers = {"ETag": tag, "X-Status": view.status.value}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return HTMLResponse(html, headers=headers)


@signed_in
async def send(request: Request, visitor: Visitor) -> Response:
    """A message, without a script."""
    form = await form_of(request)
    text, id_ = form.get("text", ""), request.path_params["conversation"]
    problem = _message_problem(text, visitor)
    if problem:
        return await _page(request, visitor, id_, text=text, told=problem, status=422)
    sent = await host_of(request).chat.send(text, visitor.reader, conversation=id_)
    return await _after(request, visitor, sent, text)


@signed_in
async def decide(request: Request, visitor: Visitor) -> Response:
    """A decision on the card that the page showed, without a script."""
    form, id_ = await form_of(request), request.path_params["conversation"]
    choice = form.get("decision")
    if choice not in ("approve", "deny"):
        raise RefusedError(400, "refused_form")
    chat = host_of(request).chat
    # Who may decide and not see the conversation does it in the inbox, so that the conversation is told.
    await chat.view(id_, visitor.reader, limit=1)
    run, digest = form.get("run"), form.get("digest")
    # With its run the card of an earlier one is told apart from one that is merely old.
    card = f"{run}:{digest}" if run and digest else digest
    sent = await chat.decide(id_, choice, card=card, by=visitor.reader)
    tell_next(request, sent.text)
    return see_other(f"/chat/{id_}")


@signed_in
async def retry(request: Request, visitor: Visitor) -> Response:
    """The same message once more."""
    await form_of(request)
    id_ = request.path_params["conversation"]
    sent = await host_of(request).chat.retry(id_, visitor.reader)
    tell_next(request, sent.text)
    return see_other(f"/chat/{id_}")


@signed_in
async def cancel(request: Request, visitor: Visitor) -> Response:
    """The end of what waits or is at work."""
    await form_of(request)
    id_ = request.path_params["conversation"]
    sent = await host_of(request).chat.cancel(id_, visitor.reader)
    tell_next(request, sent.text)
    return see_other(f"/chat/{id_}")


# -- what a page shows --------------------------------------------------------------------------


async def _after(request: Request, visitor: Visitor, sent: Sent, text: str) -> Response:
    """What was stored is shown by a redirect; what was not stays in its field."""
    if sent.outcome in (SendOutcome.ACCEPTED, SendOutcome.DELIVERED):
        return see_other(f"/chat/{sent.conversation}")
    return await _page(request, visitor, sent.conversation, text=text, told=sent.text or "", status=409)


async def _page(
    request: Request, visitor: Visitor, id_: str | None, *, text: str = "", told: str = "", status: int = 200
) -> Response:
    host = host_of(request)
    before = request.query_params.get("before", "")
    at = int(before) if before.isdecimal() and len(before) < 10 else None
    view = None if id_ is None else await host.chat.view(id_, visitor.reader, before=at, limit=_SHOWN)
    html = None if view is None else await thread_html(host, view, visitor, old=at is not None)
    mine = await to_thread(host.list.of, visitor.person.id)
    everybody = await to_thread(host.list.of, None) if visitor.administrator else []
    others = [row for row in everybody if row.owner != visitor.person.id]
    owner = visitor.person.id if view is None else await to_thread(host.list.owner, view.id)
    return page(
        request,
        "chat.html",
        status=status,
        visitor=visitor,
        view=view,
        thread=None if html is None else Markup(html),  # noqa: S704 - made by a template that escapes
        mine=mine,
        others=[(row, host.name_of(row.owner, visitor.words.language)) for row in others],
        questions=QUESTIONS[visitor.words.language],
        text=text,
        told=told,
        limit=MESSAGE_LIMIT,
        may_send=owner == visitor.person.id,
    )


async def thread_html(host: Host, view: ConversationView, visitor: Visitor, *, old: bool = False) -> str:
    """The conversation as HTML: messages, notices, the failure, the card, how it stands."""
    language = visitor.words.language
    await host.known_writes()
    runs = {message.run_id for message in view.messages if message.run_id is not None}
    written = await to_thread(host.records.by_run, runs)
    # Beside the loop: an answer may be a table of thousands of cells.
    return await to_thread(
        rendered,
        "thread.html",
        w=visitor.words,
        library=lambda key, **arguments: library_text(language, key, **arguments),
        visitor=visitor,
        csrf=visitor.csrf,
        view=view,
        messages=[_message(message, written) for message in view.messages],
        card=None if view.card is None or old else card_values(view.card),
        can_retry=not old and _can_retry(view),
        old=old,
    )


def card_values(card: Any) -> dict[str, Any]:
    """What the template of a card shows."""
    return {"card": card, "lines": {call.call_id: [_line(line) for line in call.lines] for call in card.calls}}


def _line(line: str) -> tuple[str, str]:
    kind = {"+ ": "added", "- ": "removed"}.get(line[:2], "")
    return kind or ("warned" if line.startswith(("Achtung", "Note")) else "plain"), line


def _message(message: MessageView, writes: Mapping[str, list[Written]]) -> dict[str, Any]:
    notices = [_notice(notice) for notice in message.notices]
    named = {reference for notice in notices for reference in notice["references"]}
    of_run = writes.get(message.run_id or "", []) if message.role.value == "assistant" else []
    written = [entry for entry in of_run if entry.reference not in named]
    return {"it": message, "notices": notices, "written": written}


def _notice(notice: NoticeView) -> dict[str, Any]:
    references = references_in(notice.notice.arguments)
    kind = "open" if notice.code in _OPEN else "warning" if notice.code in _WARNING else "fact"
    arguments = notice.notice.arguments
    outside = notice.code is NoticeCode.RUN_FINISHED_OUTSIDE
    if notice.code is NoticeCode.RUN_ENDED or (
        outside and (arguments.get("status") != "completed" or arguments.get("declined"))
    ):
        kind = "ended"
    if outside and arguments.get("tools"):
        kind = "open"
    return {
        "code": notice.code.value,
        "kind": kind,
        "label": linked(notice.label, references),
        "references": references,
    }


def _can_retry(view: ConversationView) -> bool:
    """Whether the last message is one that a retry may be asked for; the library says whether it is done."""
    codes = {notice.code for notice in view.messages[-1].notices} if view.messages else set()
    left = {NoticeCode.WRITE_OUTCOME_UNKNOWN, NoticeCode.SAVED_BEFORE_END}
    return NoticeCode.RUN_ENDED in codes and not codes & left


def _message_problem(text: str, visitor: Visitor) -> str | None:
    if not text.strip():
        return visitor.words("message_blank")
    if len(text.encode("utf-8", "replace")) > MESSAGE_LIMIT:
        return visitor.words("message_too_long", limit=f"{MESSAGE_LIMIT:,}")
    return None
