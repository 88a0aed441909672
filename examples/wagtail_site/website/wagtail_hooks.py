"""
The chat inside the admin of Wagtail: addresses, menu, rights of groups, history, and the mark in the listing.
"""

from typing import Any

from django.contrib.auth.models import Permission
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import URLPattern, URLResolver, include, path, reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from wagtail import hooks
from wagtail.admin.menu import MenuItem
from wagtail.admin.ui.tables import BaseColumn
from wagtail.admin.views.pages.listing import ExplorableIndexView
from wagtail.log_actions import LogActionRegistry, LogFormatter
from wagtail.models import Page

from examples.wagtail_site.django_chat.access import USE
from examples.wagtail_site.website.labels import marked
from examples.wagtail_site.website.tools import ACTION


@hooks.register("register_admin_urls")
def chat_urls() -> list[URLPattern | URLResolver]:
    """The chat below the admin; only those who may enter the admin get that far."""
    return [path("assistant/", include("examples.wagtail_site.django_chat.urls"))]


class ChatItem(MenuItem):
    """
    An entry of the menu, for those who have the right to the chat.
    """

    def is_shown(self, request: HttpRequest) -> bool:
        """Whether whoever looks has it."""
        return request.user.has_perm(USE)


@hooks.register("register_admin_menu_item")
def chat_item() -> MenuItem:
    """To the conversations."""
    return ChatItem(gettext_lazy("Assistant"), reverse("chat:index"), name="assistant", icon_name="comment", order=150)


@hooks.register("register_admin_menu_item")
def inbox_item() -> MenuItem:
    """To what waits for a decision."""
    return ChatItem(
        gettext_lazy("Decisions"), reverse("chat:inbox"), name="decisions", icon_name="clipboard-list", order=151
    )


@hooks.register("register_permissions")
def rights() -> QuerySet[Permission]:
    """Groups are given the chat in Wagtail's own settings. Who decides is a matter of pages, not of a right."""
    return Permission.objects.filter(content_type__app_label="django_chat", codename="use_chat")


@hooks.register("register_log_actions")
def log_actions(actions: LogActionRegistry) -> None:
    """What the history of a page calls a write of the chat."""

    @actions.register_action(ACTION)
    class Written(LogFormatter):
        label = gettext_lazy("Written by the assistant")

        def format_message(self, log_entry: Any) -> str:
            """Which run it was."""
            return _("Written by the assistant, in run %(run)s") % {"run": log_entry.data.get("run", "?")}


class MarkColumn(BaseColumn):
    """
    Says of a page in the listing that an AI wrote it.
    """

    cell_template_name = "website/mark_cell.html"

    def get_cell_context_data(self, instance: Page, parent_context: Any) -> Any:
        """Asked for each row; all rows of a table are looked up at once."""
        context = super().get_cell_context_data(instance, parent_context)
        table = parent_context["table"]
        if not hasattr(table, "ai_marked"):
            table.ai_marked = marked(page.pk for page in table.data)
        context["marked"] = instance.pk in table.ai_marked
        return context


# Behind the title. The list is the view's own, and is read when the view is asked.
ExplorableIndexView.base_columns.insert(2, MarkColumn("ai", label=gettext_lazy("AI"), width="8%"))
