"""
Somebody at the web chat, over HTTP: signs in, posts the forms that a page shows, reads what it says.
"""

import html
import json
import re
from collections.abc import Generator
from typing import Any

import httpx2

from tests.web_server import PATIENCE, Served


class Visitor:
    """
    A browser without a script at *address*, signed in as *person*; None: as nobody.
    """

    def __init__(self, address: str, person: str | None = None, *, language: str = "en") -> None:
        self.http = httpx2.Client(
            base_url=address,
            follow_redirects=True,
            timeout=PATIENCE,
            headers={"accept-language": language},
            trust_env=False,
            verify=False,
        )
        self.conversation = ""
        if person is not None:
            self.post("/sign-in", person=person)

    @property
    def token(self) -> str:
        """The token of this browser's forms, as its pages carry it."""
        return found(r'name="csrf" content="([^"]+)"', self.http.get("/sign-in").text)

    def get(self, path: str) -> httpx2.Response:
        """A page."""
        return self.http.get(path)

    def post(self, path: str, **fields: str) -> httpx2.Response:
        """A form."""
        return self.http.post(path, data={"csrf": self.token, **fields})

    def say(self, text: str) -> httpx2.Response:
        """A message in the conversation; the first one opens it."""
        path = f"/chat/{self.conversation}/send" if self.conversation else "/chat"
        response = self.post(path, text=text)
        opened = re.search(r"/chat/([0-9a-f]{8,})", str(response.url)) or re.search(
            r'data-conversation="([0-9a-f]{8,})"', response.text
        )
        if opened:
            self.conversation = opened[1]
        return response

    def look(self) -> str:
        """The conversation's page."""
        response = self.http.get(f"/chat/{self.conversation}")
        assert response.status_code == 200
        return response.text

    def decide(self, decision: str, page: str | None = None) -> httpx2.Response:
        """A decision on the card of *page*, by default the one that the conversation shows now."""
        shown = self.look() if page is None else page
        card = {"run": run_in(shown), "digest": digest_in(shown)}
        return self.post(f"/chat/{self.conversation}/decide", decision=decision, **card)

    def decide_in_inbox(self, decision: str) -> httpx2.Response:
        """A decision on the first card of the inbox."""
        page = self.get("/inbox").text
        path = found(r'action="(/inbox/[^"]+)"', page)
        return self.post(path, decision=decision, digest=digest_in(page))

    def turn(self, **request: Any) -> Generator[dict[str, Any], None, None]:
        """The AG-UI events of a turn, as the page's script asks for it."""
        body = {"threadId": self.conversation, "runId": "r", "messages": [], "tools": [], "context": [], "state": {}}
        headers = {"x-csrf-token": self.token, "x-requested-with": "fetch"}
        path = f"/chat/{self.conversation}/turn"
        with self.http.stream("POST", path, json={**body, **request}, headers=headers) as response:
            assert response.status_code == 200, response.read()
            for line in response.iter_lines():
                if line.startswith("data: "):
                    yield json.loads(line[6:])

    def turn_of(self, text: str) -> Generator[dict[str, Any], None, None]:
        """The events of a message."""
        return self.turn(messages=[{"id": "m", "role": "user", "content": text}])

    def set(self, **settings: str) -> None:
        """What administrators set."""
        assert self.post("/settings", **settings).status_code == 200

    def close(self) -> None:
        """No more."""
        self.http.close()


class People:
    """
    Everybody who came to the served chat; all are gone at the end.
    """

    def __init__(self, served: Served) -> None:
        self._served, self._here = served, list[Visitor]()

    def __call__(self, person: str | None = None, *, language: str = "en") -> Visitor:
        """One more visitor."""
        self._here.append(Visitor(self._served.address, person, language=language))
        return self._here[-1]

    def close(self) -> None:
        """All go."""
        for visitor in self._here:
            visitor.close()


def found(pattern: str, text: str) -> str:
    """What the group of *pattern* matches in *text*."""
    match = re.search(pattern, text)
    assert match is not None, f"{pattern} is not in {seen(text)}"
    return match[1]


def digest_in(page: str) -> str:
    """The digest of the first card on a page."""
    return found(r'name="digest" value="([0-9a-f]+)"', page)


def run_in(page: str) -> str:
    """The run of the first card on a page."""
    return found(r'name="run" value="([0-9a-f]+)"', page)


def codes(page: str) -> list[str]:
    """The codes of the notices on a page, in their order."""
    return re.findall(r'class="notice [a-z]+" data-code="(\w+)"', page)


def seen(page: str) -> str:
    """What a reader sees of a page, in one line."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())
