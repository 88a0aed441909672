"""
The strategies of the test kit make what they promise, and reach what matters.
"""

import collections

from hypothesis import HealthCheck, find, given, settings

from nr_agent_core.domain.run import fold
from nr_agent_core.domain.run_events import EVENT_TYPES, RunEvent
from nr_agent_core.domain.run_status import RunStatus
from nr_agent_core.domain.tool_result import Outcome, RecordReference, ToolResult
from nr_agent_core.domain.write_evidence import Wrote
from nr_agent_core.testing import strategies

EVERYWHERE = settings(
    max_examples=300, database=None, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck)
)
QUICK = settings(max_examples=2000, database=None, suppress_health_check=list(HealthCheck))


@given(strategies.texts())
def test_texts_can_be_stored(text: str) -> None:
    """They are valid: no lone surrogate is among them."""
    assert text.encode("utf-8").decode("utf-8") == text


def test_texts_reach_what_is_nasty() -> None:
    """NUL and characters beyond the first plane come up, and lone surrogates where they are asked for."""
    nul = find(strategies.texts(), lambda text: "\x00" in text, settings=QUICK)
    beyond = find(strategies.texts(), lambda text: any(c > "\uffff" for c in text), settings=QUICK)
    halves = strategies.texts_with_surrogates()
    half = find(halves, lambda text: any("\ud800" <= c <= "\udfff" for c in text), settings=QUICK)

    assert nul == "\x00"
    assert [len(text.encode("utf-16-le", "surrogatepass")) for text in (beyond, half)] == [4, 2]


@given(strategies.record_references())
def test_references_are_valid_and_survive_their_text_form(reference: RecordReference) -> None:
    """What is made is a reference, as a table and a uid (T6)."""
    table, _, uid = str(reference).partition(":")

    assert (table, uid) == (reference.table, str(reference.uid))


@given(strategies.tool_results())
def test_only_a_text_has_written(result: ToolResult) -> None:
    """Results keep the rule that an error or unchanged names no record (T5)."""
    assert not result.writes or result.outcome is Outcome.TEXT
    assert len({write.reference for write in result.writes}) == len(result.writes)


def test_every_kind_of_event_is_made() -> None:
    """No kind is forgotten."""
    seen = set()

    @EVERYWHERE
    @given(strategies.events())
    def look(event: RunEvent) -> None:
        seen.add(type(event))

    look()

    assert seen == set(EVENT_TYPES)


@given(strategies.event_streams())
def test_every_prefix_of_a_stream_folds(stream: tuple[RunEvent, ...]) -> None:
    """A stream is one that a store may hold at any moment (R1)."""
    for length in range(1, len(stream) + 1):
        assert fold("run", stream[:length]).sequence == length


def test_streams_reach_every_status_evidence_and_late_outcomes() -> None:
    """The walk goes everywhere: each status, each evidence, outcomes that came late."""
    seen: collections.Counter[object] = collections.Counter()

    @EVERYWHERE
    @given(strategies.event_streams())
    def look(stream: tuple[RunEvent, ...]) -> None:
        run = fold("run", stream)
        seen[run.status] += 1
        seen[run.evidence.wrote] += 1
        seen["late"] += any(result.late for at in run.rounds for result in at.results)
        seen["outside"] += run.outside
        seen["denied"] += any(at.decision is not None and not at.decision.approved for at in run.rounds)

    look()

    wanted = {*RunStatus, *Wrote, "late", "outside", "denied"}
    assert {what for what in wanted if not seen[what]} == set()
