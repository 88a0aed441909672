"""
What the chat may ask of the site. Each tool says what a repetition of it would do, and which
records it wrote; the site checks everything once more, inside the transaction that writes.
"""

from examples.site_chat.site import Site, note_carried_out, page_in, was_carried_out
from examples.site_chat.tool_texts import said
from nr_agent_core import Preview, Tool, ToolContext, ToolEffect, ToolResult, WriteKind, tool

DEADLINE = 1.0
"""Seconds a call may take. A site's file is quick, and a short deadline shows the recovery within seconds."""

EDITORIAL = "editorContent"
"""The data class of what editors see; undeclared tools would stay at home with every external model."""


def site_tools(site: Site) -> list[Tool]:
    """All tools of *site*."""
    return [
        search_pages(site),
        create_page_draft(site),
        update_page_metadata(site),
        delete_content_element(site),
        clear_page_cache(site),
        publish_page(site),
    ]


def search_pages(site: Site) -> Tool:
    """A reading tool: runs without an approval."""

    @tool(effect=ToolEffect.READ_ONLY, data_class=EDITORIAL, deadline=DEADLINE)
    def search_pages(words: str) -> str:
        """Find pages by words of their title. Without words: all pages."""
        found = [page for page in site.pages() if words.casefold() in page.title.casefold()]
        lines = [f"pages:{page.uid} '{page.title}'{said('draft_mark') if page.hidden else ''}" for page in found]
        return "\n".join(lines) or said("no_page_found")

    return search_pages.tool


def create_page_draft(site: Site) -> Tool:
    """
    A write that must not be repeated: a second call makes a second page.

    It declares no ``reconcile``: this site keeps no note of which call made a page, so after a crash
    nobody can tell, and the chat says so.
    """

    @tool(effect=ToolEffect.NON_IDEMPOTENT_WRITE, data_class=EDITORIAL, deadline=DEADLINE)
    def create_page_draft(parent: int, title: str) -> ToolResult:
        """Create a page under the page *parent*. It is a draft: hidden until a person publishes it."""
        with site.transaction() as connection:
            if page_in(connection, parent) is None:
                return ToolResult.error(said("no_page", uid=parent))
            row = connection.execute("INSERT INTO pages (parent, title, hidden) VALUES (?, ?, 1)", (parent, title))
            uid = row.lastrowid
        assert uid is not None
        return ToolResult.text(said("draft_saved", uid=uid)).with_write_target(("pages", uid), WriteKind.CREATED)

    @create_page_draft.preview
    def _(parent: int, title: str) -> list[str]:
        twins = site.pages(parent=parent, title=title)
        return [
            said("new_draft", title=title, parent=parent),
            *(said("twin", title=twin.title, uid=twin.uid) for twin in twins),
        ]

    return create_page_draft.tool


def update_page_metadata(site: Site) -> Tool:
    """
    A write that may be repeated: the key of the call makes the second time harmless.

    What was approved holds for the page as the approver saw it: its version travels with the approval.
    """

    @tool(effect=ToolEffect.IDEMPOTENT_WRITE, data_class=EDITORIAL, deadline=DEADLINE)
    def update_page_metadata(uid: int, description: str, context: ToolContext) -> ToolResult:
        """Change the description of the page *uid*."""
        saved = ToolResult.text(said("description_saved", uid=uid))
        with site.transaction() as connection:
            if not was_carried_out(connection, context.key):
                page = page_in(connection, uid)
                if page is None:
                    return ToolResult.error(said("no_page", uid=uid))
                if page.version != context.precondition:
                    return ToolResult.error(said("changed_meanwhile", uid=uid))
                connection.execute("UPDATE pages SET description = ? WHERE uid = ?", (description, uid))
                note_carried_out(connection, context.key)
        return saved.with_write_target(("pages", uid), WriteKind.UPDATED)

    @update_page_metadata.preview
    def _(uid: int, description: str) -> Preview:
        with site.transaction() as connection:
            page = page_in(connection, uid)
        if page is None:
            return Preview(said("no_page", uid=uid))
        lines = [f"pages:{uid} '{page.title}'", f"- {page.description or said('empty')}", f"+ {description}"]
        return Preview(lines, precondition=page.version)

    return update_page_metadata.tool


def delete_content_element(site: Site) -> Tool:
    """A write that may be repeated: what is gone stays gone."""

    @tool(effect=ToolEffect.IDEMPOTENT_WRITE, data_class=EDITORIAL, deadline=DEADLINE)
    def delete_content_element(uid: int, context: ToolContext) -> ToolResult:
        """Delete the content element *uid*."""
        deleted = ToolResult.text(said("deleted", uid=uid))
        with site.transaction() as connection:
            if not was_carried_out(connection, context.key):
                if connection.execute("DELETE FROM content WHERE uid = ?", (uid,)).rowcount == 0:
                    return ToolResult.unchanged(said("no_content", uid=uid))
                note_carried_out(connection, context.key)
        return deleted.with_write_target(("content", uid), WriteKind.DELETED)

    @delete_content_element.preview
    def _(uid: int) -> list[str]:
        found = [element for element in site.content() if element.uid == uid]
        return [said("deletes", uid=e.uid, page=e.page, text=e.text) for e in found] or [said("no_content", uid=uid)]

    return delete_content_element.tool


def clear_page_cache(site: Site) -> Tool:
    """For administrators only. It changes no record, so its result names none."""

    @tool(effect=ToolEffect.IDEMPOTENT_WRITE, data_class=EDITORIAL, deadline=DEADLINE, admin_only=True)
    def clear_page_cache() -> ToolResult:
        """Throw away all cached pages."""
        with site.transaction() as connection:
            cleared = connection.execute("DELETE FROM page_cache").rowcount
        return ToolResult.text(said("cleared", count=cleared))

    return clear_page_cache.tool


def publish_page(site: Site) -> Tool:
    """Switched off: publishing stays with people until a configuration switches it on by name."""

    @tool(effect=ToolEffect.IDEMPOTENT_WRITE, data_class=EDITORIAL, deadline=DEADLINE, enabled=False)
    def publish_page(uid: int) -> ToolResult:
        """Make the draft *uid* visible to visitors."""
        with site.transaction() as connection:
            if connection.execute("UPDATE pages SET hidden = 0 WHERE uid = ?", (uid,)).rowcount == 0:
                return ToolResult.error(said("no_page", uid=uid))
        return ToolResult.text(said("published", uid=uid)).with_write_target(("pages", uid), WriteKind.UPDATED)

    return publish_page.tool
