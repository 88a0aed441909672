"""
Plays the workloads: every run is a process of its own, the systems take turns, and the order turns around each round.

Only runs of one round are compared with each other: the machine may be shared, and what disturbs one disturbs all.
"""

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

Line = dict[str, Any]

HERE = Path(__file__).resolve().parent
NOT_PEERS = frozenset({"sys_limit.py", "sys_async.py", "sys_nr_agent_core.py"})
PEER_OPTIONS = {"sys_pydantic_ai.py": ("--durability", "wal_full")}
"""Where a peer leaves the choice to its host, it gets the durability of the others."""

_PATIENCE = 1800.0


class Run(NamedTuple):
    """
    One run: what it is called, and the arguments of its interpreter.
    """

    name: str
    arguments: tuple[str, ...]


def limit(workload: str, *options: str) -> tuple[str, ...]:
    """The arguments that play *workload* with the hand-written loop."""
    return ("-m", "bench.sys_limit", workload, *options)


def library(workload: str, *options: str) -> tuple[str, ...]:
    """The arguments that play *workload* with the library."""
    return ("-m", "bench.sys_nr_agent_core", workload, *options)


FULL, NORMAL = ("--durability", "wal_full"), ("--durability", "wal_normal")


def rounds(turns: int, cycles: int) -> tuple[Run, ...]:
    """What is played in each round."""
    w1 = ("--turns", str(turns))
    w2 = ("--cycles", str(cycles), "--keep-open")
    return (
        Run("w1 limit full", limit("w1", *w1, *FULL, "--history", "cached")),
        Run("w1 library full", library("w1", *w1, *FULL)),
        Run("w1 limit normal", limit("w1", *w1, *NORMAL, "--history", "cached")),
        Run("w1 library normal", library("w1", *w1, *NORMAL)),
        Run("w1 library window", library("w1", *w1, *FULL, "--history", "window")),
        Run("w2 limit full", limit("w2", *w2, *FULL)),
        Run("w2 library full", library("w2", *w2, *FULL)),
        Run("w2 limit normal", limit("w2", *w2, *NORMAL)),
        Run("w2 library normal", library("w2", *w2, *NORMAL)),
        Run("w3 limit full", limit("w3", *FULL, "--writers", "lock")),
        Run("w3 library full", library("w3", *FULL)),
    )


class Player:
    """
    Starts runs and keeps what they print.

    Args:
        folder: where stores are made; None: in a temporary directory.
        tell: hears what is going on.
    """

    def __init__(self, folder: str | None, tell: Callable[[str], None]) -> None:
        self._options = () if folder is None else ("--dir", folder)
        self._tell = tell
        self.lines: dict[str, list[Line]] = {}

    def play(self, runs: Sequence[Run], times: int) -> None:
        """Play *runs* that many times, every other time in reverse."""
        for number in range(times):
            for run in runs if number % 2 == 0 else reversed(runs):
                line = self._once(sys.executable, run.arguments, ())
                self._tell(f"round {number + 1} of {times}: {run.name}: {_cpu(line):.2f} ms of CPU")
                self.lines.setdefault(run.name, []).append(line)

    def probe(self, name: str, arguments: tuple[str, ...]) -> None:
        """Count statements and commits, once."""
        self.lines[name] = [self._once(sys.executable, arguments, ())]

    def play_peers(self, folder: Path, python: str, turns: int, cycles: int, times: int) -> None:
        """
        Play the scripts of *folder* with the interpreter *python*, each beside the hand-written loop.

        A script that cannot be played is told about and left out.
        """
        for _ in range(times):
            for script in peers_in(folder):
                for workload, options in (
                    ("w1", ("--turns", str(turns))),
                    ("w2", ("--cycles", str(cycles), "--keep-open")),
                    ("w3", ()),
                ):
                    own = PEER_OPTIONS.get(script.name, ())
                    self._peer(script, python, workload, (*options, *own))
                    if (name := _peer_name(script, workload)) in self.lines:
                        self._tell(f"{name}: {_cpu(self.lines[name][-1]):.2f} ms of CPU")

    def _peer(self, script: Path, python: str, workload: str, options: tuple[str, ...]) -> None:
        try:
            line = self._once(python, (str(script), workload, *options), (str(HERE),))
        except subprocess.CalledProcessError as error:
            why = error.stderr.strip().splitlines()[-1:] or ["it said nothing"]
            self._tell(f"{script.name} {workload} was not played: {why[0]}")
            return
        self.lines.setdefault(_peer_name(script, workload), []).append(line)

    def _once(self, python: str, arguments: Sequence[str], path: tuple[str, ...]) -> Line:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join((*path, str(HERE.parent / "src"), str(HERE.parent)))}
        done = subprocess.run(
            [python, *arguments, *self._options],
            cwd=HERE.parent,
            env=environment,
            check=True,
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
        )
        line: Line = json.loads(done.stdout.strip().splitlines()[-1])
        return line


def peers_in(folder: Path) -> list[Path]:
    """The scripts of other systems in *folder*."""
    return sorted(path for path in folder.glob("sys_*.py") if path.name not in NOT_PEERS)


def _peer_name(script: Path, workload: str) -> str:
    return f"{workload} peer {script.stem.removeprefix('sys_')}"


def _cpu(line: Line) -> float:
    match line["workload"]:
        case "w1":
            return float(line["cpu_ms"]["all"])
        case "w2":
            return float(line["cpu_ms_per_cycle"])
        case _:
            return float(line["cpu_ms_per_turn"])


def ratios(lines: Mapping[str, Sequence[Line]], one: str, other: str) -> list[float]:
    """CPU of *one* by CPU of *other*, round by round."""
    pairs = zip(lines[one], lines[other], strict=True)
    return [_cpu(above) / _cpu(below) for above, below in pairs]


def median_of(lines: Sequence[Line], figure: Callable[[Line], float]) -> float:
    """The median over all rounds of one figure."""
    return statistics.median(figure(line) for line in lines)


def cpu(lines: Sequence[Line]) -> float:
    """The median over all rounds of the CPU per turn or cycle, in ms."""
    return median_of(lines, _cpu)


def window_growth(line: Line, early: int) -> float:
    """How the CPU of the last tenth of the turns relates to that of the *early*-th tenth."""
    windows = list(line["cpu_ms_from_turn"].values())
    return float(windows[-1]) / float(windows[early - 1])


def peer_names(lines: Mapping[str, Sequence[Line]]) -> Iterator[str]:
    """The peers that were played, by the names of their scripts."""
    return iter(sorted({name.split(" peer ")[1] for name in lines if " peer " in name}))
