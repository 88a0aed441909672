"""
The example site for each test: a database of its own, made once and copied.

``WAGTAIL_TESTS_ON=postgres`` runs the same tests on a PostgreSQL server; Django decides on its database
when a process starts, so that is another run.
"""

import importlib.util
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.postgres_server import Server

if TYPE_CHECKING:
    from tests.wagtail.site import Person, Site

PASSWORD = "example"
ON_POSTGRES = os.environ.get("WAGTAIL_TESTS_ON") == "postgres"
INSTALLED = importlib.util.find_spec("wagtail") is not None


def _set_up() -> None:
    """Django has to know its settings before a test file is read; no file or database is touched yet."""
    for name in [name for name in os.environ if name.startswith(("CHAT_", "WAGTAIL_SITE_"))]:
        del os.environ[name]
    os.environ.update(
        DJANGO_SETTINGS_MODULE="examples.wagtail_site.settings",
        WAGTAIL_SITE_SECRET="of the tests",
        WAGTAIL_SITE_PASSWORD=PASSWORD,
        WAGTAIL_SITE_POSTGRES="host=/nowhere dbname=none" if ON_POSTGRES else "",
    )
    import django

    django.setup()


if INSTALLED:
    _set_up()


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Without Wagtail one file of these is read: it says that nothing is tested."""
    one = collection_path.is_dir() or collection_path.name == "test_installed.py"
    return None if INSTALLED or one else True


@pytest.fixture(scope="session")
def server(request: pytest.FixtureRequest) -> Server | None:
    """The server, where the tests run on one."""
    return request.getfixturevalue("postgres") if ON_POSTGRES else None


@pytest.fixture(scope="session")
def made(server: Server | None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site as its set-up leaves it: the file of its database; on a server its database is ``made``."""
    from django.core.management import call_command
    from django.db import connections

    file = tmp_path_factory.mktemp("made") / "site.db"
    database = connections.settings["default"]
    if server is None:
        database["NAME"] = str(file)
    else:
        _on(server, "CREATE DATABASE made")
        database.update(NAME="made", HOST=str(server.folder), USER="postgres")
    with Path(os.devnull).open("w") as nowhere:
        call_command("migrate", verbosity=0, stdout=nowhere)
        call_command("example_site", stdout=nowhere)
    connections.close_all()
    return file


@pytest.fixture
def site(made: Path, server: Server | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator["Site"]:
    """The site, as it was when it was made; requests drive their runs themselves."""
    from django.conf import settings
    from django.contrib.contenttypes.models import ContentType
    from django.core.cache import cache
    from django.db import connections

    from examples.wagtail_site.django_chat import host
    from examples.wagtail_site.website import assistant
    from tests.wagtail.site import Site

    name = str(tmp_path / "site.db")
    if server is None:
        shutil.copy(made, name)
    else:
        name = server.schema()
        _on(server, f"CREATE DATABASE {name} TEMPLATE made")
    monkeypatch.setitem(connections.settings["default"], "NAME", name)
    monkeypatch.setattr(settings, "CHAT_FILE", tmp_path / "chat.db")
    monkeypatch.setattr(settings, "CHAT_QUEUED", False)

    def forget() -> None:
        for cached in (host.chat, host.site, assistant._model_of):
            cached.cache_clear()
        ContentType.objects.clear_cache()
        cache.clear()

    forget()
    yield Site(tmp_path, monkeypatch, forget)
    if host.chat.cache_info().currsize:
        host.chat().close(wait=5)
    forget()
    connections.close_all()


def _on(server: Server, statement: str) -> None:
    import psycopg

    with psycopg.connect(server.dsn(), autocommit=True) as db:
        db.execute(statement.encode())


@pytest.fixture
def editor(site: "Site") -> "Person":
    """Edits the news; German."""
    return site.person("editor")


@pytest.fixture
def second(site: "Site") -> "Person":
    """Edits the services, and not the news; English."""
    return site.person("second-editor")


@pytest.fixture
def administrator(site: "Site") -> "Person":
    """May do everything; English."""
    return site.person("administrator")
