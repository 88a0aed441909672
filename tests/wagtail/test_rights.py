"""
Who may do what: page permissions at the preview, at the decision, and when the tool is at work.
"""

import pytest
from django.contrib.auth.models import Group, Permission
from django.urls import reverse
from wagtail.models import GroupPagePermission, PageLogEntry

from examples.wagtail_site.website.models import AiMark, TextPage
from nr_agent_core.testing import call
from tests.wagtail.site import Person, Site, page, shown, text_of

NOT_THERE = "0" * 32


def ask(person: Person, under: str = "News") -> str:
    """Ask for a page; the conversation."""
    return person.ask(f"Lege unter pages:{page(under).pk} eine Seite 'Team' an.")


def take_away(group: str = "News editors") -> None:
    """The group loses its section, and keeps the chat."""
    GroupPagePermission.objects.filter(group__name=group).delete()


def give(group: str, section: str) -> None:
    """The group may add pages to that section."""
    permission = Permission.objects.get(content_type__app_label="wagtailcore", codename="add_page")
    GroupPagePermission.objects.create(
        group=Group.objects.get(name=group), page=page(section).page_ptr, permission=permission
    )


def test_without_the_right_to_the_page_nobody_decides(editor: Person, second: Person, site: Site) -> None:
    """The second editor has no right to the news: the inbox is empty, and the ids alone open nothing."""
    conversation = ask(editor)
    card = editor.card(conversation)
    (item,) = site.chat.runtime.inbox(editor.id)

    assert "Nothing waits" in shown(second.inbox())
    body = {"decision": "approve", "card": card}
    assert second.client.post(reverse("chat:decide", args=[conversation]), body).status_code == 404
    assert second.client.post(reverse("chat:decide_in_inbox", args=[item.run_id]), body).status_code == 404
    assert not TextPage.objects.filter(title="Team").exists()


def test_whoever_has_the_right_to_the_page_decides_in_the_inbox(editor: Person, second: Person) -> None:
    """With the right to add pages there, the second editor finds the card and releases it."""
    ask(editor)
    give("Services editors", "News")

    second.decide_in_inbox("approve")

    assert page("Team").owner == editor.user


def test_a_card_may_be_about_several_pages(editor: Person, second: Person, site: Site) -> None:
    """Who may do one of the waiting calls and not the other decides on neither."""
    from nr_agent_core.testing import round_of

    calls = [call("create_page_draft", parent=page(under).pk, title="Team") for under in ("News", "Services")]
    site.says(round_of(*calls), "Done.")
    conversation = editor.ask("Two pages, please.")

    assert 'name="card"' not in editor.sees(conversation)
    assert "Nothing waits" in shown(second.inbox())


def test_a_right_that_was_taken_away_before_the_decision(editor: Person, administrator: Person) -> None:
    """The editor's card is gone; the request waits on for somebody who may."""
    conversation = ask(editor)
    card = editor.card(conversation)
    take_away()

    assert "trifft sie unter „Entscheidungen“" in shown(editor.sees(conversation))
    answer = editor.decide(conversation, "approve", card)
    assert "Sie dürfen über diese Anfrage nicht entscheiden" in shown(text_of(answer))
    held = editor.say("weiter", conversation)
    assert "trifft sie unter „Entscheidungen“" in shown(text_of(held))
    assert "Asked for by editor" in shown(administrator.inbox())


def test_a_right_that_was_taken_away_before_the_tool_is_at_work(
    editor: Person, administrator: Person, site: Site
) -> None:
    """Approved all the same, the tool refuses: an error, nothing written, nothing marked, nothing claimed."""
    conversation = ask(editor)
    take_away()

    administrator.decide_in_inbox("approve")

    assert not TextPage.objects.filter(title="Team").exists()
    assert not AiMark.objects.exists()
    assert not PageLogEntry.objects.filter(action="assistant.write").exists()
    seen = shown(editor.sees(conversation))
    assert "Sie dürfen unter pages:" in seen
    assert "unbekannt" not in seen  # that nothing was written is certain
    assert site.chat.runtime.writes() == ()


def test_the_preview_says_that_it_would_be_refused(editor: Person, administrator: Person) -> None:
    """Whoever asks for a page where they have no right gets a card for others that says so."""
    ask(editor, under="Services")

    assert "Das wird abgewiesen" in shown(administrator.inbox())


def test_an_owner_who_is_no_user_any_more(editor: Person, administrator: Person) -> None:
    """Nothing is written for somebody who was switched off meanwhile."""
    ask(editor)
    editor.user.is_active = False
    editor.user.save()

    answer = administrator.decide_in_inbox("approve")

    assert "set up" in shown(text_of(answer))
    assert not TextPage.objects.filter(title="Team").exists()


def test_four_eyes(editor: Person, administrator: Person, site: Site) -> None:
    """Nobody releases what they asked for themselves; denying is left to them."""
    site.set("CHAT_FOUR_EYES", True)
    conversation = ask(editor)

    seen = editor.sees(conversation)
    assert 'value="approve"' not in seen
    assert 'value="deny"' in seen
    assert "eine zweite Person" in shown(text_of(editor.decide(conversation, "approve")))
    administrator.decide_in_inbox("approve")
    assert page("Team")


def test_an_administrator_reads_and_does_not_answer(editor: Person, administrator: Person) -> None:
    """Of somebody else's conversation administrators see all, and a field to write into they do not get."""
    conversation = editor.ask("Hallo")

    seen = administrator.sees(conversation)

    assert "This is the conversation of editor." in shown(seen)
    assert "<textarea" not in seen
    assert "do not have permission" in shown(text_of(administrator.say("An answer", conversation)))
    assert "An answer" not in administrator.sees(conversation)


@pytest.mark.parametrize("name", ["show", "part", "send", "decide", "retry", "cancel"])
@pytest.mark.parametrize("whose", ["somebody's", "nobody's"])
def test_conversations_of_others_are_not_there(editor: Person, second: Person, name: str, whose: str) -> None:
    """What belongs to others looks like what does not exist."""
    conversation = ask(editor) if whose == "somebody's" else NOT_THERE
    at = reverse(f"chat:{name}", args=[conversation])
    body = {"text": "Hello", "decision": "approve", "card": NOT_THERE}

    answer = second.client.get(at) if name in ("show", "part") else second.client.post(at, body)

    assert answer.status_code == 404
    assert "Team" not in answer.content.decode()


def test_only_those_with_the_right_have_a_chat(second: Person) -> None:
    """Without the right there is no menu item and no page; without the admin there is a login."""
    group = Group.objects.get(name="Services editors")
    group.permissions.remove(Permission.objects.get(codename="use_chat"))
    second = Person("second-editor")

    assert reverse("chat:index") not in text_of(second.client.get(reverse("wagtailadmin_home")))
    answer = second.client.get(reverse("chat:index"))
    assert answer.status_code == 302
    assert answer["Location"] == reverse("wagtailadmin_home")
    second.client.logout()
    assert reverse("wagtailadmin_login") in second.client.get(reverse("chat:index"))["Location"]


@pytest.mark.parametrize("name", ["begin", "stream_new"])
def test_a_forged_request_starts_nothing(site: Site, name: str) -> None:
    """Posts need the token that only our own pages have."""
    editor = site.person("editor", csrf=True)

    assert editor.client.post(reverse(f"chat:{name}"), {"text": "Hallo"}).status_code == 403
    assert "csrfmiddlewaretoken" in text_of(editor.client.get(reverse("chat:index")))


def test_a_forged_decision_is_none(editor: Person, site: Site) -> None:
    """An approval is a form like any other."""
    conversation = ask(editor)
    body = {"decision": "approve", "card": editor.card(conversation)}
    editor.client.handler.enforce_csrf_checks = True

    assert editor.client.post(reverse("chat:decide", args=[conversation]), body).status_code == 403
    assert not TextPage.objects.filter(title="Team").exists()


@pytest.mark.parametrize("form", ["of no run", "of an earlier page", "of another run"])
def test_a_form_that_does_not_name_the_card_decides_nothing(editor: Person, site: Site, form: str) -> None:
    """Neither in the chat nor in the inbox; the page says that the card is out of date."""
    conversation, other = ask(editor), ask(editor)
    run, digest = editor.card(conversation).split(":")
    other_run, _other_digest = editor.card(other).split(":")
    body = {
        "of no run": {},
        "of an earlier page": {"digest": digest},
        "of another run": {"card": f"{other_run}:{digest}"},
    }[form]
    decision = {"decision": "approve", **body}

    for name, at in (("decide", conversation), ("decide_in_inbox", run)):
        answer = editor.client.post(reverse(f"chat:{name}", args=[at]), decision, follow=True)
        assert "Diese Karte ist veraltet" in shown(text_of(answer))

    assert not TextPage.objects.filter(title="Team").exists()
    assert len(site.chat.runtime.inbox(editor.id)) == 2


def test_a_site_with_a_transaction_around_every_view(editor: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    """``ATOMIC_REQUESTS`` does not reach the views of the chat, below the admin of Wagtail either."""
    from django.db import connections

    monkeypatch.setitem(connections.settings["default"], "ATOMIC_REQUESTS", True)
    conversation = ask(editor)

    editor.decide(conversation, "approve")

    assert page("Team")


def test_a_get_changes_nothing(editor: Person) -> None:
    """What acts is posted."""
    conversation = ask(editor)

    for name in ("send", "decide", "retry", "cancel", "stream"):
        assert editor.client.get(reverse(f"chat:{name}", args=[conversation])).status_code == 405


def test_a_missing_key_is_told_to_each_reader_in_their_way(
    editor: Person, administrator: Person, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Editors are sent to the administration; administrators read what is missing, with a link (F2)."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    site.set("CHAT_MODEL", "openai:some-model")
    conversation = editor.ask("Hallo")

    seen, same = editor.sees(conversation), administrator.sees(conversation)

    assert "wenden Sie sich an die Administration" in shown(seen)
    assert "OPENAI_API_KEY" not in seen
    assert "OPENAI_API_KEY" in shown(same)
    assert reverse("chat:setup") in same
    facts = shown(text_of(administrator.client.get(reverse("chat:setup"))))
    assert "OPENAI_API_KEY is missing" in facts
    assert editor.client.get(reverse("chat:setup")).status_code in (302, 403)
