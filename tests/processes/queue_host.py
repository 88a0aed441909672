"""
The small host of these tests with a queue, and its workers in processes of their own.
"""

import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import attrs

from nr_agent_core import Chat, RoleAccess
from nr_agent_core.adapters.postgres import PostgresStore
from nr_agent_core.adapters.procrastinate import ProcrastinateRunQueue
from nr_agent_core.adapters.thread_run_queue import ThreadRunQueue
from nr_agent_core.domain.run import Run
from nr_agent_core.ports.run_queue import RunQueue
from nr_agent_core.ports.unit_of_work import UnitOfWork
from nr_agent_core.testing.contracts.queue_site import wait_until
from nr_agent_core.testing.scripted_model import ScriptedModel
from tests.processes.host import ANNA, Host, _model, log, start


@attrs.frozen(kw_only=True)
class QueueHost(Host):
    """
    A host whose runs are driven by workers: by the engine on PostgreSQL, by threads on SQLite.

    ``dies_asking`` makes a process kill itself when the model is asked after a call. ``busy_file`` is
    made by the tool when it is about to wait for ``outlasts``.
    """

    dies_asking: bool = False

    def chat(self) -> Chat:
        """A chat over the host's one store and queue."""
        store = self.store()
        return Chat(
            store=store,
            queue=self.queue(store),
            model=ScriptedModel(otherwise=self._answer),
            tools=[self._tool()],
            access=RoleAccess(owner_decides=True, administrators={"boss"}),
        )

    def queue(self, store: UnitOfWork) -> RunQueue:
        """The queue over *store*."""
        if isinstance(store, PostgresStore):
            return ProcrastinateRunQueue(store, stalled_after=2.0)
        return ThreadRunQueue(store, look_every=0.1)

    def install(self) -> None:
        """Make the engine's tables, where there is an engine."""
        chat = self.chat()
        queue = chat.runtime.wiring.queue
        if isinstance(queue, ProcrastinateRunQueue):
            queue.install()
        chat.close()

    def _answer(self, request: Any) -> Any:
        if self.dies_asking and request.messages[-1].role != "user":
            os.kill(os.getpid(), signal.SIGKILL)
        return _model(request)


def work(host: QueueHost, name: str) -> None:
    """In another process: drive runs until a file of that name is there, and note the end in another one."""
    chat, stop = host.chat(), threading.Event()

    def watch() -> None:
        wait_until((host.folder / f"stop-{name}").exists)
        stop.set()

    threading.Thread(target=watch, daemon=True).start()
    chat.work(threads=2, name=name, stop=stop, look_every=0.1)
    chat.close(wait=10)
    log(host.folder / f"ended-{name}", "done")


class Worker:
    """
    A worker's process, told to stop at the end of a ``with`` block.
    """

    def __init__(self, host: QueueHost, name: str = "one") -> None:
        self._host, self._name = host, name
        self.process = start(work, host, name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Tell it to stop, and wait for its end."""
        (self._host.folder / f"stop-{self._name}").touch()
        self.process.join(60)
        assert self.process.exitcode == 0


def sent(host: QueueHost, text: str = "Create a page 'Team'.") -> tuple[str, str]:
    """A queued message: its conversation and its run."""
    chat = host.chat()
    answer = chat.send(text, ANNA, queued=True)
    chat.close()
    assert answer.conversation is not None
    assert answer.run_id is not None
    return answer.conversation, answer.run_id


def approved(host: QueueHost, conversation: str) -> None:
    """Anna approves in the chat what waits."""
    chat = host.chat()
    chat.decide(conversation, "approve", card=chat.view(conversation, ANNA).card, by=ANNA)
    chat.close()


def paused(host: QueueHost) -> tuple[str, str]:
    """
    A conversation whose queued run was driven to its pause: its id, and the run's. Its message to a worker is
    still there, and does nothing.
    """
    conversation, run_id = sent(host)
    chat = host.chat()
    chat.runtime.recover(run_id)
    chat.close()
    return conversation, run_id


def until(host: QueueHost, holds: Callable[[Run], bool], *run_ids: str) -> None:
    """Wait until something holds of all these runs."""
    chat = host.chat()
    load = chat.runtime.segments.load
    wait_until(lambda: all(holds(load(run_id)) for run_id in run_ids))
    chat.close()


def settled(host: QueueHost, *run_ids: str) -> None:
    """Wait until all these runs are over."""
    until(host, lambda run: run.settled, *run_ids)


WIRING = """
import pathlib
import signal
from tests.processes.queue_host import QueueHost
from nr_agent_core import ToolEffect

host = QueueHost(folder=pathlib.Path({folder!r}), dsn={dsn!r}, schema={schema!r}, outlasts={outlasts})
chat = host.chat()
make = host.chat
number = 1
"""


def wiring_module(host: QueueHost) -> Path:
    """A module of the host's, as the command line finds one: in the folder it is started in."""
    gate = None if host.outlasts is None else f"pathlib.Path({str(host.outlasts)!r})"
    text = WIRING.format(folder=str(host.folder), dsn=host.dsn, schema=host.schema, outlasts=gate)
    path = host.folder / "site_wiring.py"
    path.write_text(text)
    return path


def command(*arguments: str) -> list[str]:
    """The words of a worker's command line."""
    return [sys.executable, "-m", "nr_agent_core.cli", "worker", *arguments]
