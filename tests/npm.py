"""
Packages that others publish, installed for the tests that talk to them.
"""

import shutil
import subprocess
from pathlib import Path

import pytest


def installed(package: str, home: Path) -> Path:
    """*home*, with *package* of npm in it; the test is skipped, with the reason, where there is none."""
    if shutil.which("npm") is None or shutil.which("node") is None:
        pytest.skip(f"{package} is not tested: there is no npm or no node")
    install(package, ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(home), package])
    return home


def install(package: str, *commands: list[str]) -> None:
    """Run *commands* in turn; the test is skipped, with the reason, where one fails."""
    for command in commands:
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            pytest.skip(f"{package} cannot be installed: {error}")
        if done.returncode != 0:
            pytest.skip(f"{package} cannot be installed: {(done.stderr or done.stdout).strip()[-300:]}")
