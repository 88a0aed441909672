"""
The site as people see it: what they say, and what then stands on their pages.
"""

import html
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import connections
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from wagtail.models import Page

from examples.wagtail_site.django_chat import host
from examples.wagtail_site.website import assistant
from nr_agent_core import Chat
from nr_agent_core.testing.scripted_model import ScriptedModel

PATIENCE = 60.0


class Person:
    """
    Somebody who is logged in, with a browser.
    """

    def __init__(self, name: str, *, csrf: bool = False) -> None:
        self.user = get_user_model().objects.get(username=name)
        self.client = Client(enforce_csrf_checks=csrf)
        self.client.force_login(self.user)

    @property
    def id(self) -> str:
        """As the chat knows them."""
        return str(self.user.pk)

    def say(self, text: str, conversation: str | None = None) -> HttpResponse:
        """Send a message, in a new conversation or in one that is there; the page that then stands."""
        at = reverse("chat:begin") if conversation is None else reverse("chat:send", args=[conversation])
        return self.client.post(at, {"text": text}, follow=True)

    def ask(self, text: str) -> str:
        """Begin a conversation; its id."""
        answer = self.say(text)
        ((at, status),) = answer.redirect_chain
        assert status == 302
        return str(at).rstrip("/").rpartition("/")[2]

    def sees(self, conversation: str) -> str:
        """The page of a conversation."""
        return text_of(self.client.get(reverse("chat:show", args=[conversation])))

    def card(self, conversation: str) -> str:
        """Of the card that stands there."""
        found = re.search(r'name="card" value="([\w:]+)"', self.sees(conversation))
        assert found is not None, "there is no card"
        return found[1]

    def decide(self, conversation: str, decision: str, card: str | None = None) -> HttpResponse:
        """Press a button of the card; the page that then stands."""
        body = {"decision": decision, "card": card or self.card(conversation)}
        return self.client.post(reverse("chat:decide", args=[conversation]), body, follow=True)

    def inbox(self) -> str:
        """The page of what waits."""
        return text_of(self.client.get(reverse("chat:inbox")))

    def decide_in_inbox(self, decision: str) -> HttpResponse:
        """Press a button of the only card in there."""
        page = self.inbox()
        (at,), (card,) = re.findall(r'action="([^"]*inbox/\w+/)"', page), re.findall(r'"card" value="([\w:]+)"', page)
        return self.client.post(at, {"decision": decision, "card": card}, follow=True)


class Site:
    """
    One site of one test.
    """

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch, forget: Callable[[], None]) -> None:
        self.folder, self._patch, self._forget = folder, patch, forget

    def person(self, name: str, **options: Any) -> Person:
        """Somebody, with a browser of their own."""
        return Person(name, **options)

    def set(self, name: str, value: object) -> None:
        """Another setting; the chat is made anew."""
        self._patch.setattr(settings, name, value)
        if host.chat.cache_info().currsize:
            host.chat().close(wait=5)
        self._forget()

    def says(self, *answers: Any, otherwise: Any = None) -> ScriptedModel:
        """The model says this from now on."""
        model = ScriptedModel(*answers, otherwise=otherwise)
        self._patch.setattr(assistant, "model", lambda: model)
        return model

    @property
    def chat(self) -> Chat:
        """The chat of this process."""
        return host.chat()

    @contextmanager
    def working(self) -> Iterator[None]:
        """A worker is at work meanwhile."""
        stop = threading.Event()
        worker = threading.Thread(target=self._work, args=(stop,))
        worker.start()
        try:
            yield
        finally:
            stop.set()
            worker.join(PATIENCE)

    def _work(self, stop: threading.Event) -> None:
        try:
            host.chat().work(threads=1, stop=stop)
        finally:
            connections.close_all()


def page(title: str) -> Page:
    """The page of that title."""
    return Page.objects.get(draft_title=title).specific


def text_of(response: HttpResponse) -> str:
    """What an answer holds."""
    assert response.status_code == 200, (response.status_code, response.content[:300])
    return response.content.decode()


def shown(markup: str) -> str:
    """The words of a page, as they are read."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", markup)).split())


def until(holds: Callable[[], bool]) -> None:
    """Wait for something that another thread or process does."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.05)
