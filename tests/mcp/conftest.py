"""
Folders of servers.
"""

import pytest

from tests.mcp.world import Folder


@pytest.fixture
def folder(tmp_path):
    """An empty folder for one server."""
    (tmp_path / "server").mkdir()
    return Folder(tmp_path / "server")


@pytest.fixture
def other(tmp_path):
    """An empty folder for another server."""
    (tmp_path / "other").mkdir()
    return Folder(tmp_path / "other")
