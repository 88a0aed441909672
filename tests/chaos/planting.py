"""
The bugs that the chaos has to find, and how it is let loose on a package that has one of them.
"""

import os
import subprocess
import sys
from pathlib import Path

from tests.planted.test_planted_bugs import BUGS, ROOT, Bug, planted

SECONDS = 8.0
"""How long each try is; the quiet phase comes on top."""
TRIES = 6
"""After so many seeds a bug counts as not found."""
WANTED = {
    "expected sequence not checked": "sqlite",
    "intent not durable before execution": "sqlite",
    "takeover without an append": "sqlite",
    "late outcome dropped": "sqlite",
    "announcement after the outcome": "sqlite",
    "harmful write repeated": "sqlite",
    "error of a repeat taken for the first try's": "sqlite",
    "runs whose worker is gone not looked for": "postgres",
    "PostgreSQL, expected sequence not checked": "postgres",
    "PostgreSQL, a message outside the host's transaction": "postgres",
}
"""The names of the bugs, and the store over which each has to be found."""


def bug_named(name: str) -> Bug:
    """One of the bugs that all suites share."""
    return next(bug for bug in BUGS if bug.name == name)


def tries_until_found(folder: Path, name: str) -> tuple[int, str]:
    """How many seeds it took to find a bug, and the last report; 0 when it was not found."""
    copy = planted(folder, bug_named(name))
    path = os.pathsep.join((str(copy), str(ROOT)))
    report = ""
    for seed in range(1, TRIES + 1):
        command = [sys.executable, "-m", "tests.chaos.chaos", "--store", WANTED[name], "--seconds", f"{SECONDS:g}"]
        done = subprocess.run(
            [*command, "--seed", str(seed), "--folder", str(folder / "chaos")],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            timeout=30 * SECONDS,
            check=False,
        )
        report = done.stdout + done.stderr
        if done.returncode == 1 and " violations\n" in done.stdout:
            return seed, report
    return 0, report
