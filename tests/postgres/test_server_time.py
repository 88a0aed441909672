"""
The server's time is learned from time to time, and told in between.
"""

import pytest

from nr_agent_core.adapters.postgres import server_time
from nr_agent_core.adapters.postgres.server_time import ServerTime


def test_it_is_told_as_far_as_it_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not before it was learned, then for a minute, then not until it is learned again (R8)."""
    running = 100.0
    monkeypatch.setattr(server_time, "_running", lambda: running)
    known = ServerTime()
    assert known.now() is None

    known.learn(5000.0)
    assert known.now() == 5000.0
    running = 160.0
    assert known.now() == 5060.0
    running = 160.5
    assert known.now() is None

    known.learn(4000.0)
    assert known.now() == 4000.0


def test_a_machine_without_the_better_clock_has_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where sleep is not counted the time that runs is good enough."""
    monkeypatch.delattr(server_time.time, "CLOCK_BOOTTIME", raising=False)
    known = ServerTime()
    known.learn(5000.0)

    now = known.now()
    assert now is not None
    assert 5000.0 <= now < 5060.0
