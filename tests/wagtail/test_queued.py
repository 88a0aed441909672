"""
Workers drive the runs; on PostgreSQL a message is stored in a transaction of Django's.
"""

import re

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, transaction
from django.urls import reverse

from examples.wagtail_site.django_chat import views
from examples.wagtail_site.django_chat.models import Conversation
from examples.wagtail_site.website.models import TextPage
from nr_agent_core import ConversationStatus, NotFoundError, Reader
from tests.wagtail.conftest import ON_POSTGRES
from tests.wagtail.site import Person, Site, page, shown, text_of, until

on_postgres = pytest.mark.skipif(not ON_POSTGRES, reason="one transaction for both needs WAGTAIL_TESTS_ON=postgres")


@pytest.fixture(autouse=True)
def queued(site: Site) -> None:
    """With workers, and with the tables of their queue."""
    site.set("CHAT_QUEUED", True)
    call_command("chat_worker", "--install-only")


def test_the_page_asks_again_until_the_worker_is_done(editor: Person, site: Site) -> None:
    """A request stores the message; the page says that somebody works, and then shows what came of it."""
    conversation = editor.ask(f"Lege unter pages:{page('News').pk} eine Seite 'Team' an.")
    part = reverse("chat:part", args=[conversation])
    assert 'data-works="1"' in editor.sees(conversation)
    assert "Der Assistent arbeitet" in text_of(editor.client.get(part))

    with site.working():
        until(lambda: 'data-works="0"' in text_of(editor.client.get(part)))
        assert not TextPage.objects.filter(title="Team").exists()
        editor.decide(conversation, "approve")
        until(lambda: TextPage.objects.filter(title="Team").exists())
        until(lambda: 'data-works="0"' in text_of(editor.client.get(part)))

    assert page("Team").latest_revision.user == editor.user
    assert ">Team</a>" in editor.sees(conversation)


def test_a_second_message_waits(editor: Person) -> None:
    """While the worker is at work, a message is not taken, and stays in its field."""
    conversation = editor.ask("Hallo")

    answer = text_of(editor.say("Noch etwas", conversation))

    assert "arbeitet noch an dieser Unterhaltung" in shown(answer)
    assert ">Noch etwas</textarea>" in answer


def test_what_is_dropped_is_not_worked_on(editor: Person, site: Site) -> None:
    """A queued request can be taken back."""
    conversation = editor.ask("Hallo")

    editor.client.post(reverse("chat:cancel", args=[conversation]))

    assert "Diese Anfrage wurde abgebrochen" in shown(editor.sees(conversation))
    assert site.chat.view(conversation, Reader(editor.id)).status is ConversationStatus.IDLE


def test_a_worker_without_a_queue_says_so(site: Site) -> None:
    """The command is not for sites whose requests drive their runs."""
    site.set("CHAT_QUEUED", False)

    with pytest.raises(CommandError, match="CHAT_QUEUED"):
        call_command("chat_worker")


@on_postgres
def test_message_and_page_are_rolled_back_together(editor: Person, site: Site) -> None:
    """A page and the message about it, in one transaction of Django's that fails: neither is there."""
    anna = Reader(editor.id)

    def both(*, fails: bool) -> str:
        with transaction.atomic():
            page("News").add_child(instance=TextPage(title="Minutes", owner=editor.user, live=False))
            sent = site.chat.send("Summarise the minutes.", anna, queued=True, connection=connection.connection)
            if fails:
                transaction.set_rollback(True)
        return sent.conversation

    conversation = both(fails=True)
    assert not TextPage.objects.filter(title="Minutes").exists()
    with pytest.raises(NotFoundError):
        site.chat.view(conversation, anna)

    conversation = both(fails=False)
    assert TextPage.objects.filter(title="Minutes").exists()
    with site.working():
        until(lambda: site.chat.view(conversation, anna).status is ConversationStatus.IDLE)
    assert len(site.chat.view(conversation, anna).messages) == 2


@on_postgres
def test_an_entry_of_the_list_and_its_message_are_stored_together(
    editor: Person, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the entry cannot be stored, no message is: nobody works on what nobody can find."""

    def fails(*_: object) -> None:
        raise DatabaseError("the list is full")

    with monkeypatch.context() as patch:
        patch.setattr(views, "_listed", fails)
        with pytest.raises(DatabaseError):
            editor.say("Hallo")

    assert not Conversation.objects.exists()
    assert site.chat.runtime.wiring.store.due_runs(queued_grace=-60, limit=10) == ()
    conversation = editor.ask("Hallo")
    assert re.fullmatch(r"\w{32}", conversation)
    assert Conversation.objects.get().id == conversation
