"""
Runs: what a host calls to start, decide, cancel, read and recover them.
"""

from nr_agent_core.runtime.facade import Runtime
from nr_agent_core.runtime.results import InboxItem, RunResult, UpkeepReport

__all__ = ["InboxItem", "RunResult", "Runtime", "UpkeepReport"]
