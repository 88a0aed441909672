"""
A small host: people, pages, tools over both, and as many processes as a test needs over one store.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import attrs

from nr_agent_core import (
    Chat,
    Reader,
    RecordReference,
    RoleAccess,
    Sent,
    Tool,
    ToolContext,
    ToolEffect,
    ToolResult,
    WriteKind,
)
from nr_agent_core.adapters.blinker_event_bus import BlinkerEventBus
from nr_agent_core.adapters.memory import MemoryStore
from nr_agent_core.adapters.postgres import PostgresStore
from nr_agent_core.adapters.sqlite import SqliteStore
from nr_agent_core.domain.conversation import Message
from nr_agent_core.domain.provenance import AiRecordWritten
from nr_agent_core.domain.run_events import RunEvent
from nr_agent_core.ports.configuration_resolver import Configuration
from nr_agent_core.ports.run_store import RunRow
from nr_agent_core.ports.unit_of_work import UnitOfWork
from nr_agent_core.testing.crashing import WorkerDied
from nr_agent_core.testing.manual_clock import ManualClock
from nr_agent_core.testing.scripted_model import Scripted, ScriptedModel, call
from nr_agent_core.testing.sequential_ids import SequentialIds
from tests.postgres_server import unguarded

ANNA = Reader("anna", language="de")
"""Owns the conversations; decides on her own runs unless a test says otherwise."""
DORA = Reader("dora")
"""Decides on everybody's runs and sees no conversation but her own."""
ROOT = Reader("root")
"""An administrator."""
EVE = Reader("eve")
"""Nobody."""

ACCESS = RoleAccess(administrators={"root"}, deciders={"dora"}, owner_decides=True)
ELSEWHERE = RoleAccess(administrators={"root"}, deciders={"dora"})
"""Owners may not decide."""

CREATE = call("create_page", title="Team")
LEASE = 1000.0
"""More than any lease lasts."""


def page_schema(*names: str) -> dict[str, Any]:
    """The parameters of a tool that takes texts of these *names*."""
    return {"type": "object", "properties": {name: {"type": "string"} for name in names}, "required": list(names)}


class Host:
    """
    The host's own records, and every execution of a tool.
    """

    def __init__(self) -> None:
        self.executed: list[tuple[str, str]] = []
        self.contexts: list[ToolContext] = []
        self.pages: list[str] = []

    def create(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """A new page; its number is returned and named."""
        self.ran("create_page", context)
        self.pages.append(arguments["title"])
        number = 41 + len(self.pages)
        return ToolResult.text(f"Created pages:{number}.").with_write_target(
            RecordReference("pages", number), WriteKind.CREATED
        )

    def rename(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Page 7 gets another title; a repeat does no harm."""
        self.ran("rename_page", context)
        return ToolResult.text("Renamed pages:7.").with_write_target(("pages", 7), WriteKind.UPDATED)

    def search(self, arguments: Mapping[str, Any], context: ToolContext) -> str:
        """The titles of all pages."""
        self.ran("search_pages", context)
        return ", ".join(self.pages) or "no pages"

    def ran(self, tool: str, context: ToolContext) -> None:
        """Note an execution."""
        self.executed.append((tool, context.owner))
        self.contexts.append(context)

    def tools(self, **changes: Any) -> list[Tool]:
        """
        The tools of this host; *changes* go to ``create_page``.
        """
        create = {"preview": lambda arguments, _: f"New page: {arguments['title']}", **changes}
        write, repeatable, read = ToolEffect.NON_IDEMPOTENT_WRITE, ToolEffect.IDEMPOTENT_WRITE, ToolEffect.READ_ONLY
        return [
            Tool("create_page", "Create a page.", page_schema("title"), create.pop("effect", write),
                 create.pop("execute", self.create), **create),
            Tool("rename_page", "Rename a page.", page_schema("title"), repeatable, self.rename),
            Tool("search_pages", "Find pages.", page_schema(), read, self.search),
        ]  # fmt: skip


class World:
    """
    One store, one clock and one host; every :meth:`chat` is another process on them.
    """

    def __init__(self, store: UnitOfWork, clock: ManualClock) -> None:
        self.store, self.clock, self.host = store, clock, Host()
        self.ids, self.bus = SequentialIds(), BlinkerEventBus()
        self.heard: list[AiRecordWritten] = []
        self.bus.subscribe(self.heard.append)
        self.model = ScriptedModel()
        self.facade: Any = Chat

    def chat(self, *answers: Scripted, **parts: Any) -> Chat:
        """
        A process whose model says *answers*; :attr:`model` is that model.

        *parts* are those of a chat; ``rules`` is a configuration's, without its model.
        """
        rules = parts.pop("rules", {})
        self.model = ScriptedModel(*answers, **parts.pop("model_options", {}))
        defaults: dict[str, Any] = {
            "store": self.store,
            "tools": self.host.tools(),
            "access": ACCESS,
            "bus": self.bus,
            "ids": self.ids,
        }
        if "configuration" not in parts:
            defaults["configuration"] = Configuration(model=self.model, **rules)
        made: Chat = self.facade(**(defaults | parts))
        return made

    # -- what is stored -----------------------------------------------------------------------

    def messages(self, conversation: str) -> tuple[Message, ...]:
        """All messages of a conversation."""
        return self.store.messages(conversation, limit=1000)

    def runs(self) -> list[str]:
        """The ids of all runs, in the order of their making."""
        numbers = (f"run-{number:04d}" for number in range(1, 100))
        return [run_id for run_id in numbers if self.exists(run_id)]

    def exists(self, run_id: str) -> bool:
        """Whether there is a run with this id, readable or not."""
        try:
            return self.store.run_row(run_id) is not None
        except Exception:  # noqa: BLE001 - a damaged row is a row
            return True

    def row(self, run_id: str | None) -> RunRow:
        """The row of a run that exists."""
        assert run_id is not None
        row = self.store.run_row(run_id)
        assert row is not None
        return row

    def events(self, run_id: str | None) -> list[RunEvent]:
        """A run's events."""
        assert run_id is not None
        return [stored.event for stored in self.store.events(run_id)]

    def snapshot(self, conversation: str) -> list[object]:
        """All that may not change while a message is held or busy."""
        runs = self.runs()
        return [self.messages(conversation), runs, [self.row(run_id) for run_id in runs]]

    # -- damage -------------------------------------------------------------------------------

    def damage(self, run_id: str) -> None:
        """Make the stream of a run unreadable behind the store's back."""
        if isinstance(self.store, MemoryStore):
            stored = self.store._state.runs[run_id]
            stored.events = stored.events[1:]
            return
        self._behind_its_back("DELETE FROM event WHERE run = ? AND seq = 0", run_id)

    def forge(self, run_id: str, text: str, other: str) -> None:
        """Replace a text in what is kept of a run's answers behind the store's back."""
        if isinstance(self.store, MemoryStore):
            stored = self.store._state.runs[run_id]
            stored.events = tuple(
                attrs.evolve(event, content=event.content and event.content.replace(text, other))
                for event in stored.events
            )
            return
        self._behind_its_back("UPDATE event SET content = replace(content, ?, ?) WHERE run = ?", text, other, run_id)

    def _behind_its_back(self, statement: str, *values: str) -> None:
        if isinstance(self.store, PostgresStore):
            unguarded(self.store, statement.replace("?", "%s"), *values)
            return
        with self.raw() as db:
            db.execute(statement, values)

    @contextmanager
    def raw(self) -> Iterator[Any]:
        """The connection of an SQLite store, without the triggers that guard what is stored."""
        assert isinstance(self.store, SqliteStore)
        with self.store._connections.of_this_thread() as db:
            for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
                db.execute(f"DROP TRIGGER {name}")
            yield db

    # -- how a conversation came to stand as it does ------------------------------------------

    def waiting(self, *answers: Scripted, **parts: Any) -> tuple[Chat, Sent]:
        """A conversation of Anna's whose run waits for an approval; *answers* follow the call."""
        chat = self.chat(CREATE, *answers, **parts)
        return chat, chat.send("Lege eine Seite 'Team' an.", ANNA)

    def dies(self, send: Any) -> None:
        """Whatever *send* does ends with the death of its process."""
        try:
            send()
        except WorkerDied:
            return
        raise AssertionError("the process was to die here")


def digest_of(world: World, run_id: str | None) -> str:
    """The digest of the round that waits in a run."""
    digests = [getattr(event, "digest", "") for event in world.events(run_id)]
    return next(digest for digest in reversed(digests) if digest)


def codes(message: Message) -> list[str]:
    """The codes of a message's notices."""
    return [notice.code.value for notice in message.notices]


def told(world: World, request: int = -1) -> Sequence[tuple[str, str]]:
    """Role and text of each message that the model was told in a request."""
    return [(message.role, message.text) for message in world.model.requests[request].messages]


class Between:
    """
    A store in whose gaps something else happens: once before the next commit, or after a read of a row.
    """

    def __init__(self, store: UnitOfWork) -> None:
        self._store = store
        self.before_commit: list[Any] = []
        self.after_row: list[Any] = []
        self.commits: list[Sequence[Any]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def commit(self, changes: Sequence[Any]) -> None:
        """Commit, after whatever was to happen before it."""
        if self.before_commit:
            self.before_commit.pop(0)()
        self._store.commit(changes)
        self.commits.append(tuple(changes))

    def conversation_row(self, conversation: str) -> Any:
        """The row as it was before whatever was to happen behind the reader's back."""
        row = self._store.conversation_row(conversation)
        if self.after_row:
            self.after_row.pop(0)()
        return row
