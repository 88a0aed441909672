"""
Packages that others publish for node, installed for the tests that talk to them.
"""

import shutil
import subprocess
from pathlib import Path

import pytest


def installed(package: str, home: Path) -> Path:
    """*home*, with *package* in it; the test is skipped, with the reason, where there is none."""
    if shutil.which("npm") is None or shutil.which("node") is None:
        pytest.skip(f"{package} is not tested: there is no npm or no node")
    command = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(home), package]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        pytest.skip(f"{package} cannot be installed: {error}")
    if done.returncode != 0:
        pytest.skip(f"{package} cannot be installed: {(done.stderr or done.stdout).strip()[-300:]}")
    return home
