"""
What a page does that builds a project of its own: it writes files and carries out commands.
"""

import subprocess
import sys
from pathlib import Path


def write(path: str, how: str, body: str) -> None:
    """Writes a file below the working directory, or adds to one that is there."""
    target = Path(path)
    assert how == "w" or target.exists(), f"there is no {path} to add to"
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open(how, encoding="utf-8") as opened:
        opened.write(body)


def carry_out(commands: list[list[str]]) -> None:
    """Runs Python with the arguments of each command; one that fails ends the page."""
    for arguments in commands:
        subprocess.run([sys.executable, *arguments], check=True)
