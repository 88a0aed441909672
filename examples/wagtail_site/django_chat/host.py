"""
The chat of this process, put together from Django's settings and from what the site brings.
"""

import atexit
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser
from django.db import connection
from django.urls import reverse
from django.utils.module_loading import import_string

from examples.wagtail_site.django_chat.connections import own_connections
from examples.wagtail_site.django_chat.translator import DjangoTranslator
from nr_agent_core import Chat, RecordReference
from nr_agent_core.ports.run_queue import RunQueue
from nr_agent_core.ports.unit_of_work import UnitOfWork


@dataclass(frozen=True)
class SeenRecord:
    """
    A record as the site shows it to somebody: its name, and where it is, if they may go there.
    """

    title: str
    url: str | None = None


def unseen(record: RecordReference, _: AbstractBaseUser) -> SeenRecord:
    """A record of which a site knows no more than its reference."""
    return SeenRecord(str(record))


@dataclass(frozen=True)
class Site:
    """
    What the function named by ``CHAT_SITE`` returns.

    Attributes:
        parts: of the chat: model or configuration, tools, access, bus.
        seen: how somebody sees a record that the chat names.
        facts: what administrators are told about the set-up, in the language of the moment.
    """

    parts: Mapping[str, Any]
    seen: Callable[[RecordReference, AbstractBaseUser], SeenRecord] = unseen
    facts: Callable[[], Mapping[str, str]] = dict


@cache
def site() -> Site:
    """What the site brings."""
    brings: Callable[[], Site] = import_string(settings.CHAT_SITE)
    return brings()


@cache
def chat() -> Chat:
    """The chat, one per process, made when it is first used: after a server forked, and with all addresses known."""
    store, queue = store_and_queue()
    made = Chat(
        store=store,
        queue=queue,
        translator=DjangoTranslator(),
        around_tool=own_connections,
        links={"providers": reverse("chat:setup"), "tasks": reverse("chat:setup")},
        **site().parts,
    )
    atexit.register(made.close, wait=5.0)
    return made


def store_and_queue() -> tuple[UnitOfWork, RunQueue | None]:
    """Where runs are kept and what brings them to workers: in Django's PostgreSQL, or in a file of their own."""
    if connection.vendor == "postgresql":
        from nr_agent_core.adapters.postgres import PostgresStore
        from nr_agent_core.adapters.procrastinate import ProcrastinateRunQueue

        # The same database, connections of its own: no intent or outcome rides in a transaction of Django's.
        server = PostgresStore(dsn_of(connection.settings_dict))
        return server, ProcrastinateRunQueue(server) if settings.CHAT_QUEUED else None
    from nr_agent_core.adapters.sqlite import SqliteStore
    from nr_agent_core.adapters.thread_run_queue import ThreadRunQueue

    file = SqliteStore(settings.CHAT_FILE)
    return file, ThreadRunQueue(file) if settings.CHAT_QUEUED else None


def dsn_of(database: Mapping[str, Any]) -> str:
    """The connection string of libpq for an entry of ``DATABASES``."""
    from psycopg.conninfo import make_conninfo

    words = {"dbname": "NAME", "user": "USER", "password": "PASSWORD", "host": "HOST", "port": "PORT"}
    given = {word: str(database[name]) for word, name in words.items() if database.get(name)}
    ours = {"isolation_level", "pool", "server_side_binding", "assume_role"}  # Django's, not libpq's
    options = {name: value for name, value in database.get("OPTIONS", {}).items() if name not in ours}
    return make_conninfo(**options, **given)


def in_own_transaction() -> bool:
    """Whether a message can be stored in a transaction of Django's: a queue, and one database for both."""
    return settings.CHAT_QUEUED and connection.vendor == "postgresql"
