"""
The application: its paths, and what runs beside its requests.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.sessions import SessionMiddleware
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from examples.web_chat import chat_pages, other_pages, pages
from examples.web_chat.guards import RefusedError, SafeHeaders
from examples.web_chat.turns import turn
from examples.web_chat.wiring import Host
from nr_agent_core import AccessDeniedError, NotFoundError

_log = logging.getLogger("examples.web_chat")

UPKEEP_SECONDS = 2.0
CLOSE_SECONDS = 5.0


def app_of(host: Host, *, upkeep_every: float | None = UPKEEP_SECONDS) -> Starlette:
    """
    The application over *host*; upkeep runs at its start, and then every so many seconds.
    """

    @asynccontextmanager
    async def life(_: Starlette) -> AsyncIterator[None]:
        task = None if upkeep_every is None else asyncio.create_task(_keep_up(host, upkeep_every))
        try:
            yield
        finally:
            if task is not None:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
            await host.chat.close(wait=CLOSE_SECONDS)

    app = Starlette(
        routes=_routes(),
        lifespan=life,
        middleware=[
            Middleware(SafeHeaders),
            Middleware(SessionMiddleware, secret_key=host.secret, same_site="lax", max_age=None),
        ],
        exception_handlers={
            RefusedError: pages.refused,
            NotFoundError: pages.not_found,
            AccessDeniedError: pages.not_allowed,
            HTTPException: pages.http_problem,
            Exception: pages.broken,
        },
    )
    app.state.host = host
    return app


def _routes() -> list[Route | Mount]:
    chat, other = chat_pages, other_pages
    return [
        Route("/", other.start),
        Route("/sign-in", other.sign_in),
        Route("/sign-in", other.signed, methods=["POST"]),
        Route("/sign-out", other.sign_out, methods=["POST"]),
        Route("/language", other.language, methods=["POST"]),
        Route("/chat", chat.home),
        Route("/chat", chat.opened, methods=["POST"]),
        Route("/chat/{conversation}", chat.conversation),
        Route("/chat/{conversation}/thread", chat.thread),
        Route("/chat/{conversation}/turn", turn, methods=["POST"]),
        Route("/chat/{conversation}/send", chat.send, methods=["POST"]),
        Route("/chat/{conversation}/decide", chat.decide, methods=["POST"]),
        Route("/chat/{conversation}/retry", chat.retry, methods=["POST"]),
        Route("/chat/{conversation}/cancel", chat.cancel, methods=["POST"]),
        Route("/inbox", other.inbox),
        Route("/inbox/{run}/decide", other.decide_outside, methods=["POST"]),
        Route("/runs/{run}", other.timeline),
        Route("/runs/{run}/cancel", other.cancel_outside, methods=["POST"]),
        Route("/records", other.records),
        Route("/site", other.site),
        Route("/site/{table}/{uid}", other.site_record),
        Route("/settings", other.settings),
        Route("/settings", other.set_, methods=["POST"]),
        Mount("/static", StaticFiles(directory=Path(__file__).parent / "static")),
    ]


async def _keep_up(host: Host, every: float) -> None:
    """What cron does elsewhere: recover, expire and fail what is due."""
    while True:
        try:
            await host.chat.upkeep()
        except Exception:  # noqa: BLE001 - whatever it is, the next upkeep comes
            _log.exception("the upkeep failed; it is tried again")
        await asyncio.sleep(every)
