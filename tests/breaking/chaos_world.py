"""
The world of the chaos: a clock that may run ahead, a log of real effects, and tools that are slow, fail or outlast
their deadline by chance.
"""

# ruff: noqa: S311 - dice, no secrets

import json
import os
import random
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nr_agent_core import (
    Chat,
    Configuration,
    NothingWrittenError,
    Reader,
    Reconciliation,
    RoleAccess,
    Tool,
    ToolContext,
    ToolEffect,
    ToolResult,
    WriteKind,
)
from nr_agent_core.adapters.postgres import PostgresStore
from nr_agent_core.adapters.sqlite import SqliteStore
from nr_agent_core.ports.unit_of_work import UnitOfWork
from nr_agent_core.testing.scripted_model import ScriptedModel, call, round_of
from tests.processes.host import log

ANNA = Reader("anna")
DEADLINE = 0.25
PLACE = "place.json"
"""The file that names connection string and schema."""
_TITLE = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}
_PER_SECOND = 10_000.0


class DriftingClock:
    """
    The system's time; for a thread that lives later, beyond every lease that was ever given.
    """

    def __init__(self, began: float) -> None:
        self._began, self._local = began, threading.local()

    def now(self) -> float:
        """Seconds since 1970."""
        now = time.time()
        return now + (now - self._began) * _PER_SECOND if getattr(self._local, "later", False) else now

    def later(self, act: Callable[[], object]) -> None:
        """Do *act* much later."""
        self._local.later = True
        try:
            act()
        finally:
            self._local.later = False


class World:
    """
    The outside of the chat in one folder: what tools really did, and what listeners heard.

    An effect and the refusal of its key exclude each other: whichever links its file first counts.
    The store is a SQLite file in the folder, or the PostgreSQL schema that a file named there says.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.log = folder, folder / "log"
        (folder / "keys").mkdir(exist_ok=True)

    def store(self, clock: DriftingClock) -> UnitOfWork:
        """The store of one process."""
        place = self.folder / PLACE
        if place.exists():
            dsn, schema = json.loads(place.read_text())
            return PostgresStore(dsn, schema=schema, patience=3.0, connections=4, clock=clock)
        return SqliteStore(self.folder / "chat.db", synchronous="NORMAL", busy_timeout=3.0, clock=clock)

    def note(self, what: str, **facts: object) -> None:
        """One line in the log, written at once."""
        log(self.log, json.dumps({"what": what, "pid": os.getpid(), **facts}))

    def lines(self, what: str) -> list[dict[str, Any]]:
        """All lines of one kind."""
        if not self.log.exists():
            return []
        return [line for line in map(json.loads, self.log.read_text().splitlines()) if line["what"] == what]

    def claim(self, key: str, word: str) -> str:
        """What counts for *key*: *word*, if nobody was first."""
        mine = self.folder / "keys" / f".{os.getpid()}.{threading.get_ident()}.{random.random()}"
        mine.write_text(word)
        place = self.folder / "keys" / key
        try:
            os.link(mine, place)
        except FileExistsError:
            return place.read_text()
        return word

    def announce(self, event: Any) -> None:
        """A listener of every process."""
        self.note("announced", run=event.correlation_id, record=str(event.reference), kind=event.kind.value)


def record_of(key: str) -> tuple[str, int]:
    """The record that the call with this key writes."""
    return "pages", int(key[:12], 16) + 1


def tool(world: World, name: str, effect: ToolEffect, **options: Any) -> Tool:
    """
    A tool that is slow, fails or outlasts its deadline by chance; each effect is one line of the log.

    One that is declared as reading writes now and then all the same (T7).
    """

    def execute(_: Any, context: ToolContext) -> ToolResult:
        chance = random.random()
        time.sleep(random.choice((0.0, 0.005, 0.02, 0.1, DEADLINE, 2 * DEADLINE)))
        if chance < 0.1:
            raise NothingWrittenError("nothing happened")
        if not effect.writes and chance < 0.7:
            return ToolResult.text("Read.")
        if "reconcile" in options and world.claim(context.key, "done") == "refused":
            raise NothingWrittenError("this key is refused")
        again = effect is ToolEffect.IDEMPOTENT_WRITE and world.claim(context.key, str(chance)) != str(chance)
        world.note("effect", tool=name, effect=effect.value, key=context.key, run=context.run_id, call=context.call_id)
        time.sleep(random.choice((0.0, 0.0, 0.02, 2 * DEADLINE)))
        if chance < 0.2 and effect.writes:
            raise RuntimeError("the connection is gone")
        if again and chance > 0.4:
            return random.choice((ToolResult.unchanged("As it was."), ToolResult.error("It exists already.")))
        return ToolResult.text("Saved.").with_write_target(record_of(context.key), WriteKind.CREATED)

    return Tool(
        name=name, description=name, parameters=_TITLE, effect=effect, execute=execute, deadline=DEADLINE, **options
    )


def reconciling(world: World) -> Callable[[str, ToolContext], object]:
    """Answers finally: it happened, or it never will; now and then it cannot tell."""

    def reconcile(key: str, _: ToolContext) -> object:
        if random.random() < 0.2:
            return Reconciliation.CANNOT_TELL
        if world.claim(key, "refused") == "refused":
            return Reconciliation.NEVER_HAPPENED
        if not any(line["key"] == key for line in world.lines("effect")):
            return Reconciliation.CANNOT_TELL
        return ToolResult.text("It was saved.").with_write_target(record_of(key), WriteKind.CREATED)

    return reconcile


def answer(request: Any) -> Any:
    """Some calls, or the claim that all is done."""
    asked = request.messages[-1].role == "user"
    if request.tools and (asked or random.random() < 0.4):
        names = random.choices(("pay", "post", "put", "put", "push", "look"), k=random.choice((1, 1, 2, 3)))
        return round_of(*(call(name, title=f"{random.random()}") for name in names))
    return "All done: I created and saved the page."


class Configurations:
    """
    Half of the conversations let their cards expire.
    """

    def resolve(self, conversation: str | None, owner: str) -> Configuration:
        """What is in force."""
        expiry = 60.0 if conversation is not None and int(conversation[-1], 16) % 2 else None
        model = ScriptedModel(otherwise=answer)
        return Configuration(model=model, unattended=["post"], approval_expiry=expiry)


def chat_of(world: World, clock: DriftingClock) -> Chat:
    """The chat of one process."""
    write, repeat = ToolEffect.NON_IDEMPOTENT_WRITE, ToolEffect.IDEMPOTENT_WRITE
    return Chat(
        store=world.store(clock),
        configuration=Configurations(),
        tools=[
            tool(world, "pay", write),
            tool(world, "post", write),
            tool(world, "put", repeat),
            tool(world, "push", write, reconcile=reconciling(world)),
            tool(world, "look", ToolEffect.READ_ONLY),
        ],
        access=RoleAccess(owner_decides=True, administrators={"boss"}),
        bus=world,
        lease_margin=0.2,
    )
