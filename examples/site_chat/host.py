"""
The host: who its people are, and how one process of it puts a chat together.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from examples.site_chat.script import story_model
from examples.site_chat.site import Site
from examples.site_chat.tools import site_tools
from nr_agent_core import Chat, Configuration, Reader, RoleAccess
from nr_agent_core.adapters.sqlite import SqliteStore
from nr_agent_core.driver.tool_work import AroundTool
from nr_agent_core.ports.configuration_resolver import ConfigurationResolver
from nr_agent_core.ports.event_bus import EventBus
from nr_agent_core.ports.model_provider import ModelProvider

EDITOR = Reader("editor", language="de")
APPROVER = Reader("approver", language="de")
ADMINISTRATOR = Reader("administrator", language="de")

LINKS = {"providers": "https://site.example/admin/providers", "tasks": "https://site.example/admin/tasks"}
PROMPT = "You work for the editors of a small German website."
LEASE_MARGIN = 0.2
"""Seconds. The default of a minute is right for a real site and long for a story."""


def configured(model: ModelProvider) -> Configuration:
    """What is in force for everybody on this site, with *model*."""
    return Configuration(model=model, trust_zone="externalEu", prompt=PROMPT)


def site_of(folder: Path) -> Site:
    """The site in *folder*."""
    return Site(folder / "site.db")


@contextmanager
def chat_of(
    folder: Path,
    *,
    configuration: Configuration | ConfigurationResolver | None = None,
    bus: EventBus | None = None,
    around_tool: AroundTool | None = None,
) -> Iterator[Chat]:
    """The chat over the files in *folder*, as each process of the host opens its own."""
    chat = Chat(
        store=SqliteStore(folder / "chat.db"),
        configuration=configured(story_model()) if configuration is None else configuration,
        tools=site_tools(site_of(folder)),
        access=RoleAccess(administrators={ADMINISTRATOR.id}, deciders={APPROVER.id}),
        bus=bus,
        links=LINKS,
        lease_margin=LEASE_MARGIN,
        around_tool=around_tool,
    )
    try:
        yield chat
    finally:
        chat.close()
