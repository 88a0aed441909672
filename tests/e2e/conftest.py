"""
A real browser at a served web chat, in the looks that people have.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.e2e.browsing import LOOKS, Look, Stage
from tests.web_server import ROOT, Gate, Served

SWITCHES = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SCREENSHOTS = Path(os.environ.get("SCREENSHOTS") or ROOT / "screenshots")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The chromium of this machine."""
    path = shutil.which("chromium")
    if path is None:
        pytest.fail("there is no chromium; as root: apt-get install -y chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=SWITCHES)
        yield browser
        browser.close()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """A server over an empty folder."""
    with Served(tmp_path, Gate()) as served:
        yield served


@pytest.fixture
def look() -> Look:
    """The look of a test that does not name one."""
    return LOOKS[0]


@pytest.fixture
def stage(browser: Browser, served: Served, look: Look) -> Iterator[Stage]:
    """People with browsers at the server."""
    stage = Stage(browser, served, look, SCREENSHOTS)
    yield stage
    stage.close()
