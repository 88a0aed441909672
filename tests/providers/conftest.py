"""
A loopback server for each test, and each test over both protocols.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.providers.loopback import Loopback, loopback
from tests.providers.wires import WIRES, Wire


@pytest.fixture
def server() -> Iterator[Loopback]:
    """A server that answers as the test says."""
    with loopback() as running:
        yield running


@pytest.fixture(params=WIRES, ids=lambda wire: wire.name)
def wire(request: Any) -> Wire:
    """One of the two protocols."""
    found: Wire = request.param
    return found
