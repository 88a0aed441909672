"""
What a run waits for, for rights that depend on it.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nr_agent_core.domain.run_events import ApprovalRequested, ModelAnswered
from nr_agent_core.ports.run_store import RunStore


@dataclass(frozen=True)
class WaitingCall:
    """
    A call that somebody is to decide on.
    """

    tool: str
    arguments: Mapping[str, Any]


def waiting_calls(store: RunStore, run_id: str) -> tuple[WaitingCall, ...]:
    """
    The calls of *run_id* that were put up for a decision last.

    None are left of a run that is over and whose content was forgotten: nothing of it can be decided.
    """
    answered = put_up = None
    for stored in store.events(run_id):
        if isinstance(stored.event, ModelAnswered):
            answered = stored.event
        elif isinstance(stored.event, ApprovalRequested):
            put_up = answered
    if put_up is None or put_up.arguments is None:
        return ()
    return tuple(
        WaitingCall(call.tool, json.loads(put_up.arguments[call.index]))
        for call in put_up.calls
        if call.approval and call.refusal is None
    )
