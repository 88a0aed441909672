"""
One host over both facades.
"""

import pytest

from nr_agent_core.adapters.memory import MemoryStore
from nr_agent_core.testing.manual_clock import ManualClock
from tests.asynchronous.blocking import BlockingChat
from tests.chat.world import World


@pytest.fixture(params=["plain", "asynchronous"])
def world(request: pytest.FixtureRequest) -> World:
    """An empty host, over the plain and the asynchronous facade."""
    clock = ManualClock()
    world = World(MemoryStore(clock=clock), clock)
    if request.param == "asynchronous":
        world.facade = BlockingChat
    return world
