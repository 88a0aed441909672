"""
An editor asks for a page, and somebody decides: what then is in Wagtail, and what they all see.
"""

import re

import pytest
from django.contrib.auth.models import Group
from django.urls import reverse
from wagtail.models import GroupPagePermission, Page, PageLogEntry

from examples.wagtail_site.django_chat.models import Conversation
from examples.wagtail_site.website.models import AiMark, TextPage
from tests.wagtail.site import Person, Site, page, shown, text_of

ASK = "Lege unter pages:{uid} eine Seite 'Team' an."


def ask(person: Person, title: str = "Team", *, under: str = "News") -> str:
    """Ask for a page; the conversation."""
    return person.ask(ASK.format(uid=page(under).pk).replace("Team", title))


def pages() -> int:
    """How many pages there are."""
    return TextPage.objects.count()


def test_an_approved_draft_is_in_the_history_under_the_editor_and_names_the_run(editor: Person, site: Site) -> None:
    """The page is a draft; its revision and its log entries are the editor's; one entry names the run."""
    conversation = ask(editor)
    assert pages() == 3  # nothing before the decision

    editor.decide(conversation, "approve")

    team = page("Team")
    run = site.chat.view(conversation, reader(editor)).messages[-1].run_id
    assert (team.live, team.owner, team.latest_revision.user) == (False, editor.user, editor.user)
    entries = PageLogEntry.objects.filter(page=team.pk)
    assert {entry.user for entry in entries} == {editor.user}
    assert {entry.uuid.hex for entry in entries} == {run}
    (own,) = entries.filter(action="assistant.write")
    assert own.data == {"run": run, "call": "0.0", "kind": "created"}
    assert own.revision == team.latest_revision
    history = shown(editor.client.get(reverse("wagtailadmin_pages:history", args=[team.pk])).content.decode())
    assert run in history


def test_the_listing_marks_what_the_assistant_wrote_and_nothing_else(editor: Person) -> None:
    """The listener of the event marks the page; pages made by hand have no mark."""
    by_hand = page("News").add_child(instance=TextPage(title="By hand", owner=editor.user))
    conversation = ask(editor)
    editor.decide(conversation, "approve")

    listing = editor.client.get(reverse("wagtailadmin_explore", args=[page("News").pk])).content.decode()

    rows = {title: row for row in listing.split("<tr") for title in ("By hand", "Team") if f"{title}\n" in row}
    assert "Vom Assistenten geschrieben" in rows["Team"]
    assert "Vom Assistenten geschrieben" not in rows["By hand"]
    assert list(AiMark.objects.values_list("page", "kind")) == [(page("Team").pk, "created")]
    assert by_hand.pk


def test_the_chat_names_the_page_with_a_link_to_its_editor(editor: Person) -> None:
    """Beside the answer stands what the run wrote, as the site shows it."""
    conversation = ask(editor)
    editor.decide(conversation, "approve")

    seen = editor.sees(conversation)

    assert f'<a href="{reverse("wagtailadmin_pages:edit", args=[page("Team").pk])}">Team</a>' in seen
    assert f"pages:{page('Team').pk} (angelegt)" in shown(seen)


@pytest.mark.parametrize("text", ["weiter", "mach weiter", "habe alles freigegeben", "ok"])
def test_go_on_makes_no_second_page_and_decides_nothing(editor: Person, text: str) -> None:
    """While the card waits, the message is held, and stays in its field (C2, P6)."""
    conversation = ask(editor)

    answer = editor.say(text, conversation)

    assert "auf der Karte freigeben" in shown(answer.content.decode())
    assert f">{text}</textarea>" in answer.content.decode()
    assert pages() == 3
    editor.decide(conversation, "approve")
    assert TextPage.objects.filter(title="Team").count() == 1


def test_a_decision_in_the_inbox_is_told_in_the_chat(editor: Person, administrator: Person) -> None:
    """Who decides elsewhere decides outside the chat: a notice says so, and names the page (C7)."""
    conversation = ask(editor)
    assert "Asked for by editor" in shown(administrator.inbox())

    answer = administrator.decide_in_inbox("approve")

    assert "Your decision is stored" in shown(answer.content.decode())
    seen = shown(editor.sees(conversation))
    assert f"außerhalb dieses Chats abgeschlossen: erledigt. Gespeichert: pages:{page('Team').pk} (angelegt)" in seen
    assert page("Team").latest_revision.user == editor.user  # whoever asked, not whoever decided


def test_a_denied_page_is_not_made(editor: Person) -> None:
    """A denial executes nothing."""
    conversation = ask(editor)

    editor.decide(conversation, "deny")

    assert pages() == 3
    assert not AiMark.objects.exists()
    assert not PageLogEntry.objects.filter(action="assistant.write").exists()


def test_a_false_claim_has_a_notice_in_the_editors_language(editor: Person) -> None:
    """An answer that claims a change that no run made is marked (V6)."""
    conversation = editor.ask("Beschreibe bitte die Startseite.")

    assert "In diesem Schritt wurde nichts gespeichert" in shown(editor.sees(conversation))


def test_two_windows_decide_once(editor: Person) -> None:
    """The second press of the same card changes nothing and says so."""
    conversation = ask(editor)
    card = editor.card(conversation)
    editor.decide(conversation, "approve", card)

    again = editor.decide(conversation, "approve", card)

    assert "Darüber wurde schon entschieden" in shown(again.content.decode())
    assert TextPage.objects.filter(title="Team").count() == 1


@pytest.mark.parametrize("kept", ["all of it", "another digest", "garbage", ""])
def test_an_old_card_decides_nothing_about_an_equal_request(editor: Person, kept: str) -> None:
    """It names its run, so it is told that it is over; what names no card is out of date, and never an error (A1)."""
    conversation = ask(editor)
    card = editor.card(conversation)
    editor.say(ASK.format(uid=page("News").pk), conversation)
    old = {"all of it": card, "another digest": card[::-1]}.get(kept, kept)

    answer = editor.client.post(
        reverse("chat:decide", args=[conversation]), {"decision": "approve", "card": old}, follow=True
    )

    says = "Eine neuere Nachricht" if kept == "all of it" else "Diese Karte ist veraltet"
    assert says in shown(text_of(answer))
    assert editor.card(conversation) != card
    assert pages() == 3


def test_a_list_of_own_conversations(editor: Person, second: Person) -> None:
    """Everybody finds their own, and nobody else's."""
    conversation = ask(editor)

    assert Conversation.objects.get().title.startswith("Lege unter")
    assert conversation in editor.client.get(reverse("chat:index")).content.decode()
    assert conversation not in second.client.get(reverse("chat:index")).content.decode()


def test_titles_are_text(editor: Person, administrator: Person) -> None:
    """Markup in a title is shown as it is typed, on the card, in the inbox, in the chat and in the listing."""
    title = "<script>alert(1)</script>"
    conversation = ask(editor, title)
    for markup in (editor.sees(conversation), administrator.inbox()):
        assert title not in markup
        assert title in shown(re.sub(r"<script\b[^>]*>.*?</script>", "", markup, flags=re.DOTALL))
    editor.decide(conversation, "approve")

    assert Page.objects.filter(title=title).exists()
    listing = editor.client.get(reverse("wagtailadmin_explore", args=[page("News").pk])).content.decode()
    assert title not in editor.sees(conversation) + listing


def reader(person: Person) -> "object":
    """As the chat knows them."""
    from nr_agent_core import Reader

    return Reader(person.id, language="de")


def taken_away(name: str = "News editors") -> None:
    """The group loses its rights to its section, and keeps the chat."""
    GroupPagePermission.objects.filter(group=Group.objects.get(name=name)).delete()
