"""
What stands before every page: who asks, whether a form is theirs, how much they may send, what a page may load.
"""

import functools
import hmac
import secrets
from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import parse_qs, quote, urlsplit

import attrs
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from examples.web_chat.house import Person
from examples.web_chat.wiring import Host
from examples.web_chat.words import Words, preferred
from nr_agent_core import Reader

LARGEST_BODY = 1_000_000
"""Bytes. A message of 100,000 bytes may take three times as many in a form."""

SAFE_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class RefusedError(Exception):
    """
    A request that is not looked at any further; *word* says why. Nothing happened.
    """

    def __init__(self, status: int, word: str) -> None:
        super().__init__(word)
        self.status, self.word = status, word


@attrs.frozen
class Visitor:
    """
    Who asks: a person who has signed in, with a language.
    """

    person: Person
    words: Words
    csrf: str
    administrator: bool
    decides: bool

    @property
    def reader(self) -> Reader:
        """The same, for the library: the id from the session, never from the request."""
        return Reader(self.person.id, language=self.words.language)


Page = Callable[[Request, Visitor], Awaitable[Response]]


class SafeHeaders:
    """
    Puts the headers on every response; pages with what people said are never kept by a browser.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        kept = scope["type"] == "http" and scope["path"].startswith("/static/")

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(SAFE_HEADERS)
                headers["Cache-Control"] = "no-cache" if kept else "no-store"
            await send(message)

        await self._app(scope, receive, with_headers)


def host_of(request: Request) -> Host:
    """The host of this application."""
    host: Host = request.app.state.host
    return host


def words_of(request: Request) -> Words:
    """The words in the language that was chosen, else in one that the browser prefers."""
    chosen = request.session.get("language")
    return Words(chosen if isinstance(chosen, str) else preferred(request.headers.get("accept-language", "")))


def csrf_of(request: Request) -> str:
    """The token that forms of this browser carry."""
    token = request.session.get("csrf")
    if not isinstance(token, str):
        token = request.session["csrf"] = secrets.token_urlsafe(24)
    return token


def visitor_of(request: Request) -> Visitor | None:
    """Who has signed in, while that lasts."""
    host, session = host_of(request), request.session
    person, until = host.person(session.get("person")), session.get("until")
    if person is None or not isinstance(until, (int, float)) or until <= host.clock.now():
        return None
    administrator = host.access.is_administrator(person.id)
    decides = administrator or person.id in host.deciders
    return Visitor(person, words_of(request), csrf_of(request), administrator, decides)


def signed_in(page: Page) -> Callable[[Request], Awaitable[Response]]:
    """*page* for people who have signed in; everybody else is sent to do so."""

    @functools.wraps(page)
    async def guarded(request: Request) -> Response:
        visitor = visitor_of(request)
        if visitor is not None:
            host_of(request).languages[visitor.person.id] = visitor.words.language
            return await page(request, visitor)
        if wants_data(request):
            return JSONResponse({"error": "signedOut"}, 401)
        target = f"?next={quote(request.url.path)}" if request.method == "GET" else ""
        return RedirectResponse(f"/sign-in{target}", 303)

    return guarded


def wants_data(request: Request) -> bool:
    """Whether a script asks, which cannot be sent to another page."""
    return request.headers.get("x-requested-with") == "fetch"


def own_path(target: str | None) -> str:
    """*target* if it is a path of ours, else the first page: a sign-in sends nobody anywhere else."""
    if not target or not target.startswith("/") or target.startswith("//") or "\\" in target:
        return "/chat"
    parts = urlsplit(target)
    return "/chat" if parts.scheme or parts.netloc or not target.isprintable() else target


async def body_of(request: Request) -> bytes:
    """
    The body, if it is not too large and comes from a page of ours.

    Raises:
        RefusedError: it is, or does not.
    """
    if not request.headers.get("content-length", "0").isdecimal():
        raise RefusedError(400, "refused_form")
    size, parts = 0, []
    async for part in request.stream():
        size += len(part)
        if size > LARGEST_BODY:
            raise RefusedError(413, "refused_size")
        parts.append(part)
    origin = request.headers.get("origin")
    if origin is not None and _place_of(origin) != request.headers.get("host"):
        raise RefusedError(403, "refused_csrf")
    return b"".join(parts)


def _place_of(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc
    except ValueError:  # no address at all
        return None


def require_token(request: Request, given: str | None) -> None:
    """
    Raises:
        RefusedError: *given* is not the token of this browser's session.
    """
    token = request.session.get("csrf")
    if not isinstance(token, str) or not hmac.compare_digest(token.encode(), (given or "").encode("utf-8", "replace")):
        raise RefusedError(403, "refused_csrf")


async def form_of(request: Request) -> Mapping[str, str]:
    """
    The fields of a posted form, each once.

    Raises:
        RefusedError: too large, no form, or without the token of this sign-in.
    """
    body = await body_of(request)
    try:
        fields = parse_qs(body.decode("utf-8"), keep_blank_values=True, max_num_fields=50, errors="strict")
    except (UnicodeDecodeError, ValueError):
        raise RefusedError(400, "refused_form") from None
    form = {name: values[0] for name, values in fields.items()}
    require_token(request, request.headers.get("x-csrf-token") or form.get("csrf"))
    return form
