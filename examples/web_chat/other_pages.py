"""
The pages beside the chat: who asks, what waits, what an AI wrote, the site itself, and what is set.
"""

from asyncio import to_thread
from enum import Enum
from typing import Any

import attrs
from starlette.requests import Request
from starlette.responses import Response

from examples.web_chat.chat_pages import card_values
from examples.web_chat.guards import (
    RefusedError,
    Visitor,
    csrf_of,
    form_of,
    host_of,
    own_path,
    signed_in,
    visitor_of,
)
from examples.web_chat.house import CHOICES
from examples.web_chat.pages import not_found, page, see_other, tell_next
from examples.web_chat.words import LANGUAGES
from nr_agent_core import DecisionRefusedError, NotFoundError, RecordWrite, RunUnreadableError, StoredFormError
from nr_agent_core.domain.run_events import RecordedCall, Started
from nr_agent_core.domain.texts import reply_sentence, status_label
from nr_agent_core.ports.run_store import StoredEvent

PARTS = {"tasks": ("chat", "four_eyes", "expiry", "previews"), "providers": ("service",), "stage": ("mishap",)}


# -- signing in ---------------------------------------------------------------------------------


async def sign_in(request: Request) -> Response:
    """Who are you in this example?"""
    target = own_path(request.query_params.get("next"))
    return page(request, "sign_in.html", people=host_of(request).people, target=target)


async def signed(request: Request) -> Response:
    """The choice of a person. Its session is a new one, but for the language."""
    form, host = await form_of(request), host_of(request)
    person = host.person(form.get("person"))
    if person is None:
        raise RefusedError(400, "refused_form")
    language = request.session.get("language")
    request.session.clear()
    request.session.update(person=person.id, until=host.clock.now() + host.sign_in_seconds)
    if language:
        request.session["language"] = language
    csrf_of(request)
    return see_other(own_path(form.get("next")))


async def sign_out(request: Request) -> Response:
    """Nobody any more; the language stays."""
    await form_of(request)
    language = request.session.get("language")
    request.session.clear()
    if language:
        request.session["language"] = language
    return see_other("/sign-in")


async def language(request: Request) -> Response:
    """Another language."""
    form = await form_of(request)
    if form.get("language") not in LANGUAGES:
        raise RefusedError(400, "refused_form")
    request.session["language"] = form["language"]
    return see_other(own_path(form.get("next")))


async def start(request: Request) -> Response:
    """The first page."""
    return see_other("/chat" if visitor_of(request) else "/sign-in")


# -- the inbox ----------------------------------------------------------------------------------


@signed_in
async def inbox(request: Request, visitor: Visitor) -> Response:
    """What waits for this person, oldest first."""
    host = host_of(request)
    items = await host.chat.runtime.inbox(visitor.reader)
    shown = [
        {"item": item, "owner": host.name_of(item.owner, visitor.words.language), **card_values(item.card)}
        for item in items
    ]
    return page(request, "inbox.html", visitor=visitor, items=shown)


@signed_in
async def decide_outside(request: Request, visitor: Visitor) -> Response:
    """A decision from outside the chat, on the card that the inbox showed."""
    form, run = await form_of(request), request.path_params["run"]
    choice = form.get("decision")
    if choice not in ("approve", "deny"):
        raise RefusedError(400, "refused_form")
    words = visitor.words
    try:
        result = await host_of(request).chat.runtime.decide(
            run, choice, digest=form.get("digest", ""), by=visitor.reader
        )
    except DecisionRefusedError as error:
        tell_next(request, reply_sentence(error.code, words.language))
    else:
        tell_next(request, words("decided", status=status_label(result.status, words.language)))
    return see_other("/inbox")


# -- runs ---------------------------------------------------------------------------------------


@signed_in
async def timeline(request: Request, visitor: Visitor) -> Response:
    """The stored facts of a run, for administrators."""
    runtime, run = host_of(request).chat.runtime, request.path_params["run"]
    if not visitor.administrator:
        return await not_found(request, NotFoundError("run", run))
    shown: dict[str, Any] = {"run": run, "events": None, "standing": None, "owner": "", "conversation": None}
    try:
        events, standing = await runtime.events(run, visitor.reader), await runtime.status(run, visitor.reader)
    except (RunUnreadableError, StoredFormError):
        return page(request, "timeline.html", visitor=visitor, **shown)
    first = events[0].event
    if isinstance(first, Started):
        owner = host_of(request).name_of(first.owner, visitor.words.language)
        shown.update(owner=owner, conversation=first.conversation)
    shown.update(events=[_event(stored) for stored in events], standing=standing)
    return page(request, "timeline.html", visitor=visitor, **shown)


@signed_in
async def cancel_outside(request: Request, visitor: Visitor) -> Response:
    """The end of a run, from outside its chat."""
    await form_of(request)
    run = request.path_params["run"]
    result = await host_of(request).chat.runtime.cancel(run, visitor.reader)
    tell_next(request, status_label(result.status, visitor.words.language))
    return see_other(f"/runs/{run}" if visitor.administrator else "/chat")


def _event(stored: StoredEvent) -> dict[str, Any]:
    facts = []
    for field in attrs.fields(type(stored.event)):
        value = getattr(stored.event, field.name)
        if not field.metadata.get("content") and not (value is None or value is False or value == ()):
            facts.append((field.name, _fact(value)))
    return {"number": stored.number, "at": stored.at, "kind": stored.event.kind, "facts": facts}


def _fact(value: object) -> str:
    match value:
        case tuple():
            return ", ".join(_fact(entry) for entry in value)
        case Enum():
            return str(value.value)
        case RecordWrite():
            return f"{value.reference} {value.kind.value}"
        case RecordedCall():
            return value.tool if value.refusal is None else f"{value.tool} ({value.refusal.value})"
        case _:
            return str(value)


# -- records and the site -----------------------------------------------------------------------


@signed_in
async def records(request: Request, visitor: Visitor) -> Response:
    """What an AI wrote."""
    host = host_of(request)
    await host.known_writes()
    return page(request, "records.html", visitor=visitor, entries=await to_thread(host.records.entries))


@signed_in
async def site(request: Request, visitor: Visitor) -> Response:
    """The pages of the site."""
    host = host_of(request)
    await host.known_writes()
    contents: dict[int, list[Any]] = {}
    for element in await to_thread(host.site.content):
        contents.setdefault(element.page, []).append(element)
    kinds: dict[str, list[str]] = {}
    for entry in reversed(await to_thread(host.records.entries)):
        kinds.setdefault(entry.reference, []).append(entry.kind)
    pages = await to_thread(host.site.pages)
    shown = [(entry, contents.get(entry.uid, []), kinds.get(f"pages:{entry.uid}", [])) for entry in pages]
    return page(request, "site.html", visitor=visitor, pages=shown)


@signed_in
async def site_record(request: Request, visitor: Visitor) -> Response:
    """One record, and whether an AI wrote it."""
    host, table, uid = host_of(request), request.path_params["table"], request.path_params["uid"]
    await host.known_writes()
    reference = f"{table}:{uid}"
    rows: dict[str, Any] = {"pages": host.site.pages, "content": host.site.content}
    found = next((row for row in await to_thread(rows[table]) if str(row.uid) == uid), None) if table in rows else None
    entries = await to_thread(host.records.entries, reference=reference)
    status = 200 if found is not None or entries else 404
    return page(
        request,
        "site_record.html",
        status=status,
        visitor=visitor,
        reference=reference,
        table=table,
        found=found,
        entries=entries,
    )


# -- settings -----------------------------------------------------------------------------------


@signed_in
async def settings(request: Request, visitor: Visitor) -> Response:
    """What is set, for administrators."""
    if not visitor.administrator:
        return await not_found(request, NotFoundError("page", "settings"))
    now = host_of(request).settings.now()
    return page(request, "settings.html", visitor=visitor, now=now, choices=CHOICES, parts_of=PARTS)


@signed_in
async def set_(request: Request, visitor: Visitor) -> Response:
    """What administrators set."""
    form = await form_of(request)
    if not visitor.administrator:
        return await not_found(request, NotFoundError("page", "settings"))
    try:
        host_of(request).settings.change(**{name: value for name, value in form.items() if name in CHOICES})
    except ValueError:
        raise RefusedError(400, "refused_form") from None
    tell_next(request, visitor.words("saved"))
    part = form.get("part")
    return see_other(f"/settings#{part}" if part in PARTS else "/settings")
