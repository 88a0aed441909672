"""
The loop over one segment: ask the steps what is next, have it done, tell them what came of it.
"""

import logging
from collections.abc import Callable
from typing import Any

from nr_agent_core.domain.errors import AgentCoreError, LostRaceError, StoredFormError, StoreError
from nr_agent_core.domain.run_events import RunEvent
from nr_agent_core.domain.sanitiser import failure_text, sanitised_chain
from nr_agent_core.driver.waits import Tell, Work
from nr_agent_core.steps import Commit, Order, Segment, SegmentEnd, Steps

_log = logging.getLogger("nr_agent_core")

Perform = Callable[[Order], Work[Any]]


def drive(segment: Segment, opening: tuple[RunEvent, ...], perform: Perform) -> Work[SegmentEnd]:
    """
    Perform *segment* from its *opening* to where it ends.

    Raises:
        LostRaceError: somebody else moved the run on. Nothing more was stored.
        StoreError: the store is gone; the run is left to its lease.
        Exception: any other one rises after one append ``failed``/``internal`` was tried (F5). So
            does a StoredFormError: what is damaged now will not be whole later.
    """
    try:
        return (yield from _exhaust(segment, segment.steps(opening), perform, opened=False))
    except (LostRaceError, StoreError) as error:
        if isinstance(error, StoredFormError):
            yield from _try_to_fail(segment, error, perform)
        raise
    except Exception as error:
        yield from _try_to_fail(segment, error, perform)
        raise


def _exhaust(segment: Segment, steps: Steps, perform: Perform, *, opened: bool = True) -> Work[SegmentEnd]:
    outcome: Any = None
    try:
        while True:
            order = steps.send(outcome)
            outcome = yield from perform(order)
            if not opened and isinstance(order, Commit):
                opened = True
                yield Tell("TurnStarted", segment.run.id, segment.run.conversation)
    except StopIteration as done:
        end: SegmentEnd = done.value
        return end


def _try_to_fail(segment: Segment, error: Exception, perform: Perform) -> Work[None]:
    try:
        yield from _exhaust(segment, segment.broken(failure_text(error)), perform)
    except AgentCoreError as refused:
        _log.warning("run %s is left to its lease: %s", segment.run.id, sanitised_chain(refused))
