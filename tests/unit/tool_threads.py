"""
Work for the thread executor, and waiting for what its threads do.
"""

import threading
from collections.abc import Callable

import pytest

from nr_agent_core.defaults.tool_executor import ThreadToolExecutor
from nr_agent_core.domain.tool_result import ToolResult

OK = ToolResult.text("ok")


def never(result: ToolResult) -> None:
    """A late callback that must not be called."""
    pytest.fail("nothing was late")


def run(executor: ThreadToolExecutor, work: Callable[[], ToolResult], deadline: float = 30.0) -> ToolResult | None:
    """Runs work of which nothing may be late."""
    return executor.run(work, deadline=deadline, late=never)


def wait_until(true: Callable[[], bool]) -> None:
    """Yields to the other threads until something is so."""
    patience = threading.Event()
    for _ in range(30_000):
        if true():
            return
        patience.wait(0.001)
    pytest.fail("it never became so")
