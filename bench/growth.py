"""
What a turn costs when many came before it: bytes and milliseconds per turn, block by block, in one conversation.

    python -m bench.growth [--turns 5000] [--block 500] [--store sqlite] [--store postgres] [--dir FOLDER]

Each turn asks the model twice, writes one record without an approval, and answers. A store is flat
when the last block costs what the second one does; the first one makes tables, pages and caches.
At the end the runs are purged, then the conversation, and it is told what is left.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from bench.dialogue import final_text, user_text
from nr_agent_core import Chat, Configuration, Reader, Retention, RoleAccess, Tool, ToolEffect, ToolResult
from nr_agent_core.adapters.postgres import PostgresStore
from nr_agent_core.adapters.sqlite import SqliteStore
from nr_agent_core.domain.model_dialogue import ModelAnswer, ModelCall, ModelRequest
from nr_agent_core.testing.manual_clock import ManualClock
from tests.postgres_server import Server

ANNA = Reader("anna")
DAY = 86_400.0
TABLES = ("conversation", "message", "run", "event", "tool_write")

Size = Callable[[], int]


class Block(NamedTuple):
    """
    The turns from one number to another: what each of them cost. The time is that which a tenth of them
    did not exceed, and the processor time of this process: what else the machine does makes turns dearer.
    """

    until: int
    bytes_per_turn: float
    ms_per_turn: float
    cpu_per_turn: float


class Writing:
    """
    A model that saves one page a turn, and says so.
    """

    context_window = 8_000
    output_limit = 500

    def __init__(self) -> None:
        self.turns = 0

    def complete(self, request: ModelRequest) -> ModelAnswer:
        """A call first, a text after its result."""
        if request.messages[-1].role == "tool":
            return ModelAnswer(final_text(self.turns))
        self.turns += 1
        return ModelAnswer("", (ModelCall("save_page", f'{{"title":"{self.turns}"}}', None),))


def chat_over(store: Any) -> Chat:
    """A chat whose one tool writes without an approval."""
    model, pages = Writing(), iter(range(1, 10**9))

    def save(_: Any, __: Any) -> ToolResult:
        number = next(pages)
        return ToolResult.text(f"Saved pages:{number}.").with_write_target(("pages", number), "created")

    schema = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}
    tool = Tool("save_page", "Save a page.", schema, ToolEffect.NON_IDEMPOTENT_WRITE, save)
    configuration = Configuration(model=model, unattended=["save_page"])
    return Chat(store=store, configuration=configuration, tools=[tool], access=RoleAccess(owner_decides=True))


def grow(chat: Chat, turns: int, block: int, size: Size, each: Callable[[], object] = lambda: None) -> list[Block]:
    """
    *turns* turns of one conversation in blocks; *each* is called after each turn, and is not measured.
    """
    conversation, blocks, before = chat.open(ANNA), list[Block](), size()
    for first in range(0, turns, block):
        spent, cpu = [], []
        for number in range(first, min(first + block, turns)):
            began, worked = time.perf_counter(), time.process_time()
            chat.send(user_text(number), ANNA, conversation=conversation)
            spent.append((time.perf_counter() - began) * 1000)
            cpu.append((time.process_time() - worked) * 1000)
            each()
        after = size()
        blocks.append(
            Block(
                first + len(spent),
                (after - before) / len(spent),
                statistics.quantiles(spent, n=10)[0],
                statistics.quantiles(cpu, n=10)[0],
            )
        )
        before = after
    return blocks


@contextmanager
def sqlite_store(folder: Path) -> Iterator[tuple[SqliteStore, ManualClock, Size]]:
    """A store in a file, its clock, and how many bytes are in use in it."""
    path, clock = folder / "growth.db", ManualClock()
    with closing(SqliteStore(path, synchronous="NORMAL", clock=clock)) as store:

        def size() -> int:
            with store._connections.of_this_thread() as db:
                pages, free, page = (
                    db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
                )
            return int((pages - free) * page)

        yield store, clock, size


@contextmanager
def postgres_store(server: Server) -> Iterator[tuple[PostgresStore, ManualClock, Size]]:
    """A store in a schema of its own, its clock, and how many bytes its tables and indexes take."""
    clock, schema = ManualClock(), server.schema()
    with closing(PostgresStore(server.dsn(), schema=schema, synchronous="NORMAL", clock=clock)) as store:

        def size() -> int:
            total = "+".join(f"pg_total_relation_size('{schema}.{table}')" for table in TABLES)
            # What updates left behind is no growth.
            for table in TABLES:
                _asked(store, f"VACUUM {table}")
            return int(_asked(store, f"SELECT ({total})::bigint")[0][0])

        store.conversation_row("none")
        yield store, clock, size


def _asked(store: PostgresStore, statement: str) -> list[Any]:
    def ask(db: Any) -> list[Any]:
        found = db.execute(statement.encode())
        return found.fetchall() if found.description else []

    return store._connections.work(ask)


def purged(chat: Chat, clock: ManualClock) -> list[str]:
    """What two purges took, and what is left: first of the runs, then of everything."""
    lines = []
    for what, days, windows in (
        ("runs", 0, Retention(conversation_days=None, run_days=1e-9)),
        ("all", 40, Retention()),
    ):
        clock.advance(days * DAY + 1)
        began = time.perf_counter()
        report = chat.upkeep(retention=windows)
        lines.append(f"purge of {what}: {report.purged} in {time.perf_counter() - began:.1f} s")
    return lines


def _play(name: str, opened: Any, turns: int, block: int) -> None:
    with opened as (store, clock, size):
        chat = chat_over(store)
        print(f"{name}: turns, bytes per turn, ms per turn, of them processor time here")
        for each in grow(chat, turns, block, size):
            print(
                f"  {each.until:6} {each.bytes_per_turn:9.0f} {each.ms_per_turn:8.2f} {each.cpu_per_turn:8.2f}",
                flush=True,
            )
        for line in purged(chat, clock):
            print(f"  {line}")
        print(f"  left: {size()} bytes in use, {len(store.writes(after=0, limit=10**9))} entries of the feed")


def main() -> int:
    """Play, and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.growth", description=__doc__)
    parser.add_argument("--turns", type=int, default=5000)
    parser.add_argument("--block", type=int, default=500)
    parser.add_argument("--store", action="append", choices=("sqlite", "postgres"), help="default: both")
    parser.add_argument("--dir", default=None, help="where the SQLite file is made")
    given = parser.parse_args()
    chosen = given.store or ["sqlite", "postgres"]
    if "sqlite" in chosen:
        with tempfile.TemporaryDirectory(dir=given.dir) as folder:
            _play("SQLite", sqlite_store(Path(folder)), given.turns, given.block)
    if "postgres" in chosen:
        server = Server()
        try:
            _play("PostgreSQL", postgres_store(server), given.turns, given.block)
        finally:
            server.end()
    return 0


if __name__ == "__main__":
    sys.exit(main())
