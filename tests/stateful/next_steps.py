"""
What may happen next to a run, as far as its script tells.
"""

from collections.abc import Callable

from hypothesis import strategies as st

from nr_agent_core.domain.run_status import RunStatus
from nr_agent_core.domain.tool_result import Outcome, RecordReference, RecordWrite, WriteKind
from nr_agent_core.ports.unit_of_work import AppendEvents
from nr_agent_core.testing.contracts.run_script import RunScript

Step = Callable[[RunScript], AppendEvents]

writes = st.builds(
    RecordWrite,
    st.builds(RecordReference, st.just("pages"), st.sampled_from((1, 2, "1", "a-b", 2**64))),
    st.sampled_from(WriteKind),
)

UNSETTLED = (RunStatus.RUNNING, RunStatus.QUEUED, RunStatus.WAITING_FOR_APPROVAL)
SETTLED_OR_RESTING = tuple(status for status in RunStatus if status is not RunStatus.RUNNING)


def final_answer(script: RunScript) -> AppendEvents:
    """The model answers, and the run is over; told apart from other steps by its identity."""
    return script.answer("Done.")


def next_step(script: RunScript, data: st.DataObject, now: float) -> Step | None:
    """What may happen next to a run, when nothing comes in between."""
    chance, choice = data.draw(st.booleans()), data.draw(st.integers(0, 90))
    match script.run.status:
        case RunStatus.WAITING_FOR_APPROVAL:
            return lambda s: s.decide(approved=chance, queued=choice % 3 == 0)
        case RunStatus.QUEUED:
            return lambda s: s.claim()
        case RunStatus.RUNNING if script.run.intent is not None:
            outcome = data.draw(st.sampled_from((Outcome.TEXT, Outcome.TEXT, *Outcome)))
            found = data.draw(st.lists(writes, max_size=3)) if outcome is Outcome.TEXT else []
            return lambda s: s.outcome(*found, outcome=outcome)
        case RunStatus.RUNNING if may_intend(script):
            return lambda s: s.intend()
        case RunStatus.RUNNING if at_rest(script):
            propose: Step = lambda s: s.propose()  # noqa: E731 - one of three
            request: Step = lambda s: s.request(expires_at=now + choice if chance else None)  # noqa: E731
            return data.draw(st.sampled_from((propose, propose, request, final_answer)))
    return None


def has_intent(script: RunScript) -> bool:
    """A call is in flight, or was when the run ended."""
    return script.run.intent is not None


def at_rest(script: RunScript) -> bool:
    """Nothing of the round at work is open: the model may be asked."""
    at = script.run.round
    return script.run.intent is None and (at is None or len(at.results) == len(at.answer.calls))


def may_intend(script: RunScript) -> bool:
    """A call of the round at work may be made."""
    at = script.run.round
    ready = at is not None and len(at.results) < len(at.answer.calls) and (at.released or not at.needs_approval)
    return ready and script.run.intent is None
