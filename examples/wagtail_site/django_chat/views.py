"""
The pages of the chat. Nothing of this needs a middleware of its own.
"""

import functools
from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required, permission_required
from django.core.exceptions import BadRequest, PermissionDenied
from django.db import connection, transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from examples.wagtail_site.django_chat.access import USE
from examples.wagtail_site.django_chat.host import chat, in_own_transaction, site
from examples.wagtail_site.django_chat.models import Conversation
from examples.wagtail_site.django_chat.pages import CardPage, conversation_page, owner_name
from examples.wagtail_site.django_chat.readers import reader_of
from examples.wagtail_site.django_chat.streaming import can_stream, streamed
from nr_agent_core import (
    AccessDeniedError,
    DecisionRefusedError,
    MessageRejectedError,
    NotFoundError,
    Reader,
    SendOutcome,
    Sent,
)
from nr_agent_core.domain.approvals import named_card
from nr_agent_core.domain.texts import reply_sentence

View = Callable[..., HttpResponseBase]


def chat_view(view: View) -> View:
    """
    What every view here has in common.

    Only who has the right to the chat gets in. No transaction is held open around the chat, whatever
    ``ATOMIC_REQUESTS`` says. Nothing is cached: a view is made for one reader.
    """

    @functools.wraps(view)
    def answered(request: HttpRequest, *arguments: Any, **options: Any) -> HttpResponseBase:
        try:
            return view(request, *arguments, **options)
        except NotFoundError:
            raise Http404 from None
        except AccessDeniedError:
            raise PermissionDenied from None
        except MessageRejectedError:
            raise BadRequest(_("The message is blank or too long.")) from None

    guarded = permission_required(USE, raise_exception=True)(answered)
    return never_cache(transaction.non_atomic_requests(login_required(guarded)))


@chat_view
@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """The reader's conversations, and a field for the first message of another one."""
    own = Conversation.objects.filter(owner=request.user)[:50]
    return render(
        request,
        "django_chat/index.html",
        {"heading": _("Assistant"), "conversations": own, "stream": _stream_url(request, None)},
    )


@chat_view
@require_safe
def show(request: HttpRequest, conversation: str) -> HttpResponse:
    """One conversation."""
    return _page(request, conversation)


@chat_view
@require_safe
def part(request: HttpRequest, conversation: str) -> HttpResponse:
    """What changes of it while somebody works; a page asks for it again and again."""
    shown = conversation_page(chat().view(conversation, reader_of(request)), request)
    return render(request, "django_chat/conversation.html", {"page": shown})


@chat_view
@require_POST
def send(request: HttpRequest, conversation: str | None = None) -> HttpResponse:
    """A message: its turn is driven here, or queued for a worker."""
    text, reader = request.POST.get("text", ""), reader_of(request)
    if not text.strip():
        return redirect("chat:index") if conversation is None else redirect("chat:show", conversation)
    sent = _queued(text, request, reader, conversation) or chat().send(
        text, reader, conversation=conversation or _begun(text, request, reader), queued=_has_queue()
    )
    return _answer(request, sent, text)


@chat_view
@require_POST
def stream(request: HttpRequest, conversation: str | None = None) -> HttpResponseBase:
    """The same, told while it happens."""
    if not can_stream(request):
        raise BadRequest("This server does not stream.")
    text, reader = request.POST.get("text", ""), reader_of(request)
    if not text.strip():
        raise MessageRejectedError("blank")
    conversation = conversation or _begun(text, request, reader)
    events = chat().stream(text, reader, conversation=conversation)
    return streamed(events, reverse("chat:show", args=[conversation]))


@chat_view
@require_POST
def decide(request: HttpRequest, conversation: str) -> HttpResponse:
    """A decision on the card of the chat."""
    decision, card = request.POST.get("decision", ""), request.POST.get("card")
    if decision not in ("approve", "deny"):
        raise BadRequest("A decision is to approve or to deny.")
    return _answer(request, chat().decide(conversation, decision, card=card, by=reader_of(request)))


@chat_view
@require_POST
def retry(request: HttpRequest, conversation: str) -> HttpResponse:
    """Once more, where a turn failed and wrote nothing."""
    return _answer(request, chat().retry(conversation, reader_of(request), queued=_has_queue()))


@chat_view
@require_POST
def cancel(request: HttpRequest, conversation: str) -> HttpResponse:
    """End what waits or is at work."""
    return _answer(request, chat().cancel(conversation, reader_of(request)))


@chat_view
@require_safe
def inbox(request: HttpRequest) -> HttpResponse:
    """What waits for a decision that this reader may take, whoever asked for it."""
    items = [
        {"page": CardPage(item.card, reader_of(request)), "owner": owner_name(item.owner), "run": item.run_id}
        for item in chat().runtime.inbox(reader_of(request))
    ]
    return render(request, "django_chat/inbox.html", {"heading": _("Decisions"), "items": items})


@chat_view
@require_POST
def decide_in_inbox(request: HttpRequest, run: str) -> HttpResponse:
    """
    A decision taken there. It is one outside the chat, so the conversation is told (C7).
    """
    decision, (named, digest) = request.POST.get("decision", ""), named_card(request.POST.get("card"))
    if decision not in ("approve", "deny"):
        raise BadRequest("A decision is to approve or to deny.")
    reader = reader_of(request)
    try:
        # A card of another run, or of a page that named none, decides nothing here.
        chat().runtime.decide(run, decision, digest=digest or "" if named == run else "", by=reader)
    except DecisionRefusedError as refused:
        translator = chat().runtime.wiring.translator
        messages.warning(request, reply_sentence(refused.code, reader.language, translator))
    else:
        messages.success(request, _("Your decision is stored. The conversation is told."))
    return redirect("chat:inbox")


@chat_view
@require_safe
def setup(request: HttpRequest) -> HttpResponse:
    """What administrators are linked to when the chat is not set up."""
    if not request.user.is_superuser:
        raise PermissionDenied
    return render(request, "django_chat/setup.html", {"heading": _("Set-up of the assistant"), "facts": site().facts()})


def _page(request: HttpRequest, conversation: str) -> HttpResponse:
    hint, draft = request.session.pop(f"chat:{conversation}", ("", ""))
    shown = conversation_page(chat().view(conversation, reader_of(request)), request)
    context = {
        "heading": _("Assistant"),
        "page": shown,
        "hint": hint,
        "draft": draft,
        "stream": _stream_url(request, conversation),
    }
    return render(request, "django_chat/show.html", context)


def _answer(request: HttpRequest, sent: Sent, draft: str = "") -> HttpResponse:
    """
    Redirect after a post, so that a reload sends nothing twice.

    What was held, busy or refused is said there once, and what was typed stands in its field again.
    """
    if sent.text and sent.outcome is not SendOutcome.DELIVERED:
        kept = "" if sent.outcome is SendOutcome.ACCEPTED else draft
        request.session[f"chat:{sent.conversation}"] = (sent.text, kept)
    return redirect("chat:show", conversation=sent.conversation)


def _begun(text: str, request: HttpRequest, reader: Reader) -> str:
    """A new conversation in the chat's own store, and then in the list: what is listed is there."""
    conversation = chat().open(reader)
    _listed(conversation, text, request)
    return conversation


def _queued(text: str, request: HttpRequest, reader: Reader, conversation: str | None) -> Sent | None:
    """
    On one PostgreSQL database: message, run and the entry of the list in one transaction of Django's.

    All of it is there when the block is left, or nothing; a worker hears of it then.
    """
    if not in_own_transaction():
        return None
    with transaction.atomic():
        connection.ensure_connection()
        sent = chat().send(text, reader, conversation=conversation, queued=True, connection=connection.connection)
        if conversation is None:
            _listed(sent.conversation, text, request)
    return sent


def _listed(conversation: str, text: str, request: HttpRequest) -> None:
    title = " ".join(text.replace("\0", " ").split())[:80]  # PostgreSQL keeps no NUL
    Conversation.objects.create(id=conversation, owner=request.user, title=title)


def _has_queue() -> bool:
    return chat().runtime.wiring.queue is not None


def _stream_url(request: HttpRequest, conversation: str | None) -> str:
    if not can_stream(request) or _has_queue():
        return ""
    return reverse("chat:stream_new") if conversation is None else reverse("chat:stream", args=[conversation])
