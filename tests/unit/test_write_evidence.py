"""Did this run write: yes, no, or cannot tell."""

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nr_agent_core.domain.run_events import NotExecuted, ToolFinished, ToolStarted
from nr_agent_core.domain.tool_result import Outcome, RecordReference, RecordWrite, ToolEffect, WriteKind
from nr_agent_core.domain.write_evidence import OpenCall, WriteEvidence, Wrote

READ, IDEMPOTENT, HARMFUL = ToolEffect.READ_ONLY, ToolEffect.IDEMPOTENT_WRITE, ToolEffect.NON_IDEMPOTENT_WRITE
PAGE = RecordWrite(RecordReference("pages", 1), WriteKind.CREATED)


def finished(effect: ToolEffect, outcome: Outcome, *writes: RecordWrite, index: int = 0) -> ToolFinished:
    """An executed call's outcome."""
    return ToolFinished(0, index, "tool", effect, True, outcome, 1, writes=writes)


@pytest.mark.parametrize(
    ("effect", "outcome", "writes", "released", "wrote"),
    [
        (HARMFUL, Outcome.TEXT, (PAGE,), True, Wrote.YES),
        (HARMFUL, Outcome.TEXT, (PAGE,), False, Wrote.YES),
        (HARMFUL, Outcome.TEXT, (), True, Wrote.YES),
        (HARMFUL, Outcome.TEXT, (), False, Wrote.CANNOT_TELL),
        (HARMFUL, Outcome.UNCHANGED, (), True, Wrote.NO),
        (HARMFUL, Outcome.ERROR, (), True, Wrote.NO),
        (HARMFUL, Outcome.UNKNOWN, (), True, Wrote.CANNOT_TELL),
        (IDEMPOTENT, Outcome.UNKNOWN, (), False, Wrote.CANNOT_TELL),
        (READ, Outcome.TEXT, (), True, Wrote.NO),
        (READ, Outcome.TEXT, (PAGE,), False, Wrote.YES),
        (READ, Outcome.ERROR, (), True, Wrote.NO),
    ],
)
def test_what_one_executed_call_proves(
    effect: ToolEffect, outcome: Outcome, writes: tuple[RecordWrite, ...], released: bool, wrote: Wrote
) -> None:
    """(V1) Records, or a released write without records; an approved reading call is no write (T7 writes count)."""
    evidence = WriteEvidence().after_outcome(finished(effect, outcome, *writes), released=released)

    assert evidence.wrote is wrote
    assert bool(evidence.open_calls) is (outcome is Outcome.UNKNOWN)


def test_a_refused_call_proves_nothing() -> None:
    """(V1) Denied and refused calls are events and no writes."""
    event = ToolFinished(0, 0, "tool", HARMFUL, False, Outcome.ERROR, 1, refusal=NotExecuted.DECLINED)

    assert WriteEvidence().after_outcome(event, released=True).wrote is Wrote.NO


def test_an_intent_without_outcome_cannot_be_told() -> None:
    """(V1) The write may have happened."""
    evidence = WriteEvidence().after_intent(ToolStarted(0, 0, "tool", HARMFUL, "key"), released=True)

    assert evidence.wrote is Wrote.CANNOT_TELL
    assert evidence.open_calls == (OpenCall("0.0", "tool", released=True),)
    assert evidence.after_outcome(finished(HARMFUL, Outcome.ERROR), released=True).wrote is Wrote.NO


def test_unknown_calls_are_listed_beside_any_evidence() -> None:
    """(V1) A record written does not hide a call of unknown outcome."""
    evidence = WriteEvidence().after_outcome(finished(HARMFUL, Outcome.TEXT, PAGE), released=True)
    evidence = evidence.after_outcome(finished(HARMFUL, Outcome.UNKNOWN, index=1), released=True)

    assert evidence.wrote is Wrote.YES
    assert evidence.unknown_tools == ("tool",)


@given(st.booleans(), st.sampled_from(Outcome))
def test_a_late_outcome_counts_as_if_it_had_come_in_time(released: bool, outcome: Outcome) -> None:
    """(R7) Evidence learns what became known, with the release that the call had."""
    open_call = WriteEvidence().after_outcome(finished(HARMFUL, Outcome.UNKNOWN), released=released)
    late = attrs.evolve(finished(HARMFUL, outcome), late=True)

    assert open_call.after_outcome(late, released=False) == WriteEvidence().after_outcome(
        finished(HARMFUL, outcome), released=released
    )


@given(st.lists(st.tuples(st.integers(1, 3), st.sampled_from(WriteKind)), min_size=1))
def test_one_entry_per_record(written: list[tuple[int, WriteKind]]) -> None:
    """(E2) However often a run wrote a record, it is listed once."""
    evidence = WriteEvidence()
    for uid, kind in written:
        event = finished(HARMFUL, Outcome.TEXT, RecordWrite(RecordReference("pages", uid), kind))
        evidence = evidence.after_outcome(event, released=True)

    assert sorted(write.reference.uid for write in evidence.records) == sorted({uid for uid, _ in written})
