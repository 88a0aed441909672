"""
The workloads that every system plays, and how they are measured.

A system is a class with::

    name: str
    w3_mode: str                              # "threads" or "tasks", whatever is natural for it
    w3_shared: bool                           # whether all workers use one object
    def __init__(self, path, **options)       # opens or makes the store at path
    async def turn(conv, i) -> str            # user message -> one call of a reading tool -> the answer
    async def suspend(conv, i) -> None        # user message -> a writing tool waits for approval, durably
    async def approve(conv, i) -> str         # on a FRESH object: approve, execute, the answer
    async def close()

and ends with ``common.main(System, ["distribution"])``. Every run prints one line of JSON. The model is a function
of this process and nothing uses a network, so what is measured is the system itself.
"""

import argparse
import asyncio
import gc
import importlib.metadata
import json
import multiprocessing
import os
import platform
import resource
import sqlite3
import statistics
import sys
import tempfile
import threading
import time
import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.dialogue import (
    FINAL_BODY,
    WRITES,
    do_write,
    final_text,
    is_write,
    num_after_seite,
    page_record,
    user_text,
    write_text,
)
from bench.measuring import Figures, SqliteProbe, pct, stats, store_size

warnings.filterwarnings("ignore")
os.environ.setdefault("OTEL_SDK_DISABLED", "true")

Options = Sequence[tuple[str, str, Sequence[str]]]

__all__ = [
    "FINAL_BODY",
    "WRITES",
    "Figures",
    "Options",
    "SqliteProbe",
    "do_write",
    "final_text",
    "is_write",
    "main",
    "num_after_seite",
    "page_record",
    "pct",
    "probe",
    "stats",
    "store_size",
    "user_text",
    "w1",
    "w2",
    "w3",
    "w3p",
    "write_text",
]

# -- the workloads --------------------------------------------------------------------------------


async def w1(cls: Any, path: str, turns: int, options: Figures) -> Figures:
    """Many turns in one conversation, each durable when it ends; every window of a hundred is measured."""
    system = cls(path, **options)
    for i in range(3):  # another conversation, so that nothing is used for the first time below
        await system.turn("warm", i)
    ms, cpu = [], []
    gc.collect()
    began = time.perf_counter()
    for i in range(turns):
        t0, p0 = time.perf_counter(), time.process_time()
        answer = await system.turn("c1", i)
        cpu.append((time.process_time() - p0) * 1000)
        ms.append((time.perf_counter() - t0) * 1000)
        assert answer == final_text(i), answer
    total = time.perf_counter() - began
    await system.close()
    size = min(100, max(1, turns // 10))
    windows = {start + 1: round(statistics.median(cpu[start : start + size]), 3) for start in range(0, turns, size)}
    return {
        "turns": turns,
        "turns_per_s": round(turns / total, 1),
        "all": stats(ms),
        "cpu_ms": {
            "all": round(statistics.median(cpu), 3),
            "first": windows[1],
            "last": windows[max(windows)],
        },
        "cpu_ms_from_turn": windows,
        "first": {"from": 1, "to": size, **stats(ms[:size])},
        "last": {"from": turns - size + 1, "to": turns, **stats(ms[-size:])},
        "growth": round(statistics.median(ms[-size:]) / statistics.median(ms[:size]), 2),
        "kib_per_turn": round(store_size(path) / 1024 / turns, 2),
        "file_mib": round(store_size(path) / 2**20, 2),
    }


async def w2(cls: Any, path: str, cycles: int, options: Figures, keep_open: bool) -> Figures:
    """
    Approvals: a fresh object suspends, another fresh object approves, executes and answers.

    With *keep_open* an idle connection stays open as in a running server. Without one SQLite writes back and removes
    its log at every close, which hides everything else.
    """
    await _cycle(cls, path, "warm", 1, options)
    keeper = sqlite3.connect(path) if keep_open else None
    if keeper is not None:
        keeper.execute("SELECT count(*) FROM sqlite_master").fetchone()
    WRITES.clear()
    size = store_size(path)
    suspended, approved = [], []
    p0, t0 = time.process_time(), time.perf_counter()
    for i in range(cycles):
        first, second = await _cycle(cls, path, f"c{i}", i, options)
        assert WRITES[i:] == [i], "the tool must run once, after the approval"
        suspended.append(first)
        approved.append(second)
    total, cpu_total = time.perf_counter() - t0, time.process_time() - p0
    if keeper is not None:
        keeper.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        keeper.close()
    return {
        "cycles": cycles,
        "keep_open": keep_open,
        "cpu_ms_per_cycle": round(cpu_total * 1000 / cycles, 3),
        "cycles_per_s": round(cycles / total, 1),
        "suspend_ms": round(statistics.median(suspended), 3),
        "approve_ms": round(statistics.median(approved), 3),
        "cycle_p99_ms": round(pct([x + y for x, y in zip(suspended, approved, strict=True)], 0.99), 3),
        "growth_kib_per_cycle": round((store_size(path) - size) / 1024 / cycles, 2),
    }


async def _cycle(cls: Any, path: str, conv: str, i: int, options: Figures) -> tuple[float, float]:
    before, t0 = len(WRITES), time.perf_counter()
    system = cls(path, **options)
    await system.suspend(conv, i)
    await system.close()
    t1 = time.perf_counter()
    assert len(WRITES) == before, "the tool ran before the approval"
    system = cls(path, **options)
    answer = await system.approve(conv, i)
    await system.close()
    assert answer == final_text(i), answer
    return (t1 - t0) * 1000, (time.perf_counter() - t1) * 1000


class _Tally:
    """
    What the turns of several workers came to.
    """

    def __init__(self) -> None:
        self.ms: list[float] = []
        self.errors: Counter[str] = Counter()

    async def turns(self, system: Any, conv: str, turns: int) -> None:
        """Play *turns* in one conversation; an error is counted, not raised."""
        for i in range(turns):
            t0 = time.perf_counter()
            try:
                assert await system.turn(conv, i) == final_text(i)
            except Exception as error:  # noqa: BLE001 - counted and reported
                self.errors[f"{type(error).__name__}: {str(error)[:80]}"] += 1
            else:
                self.ms.append((time.perf_counter() - t0) * 1000)

    def figures(self, seconds: float) -> Figures:
        """Of *seconds* of work."""
        return {
            "ok": len(self.ms),
            "turns_per_s": round(len(self.ms) / seconds, 1),
            "median_ms": round(statistics.median(self.ms), 2) if self.ms else None,
            "p99_ms": round(pct(self.ms, 0.99), 2) if self.ms else None,
            "errors": dict(self.errors),
        }


async def w3(cls: Any, path: str, workers: int, turns: int, options: Figures) -> Figures:
    """Workers on conversations of their own, all in one file."""
    first = cls(path, **options)
    await first.turn("warm", 0)
    if not cls.w3_shared:
        await first.close()
    tally = _Tally()

    async def worker(number: int) -> None:
        system = first if cls.w3_shared else cls(path, **options)
        try:
            await tally.turns(system, f"w{number}", turns)
        finally:
            if system is not first:
                await system.close()

    t0, p0 = time.perf_counter(), time.process_time()
    if cls.w3_mode == "threads":
        threads = [threading.Thread(target=lambda k=k: asyncio.run(worker(k))) for k in range(workers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    else:
        await asyncio.gather(*[worker(k) for k in range(workers)])
    seconds, cpu_total = time.perf_counter() - t0, time.process_time() - p0
    if cls.w3_shared:
        await first.close()
    return {
        "mode": cls.w3_mode,
        "shared_object": bool(cls.w3_shared),
        "workers": workers,
        "turns_each": turns,
        **tally.figures(seconds),
        "cpu_ms_per_turn": round(cpu_total * 1000 / max(1, len(tally.ms)), 3),
    }


def _w3p_child(cls: Any, path: str, number: int, load: tuple[int, int], options: Figures, start: Any, out: Any) -> None:
    conversations, turns = load

    async def play() -> None:
        system, tally = cls(path, **options), _Tally()
        await asyncio.to_thread(start.wait)
        t0 = time.perf_counter()
        await asyncio.gather(*[tally.turns(system, f"p{number}-{c}", turns) for c in range(conversations)])
        out.put((tally.ms, tally.errors, time.perf_counter() - t0))
        await system.close()

    asyncio.run(play())


def w3p(cls: Any, path: str, processes: int, load: tuple[int, int], options: Figures) -> Figures:
    """The same from several processes, as several workers of a web server."""

    async def prepare() -> None:
        system = cls(path, **options)
        await system.turn("warm", 0)
        await system.close()

    asyncio.run(prepare())
    spawn = multiprocessing.get_context("spawn")
    start, out = spawn.Barrier(processes), spawn.Queue()
    children = [
        spawn.Process(target=_w3p_child, args=(cls, path, k, load, options, start, out)) for k in range(processes)
    ]
    for child in children:
        child.start()
    tally, seconds = _Tally(), 0.0
    for _ in children:
        ms, errors, took = out.get(timeout=300)
        tally.ms.extend(ms)
        tally.errors.update(errors)
        seconds = max(seconds, took)
    for child in children:
        child.join()
    return {"mode": "processes", "processes": processes, "conversations_each": load[0], "turns_each": load[1]} | (
        tally.figures(seconds)
    )


async def probe(cls: Any, path: str, seen: SqliteProbe, options: Figures) -> Figures:
    """How many commits, connections and statements a turn and an approval take."""
    system = cls(path, **options)
    await system.turn("c1", 0)
    before = seen.connections, seen.commits, seen.statements
    for i in range(10):
        await system.turn("c1", i)
    connections, commits, statements = (
        (now - then) / 10 for now, then in zip((seen.connections, seen.commits, seen.statements), before, strict=True)
    )
    if seen.last is not None:
        seen.note(seen.last)
    await system.close()
    await _cycle(cls, path, "a0", 0, options)
    cycles_before = seen.commits
    for i in range(1, 6):
        await _cycle(cls, path, f"a{i}", i, options)
    return {
        "commits_per_turn": commits,
        "connections_per_turn": connections,
        "statements_per_turn": statements,
        "commits_per_approval_cycle": round((seen.commits - cycles_before) / 5, 1),
        "pragmas_seen(journal,synchronous)": sorted(seen.pragmas),
    }


# -- one run --------------------------------------------------------------------------------------


def _arguments(options: Options) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("workload", choices=["w1", "w2", "w3", "w3p", "probe"])
    parser.add_argument("--turns", type=int, default=1000)
    parser.add_argument("--cycles", type=int, default=300)
    parser.add_argument("--workers", type=int, default=16)
    parser.add_argument("--keep-open", action="store_true")
    parser.add_argument("--dir", default=None, help="directory for the store (default: a temporary one)")
    parser.add_argument("--label", default="disk", help="noted in the result, for example disk or tmpfs")
    for name, default, choices in options:
        parser.add_argument("--" + name, default=default, choices=choices or None)
    return parser.parse_args()


def _play(cls: Any, path: str, given: argparse.Namespace, options: Figures) -> Figures:
    match given.workload:
        case "w1":
            return {**asyncio.run(w1(cls, path, given.turns, options)), "store": given.label}
        case "w2":
            return {**asyncio.run(w2(cls, path, given.cycles, options, given.keep_open)), "store": given.label}
        case "w3":
            if hasattr(cls, "configure_w3"):
                cls.configure_w3(options)
            return asyncio.run(w3(cls, path, given.workers, 20, options))
        case "w3p":
            return w3p(cls, path, 4, (4, 20), options)
        case _:
            seen = SqliteProbe()
            seen.install()
            return asyncio.run(probe(cls, path, seen, options))


def main(cls: Any, packages: Sequence[str], options: Options = ()) -> None:
    """
    Play the workload that the command line names and print what came of it.

    Args:
        cls: the system.
        packages: the distributions whose versions are noted.
        options: name, default and choices of what the system can be told; it gets them as keyword arguments.
    """
    given = _arguments(options)
    chosen = {name: getattr(given, name) for name, _, _ in options}
    with tempfile.TemporaryDirectory(dir=given.dir) as folder:
        figures = _play(cls, str(Path(folder, "store.db")), given, chosen)
    versions = {package: importlib.metadata.version(package) for package in packages}
    line = {
        "system": cls.name,
        "workload": given.workload,
        **({"opts": chosen} if chosen else {}),
        **figures,
        "maxrss_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
        "versions": versions | {"python": platform.python_version(), "sqlite": sqlite3.sqlite_version},
    }
    print(json.dumps(line, ensure_ascii=False))
    sys.stdout.flush()
