"""
The conductor of a chaos: starts the processes, does to them and to the store what the plan says, and lets it end.
"""

import multiprocessing
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import attrs
import psycopg

from nr_agent_core import Chat
from nr_agent_core.adapters.procrastinate import ProcrastinateRunQueue
from nr_agent_core.domain.errors import StoreError
from nr_agent_core.ports.unit_of_work import OpenConversation
from tests.chaos.clock import LeapingClock
from tests.chaos.life import FULL, STOP, Life, store_of
from tests.chaos.plan import Fault, Plan
from tests.chaos.queueing import LOOK_EVERY, queue_of
from tests.chaos.store_rows import hasten, lose_jobs, undone
from tests.chaos.tickets import made
from tests.chaos.warm import nothing
from tests.chaos.workers import ANNA, chat_of, live
from tests.postgres.tables import cut
from tests.postgres_server import NoServerError, Server

_TICK = 0.01
_AT_ONCE = 50
_LARGEST = 1_000_000
"""Bytes beyond which a process may write no file for a while; what it heard stays far below."""
_FIGURES = {"kill": "kills", "stop": "stops", "jump": "clock jumps"}
_PATIENCE = 60.0
_HASTE = 0.25
"""Seconds after which jobs that wait for their time are due: half a minute of the store's clock."""
_EVERYBODY = "backend_type = 'client backend' AND application_name <> 'watch'"
_SPAWN = multiprocessing.get_context("forkserver")


class Conductor:
    """
    Plays one plan in a folder. Afterwards ``figures`` say what happened, and ``dead`` which lives ended by a kill.
    """

    def __init__(self, folder: Path, plan: Plan, server: Server | None = None) -> None:
        self._folder, self._server = folder, server
        self.plan = attrs.evolve(plan, began=time.time())
        self.figures, self.dead, self.troubles = Counter[str](), set[str](), list[str]()
        self.plan.write(folder)
        self._clock = LeapingClock.made(folder / "clock", self.plan.began)
        self._processes = list[Any]()
        self._lives = [0] * len(self.plan.kinds)
        self._ends: list[tuple[float, Callable[[], object]]] = []
        self._asleep = dict[Any, float]()
        self._over = threading.Event()
        self._returning: threading.Thread | None = None
        self._quietly = Life(folder, len(self._lives), 0, harried=False)

    def play(self) -> None:
        """All of it."""
        _SPAWN.set_forkserver_preload(["tests.chaos.warm"])
        first = _SPAWN.Process(target=nothing)
        first.start()
        self._open()
        first.join()
        self.plan = attrs.evolve(self.plan, began=time.time())
        self.plan.write(self._folder)
        try:
            self._processes = [self._born(place) for place in range(len(self.plan.kinds))]
            if self.plan.leaps and self._server is not None:
                threading.Thread(target=self._hasten, daemon=True).start()
            faults = self.plan.faults()
            while self._elapsed < self.plan.seconds:
                while faults and faults[0].at <= self._elapsed:
                    self._do(faults.pop(0))
                self._look_after()
                time.sleep(_TICK)
            self._end_of_faults()
            self._quiet()
        finally:
            self._bring_back()
            for process in self._processes:
                process.kill()

    @property
    def _elapsed(self) -> float:
        return time.time() - self.plan.began

    def _open(self) -> None:
        store = store_of(self._folder, self.plan, self._clock, patience=_PATIENCE)
        names = self.plan.conversations
        for first in range(0, len(names), _AT_ONCE):
            store.commit([OpenConversation(name, ANNA.id) for name in names[first : first + _AT_ONCE]])
        queue = queue_of(self.plan, store)
        if isinstance(queue, ProcrastinateRunQueue):
            queue.install()
            made(self.plan)
        store.close()

    def _hasten(self) -> None:
        """The engine knows of no clock but the server's: where the store's is faster, its jobs must not wait for it."""
        while not self._over.wait(_HASTE):
            with suppress(psycopg.OperationalError):
                hasten(self.plan)

    # -- processes ----------------------------------------------------------------------------

    def _born(self, place: int) -> Any:
        number = self._lives[place]
        self._lives[place] += 1
        process = _SPAWN.Process(target=live, args=(self._folder, place, number), name=f"{place}.{number}", daemon=True)
        process.start()
        self.figures["lives"] += 1
        return process

    def _look_after(self) -> None:
        """Who died lives again; who stopped itself, or was stopped for long enough, goes on; outages end."""
        now = time.monotonic()
        for place, process in enumerate(self._processes):
            if process.exitcode is not None:
                self._died(process)
                self._processes[place] = self._born(place)
            elif process not in self._asleep and _is_stopped(process.pid):
                self._asleep[process] = now + self.plan.dice("asleep", process.name).choice((0.1, 0.8, 2.0))
                self.figures["stops by itself"] += 1
            elif self._asleep.get(process, now + 1) <= now:
                self._wake(process)
        due = [end for end in self._ends if end[0] <= now]
        self._ends = [end for end in self._ends if end[0] > now]
        for _, end in due:
            end()

    def _died(self, process: Any) -> None:
        process.join()
        self._asleep.pop(process, None)
        self.dead.add(process.name)
        if process.exitcode == -signal.SIGKILL:
            self.figures["kills by itself"] += 1
        else:
            self.troubles.append(f"life {process.name} ended by itself with {process.exitcode}")

    def _wake(self, process: Any) -> None:
        self._asleep.pop(process, None)
        _tell(process, signal.SIGCONT)

    # -- faults -------------------------------------------------------------------------------

    def _do(self, fault: Fault) -> None:
        process = self._processes[fault.place]
        alive = process.exitcode is None
        match fault.kind:
            case "kill" if alive:
                process.kill()
                self._asleep.pop(process, None)
                process.join()
                self.dead.add(process.name)
                self._processes[fault.place] = self._born(fault.place)
            case "stop" if alive and process not in self._asleep:
                _tell(process, signal.SIGSTOP)
                self._asleep[process] = time.monotonic() + fault.lasts
            case "jump":
                self._clock.leap(fault.amount)
            case "full disk":
                sign = self._folder / f"{FULL}-{fault.place}"
                sign.touch()
                self._later(fault.lasts, lambda: sign.unlink(missing_ok=True))
            case "file too large" if alive and fault.place < self.plan.workers:
                self._fill(process, fault.lasts)
            case "locked file":
                self._lock(fault.lasts)
            case "cut connections" if self._server is not None and self._returning is None:
                cut(self._server, _EVERYBODY)
            case "lost jobs" if self._server is not None and self._returning is None:
                threading.Thread(target=self._lose, args=(fault.lasts,), daemon=True).start()
            case "server down" if self._server is not None and self._returning is None:
                self._returning = threading.Thread(target=self._away, args=(self._server, fault.lasts))
                self._returning.start()
            case _:
                return
        self.figures[_FIGURES.get(fault.kind, f"outages: {fault.kind}")] += 1

    def _later(self, seconds: float, act: Callable[[], object]) -> None:
        self._ends.append((time.monotonic() + seconds, act))

    def _fill(self, process: Any, seconds: float) -> None:
        """This process may write no file beyond a size that those of the store are above."""
        _limit(process, _LARGEST)
        self._later(seconds, lambda: _limit(process, resource.RLIM_INFINITY))

    def _lock(self, seconds: float) -> None:
        """Another process holds the file."""
        db = sqlite3.connect(self._folder / "chat.db", timeout=0.5, isolation_level=None)
        try:
            db.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            db.close()
            return
        self._later(seconds, db.close)

    def _away(self, server: Server, seconds: float) -> None:
        """The server ends as by a loss of power, and is started again; what else happens does not wait for it."""
        try:
            server.stop(hard=True)
            self._over.wait(seconds)
            server.start()
            self._returning = None
        except (NoServerError, subprocess.TimeoutExpired) as error:
            self.troubles.append(f"the server did not come back: {error}")

    def _lose(self, seconds: float) -> None:
        """The queue loses what it is given."""
        try:
            self.figures["jobs lost"] += lose_jobs(self.plan, seconds)
        except psycopg.Error as error:
            self.troubles.append(f"no jobs were lost: {error}")

    def _bring_back(self) -> None:
        self._over.set()
        returning = self._returning
        if returning is not None:
            returning.join()

    # -- the end ------------------------------------------------------------------------------

    def _end_of_faults(self) -> None:
        self._bring_back()
        for _, end in self._ends:
            end()
        self._ends.clear()
        for process in list(self._asleep):
            self._wake(process)
        (self._folder / STOP).touch()

    def _quiet(self) -> None:
        """Everybody ends in order, while a worker drives what nobody drives any more: upkeep finds nothing after it."""
        chat, stop = chat_of(self._quietly, queued=True), threading.Event()
        options: dict[str, Any] = {"threads": 2, "name": "quiet", "stop": stop, "look_every": LOOK_EVERY}
        worker = threading.Thread(target=chat.work, kwargs=options)
        worker.start()
        try:
            until = time.monotonic() + _PATIENCE
            while time.monotonic() < until and not self._is_done(chat):
                self._clock.leap(100_000.0)
                hasten(self.plan)
                self._wake_all()
                time.sleep(_HASTE)
            stop.set()
            worker.join()
            report = chat.upkeep(limit=1000)
            if left := [*report.left, *report.recovered, *report.failed, *report.expired]:
                self.troubles.append(f"the workers left to upkeep: {left}")
            if unstored := chat.close(wait=10.0):
                self.troubles.append(f"{unstored} late outcomes of the quiet phase were not stored")
        except StoreError as error:
            self.troubles.append(f"the quiet phase: {error}")
        finally:
            stop.set()
            self._buried()

    def _is_done(self, chat: Chat) -> bool:
        """Whether everybody is gone, and neither the store nor the queue has anything to do."""
        if any(process.exitcode is None for process in self._processes):
            return False
        due = chat.runtime.segments.store.due_runs(queued_grace=0.0, limit=1)
        return not due and not undone(self._folder, self.plan)

    def _wake_all(self) -> None:
        for process in self._processes:
            if process.exitcode is None and _is_stopped(process.pid):
                _tell(process, signal.SIGCONT)

    def _buried(self) -> None:
        for process in self._processes:
            if process.exitcode is None:
                self.troubles.append(f"life {process.name} never ended")
                process.kill()
            process.join()
            if process.exitcode != 0:
                self.dead.add(process.name)
                self.figures["kills by itself"] += process.exitcode == -signal.SIGKILL


def _tell(process: Any, what: signal.Signals) -> None:
    """A signal to a process that may have died this moment."""
    with suppress(ProcessLookupError):
        os.kill(process.pid, what)


def _limit(process: Any, size: int) -> None:
    if process.exitcode is None:
        with suppress(ProcessLookupError):
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def _is_stopped(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
    except (FileNotFoundError, ProcessLookupError):
        return False


def emptied(folder: Path) -> Path:
    """*folder*, with nothing in it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder
