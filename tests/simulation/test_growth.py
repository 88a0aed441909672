"""
A long conversation costs per turn what a short one costs, and retention keeps a store from growing (R11, O2).

The short form counts work, which is the same on every machine; the long one takes the time, too.
"""

import itertools
import sqlite3
import statistics
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest

from bench.growth import ANNA, DAY, Block, Size, chat_over, grow, postgres_store, sqlite_store
from nr_agent_core import Chat, Purged, Retention, RunStatus
from nr_agent_core.adapters.sqlite import SqliteStore
from nr_agent_core.testing.manual_clock import ManualClock

Opened = tuple[Any, ManualClock, Size]

ONE_TURN = {"messages": 2, "runs": 1, "events": 6, "writes": 1}


@pytest.fixture(params=["sqlite", "postgres"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opened]:
    """A store of each kind, its clock, and its size."""
    with ExitStack() as stack:
        if request.param == "sqlite":
            yield stack.enter_context(sqlite_store(tmp_path))
        else:
            yield stack.enter_context(postgres_store(request.getfixturevalue("postgres")))


def test_a_turn_costs_what_the_one_before_cost(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes, and statements or steps of the database, per turn: the same from the second block on."""
    store, _, size = opened
    chat = chat_over(store)
    work = counted(store, monkeypatch)
    marks: list[int] = []

    blocks = grow(chat, 240, 40, size, each=lambda: marks.append(work()))

    assert_flat([block.bytes_per_turn for block in blocks[1:]], within=0.35)
    spent = [later - earlier for earlier, later in itertools.pairwise(marks)]
    # The window of the model is full by then.
    assert statistics.median(spent[-40:]) <= 1.1 * statistics.median(spent[80:120])


@pytest.mark.slow
def test_five_thousand_turns_are_flat(opened: Opened) -> None:
    """Bytes and time per turn, over a conversation longer than anybody has; and what purging then leaves."""
    store, clock, size = opened
    chat = chat_over(store)

    blocks = grow(chat, 5000, 500, size)

    assert_flat([block.bytes_per_turn for block in blocks[1:]], within=0.15)
    assert_time_is_flat(blocks)
    assert_purge_keeps_what_must_be_kept(chat, store, clock, 5000)


def test_purging_keeps_what_must_be_kept(opened: Opened) -> None:
    """The conversation, its last run, and every entry of the feed; the rest of the runs goes."""
    store, clock, size = opened
    chat = chat_over(store)
    grow(chat, 30, 30, size)

    assert_purge_keeps_what_must_be_kept(chat, store, clock, 30)


def test_a_store_that_is_kept_up_stops_growing(tmp_path: Path) -> None:
    """As much comes as goes: after the first month the file does not get larger (O2)."""
    with sqlite_store(tmp_path) as (store, clock, _):
        chat = chat_over(store)
        sizes = []
        for _ in range(8):
            for _ in range(10):
                chat.send("Eine Seite, bitte.", ANNA)
            clock.advance(10 * DAY)
            chat.upkeep(retention=Retention(write_days=30))
            sizes.append(sum(file.stat().st_size for file in tmp_path.iterdir()))

    assert sizes[-1] <= 1.1 * sizes[3], sizes
    assert sizes[2] > sizes[0]


def assert_purge_keeps_what_must_be_kept(chat: Chat, store: Any, clock: ManualClock, turns: int) -> None:
    """First the runs of a conversation that stays, then the conversation."""
    conversation = _conversation(store)
    feed = store.writes(after=0, limit=turns + 1)
    messages = store.messages(conversation, limit=2 * turns + 1)
    clock.advance(31 * DAY)
    chat.send("Noch eine Seite, bitte.", ANNA, conversation=conversation)

    gone = chat.upkeep(retention=Retention()).purged

    assert gone == Purged(runs=turns, events=turns * ONE_TURN["events"])
    assert store.writes(after=0, limit=turns) == feed
    assert store.messages(conversation, limit=2 * turns + 3)[:-2] == messages
    row = store.conversation_row(conversation)
    assert row.last_run.status is RunStatus.COMPLETED
    clock.advance(30 * DAY)
    gone = chat.upkeep(retention=Retention()).purged
    assert gone == Purged(conversations=1, messages=2 * turns + 2, runs=1, events=ONE_TURN["events"])
    assert store.writes(after=0, limit=turns) == feed
    assert chat.upkeep(retention=Retention()).purged == Purged()


def assert_flat(values: list[float], *, within: float) -> None:
    """No value is further above the median of all, and the last third is not above the first one."""
    middle, third = statistics.median(values), max(len(values) // 3, 1)
    assert max(values) <= (1 + within) * middle, values
    assert statistics.mean(values[-third:]) <= (1 + within) * statistics.mean(values[:third]), values


def assert_time_is_flat(blocks: list[Block]) -> None:
    """
    Processor time: a shared machine has its moods, for whole blocks and by multiples. That no statement of a
    turn walks a table, which a server would pay for, is tested beside the store.
    """
    times = [block.cpu_per_turn for block in blocks[1:]]
    assert min(times[-3:]) <= 1.3 * statistics.median(times[:3]), times


def counted(store: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """How much the database was asked to do so far: steps of SQLite's machine, or statements."""
    count = [0]

    def one(*_: object) -> int:
        count[0] += 1
        return 0

    if isinstance(store, SqliteStore):
        with store._connections.of_this_thread() as db:
            assert isinstance(db, sqlite3.Connection)
            db.set_progress_handler(one, 20)
    else:
        real = psycopg.Connection.execute

        def execute(self: Any, *arguments: Any, **options: Any) -> Any:
            one()
            return real(self, *arguments, **options)

        monkeypatch.setattr(psycopg.Connection, "execute", execute)
    return lambda: count[0]


def _conversation(store: Any) -> str:
    (entry,) = store.writes(after=0, limit=1)
    return str(store.run_row(entry.written.correlation_id).conversation)
