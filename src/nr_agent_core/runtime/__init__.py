"""
Runs: what a host calls to start, decide, cancel, read and recover them.
"""

from typing import TYPE_CHECKING, Any

from nr_agent_core.runtime.facade import Runtime
from nr_agent_core.runtime.results import InboxItem, RunResult, UpkeepReport

if TYPE_CHECKING:
    from nr_agent_core.runtime.async_facade import AsyncRuntime

__all__ = ["AsyncRuntime", "InboxItem", "RunResult", "Runtime", "UpkeepReport"]


def __getattr__(name: str) -> Any:
    # Only a host with an event loop pays for one.
    if name == "AsyncRuntime":
        from nr_agent_core.runtime.async_facade import AsyncRuntime

        return AsyncRuntime
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
