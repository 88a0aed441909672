"""
Plays all benchmarks and prints their figures: ``python -m bench``.

With ``--write PAGE`` they are put into that page, between its two marks. With ``--peers DIR`` other systems are played
in the same run: each script ``sys_NAME.py`` of DIR, by the interpreter of ``--peers-python``.
"""

import argparse
import json
import sys
from pathlib import Path

from bench import imports, report
from bench.play import Player, library, limit, peers_in, rounds


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--pairs", type=int, default=5, help="interleaved rounds, at least 5 for figures that count")
    parser.add_argument("--turns", type=int, default=1000, help="turns of W1")
    parser.add_argument("--cycles", type=int, default=200, help="approvals of W2")
    parser.add_argument("--imports", type=int, default=15, help="repeats of the import")
    parser.add_argument("--dir", default=None, help="where stores are made; a disk, not a file system in memory")
    parser.add_argument("--peers", type=Path, default=None, help="a folder with scripts of other systems")
    parser.add_argument("--peers-python", default=sys.executable, help="the interpreter that can import them")
    parser.add_argument("--peer-turns", type=int, default=300, help="turns of W1 for each of them")
    parser.add_argument("--peer-times", type=int, default=1, help="how often each of them is played")
    parser.add_argument("--write", type=Path, default=None, help="the page that gets the figures")
    parser.add_argument("--lines", type=Path, default=None, help="a file that gets every line of every run")
    return parser.parse_args()


def main() -> int:
    """Play, print, and write if asked to."""
    given = _arguments()
    player = Player(given.dir, lambda text: print(text, file=sys.stderr, flush=True))
    if given.peers is not None and not peers_in(given.peers):
        print(f"{given.peers} holds no sys_*.py of another system", file=sys.stderr)
        return 2
    player.probe("probe limit", limit("probe", "--durability", "wal_full"))
    player.probe("probe library", library("probe"))
    player.play(rounds(given.turns, given.cycles), given.pairs)
    if given.peers is not None:
        player.play_peers(given.peers, given.peers_python, given.peer_turns, given.cycles, given.peer_times)
    cost = imports.measure(given.imports)
    if given.lines is not None:
        given.lines.write_text(json.dumps({**player.lines, "imports": cost}, ensure_ascii=False) + "\n", "utf-8")
    measured = report.figures(player.lines, cost)
    print(report.plain(measured))
    if given.write is not None:
        report.write(given.write, measured)
    return 0


if __name__ == "__main__":
    sys.exit(main())
