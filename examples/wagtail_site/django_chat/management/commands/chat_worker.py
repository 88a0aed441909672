"""
A worker: drives what requests queued, until it is told to stop.
"""

import signal
import threading
from argparse import ArgumentParser

from django.core.management.base import BaseCommand, CommandError

from examples.wagtail_site.django_chat.host import chat


class Command(BaseCommand):
    """
    ``chat_worker``: run as many as you need, on any machine that reaches the database.
    """

    help = "Drives queued runs of the chat."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Threads, and the tables of the queue."""
        parser.add_argument("--threads", type=int, default=4)
        parser.add_argument("--install", action="store_true", help="make the tables of the queue first, once")
        parser.add_argument("--install-only", action="store_true", help="make them and do nothing else")

    def handle(self, *_: object, **options: object) -> None:
        """Work in order until SIGTERM or SIGINT; what was begun is stored before it ends."""
        queue = chat().runtime.wiring.queue
        if queue is None:
            raise CommandError("CHAT_QUEUED is off: requests drive their runs themselves.")
        if (options["install"] or options["install_only"]) and hasattr(queue, "install"):
            queue.install()
        if options["install_only"]:
            return
        stop = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stop.set())
        chat().work(threads=options["threads"], stop=stop)
