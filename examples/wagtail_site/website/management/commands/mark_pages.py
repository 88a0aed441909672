"""
Marks what the bus could not tell: writes of a process that died before its listeners were done.
"""

from django.core.management.base import BaseCommand

from examples.wagtail_site.django_chat.host import chat
from examples.wagtail_site.website.labels import catch_up


class Command(BaseCommand):
    """
    ``mark_pages``: run it every minute, beside ``chat_upkeep``.
    """

    help = "Marks the pages of the feed of AI writes."

    def handle(self, *_: object, **__: object) -> None:
        """Read on from where the last reading ended."""
        self.stdout.write(f"{catch_up(chat().runtime)} writes read")
