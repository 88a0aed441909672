"""
The order of commits of a segment, without performing anything.
"""

from nr_agent_core.steps.messages import assistant_message, finished
from nr_agent_core.steps.orders import (
    MODEL_DEADLINE,
    RETRY_DELAYS,
    Announce,
    Ask,
    AskFailed,
    Commit,
    Execute,
    MakePreviews,
    Order,
    Reconcile,
    SegmentEnd,
    Setting,
    Steps,
)
from nr_agent_core.steps.segment import Segment, steps

__all__ = [
    "MODEL_DEADLINE",
    "RETRY_DELAYS",
    "Announce",
    "Ask",
    "AskFailed",
    "Commit",
    "Execute",
    "MakePreviews",
    "Order",
    "Reconcile",
    "Segment",
    "SegmentEnd",
    "Setting",
    "Steps",
    "assistant_message",
    "finished",
    "steps",
]
