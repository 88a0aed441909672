"""
How one process of this host puts its chat together, over the files of one folder.
"""

import os
import secrets
import tempfile
from asyncio import to_thread
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

import attrs

from examples.site_chat.host import APPROVER, LEASE_MARGIN, site_of
from examples.site_chat.site import Site
from examples.site_chat.tool_texts import LANGUAGE
from examples.site_chat.tools import site_tools
from examples.web_chat.house import PEOPLE, HouseAccess, HouseConfiguration, Person, SettingsFile
from examples.web_chat.mishaps import with_mishaps
from examples.web_chat.own_tables import ChatList, RecordList
from examples.web_chat.script import PacedModel, Pause, paced
from nr_agent_core import AsyncChat, ToolContext
from nr_agent_core.adapters.blinker_event_bus import BlinkerEventBus
from nr_agent_core.adapters.sqlite import SqliteStore
from nr_agent_core.defaults.clock import SystemClock
from nr_agent_core.ports.clock import Clock
from nr_agent_core.ports.model_provider import AnyModel

LINKS = {"providers": "/settings#providers", "tasks": "/settings#tasks"}
SIGN_IN_SECONDS = 8 * 3600.0
TOOL_DEADLINE = 5.0
SECRET_BYTES = 32


@attrs.frozen
class Host:
    """
    What the pages work with.
    """

    chat: AsyncChat
    access: HouseAccess
    site: Site
    list: ChatList
    records: RecordList
    settings: SettingsFile
    people: Sequence[Person]
    secret: str
    clock: Clock
    sign_in_seconds: float
    languages: dict[str, str]
    deciders: frozenset[str] = frozenset({APPROVER.id})

    def person(self, id_: object) -> Person | None:
        """The person with this id."""
        return next((person for person in self.people if person.id == id_), None)

    def name_of(self, id_: str, language: str) -> str:
        """How *language* calls somebody; the id of somebody unknown."""
        person = self.person(id_)
        return id_ if person is None else person.name(language)

    async def known_writes(self) -> None:
        """Read what the bus did not bring: writes of other processes, and of before a crash."""
        while page := await self.chat.runtime.writes(after=await to_thread(self.records.position)):
            await to_thread(self.records.take, page)


def host_over(
    folder: Path,
    *,
    pause: Pause | None = None,
    model: Callable[[str], AnyModel] | None = None,
    people: Sequence[Person] = PEOPLE,
    clock: Clock | None = None,
    sign_in_seconds: float = SIGN_IN_SECONDS,
    lease_margin: float = LEASE_MARGIN,
    tool_deadline: float = TOOL_DEADLINE,
) -> Host:
    """
    The host over *folder*, which may hold the files of an earlier process.

    Args:
        folder: where everything is kept.
        pause: awaited before each piece of an answer.
        model: makes the model from what is set about its service; by default the scripted one.
        people: who can sign in.
        clock: the time of sign-ins and of everything stored.
        sign_in_seconds: how long one lasts.
        lease_margin: see :class:`~nr_agent_core.runtime.wiring.Wiring`.
        tool_deadline: seconds a call may take; a killed server's run is recovered once they are over.
    """
    settings, site = SettingsFile(folder / "settings.json"), site_of(folder)
    access, records, bus = HouseAccess(settings), RecordList(site), BlinkerEventBus()
    bus.subscribe(records.heard)
    awaited, time, languages = pause or paced(0.03), clock or SystemClock(), dict[str, str]()
    chat = AsyncChat(
        store=SqliteStore(folder / "chat.db", clock=time),
        configuration=HouseConfiguration(settings, model or (lambda service: PacedModel(service, awaited))),
        tools=[with_mishaps(tool, settings, deadline=tool_deadline) for tool in site_tools(site)],
        access=access,
        bus=bus,
        links=LINKS,
        lease_margin=lease_margin,
        around_tool=speaking(languages),
    )
    secret = _secret(folder / "secret")
    return Host(chat, access, site, ChatList(site), records, settings, people, secret, time, sign_in_seconds, languages)


def speaking(languages: Mapping[str, str]) -> Callable[[ToolContext], AbstractContextManager[None]]:
    """Around each tool: it speaks the last language of the run's owner, in *languages*, whoever decided on the call."""

    @contextmanager
    def around(context: ToolContext) -> Iterator[None]:
        before = LANGUAGE.set(languages.get(context.owner, "de"))
        try:
            yield
        finally:
            LANGUAGE.reset(before)

    return around


def _secret(path: Path) -> str:
    """
    What signs the cookies: made once, so that a new process knows the sign-ins of the last one.

    The file is there as a whole or not at all: with half a secret, or none, anybody could sign.
    """
    if not path.exists():
        descriptor, beside = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(secrets.token_hex(SECRET_BYTES))
        with suppress(FileExistsError):  # another process was first
            os.link(beside, path)
        Path(beside).unlink()
    secret = path.read_text(encoding="ascii")
    if len(secret) < 2 * SECRET_BYTES:
        raise ValueError(f"{path} holds no whole secret; delete it, and everybody signs in anew")
    return secret
