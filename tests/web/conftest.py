"""
A served web chat for a test, and people who come to it.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.web.visitors import People
from tests.web_server import Gate, Served


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """A server over an empty folder."""
    with Served(tmp_path, Gate()) as served:
        yield served


@pytest.fixture
def people(served: Served) -> Iterator[People]:
    """Whoever comes to it."""
    people = People(served)
    yield people
    people.close()
