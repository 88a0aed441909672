"""
The site as processes: a server under an event loop, one in threads beside a worker, over HTTP.
"""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import requests
from django.urls import reverse

from examples.wagtail_site.website.models import TextPage
from tests.postgres_server import Server
from tests.wagtail.conftest import ON_POSTGRES, PASSWORD
from tests.wagtail.site import PATIENCE, Site, page, shown, until

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[2]
MANAGE = ("-m", "examples.wagtail_site.manage")


@contextmanager
def started(
    site: Site, server: Server | None, *arguments: str, **environment: str
) -> Iterator["subprocess.Popen[str]"]:
    """A process of the site, over the files and the database of this test; ended in order."""
    from django.db import connections

    name = connections.settings["default"]["NAME"]
    words = {"WAGTAIL_SITE_FOLDER": str(site.folder), "WAGTAIL_SITE_POSTGRES": ""}
    if server is not None:
        words["WAGTAIL_SITE_POSTGRES"] = server.dsn(dbname=name)
    words = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", **words, **environment}
    log = (site.folder / f"log-{time.monotonic_ns()}").open("w+")
    process = subprocess.Popen(
        [sys.executable, *arguments], cwd=site.folder, env=words, stdout=log, stderr=log, text=True
    )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        log.seek(0)
        print(log.read())
        log.close()


class Browser(requests.Session):
    """
    A browser in which somebody logged in, as the server *at* sees it.
    """

    def __init__(self, at: str, name: str = "editor") -> None:
        super().__init__()
        self._at = at
        until(self._answers)
        body = {"csrfmiddlewaretoken": token(self.get("/admin/login/").text), "username": name, "password": PASSWORD}
        assert self.post("/admin/login/", data=body).status_code == 200

    def request(self, method: str, url: str, *arguments: object, **options: object) -> requests.Response:  # type: ignore[override]
        """The same, at this server."""
        return super().request(method, self._at + url, *arguments, timeout=PATIENCE, **options)

    def _answers(self) -> bool:
        try:
            return self.get("/admin/login/").status_code == 200
        except requests.ConnectionError:
            return False


def token(markup: str) -> str:
    """The token of the forms of a page."""
    return re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', markup)[1]


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def told(client: Browser, at: str, text: str, markup: str) -> list[tuple[str, dict[str, str]]]:
    """The events of a turn that is streamed."""
    body = {"csrfmiddlewaretoken": token(markup), "text": text}
    with client.post(at, data=body, stream=True) as response:
        assert response.status_code == 200
        assert response.headers["content-type"] == "text/event-stream"
        lines = response.content.decode()
    return [
        (re.search("event: (.*)", event)[1], json.loads(re.search("data: (.*)", event)[1]))
        for event in lines.split("\n\n")
        if event
    ]


def test_a_story_under_an_event_loop(site: Site, server: Server | None) -> None:
    """Asked by a stream, held while the card stands, approved by the form, seen with its link; one page."""
    port, news = free_port(), page("News").pk
    app = ("-m", "uvicorn", "--host", "127.0.0.1", "--port", str(port), "examples.wagtail_site.asgi:application")
    with started(site, server, *app, CHAT_QUEUED="0"), Browser(f"http://127.0.0.1:{port}") as client:
        first = client.get("/admin/assistant/").text
        assert 'data-stream="/admin/assistant/new/stream/"' in first
        events = told(client, "/admin/assistant/new/stream/", f"Lege unter pages:{news} eine Seite 'Team' an.", first)
        assert events[-1][0] == "end"
        at = events[-1][1]["url"]
        seen = client.get(at).text
        assert "Neuer Entwurf „Team“ unter „News“" in shown(seen)
        assert told(client, f"{at}stream/", "weiter", seen)[0] == (
            "held",
            {
                "text": "Es wird noch eine Entscheidung gebraucht. Bitte auf der Karte freigeben oder ablehnen; "
                "eine Nachricht entscheidet nicht."
            },
        )
        body = {"csrfmiddlewaretoken": token(seen), "decision": "approve"}
        body["card"] = re.search(r'name="card" value="([\w:]+)"', seen)[1]
        seen = client.post(f"{at}decide/", data=body).text
        assert ">Team</a>" in seen
        answer = told(client, f"{at}stream/", "Beschreibe bitte die Startseite.", seen)
        assert "".join(data["text"] for kind, data in answer if kind == "text").startswith("Done.")
        assert "In diesem Schritt wurde nichts gespeichert" in shown(client.get(at).text)
        assert client.post(f"/admin/assistant/{'0' * 32}/stream/", data={**body, "text": "x"}).status_code == 404
        assert client.get("/static/django_chat/chat.js").status_code == 200

        # Decided in the inbox: a message after that is stored with what became of it, and the page is looked at anew.
        asked = f"Lege unter pages:{news} eine Seite 'Presse' an."
        at = told(client, "/admin/assistant/new/stream/", asked, seen)[-1][1]["url"]
        waits = client.get("/admin/assistant/inbox/").text
        body["card"] = re.search(r'name="card" value="([\w:]+)"', waits)[1]
        client.post(re.search(r'action="([^"]*inbox/\w+/)"', waits)[1], data=body)
        assert told(client, f"{at}stream/", "weiter", seen) == [("end", {"url": at})]
        assert "außerhalb dieses Chats abgeschlossen" in shown(client.get(at).text)

    assert TextPage.objects.filter(title="Team").count() == 1
    assert page("Team").latest_revision.user.username == "editor"


def test_a_story_in_threads_with_a_worker(site: Site, server: Server | None) -> None:
    """The server only stores; a worker of its own does the work; the page asks again."""
    port, news = free_port(), page("News").pk
    serve = (*MANAGE, "runserver", "--noreload", f"127.0.0.1:{port}")
    work = (*MANAGE, "chat_worker", "--threads", "1", "--install")
    with (
        started(site, server, *serve, CHAT_QUEUED="1"),
        started(site, server, *work, CHAT_QUEUED="1") as worker,
        Browser(f"http://127.0.0.1:{port}") as client,
    ):
        first = client.get("/admin/assistant/").text
        assert 'data-stream=""' in first
        text = f"Lege unter pages:{news} eine Seite 'Team' an."
        body = {"csrfmiddlewaretoken": token(first), "text": text}
        until(lambda: worker.poll() is None and _installed(site, server))
        at = client.post("/admin/assistant/new/", data=body).url.removeprefix(f"http://127.0.0.1:{port}")
        until(lambda: 'name="card"' in client.get(f"{at}part/").text)
        seen = client.get(at).text
        body = {"csrfmiddlewaretoken": token(seen), "decision": "approve"}
        body["card"] = re.search(r'name="card" value="([\w:]+)"', seen)[1]
        client.post(f"{at}decide/", data=body)
        until(lambda: ">Team</a>" in client.get(f"{at}part/").text)
        news_list = client.get(reverse("wagtailadmin_explore", args=[news])).text
        assert "Vom Assistenten geschrieben" in news_list

    assert worker.returncode == 0
    assert TextPage.objects.filter(title="Team").count() == 1


def _installed(site: Site, server: Server | None) -> bool:
    """Whether the worker has made the tables of its queue; on SQLite there are none."""
    if not ON_POSTGRES:
        return True
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass('nr_agent_core.procrastinate_jobs') IS NOT NULL")
        return bool(cursor.fetchone()[0])
