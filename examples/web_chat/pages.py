"""
How every page is made: templates that escape what they are given, and the frame around them.
"""

import functools
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from examples.web_chat.guards import SAFE_HEADERS, RefusedError, Visitor, csrf_of, visitor_of, wants_data, words_of
from examples.web_chat.rendering import linked, record_link, said
from examples.web_chat.words import LANGUAGES, Words
from nr_agent_core.domain.texts import render as text_of

_FLASHES = 5


@functools.cache
def _templates() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(said=said, record_link=record_link, clock=_clock, moment=_moment, kinds=_kinds)
    environment.globals.update(languages=LANGUAGES, linked=linked)
    return environment


def rendered(name: str, **values: Any) -> str:
    """The template *name* with *values*."""
    return _templates().get_template(name).render(**values)


def page(request: Request, name: str, *, status: int = 200, visitor: Visitor | None = None, **values: Any) -> Response:
    """
    A whole page for whoever asks, with what was to be told them on their next one.
    """
    words = words_of(request)
    frame: Mapping[str, Any] = {
        "w": words,
        "library": functools.partial(library_text, words.language),
        "visitor": visitor,
        "path": request.url.path,
        "csrf": csrf_of(request),
        "flashes": request.session.pop("flashes", []),
    }
    return HTMLResponse(rendered(name, **frame, **values), status)


def library_text(language: str, key: str, **arguments: object) -> str:
    """A text of the library's catalogues."""
    return text_of(key, arguments, language)


def tell_next(request: Request, text: str | None) -> None:
    """Tell *text* on the next page."""
    if text:
        request.session["flashes"] = [*request.session.get("flashes", []), text[:400]][-_FLASHES:]


def see_other(path: str) -> Response:
    """Post, redirect, get."""
    return RedirectResponse(path, 303)


# -- what went wrong ----------------------------------------------------------------------------


async def refused(request: Request, error: Exception) -> Response:
    """The page for a request that was not looked at."""
    assert isinstance(error, RefusedError)
    return _problem(request, error.status, "refused_title", error.word)


async def not_found(request: Request, _: Exception) -> Response:
    """What is not there and what is not theirs look alike."""
    return _problem(request, 404, "not_found_title", "not_found")


async def not_allowed(request: Request, _: Exception) -> Response:
    """They may see it, and not do this."""
    return _problem(request, 403, "refused_title", "refused_right")


async def http_problem(request: Request, error: Exception) -> Response:
    """An unknown path, or a method that a path does not know."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    return (
        await not_found(request, error) if status == 404 else _problem(request, status, "refused_title", "refused_form")
    )


async def broken(request: Request, _: Exception) -> Response:
    """A failure of our own: its text goes to the log, never to a reader."""
    response = _problem(request, 500, "broken_title", "broken")
    # It is made outside of all middleware.
    response.headers.update({**SAFE_HEADERS, "Cache-Control": "no-store"})
    return response


def _problem(request: Request, status: int, title: str, word: str) -> Response:
    words = words_of(request)
    if wants_data(request):
        return JSONResponse({"error": word, "text": words(word)}, status)
    return page(
        request, "problem.html", status=status, visitor=visitor_of(request), title=words(title), text=words(word)
    )


def _kinds(kinds: Iterable[str], words: Words) -> str:
    return ", ".join(words(f"kind_{kind}") for kind in dict.fromkeys(kinds))


def _clock(at: float) -> str:
    return datetime.fromtimestamp(at).astimezone().strftime("%H:%M")


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M:%S")
