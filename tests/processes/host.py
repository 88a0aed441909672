"""
A small host for tests with real processes: a tool that leaves one line per execution in a file,
and that can kill or stop its own process before or after that.
"""

import multiprocessing
import os
import signal
import sqlite3
import threading
import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import attrs
import psycopg

from nr_agent_core import Chat, Reader, RoleAccess, Tool, ToolContext, ToolEffect, ToolResult, WriteKind
from nr_agent_core.adapters.postgres import PostgresStore
from nr_agent_core.adapters.sqlite import SqliteStore
from nr_agent_core.domain.errors import AgentCoreError, DecisionRefusedError
from nr_agent_core.domain.run import Run, fold
from nr_agent_core.ports.unit_of_work import UnitOfWork
from nr_agent_core.testing.scripted_model import ScriptedModel, call

ANNA = Reader("anna")
SPAWN = multiprocessing.get_context("spawn")
STARTED: list[Any] = []
PATIENCE = float(os.environ.get("NR_PATIENCE", "60"))
COMMITTING = threading.Lock()
"""Held by whoever commits in a process that will be stopped: see :func:`never_stopped_in_commit`."""


class ShiftedClock:
    """
    The system's time, shifted by some seconds: a process that lives later.
    """

    def __init__(self, shift: float) -> None:
        self._shift = shift

    def now(self) -> float:
        """Seconds since 1970."""
        return time.time() + self._shift


@attrs.frozen(kw_only=True)
class Host:
    """
    How a process of this host is set up; it travels to other processes.

    ``before`` and ``after`` name a signal that the tool sends to its own process before or after
    its effect; ``fails`` makes it raise after the effect. With ``dsn`` the store is a PostgreSQL
    database, else a SQLite file.
    """

    folder: Path
    dsn: str | None = None
    schema: str = ""
    effect: ToolEffect = ToolEffect.NON_IDEMPOTENT_WRITE
    before: str | None = None
    after: str | None = None
    fails: bool = False
    outlasts: Path | None = None
    deadline: float = 120.0
    shift: float = 0.0

    @property
    def side(self) -> Path:
        """The file of side effects."""
        return self.folder / "side"

    def chat(self) -> Chat:
        """A chat over the host's one store."""
        return Chat(
            store=self.store(),
            model=ScriptedModel(otherwise=_model),
            tools=[self._tool()],
            access=RoleAccess(owner_decides=True, administrators={"boss"}),
        )

    def executions(self) -> list[str]:
        """The keys of all executions so far."""
        return self.side.read_text().split() if self.side.exists() else []

    def run(self, run_id: str) -> Run:
        """The run as it is stored now."""
        chat = self.chat()
        try:
            return fold(run_id, (stored.event for stored in chat.runtime.segments.store.events(run_id)))
        finally:
            chat.close()

    def tamper(self, old: str, new: str) -> int:
        """
        Change the model's calls behind the store's back; how many rows that concerned.

        The schema refuses it; whoever holds the database can take that guard away, the digest stays.
        """
        change = f"UPDATE event SET content = replace(content, '{old}', '{new}') WHERE kind = 'model'"
        if self.dsn is not None:
            with psycopg.connect(self.dsn) as db:
                db.execute(f"SET search_path = {self.schema}".encode())
                db.execute("SET session_replication_role = replica")
                return db.execute(change.encode()).rowcount
        with closing(sqlite3.connect(self.folder / "chat.db")) as file, file:
            for (trigger,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
                file.execute(f"DROP TRIGGER {trigger}")
            return file.execute(change).rowcount

    def store(self) -> UnitOfWork:
        """The host's one store, anew."""
        store = self._store()
        return never_stopped_in_commit(store) if "SIGSTOP" in (self.before, self.after) else store

    def _store(self) -> UnitOfWork:
        clock = ShiftedClock(self.shift)
        if self.dsn is not None:
            return PostgresStore(self.dsn, schema=self.schema, connections=4, clock=clock)
        return SqliteStore(self.folder / "chat.db", clock=clock)

    def _tool(self) -> Tool:
        return Tool(
            name="create_page",
            description="Create a page.",
            parameters={"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]},
            effect=self.effect,
            deadline=self.deadline,
            execute=self._execute,
        )

    def _execute(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        _signal_self(self.before)
        log(self.side, context.key)
        _signal_self(self.after)
        if self.outlasts is not None:
            wait_for(self.outlasts)
        if self.fails:
            raise RuntimeError("the connection is gone")
        result = ToolResult.text("Saved.")
        return result.with_write_target(("pages", 42), WriteKind.CREATED) if self.effect.writes else result


def _model(request: Any) -> Any:
    last = request.messages[-1]
    return call("create_page", title="Team") if last.role == "user" else f"Finished: {last.text}"


def _signal_self(name: str | None) -> None:
    if name == "SIGSTOP":
        with COMMITTING:
            # To this thread: a signal to the process may be taken by another one while this one goes on.
            signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)
    elif name is not None:
        os.kill(os.getpid(), getattr(signal, name))


def never_stopped_in_commit(store: UnitOfWork) -> UnitOfWork:
    """
    *store*, of which no commit is at work when this process stops itself.

    A process that is stopped within a transaction keeps its locks for as long as it is stopped. That another
    thread of it commits at that moment is a matter of chance, and not what is told here.
    """
    commit = store.commit

    def alone(*given: Any, **named: Any) -> None:
        with COMMITTING:
            commit(*given, **named)

    setattr(store, "commit", alone)  # noqa: B010 - of this one object
    return store


def log(path: Path, line: str) -> None:
    """Append one line in one write, as far as the disk's cache."""
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(handle, f"{line}\n".encode())
    finally:
        os.close(handle)


def wait_for(path: Path) -> None:
    """Until *path* exists."""
    end = time.monotonic() + PATIENCE
    while not path.exists():
        assert time.monotonic() < end, f"{path} never came"
        time.sleep(0.005)


def wait_until_stopped(process: Any) -> None:
    """Until *process* is stopped by a signal."""
    end = time.monotonic() + PATIENCE
    while Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] != "T":
        assert time.monotonic() < end, "the process never stopped"
        time.sleep(0.005)


def suspended(host: Host) -> tuple[str, str, str]:
    """A conversation whose run waits: its id, the run's id, and the card's digest."""
    chat = host.chat()
    sent = chat.send("Create a page 'Team'.", ANNA)
    assert sent.conversation is not None
    assert sent.run_id is not None
    card = chat.view(sent.conversation, ANNA).card
    assert card is not None
    chat.close()
    return sent.conversation, sent.run_id, card.digest


def decide(host: Host, run_id: str, digest: str, by: str, barrier: Any, answers: Any) -> None:
    """In another process: approve, and tell what came of it."""
    chat = host.chat()
    chat.runtime.status(run_id, "boss")
    if barrier is not None:
        barrier.wait()
    answer = ("done", "")
    try:
        answer = ("done", chat.runtime.decide(run_id, "approve", digest=digest, by=by).status.value)
    except DecisionRefusedError as refused:
        answer = ("refused", refused.code.value)  # type: ignore[attr-defined]
    except AgentCoreError as error:
        answer = ("error", type(error).__name__)
    finally:
        chat.close(wait=PATIENCE)
        if answers is not None:
            answers.put(answer)


def recover(host: Host, run_id: str, barrier: Any, answers: Any) -> None:
    """In another process: take a run over."""
    chat = host.chat()
    if barrier is not None:
        barrier.wait()
    try:
        answers.put(("done", chat.runtime.recover(run_id).status.value))
    except AgentCoreError as error:
        answers.put(("error", type(error).__name__))
    finally:
        chat.close()


def start(target: Any, *arguments: Any) -> Any:
    """A new process that runs *target*."""
    process = SPAWN.Process(target=target, args=arguments, daemon=True)
    process.start()
    STARTED.append(process)
    return process


def end_all() -> None:
    """Kill what a failed test left behind: a stopped process hears nothing else."""
    while STARTED:
        process = STARTED.pop()
        process.kill()
        process.join(PATIENCE)
