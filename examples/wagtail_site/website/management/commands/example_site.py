"""
The example's people and pages.
"""

import os
import secrets

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group, Permission
from django.core.management.base import BaseCommand
from django.db import transaction
from wagtail.models import GroupPagePermission, Page, Site
from wagtail.users.models import UserProfile

from examples.wagtail_site.website.models import TextPage

SECTIONS = ("News", "Services")
"""Each has its own editors."""


class Command(BaseCommand):
    """
    ``example_site``: makes what is missing, and gives everybody the password that it prints.
    """

    help = "Makes the pages and users of the example."

    def handle(self, *_: object, **__: object) -> None:
        """Make them, and say how to log in."""
        password = os.environ.get("WAGTAIL_SITE_PASSWORD") or secrets.token_urlsafe(9)
        with transaction.atomic():
            home = _home()
            news, services = (_section(home, title) for title in SECTIONS)
            _person("editor", password, _editors("News editors", news), language="de")
            _person("second-editor", password, _editors("Services editors", services), language="en")
            _person("administrator", password, None, language="en")
        self.stdout.write("Users: editor (German; edits News), second-editor (edits Services), administrator")
        if "WAGTAIL_SITE_PASSWORD" not in os.environ:
            self.stdout.write(f"Their password, until this is run again: {password}")


def _home() -> TextPage:
    found = TextPage.objects.filter(depth=2).first()
    if found is not None:
        return found
    root = Page.get_first_root_node()
    for page in root.get_children():  # the page that a new Wagtail greets with
        page.delete()
    root.refresh_from_db()
    home = root.add_child(instance=TextPage(title="Home", slug="home"))
    Site.objects.update_or_create(is_default_site=True, defaults={"hostname": "localhost", "root_page": home})
    return home


def _section(home: TextPage, title: str) -> TextPage:
    found = TextPage.objects.child_of(home).filter(title=title).first()
    return found or home.add_child(instance=TextPage(title=title, slug=title.lower()))


def _editors(name: str, section: TextPage) -> Group:
    group, _ = Group.objects.get_or_create(name=name)
    wanted = Permission.objects.filter(content_type__app_label="wagtailadmin", codename="access_admin")
    group.permissions.add(
        *wanted, *Permission.objects.filter(content_type__app_label="django_chat", codename="use_chat")
    )
    for codename in ("add_page", "change_page"):
        permission = Permission.objects.get(content_type__app_label="wagtailcore", codename=codename)
        GroupPagePermission.objects.get_or_create(group=group, page=section, permission=permission)
    return group


def _person(name: str, password: str, group: Group | None, *, language: str) -> None:
    user, _ = get_user_model().objects.get_or_create(username=name)
    user.is_superuser = group is None
    user.set_password(password)
    user.save()
    if group is not None:
        user.groups.set([group])
    UserProfile.objects.update_or_create(user=user, defaults={"preferred_language": language})
