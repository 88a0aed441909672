"""
Where tools run.
"""

from collections.abc import Callable
from typing import Protocol

from nr_agent_core.domain.tool_result import ToolResult


class ToolExecutor(Protocol):
    """
    Runs a tool beside the driver, so that a deadline can be kept (T4).
    """

    def run(
        self, work: Callable[[], ToolResult], *, deadline: float, late: Callable[[ToolResult], None]
    ) -> ToolResult | None:
        """
        The result of *work*, or None when *deadline* seconds passed first.

        After a passed deadline *work* goes on; when it ends, *late* gets its result, from the
        thread that ran it. An ``Exception`` never comes out of *work*; a ``BaseException`` of it
        is raised here, before the deadline, and dropped after it.
        """
        ...
