"""
Wagtail's page permissions as the rights of the chat.

They are asked three times: when a preview is made, when somebody decides, and when the tool is at work.
"""

from django.contrib.auth.models import AbstractBaseUser
from wagtail.models import Page

from examples.wagtail_site.django_chat.access import PermissionAccess
from examples.wagtail_site.django_chat.waiting import WaitingCall, waiting_calls
from nr_agent_core.ports.access_policy import Subject

TABLE = "pages"
"""What the chat calls them: ``pages:7``."""


def page_of(uid: int) -> Page | None:
    """The page, of its own kind, as it is now; None when there is none, and for the invisible root."""
    found = Page.objects.filter(pk=uid, depth__gt=1).first()
    return None if found is None else found.specific


def may_create_under(user: AbstractBaseUser, parent: Page) -> bool:
    """Whether *user* may add a page under *parent* now."""
    return bool(parent.permissions_for_user(user).can_add_subpage())


def may_edit(user: AbstractBaseUser, page: Page) -> bool:
    """Whether *user* may edit *page* now; a lock of somebody else forbids it."""
    rights = page.permissions_for_user(user)
    return bool(rights.can_edit() and not rights.page_locked())


def explorable(user: AbstractBaseUser) -> "object":
    """The pages that *user* finds in the admin."""
    from wagtail.permissions import policy_registry

    return policy_registry.get_by_type(Page).explorable_instances(user).filter(depth__gt=1)


class PageAccess(PermissionAccess):
    """
    Whoever could do by hand what waits may decide on it, their own requests included; nobody else.

    Whether somebody may release their own request at all is another rule: ``CHAT_FOUR_EYES``.
    """

    def decides(self, user: AbstractBaseUser, subject: Subject) -> bool:
        """Whether *user* has the right to every page that the waiting calls are about."""
        from examples.wagtail_site.django_chat.host import chat

        store = chat().runtime.wiring.store
        calls = () if subject.run_id is None or store is None else waiting_calls(store, subject.run_id)
        return bool(calls) and all(self._may_do(user, call) for call in calls)

    def _may_do(self, user: AbstractBaseUser, call: WaitingCall) -> bool:
        match call.tool:
            case "create_page_draft":
                parent = page_of(call.arguments["parent"])
                return user.is_superuser if parent is None else may_create_under(user, parent)
            case "update_page_metadata":
                page = page_of(call.arguments["page"])
                return user.is_superuser if page is None else may_edit(user, page)
            case _:
                # A tool that came later, and that nobody said anything about here.
                return user.is_superuser
