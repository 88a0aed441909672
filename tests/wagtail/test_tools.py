"""
What the tools do about pages: previews, revisions, keys, and what they refuse.
"""

import uuid

import pytest
from django.utils import timezone, translation
from wagtail.models import Page, PageLogEntry

from examples.wagtail_site.django_chat.models import CarriedOut
from examples.wagtail_site.django_chat.once import settled
from examples.wagtail_site.website.models import AiMark, TextPage
from examples.wagtail_site.website.tools import create_page_draft, search_pages, update_page_metadata
from nr_agent_core import NothingWrittenError, Outcome, Reconciliation, ToolContext
from tests.wagtail.site import Person, page, shown, text_of


def context(person: Person, *, key: str = "a" * 64, precondition: str | None = None) -> ToolContext:
    """What a tool is told about its call."""
    return ToolContext(person.id, uuid.uuid4().hex, "0.0", key, timezone.now().timestamp() + 60, precondition)


def describe(person: Person, text: str, *, title: str = "News") -> str:
    """Ask for a search description; the conversation."""
    return person.ask(f"Setze die Beschreibung von pages:{page(title).pk} auf '{text}'.")


def test_a_preview_shows_what_is_there_beside_what_is_proposed(editor: Person) -> None:
    """Both values, who wrote the present one and when; that the page is published; and how old the preview is."""
    news = page("News")
    news.search_description = "Old words"
    news.save_revision(user=editor.user).publish()

    card = shown(editor.sees(describe(editor, "New words")))

    assert "Beschreibung für Suchmaschinen: „Old words“ → „New words“" in card
    assert "Zuletzt geändert am" in card
    assert "von editor" in card
    assert "Die Seite ist veröffentlicht" in card
    assert "Die Vorschauen zeigen den Stand von vor" in card


def test_an_update_is_a_revision_and_the_published_page_stays(editor: Person) -> None:
    """Visitors see the old words until a person publishes; the history names the run."""
    news = page("News")
    news.save_revision(user=editor.user).publish()

    editor.decide(describe(editor, "New words"), "approve")

    news = page("News")
    assert news.search_description == ""
    assert news.get_latest_revision_as_object().search_description == "New words"
    assert news.has_unpublished_changes
    assert news.latest_revision.user == editor.user
    (entry,) = PageLogEntry.objects.filter(page=news.pk, action="assistant.write")
    assert (entry.data["kind"], entry.revision) == ("updated", news.latest_revision)
    assert AiMark.objects.get().kind == "updated"


def test_title_and_slug_of_a_draft(editor: Person) -> None:
    """A page that nobody sees yet changes at once."""
    editor.decide(editor.ask(f"Lege unter pages:{page('News').pk} eine Seite 'Team' an."), "approve")
    uid = page("Team").pk
    editor.decide(editor.ask(f"Setze den Titel von pages:{uid} auf 'Our team'."), "approve")
    editor.decide(editor.ask(f"Setze den Slug von pages:{uid} auf 'our-team'."), "approve")

    draft = Page.objects.get(pk=uid).get_latest_revision_as_object()
    assert (draft.title, draft.slug, draft.live) == ("Our team", "our-team", False)


def test_what_was_approved_holds_for_the_page_as_it_was_seen(editor: Person, administrator: Person) -> None:
    """Somebody edits the page between preview and decision: refused, and nothing is written."""
    conversation = describe(editor, "New words")
    page("News").save_revision(user=administrator.user)

    seen = shown(text_of(editor.decide(conversation, "approve")))

    assert "wurde seit der Vorschau geändert" in seen
    assert page("News").latest_revision.user == administrator.user
    assert not AiMark.objects.exists()


def test_a_slug_that_is_taken_is_refused_and_nothing_is_unknown(editor: Person) -> None:
    """What Wagtail refuses was not written, and nobody is sent to check."""
    for title in ("One", "Two"):
        page("News").add_child(instance=TextPage(title=title, owner=editor.user))
    conversation = editor.ask(f"Setze den Slug von pages:{page('Two').pk} auf 'one'.")

    seen = shown(text_of(editor.decide(conversation, "approve")))

    assert page("Two").slug == "two"
    assert _slug_is_taken("one") in seen  # in Wagtail's words
    assert "unbekannt" not in seen
    assert not CarriedOut.objects.exists()


def test_a_page_that_somebody_locked(editor: Person, administrator: Person) -> None:
    """A lock is respected, as it is by hand."""
    news = page("News")
    news.locked, news.locked_by, news.locked_at = True, administrator.user, timezone.now()
    news.save()
    preview = update_page_metadata.tool.preview({"page": news.pk, "title": "X"}, context(editor))
    token = preview.precondition

    result = update_page_metadata.tool.execute({"page": news.pk, "title": "X"}, context(editor, precondition=token))

    assert result.outcome is Outcome.ERROR
    assert page("News").latest_revision is None


def test_a_repeated_update_is_made_once(editor: Person) -> None:
    """The key of the call makes the second time harmless, and it names the page again (R7)."""
    news = page("News")
    token = update_page_metadata.tool.preview({"page": news.pk, "title": "X"}, context(editor)).precondition
    first = update_page_metadata.tool.execute({"page": news.pk, "title": "X"}, context(editor, precondition=token))
    again = update_page_metadata.tool.execute({"page": news.pk, "title": "X"}, context(editor, precondition=token))

    assert first.writes == again.writes != ()
    assert page("X").revisions.count() == 1


def test_an_update_that_changes_nothing(editor: Person) -> None:
    """Unchanged, and no revision."""
    news = page("News")
    token = update_page_metadata.tool.preview({"page": news.pk, "title": "News"}, context(editor)).precondition

    result = update_page_metadata.tool.execute({"page": news.pk, "title": "News"}, context(editor, precondition=token))

    assert result.outcome is Outcome.UNCHANGED
    assert page("News").latest_revision is None


def test_what_became_of_a_creation_can_be_found_out(editor: Person) -> None:
    """The key stands in the transaction of the page: there it names the page."""
    made = create_page_draft.tool.execute({"parent": page("News").pk, "title": "Team"}, context(editor))

    assert settled("a" * 64) == f"pages:{page('Team').pk}"
    found = create_page_draft.tool.reconcile("a" * 64, context(editor))
    assert found.writes == made.writes


def test_a_creation_that_did_not_happen_never_will(editor: Person) -> None:
    """Once the recovery was told so, the key is taken: the late process writes nothing."""
    assert create_page_draft.tool.reconcile("a" * 64, context(editor)) is Reconciliation.NEVER_HAPPENED

    with pytest.raises(NothingWrittenError, match="IntegrityError"):
        create_page_draft.tool.execute({"parent": page("News").pk, "title": "Team"}, context(editor))

    assert not TextPage.objects.filter(title="Team").exists()
    assert create_page_draft.tool.reconcile("a" * 64, context(editor)) is Reconciliation.NEVER_HAPPENED


def test_the_preview_warns_of_a_page_of_the_same_title(editor: Person) -> None:
    """Two requests for one page are seen before the second is released; their slugs differ if it is."""
    for _ in range(2):
        conversation = editor.ask(f"Lege unter pages:{page('News').pk} eine Seite 'Team' an.")
        seen = shown(editor.sees(conversation))
        editor.decide(conversation, "approve")

    assert "Eine Seite mit diesem Titel gibt es schon" in seen
    assert set(TextPage.objects.filter(title="Team").values_list("slug", flat=True)) == {"team", "team-2"}


def test_the_search_finds_what_the_owner_may_explore(editor: Person, second: Person) -> None:
    """Drafts are found, and only where the owner has business."""
    page("News").add_child(instance=TextPage(title="Quarterly report", owner=editor.user, live=False))

    found = search_pages.tool.execute({"words": "quarterly"}, context(editor))
    other = search_pages.tool.execute({"words": "quarterly"}, context(second))

    assert "„Quarterly report“ (Entwurf)" in str(found)
    assert "Quarterly" not in str(other)
    assert "News" in str(search_pages.tool.execute({"words": ""}, context(editor)))


def _slug_is_taken(slug: str) -> str:
    words = {"page_slug": slug, "parent_url_path": "/news/"}
    text = "The slug '%(page_slug)s' is already in use within the parent page at '%(parent_url_path)s'."
    with translation.override("de"):
        return translation.gettext(text) % words


@pytest.mark.parametrize("uid", [1, 999_999])
def test_the_root_and_pages_that_are_not_there(administrator: Person, uid: int) -> None:
    """Neither is edited or added to, by nobody."""
    assert (
        create_page_draft.tool.execute({"parent": uid, "title": "X"}, context(administrator)).outcome is Outcome.ERROR
    )
    result = update_page_metadata.tool.execute({"page": uid, "title": "X"}, context(administrator))
    assert result.outcome is Outcome.ERROR
    assert not CarriedOut.objects.exists()
