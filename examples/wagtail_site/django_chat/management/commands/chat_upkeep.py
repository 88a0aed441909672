"""
What cron does every minute.
"""

import datetime as dt
from argparse import ArgumentParser

from django.core.management.base import BaseCommand
from django.utils import timezone

from examples.wagtail_site.django_chat.host import chat
from examples.wagtail_site.django_chat.models import CarriedOut, Conversation
from nr_agent_core import Retention

KEYS_KEPT = dt.timedelta(days=120)
"""Longer than a run may wait and be recovered: afterwards nobody asks for a key again."""


class Command(BaseCommand):
    """
    ``chat_upkeep``: goes on with what a process left, ends what nobody decides, deletes what is past its window.
    """

    help = "Recovers, expires and deletes what is due."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """How long conversations are kept."""
        parser.add_argument("--conversation-days", type=float, default=90.0)

    def handle(self, *_: object, **options: object) -> None:
        """Do it, and tell what was done."""
        days = options["conversation_days"]
        self.stdout.write(str(chat().upkeep(retention=Retention(conversation_days=days))))
        CarriedOut.objects.filter(at__lt=timezone.now() - KEYS_KEPT).delete()
        store = chat().runtime.wiring.store
        for listed in Conversation.objects.filter(begun_at__lt=timezone.now() - dt.timedelta(days=days)):
            if store.conversation_row(listed.id) is None:
                listed.delete()
        chat().close(wait=5.0)
