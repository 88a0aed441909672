"""
A public kit for testing hosts and adapters.

Contract suites for adapters are in ``nr_agent_core.testing.contracts`` (they need pytest),
strategies for Hypothesis in ``nr_agent_core.testing.strategies``.
"""

from nr_agent_core.testing.crashing import (
    CrashingBus,
    CrashingModel,
    CrashingStore,
    CrashPlan,
    Death,
    Moment,
    Point,
    WorkerDied,
    crashing_tool,
    every_plan,
)
from nr_agent_core.testing.manual_clock import ManualClock
from nr_agent_core.testing.recorded_model import NotRecordedError, RecordedModel
from nr_agent_core.testing.scripted_model import Cut, ScriptedModel, ScriptUsedUpError, call, round_of
from nr_agent_core.testing.sequential_ids import SequentialIds

__all__ = [
    "CrashPlan",
    "CrashingBus",
    "CrashingModel",
    "CrashingStore",
    "Cut",
    "Death",
    "ManualClock",
    "Moment",
    "NotRecordedError",
    "Point",
    "RecordedModel",
    "ScriptUsedUpError",
    "ScriptedModel",
    "SequentialIds",
    "WorkerDied",
    "call",
    "crashing_tool",
    "every_plan",
    "round_of",
]
