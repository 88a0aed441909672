"""
Runs the real command in a process of its own.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

ROOT = Path(__file__).resolve().parents[3]
DATA = Path(__file__).with_name("data")


@attrs.frozen
class Ended:
    """
    How a command ended and what it said.
    """

    code: int
    out: str
    err: str

    @property
    def report(self) -> dict[str, Any]:
        """The JSON report."""
        return json.loads(self.out)

    @property
    def notices(self) -> dict[str, Any]:
        """The notice of each answer by its id."""
        return {entry["id"]: entry["notice"] for entry in self.report["answers"]}


Run = Callable[..., Ended]


def environment(**more: str) -> dict[str, str]:
    """The environment of a command: this source tree, UTF-8, no colours."""
    kept = {name: value for name, value in os.environ.items() if name not in {"FORCE_COLOR", "COLUMNS"}}
    return {**kept, "PYTHONPATH": str(ROOT / "src"), "PYTHONUTF8": "1", **more}


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs ``nr-agent-core`` with the given words in a directory that holds a copy of the sample transcripts."""
    for sample in DATA.iterdir():
        (tmp_path / sample.name).write_bytes(sample.read_bytes())

    def command(*words: str, stdin: bytes = b"", without: str = "") -> Ended:
        hide = f"sys.modules[{without!r}] = None; " if without else ""
        program = f"import sys; {hide}from nr_agent_core.cli import main; sys.exit(main())"
        ended = subprocess.run(
            [sys.executable, "-W", "error", "-c", program, *words],
            cwd=tmp_path,
            env=environment(),
            input=stdin,
            capture_output=True,
            timeout=60,
            check=False,
        )
        return Ended(ended.returncode, ended.stdout.decode(), ended.stderr.decode())

    return command
