"""
One life of a worker process: what it leaves in its files, and where it signals itself.
"""

import json
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from nr_agent_core import AiRecordWritten
from nr_agent_core.adapters.postgres import PostgresStore
from nr_agent_core.adapters.sqlite import SqliteStore
from nr_agent_core.domain.errors import StoreUnavailableError
from nr_agent_core.ports.unit_of_work import Change, UnitOfWork
from tests.chaos.clock import LeapingClock
from tests.chaos.host_database import HostDatabase
from tests.chaos.plan import Plan

_T = TypeVar("_T")

STOP, FULL = "stop", "full"
MOST_SAID = 700_000
"""Bytes after which a life tells no more of what it does: what it heard is told for ever."""


class Life:
    """
    A process in its *place*, from its start to its end or its death.

    What it does goes to ``acts-NAME``; what its listener heard to ``heard-NAME``, on the disk before the listener
    returns; which runs a queue brought it to ``hands-NAME``.
    """

    def __init__(self, folder: Path, place: int, number: int, *, harried: bool = True) -> None:
        self.folder, self.place, self.number = folder, place, number
        self.name = f"{place}.{number}"
        self.plan, self.clock = Plan.read(folder), LeapingClock(folder / "clock")
        self.host = HostDatabase(folder, self.name)
        self._fate = self.plan.fate(place, number) if harried else None
        self._passed, self._lock = Counter[str](), threading.Lock()
        self._acts = _opened(folder / f"acts-{self.name}")
        self._heard = _opened(folder / f"heard-{self.name}")
        self._hands = _opened(folder / f"hands-{self.name}")
        self._harried, self._doubt = harried, self.plan.dice("doubt", place, number)

    @property
    def over(self) -> bool:
        """Whether the time of acting is over, or nobody is left who would say so."""
        late = time.time() > self.plan.began + self.plan.seconds + 120
        return late or not self.folder.exists() or (self.folder / STOP).exists()

    @property
    def elapsed(self) -> float:
        """Seconds since the beginning."""
        return time.time() - self.plan.began

    def tell(self, act: str, **facts: object) -> None:
        """One line about what this life does."""
        if os.fstat(self._acts).st_size < MOST_SAID or act in ("ended", "raised"):
            line = {"act": act, "life": self.name, "at": round(self.elapsed, 3), **facts}
            os.write(self._acts, f"{json.dumps(line)}\n".encode())

    def hand(self, what: str, run_id: str) -> None:
        """A run is taken from the queue, or let go of; or a job is freed that another worker has."""
        os.write(self._hands, f"{json.dumps([time.time(), what, run_id])}\n".encode())

    def doing(self, point: str, thing: Callable[[], _T]) -> _T:
        """Do a thing outside, unless this life ends before it; it may end, or be stopped, after it."""
        with self._lock:
            number = self._passed[point]
            self._passed[point] += 1
        self._meet(point, number, "before")
        done = thing()
        self._meet(point, number, "after")
        return done

    def _meet(self, point: str, number: int, moment: str) -> None:
        if self._fate is not None and self._fate.meets(point, number, moment):
            self.tell("fate", point=point, number=number, moment=moment, signal=self._fate.signal)
            os.kill(os.getpid(), self._fate.signal)

    # -- the bus ------------------------------------------------------------------------------

    def subscribe(self, listener: object) -> None:
        """No listener but this life itself."""

    def announce(self, event: AiRecordWritten) -> None:
        """Hear of a write."""
        self.doing("announcement", lambda: self._hear(event))

    def _hear(self, event: AiRecordWritten) -> None:
        heard = [event.correlation_id, str(event.reference), event.kind.value]
        os.write(self._heard, f"{json.dumps(heard)}\n".encode())
        os.fsync(self._heard)

    # -- the store ----------------------------------------------------------------------------

    def store(self) -> UnitOfWork:
        """The store as this process reaches it."""
        clock = self.clock if self.plan.leaps or not self._harried else None
        store = store_of(self.folder, self.plan, clock, patience=1.5)
        harried: Any = HarriedStore(store, self, Room(store, self.folder / f"{FULL}-{self.place}"))
        return harried  # type: ignore[no-any-return]

    def doubts(self) -> bool:
        """Whether the answer of a commit is lost on its way."""
        with self._lock:
            return self._harried and self._doubt.random() < 0.005


class HarriedStore:
    """
    A store whose process may end around each commit, and whose answers get lost now and then: what was committed
    stands then, and counts as refused all the same (R3).
    """

    def __init__(self, store: UnitOfWork, life: Life, room: "Room") -> None:
        self._store, self._life, self._room = store, life, room

    def commit(self, changes: Sequence[Change], **beside: Any) -> None:
        """As the store does; *beside* is what a queue has stored with it, and where."""
        self._room.measure()
        self._life.doing("commit", lambda: self._store.commit(changes, **beside))
        if self._life.doubts():
            self._life.tell("doubt")
            raise StoreUnavailableError("the answer of a commit was lost")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


class Room:
    """
    How far a SQLite file may grow: not at all while the conductor says that its disk is full.
    """

    def __init__(self, store: UnitOfWork, sign: Path) -> None:
        self._store, self._sign, self._local = store, sign, threading.local()

    def measure(self) -> None:
        """Tell this thread's connection, if anything changed."""
        full = self._sign.exists()
        if isinstance(self._store, SqliteStore) and full != getattr(self._local, "full", False):
            with self._store._connections.of_this_thread() as db:
                # Less than there is means: as much as there is.
                db.execute(f"PRAGMA max_page_count = {1 if full else 4_294_967_294}")
            self._local.full = full


def store_of(folder: Path, plan: Plan, clock: LeapingClock | None, *, patience: float) -> UnitOfWork:
    """The store of *plan*, undisturbed; without a clock it has its own."""
    if plan.store == "sqlite":
        # Processes die here, the machine does not: NORMAL keeps what a process committed.
        return SqliteStore(folder / "chat.db", synchronous="NORMAL", busy_timeout=patience, clock=clock)
    return PostgresStore(plan.dsn, schema=plan.schema, patience=patience, connections=6, clock=clock)


def lines(folder: Path, kind: str) -> list[tuple[str, Any]]:
    """All that lives left in files of *kind* (acts, heard, hands), with the name of the life."""
    found = list[tuple[str, Any]]()
    for path in sorted(folder.glob(f"{kind}-*")):
        name = path.name.partition("-")[2]
        # The last line of a life may be half a line only if its disk was full.
        found.extend((name, json.loads(line)) for line in path.read_text().splitlines() if line.endswith(("}", "]")))
    return found


def _opened(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
