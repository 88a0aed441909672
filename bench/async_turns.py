"""
Many turns at once in one event loop, beside other systems: ``python -m bench.async_turns``.

Workload W3 by 200 tasks, each with a conversation of its own, 20 turns each, one file. With ``--peers DIR`` the scripts
``sys_NAME.py`` of DIR are played too, by the interpreter of ``--peers-python``, each between two runs of the library:
what disturbs one disturbs the other. A peer that cannot be imported is told about and left out.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from bench.play import HERE, PEER_OPTIONS, peers_in

Line = dict[str, Any]
_PATIENCE = 1800.0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.async_turns", description=__doc__)
    parser.add_argument("--workers", type=int, default=200, help="tasks at once")
    parser.add_argument("--rounds", type=int, default=1, help="how often each peer is played")
    parser.add_argument("--durability", default="wal_full", choices=["wal_full", "wal_normal"])
    parser.add_argument("--threads", default="4", help="threads of the asynchronous chat")
    parser.add_argument("--peers", type=Path, default=None, help="a folder with scripts of other systems")
    parser.add_argument("--peers-python", default=sys.executable, help="the interpreter that can import them")
    parser.add_argument("--only", nargs="*", default=["openai_agents", "pydantic_ai"], help="which of the peers")
    return parser.parse_args()


def _once(python: str, arguments: list[str], path: list[str]) -> Line | None:
    source = [*path, str(HERE.parent / "src"), str(HERE.parent)]
    done = subprocess.run(
        [python, *arguments],
        cwd=HERE.parent,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(source)},
        check=False,
        capture_output=True,
        text=True,
        timeout=_PATIENCE,
    )
    if done.returncode != 0:
        print(f"{arguments[0]} was not played: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
        return None
    line: Line = json.loads(done.stdout.strip().splitlines()[-1])
    print(f"{line['system']}: {line['turns_per_s']} turns/s, {line['cpu_ms_per_turn']} ms of CPU, "
          f"p99 {line['p99_ms']} ms, errors {line['errors']}", flush=True)  # fmt: skip
    return line


def _ratios(ours: list[Line], theirs: list[Line], figure: str) -> str:
    """The library beside one peer: each of its runs, and the mean of the two runs of the library around it."""
    pairs = zip(ours, ours[1:], theirs, strict=False)
    return ", ".join(
        f"{statistics.mean((before[figure], after[figure])) / line[figure]:.2f}" for before, after, line in pairs
    )


def main() -> int:
    """Play and print."""
    given = _arguments()
    w3 = ["w3", "--workers", str(given.workers)]
    library = ["-m", "bench.sys_async", *w3, "--durability", given.durability, "--threads", given.threads]
    if given.peers is None:
        return 0 if _once(sys.executable, library, []) else 1
    for script in peers_in(given.peers):
        if script.stem.removeprefix("sys_") not in given.only:
            continue
        options = list(PEER_OPTIONS.get(script.name, ()))
        ours, theirs = [_once(sys.executable, library, [])], []
        for _ in range(given.rounds):
            # Its own folder comes first: it brings its own shared part.
            theirs.append(_once(given.peers_python, [str(script), *w3, *options], [str(given.peers)]))
            ours.append(_once(sys.executable, library, []))
        mine, other = [line for line in ours if line], [line for line in theirs if line]
        if mine and other:
            print(f"turns/s of the library to {script.stem}: {_ratios(mine, other, 'turns_per_s')}")
            print(f"CPU of the library to {script.stem}: {_ratios(mine, other, 'cpu_ms_per_turn')}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
