"""
What importing costs: the library with its SQLite store, against its four dependencies and sqlite3.

Each import has an interpreter of its own. Byte code is compiled beforehand, and the three kinds take turns.
"""

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import nr_agent_core

STATEMENTS = {
    "bare": "pass",
    "dependencies": "import attrs, cattrs, blinker, regex, sqlite3",
    "library": "import nr_agent_core; from nr_agent_core.adapters.sqlite import SqliteStore",
}
UNWANTED = ("asyncio", "rich", "importlib.resources")
LAZY = ("cattrs", "blinker", "regex")

_TELL = """
import resource, sys
used = resource.getrusage(resource.RUSAGE_SELF)
print(used.ru_utime + used.ru_stime, *sys.modules)
"""


def measure(repeats: int) -> dict[str, Any]:
    """
    CPU over that of a bare interpreter, as a ratio, the median of *repeats*; and what was loaded that should not be.
    """
    with tempfile.TemporaryDirectory() as compiled:
        environment = _environment(compiled)
        loaded = {kind: _once(statement, environment)[1] for kind, statement in STATEMENTS.items()}
        cpu: dict[str, list[float]] = {kind: [] for kind in STATEMENTS}
        for _ in range(repeats):
            for kind, statement in STATEMENTS.items():
                cpu[kind].append(_once(statement, environment)[0])
    over = {
        kind: [(cost - bare) * 1000 for cost, bare in zip(cpu[kind], cpu["bare"], strict=True)]
        for kind in ("library", "dependencies")
    }
    ratios = [ours / theirs for ours, theirs in zip(over["library"], over["dependencies"], strict=True)]
    return {
        "repeats": repeats,
        "ratio": round(statistics.median(ratios), 2),
        "library_ms": round(statistics.median(over["library"]), 1),
        "dependencies_ms": round(statistics.median(over["dependencies"]), 1),
        "unwanted": [name for name in UNWANTED if name in loaded["library"]],
        "later": [name for name in LAZY if name not in loaded["library"]],
        "modules": len(loaded["library"]),
    }


def _environment(compiled: str) -> dict[str, str]:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    source = str(Path(nr_agent_core.__file__).resolve().parents[1])
    return environment | {"PYTHONPATH": source, "PYTHONPYCACHEPREFIX": compiled}


def _once(statement: str, environment: dict[str, str]) -> tuple[float, frozenset[str]]:
    done = subprocess.run(
        [sys.executable, "-c", statement + _TELL], env=environment, check=True, capture_output=True, text=True
    )
    cost, *modules = done.stdout.split()
    return float(cost), frozenset(modules)


if __name__ == "__main__":
    print(measure(11))
