"""Nothing outlives its test."""

from collections.abc import Iterator

import pytest

from tests.processes.host import end_all


@pytest.fixture(autouse=True)
def _ended() -> Iterator[None]:
    yield
    end_all()
