"""
What the chat may do about pages, through Wagtail's own interfaces. Each writing tool names its page.

Tools act for the owner of the run, with the rights the owner has at that moment.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated
from uuid import UUID

from django.contrib.auth.models import AbstractBaseUser
from django.core.exceptions import ValidationError
from django.utils import timezone, translation
from django.utils.formats import date_format
from django.utils.text import slugify
from django.utils.translation import gettext
from wagtail.actions.edit_page import EditPageAction
from wagtail.log_actions import LogContext, log
from wagtail.models import Page, Revision

from examples.wagtail_site.django_chat.once import all_or_nothing, note, record_of, settled
from examples.wagtail_site.django_chat.readers import user_of
from examples.wagtail_site.website.models import TextPage
from examples.wagtail_site.website.rights import TABLE, explorable, may_create_under, may_edit, page_of
from nr_agent_core import (
    NothingWrittenError,
    Preview,
    Reconciliation,
    RecordReference,
    ToolContext,
    ToolEffect,
    ToolResult,
    WriteKind,
    tool,
)

ACTION = "assistant.write"
"""Of the entry in Wagtail's history that names the run."""

EDITORIAL = "editorContent"
MOST_FOUND = 20

Uid = Annotated[int, "The number of a page: 7 for pages:7."]


@tool(effect=ToolEffect.READ_ONLY, data_class=EDITORIAL, deadline=20)
def search_pages(words: str, context: ToolContext) -> str:
    """Find pages by words; without words, those changed last. Drafts are found too."""
    found = explorable(_acting(context))
    hits = found.search(words) if words.strip() else found.order_by("-latest_revision_created_at")
    with _own_language(_acting(context)):
        return "\n".join(_line(page) for page in hits[:MOST_FOUND]) or gettext("No page was found.")


@tool(effect=ToolEffect.NON_IDEMPOTENT_WRITE, data_class=EDITORIAL, deadline=30)
def create_page_draft(parent: Uid, title: str, context: ToolContext) -> ToolResult:
    """Create a page under the page *parent*. It is a draft: nobody sees it before a person publishes it."""
    user = _acting(context)

    def create() -> ToolResult:
        above = page_of(parent)
        if above is None or not may_create_under(user, above):
            return ToolResult.error(gettext("You may not add a page under pages:%(uid)s.") % {"uid": parent})
        page = TextPage(title=title.strip(), slug=_free_slug(above, title), owner=user, live=False)
        above.add_child(instance=page)
        _logged(page, page.save_revision(user=user, log_action=True), context, WriteKind.CREATED)
        reference = RecordReference(TABLE, page.pk)
        note(context.key, reference)
        return _created(reference)

    return _carried_out(create, context, user)


@create_page_draft.preview
def _(parent: Uid, title: str, context: ToolContext) -> list[str]:
    user = _acting(context)
    with _own_language(user):
        above = page_of(parent)
        if above is None:
            return [gettext("There is no page pages:%(uid)s.") % {"uid": parent}]
        twins = above.get_children().filter(title__iexact=title.strip())
        lines = [
            gettext("New draft “%(title)s” under “%(parent)s”") % {"title": title.strip(), "parent": _title(above)}
        ]
        if not may_create_under(user, above):
            lines.append(gettext("You may not add a page there: this will be refused."))
        return [
            *lines,
            *(gettext("There is a page of that title already: %(page)s") % {"page": _line(twin)} for twin in twins),
        ]


@create_page_draft.reconcile
def _(key: str) -> ToolResult | Reconciliation:
    became = settled(key)
    return became if isinstance(became, Reconciliation) else _created(_reference(became))


@tool(effect=ToolEffect.IDEMPOTENT_WRITE, data_class=EDITORIAL, deadline=30)
def update_page_metadata(
    page: Uid,
    context: ToolContext,
    title: str | None = None,
    slug: str | None = None,
    search_description: str | None = None,
) -> ToolResult:
    """
    Change the title, the slug or the search description of a page.

    The change is a draft: a published page stays as it is until a person publishes it.
    """
    user = _acting(context)
    updated = ToolResult.text(f"Saved as a draft of {TABLE}:{page}.").with_write_target(
        (TABLE, page), WriteKind.UPDATED
    )

    def update() -> ToolResult:
        kept = Page.objects.select_for_update().filter(pk=page, depth__gt=1).first()
        if kept is None or not may_edit(user, kept.specific):
            return ToolResult.error(gettext("You may not edit pages:%(uid)s.") % {"uid": page})
        if _state(kept) != context.precondition:
            return ToolResult.error(gettext("pages:%(uid)s was changed since the preview.") % {"uid": page})
        latest = kept.get_latest_revision_as_object()
        changes = _changes(latest, title, slug, search_description)
        if not changes:
            return ToolResult.unchanged(gettext("pages:%(uid)s is like that already.") % {"uid": page})
        for name, value in changes.items():
            setattr(latest, name, value)
        action = EditPageAction(latest, user, clean=True)
        action.execute()
        _logged(latest, action.revision, context, WriteKind.UPDATED)
        note(context.key, RecordReference(TABLE, page))
        return updated

    return updated if record_of(context.key) is not None else _carried_out(update, context, user)


@update_page_metadata.preview
def _(
    page: Uid,
    context: ToolContext,
    title: str | None = None,
    slug: str | None = None,
    search_description: str | None = None,
) -> Preview:
    user = _acting(context)
    with _own_language(user):
        kept = page_of(page)
        if kept is None:
            return Preview(gettext("There is no page pages:%(uid)s.") % {"uid": page})
        latest = kept.get_latest_revision_as_object()
        changes = _changes(latest, title, slug, search_description)
        lines = [_line(kept), _age(kept)]
        for name, value in changes.items():
            words = {
                "field": _field(name),
                "now": getattr(latest, name) or gettext("(empty)"),
                "then": value or gettext("(empty)"),
            }
            lines.append(gettext("%(field)s: “%(now)s” → “%(then)s”") % words)
        if not changes:
            lines.append(gettext("Nothing would change."))
        if kept.live:
            lines.append(gettext("The page is published: visitors see the change once somebody publishes it."))
        if not may_edit(user, kept):
            lines.append(gettext("You may not edit this page: this will be refused."))
        return Preview(lines, precondition=_state(kept))


TOOLS = (search_pages, create_page_draft, update_page_metadata)


# -- people and history -----------------------------------------------------------------------------


def _acting(context: ToolContext) -> AbstractBaseUser:
    user = user_of(context.owner)
    if user is None:
        raise NothingWrittenError("whoever asked for it is no user any more")
    return user


@contextmanager
def _own_language(user: AbstractBaseUser) -> Iterator[None]:
    """Previews and results are stored texts: they are in the language of whoever asked."""
    profile = getattr(user, "wagtail_userprofile", None)
    language = profile.get_preferred_language() if profile is not None else translation.get_language() or "en"
    with translation.override(language):
        yield


def _carried_out(work: Callable[[], ToolResult], context: ToolContext, user: AbstractBaseUser) -> ToolResult:
    """
    Do *work* in a transaction: all of it or nothing.

    Everything that Wagtail logs meanwhile belongs together: it has the run's id as its own. What Wagtail
    refuses, such as a slug that is taken, the model is told in Wagtail's words.
    """
    about = LogContext(user=user, generate_uuid=False)
    about.uuid = UUID(context.run_id)
    with _own_language(user), about:
        try:
            with all_or_nothing():
                return work()
        except NothingWrittenError as nothing:
            if isinstance(nothing.__cause__, ValidationError):
                return ToolResult.error(" ".join(nothing.__cause__.messages))
            raise


def _logged(page: Page, revision: Revision, context: ToolContext, kind: WriteKind) -> None:
    log(
        instance=page,
        action=ACTION,
        revision=revision,
        data={"run": context.run_id, "call": context.call_id, "kind": kind.value},
    )


# -- pages ------------------------------------------------------------------------------------------


def _created(reference: RecordReference) -> ToolResult:
    return ToolResult.text(f"Saved as a draft: {reference}.").with_write_target(reference, WriteKind.CREATED)


def _reference(record: str) -> RecordReference:
    table, _colon, uid = record.partition(":")
    return RecordReference(table, int(uid))


def _title(page: Page) -> str:
    return str(page.draft_title or page.title)


def _line(page: Page) -> str:
    state = gettext("published") if page.live else gettext("draft")
    words = {"page": f"{TABLE}:{page.pk}", "title": _title(page), "state": state, "path": page.url_path}
    return gettext("%(page)s “%(title)s” (%(state)s) %(path)s") % words


def _age(page: Page) -> str:
    """When what is there now was written, and by whom; the card says how old the preview itself is."""
    revision = page.latest_revision
    if revision is None:
        return gettext("Nobody has edited the page yet.")
    at = date_format(timezone.localtime(revision.created_at), "SHORT_DATETIME_FORMAT")
    name = revision.user.get_username() if revision.user else gettext("somebody")
    return gettext("Last changed on %(at)s by %(name)s") % {"at": at, "name": name}


def _state(page: Page) -> str:
    """A token that changes whenever the page does."""
    return f"{page.latest_revision_id}/{page.live_revision_id}/{page.live}/{page.path}"


def _changes(page: Page, title: str | None, slug: str | None, search_description: str | None) -> Mapping[str, str]:
    asked = {"title": title, "slug": slug, "search_description": search_description}
    return {
        name: value.strip()
        for name, value in asked.items()
        if value is not None and value.strip() != getattr(page, name)
    }


def _field(name: str) -> str:
    return {"title": gettext("Title"), "slug": gettext("Slug"), "search_description": gettext("Search description")}[
        name
    ]


def _free_slug(parent: Page, title: str) -> str:
    """The slug that Wagtail would propose, or the next free one beside it."""
    wanted = slugify(title) or "page"
    taken = set(parent.get_children().values_list("slug", flat=True))
    return next(slug for slug in (wanted, *(f"{wanted}-{n}" for n in range(2, len(taken) + 3))) if slug not in taken)
