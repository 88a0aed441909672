"""
What the templates show: the library's view, with the records that it names as the site shows them.
"""

import datetime as dt
from dataclasses import dataclass

from django.contrib.auth import get_user_model
from django.http import HttpRequest

from examples.wagtail_site.django_chat.host import SeenRecord, chat, site
from examples.wagtail_site.django_chat.readers import reader_of
from nr_agent_core import Card, ConversationStatus, ConversationView, MessageView, NoticeCode, Reader, RecordWrite
from nr_agent_core.domain.texts.cards import card_labels
from nr_agent_core.domain.texts.rendering import render

_NEWS = dict.fromkeys((NoticeCode.RUN_FINISHED_OUTSIDE, NoticeCode.RUN_ENDED, NoticeCode.SAVED_BEFORE_END), "info")
"""Notices that tell what became of a request. All others say that the text and the run differ."""


class CardPage:
    """
    A card with its words in the reader's language.
    """

    def __init__(self, card: Card, reader: Reader) -> None:
        self.card = card
        self.labels = card_labels(reader.language, chat().runtime.wiring.translator)


@dataclass(frozen=True)
class RecordPage:
    """
    A record that a run wrote.
    """

    seen: SeenRecord
    label: str


@dataclass(frozen=True)
class MessagePage:
    """
    A message, its notices with their kinds, and what the run behind it wrote.
    """

    message: MessageView
    at: dt.datetime
    notices: tuple[tuple[str, str], ...]
    records: tuple[RecordPage, ...]


@dataclass(frozen=True)
class ConversationPage:
    """
    A conversation as one reader sees it. Of somebody else's, ``owner`` says whose it is: it can be read, not answered.
    """

    view: ConversationView
    messages: tuple[MessagePage, ...]
    card: CardPage | None
    owner: str | None

    @property
    def works(self) -> bool:
        """Whether somebody works on it, so that the page should ask again."""
        return self.view.status is ConversationStatus.PROCESSING

    @property
    def waits(self) -> bool:
        """Whether a decision is waited for."""
        return self.view.status is ConversationStatus.AWAITING_APPROVAL


def conversation_page(view: ConversationView, request: HttpRequest) -> ConversationPage:
    """The page of *view*, which was made for the reader of *request*."""
    reader = reader_of(request)
    card = None if view.card is None else CardPage(view.card, reader)
    row = chat().runtime.wiring.store.conversation_row(view.id)
    other = None if row is None or row.owner == reader.id else owner_name(row.owner)
    return ConversationPage(view, tuple(_message(each, request, reader) for each in view.messages), card, other)


def owner_name(owner: str) -> str:
    """What to call the owner of a run."""
    user = get_user_model()._default_manager.filter(pk=owner).first()
    return owner if user is None else user.get_username()


def _message(message: MessageView, request: HttpRequest, reader: Reader) -> MessagePage:
    answers = message.role.value == "assistant" and message.run_id is not None
    writes = chat().runtime.wiring.store.writes_of(message.run_id) if answers else ()
    records = tuple(_record(write, request, reader) for write in writes)
    notices = tuple((_NEWS.get(notice.code, "warning"), notice.label) for notice in message.notices)
    return MessagePage(message, dt.datetime.fromtimestamp(message.at, dt.UTC), notices, records)


def _record(write: RecordWrite, request: HttpRequest, reader: Reader) -> RecordPage:
    translator = chat().runtime.wiring.translator
    label = render(f"record.{write.kind.value}", {"reference": str(write.reference)}, reader.language, translator)
    return RecordPage(site().seen(write.reference, request.user), label)
