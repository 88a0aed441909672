"""
What the model is told of the run at work, and of calls of earlier runs; a cache changes none of it.
"""

import itertools

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nr_agent_core.domain.context_window import CALL_TOKENS, MESSAGE_TOKENS, estimate
from nr_agent_core.domain.conversation import Message
from nr_agent_core.domain.failures import FailureCode
from nr_agent_core.domain.model_briefing import (
    Briefing,
    BriefingCache,
    KnownOutcome,
    declined_tools,
    known_outcomes,
    runs_of_unknown_outcome,
)
from nr_agent_core.domain.model_dialogue import ModelMessage
from nr_agent_core.domain.notices import NoticeCode
from nr_agent_core.domain.run import Run, fold
from nr_agent_core.domain.run_events import (
    ApprovalDecided,
    ApprovalRequested,
    DecisionPlace,
    NotExecuted,
    RunCancelled,
    RunCompleted,
    RunEvent,
    RunFailed,
    ToolStarted,
)
from nr_agent_core.domain.run_status import RunReason, RunStatus
from nr_agent_core.domain.tool_outcomes import OUTCOME_UNKNOWN, not_executed_text
from nr_agent_core.domain.tool_result import Outcome
from nr_agent_core.domain.verdict import ended_notices, finished_outside_notice, verdict
from nr_agent_core.testing.strategies import event_streams, texts
from tests.unit.briefed import (
    FLOOR,
    PAGE,
    READING,
    ROOM,
    RUN,
    TEAM,
    WRITING,
    after,
    answered,
    brief,
    call,
    cost,
    finished,
    notice,
    said,
    told,
    user,
)


def dialogue(run: Run) -> tuple[ModelMessage, ...]:
    """What the model reads of the run's own rounds."""
    briefed = Briefing("system", (), "And now?", tokens=ROOM).request(run, True)
    assert briefed is not None
    assert briefed.request.messages[0] == ModelMessage("user", "And now?")
    return briefed.request.messages[1:]


def test_a_round_is_told_with_its_calls_and_their_results() -> None:
    """Text beside calls, arguments as given, provider's ids and data echoed, results in order (T12)."""
    first, second = call(0, "find", READING), call(1, "look", READING)
    run = after(
        answered(0, first, second, text="One moment.", provider_ids=("a", "b"), provider_data="{}"),
        finished(first, text="1 page"),
        finished(second, text="2 pages"),
    )

    said_, *results = dialogue(run)

    assert (said_.role, said_.text, said_.provider_data) == ("assistant", "One moment.", "{}")
    assert [(made.name, made.arguments, made.id) for made in said_.calls] == [
        ("find", '{"n": 0}', "a"),
        ("look", '{"n": 1}', "b"),
    ]
    assert results == [ModelMessage("tool", "1 page", call_id="a"), ModelMessage("tool", "2 pages", call_id="b")]


@pytest.mark.parametrize(
    ("given_ids", "expected"),
    [
        (None, ["call_0_0", "call_0_1"]),
        ((None, "b"), ["call_0_0", "b"]),
        (("a", "a"), ["a", "call_0_1"]),
        (("", "b"), ["call_0_0", "b"]),
        (("a",), ["a", "call_0_1"]),
    ],
)
def test_an_id_is_made_where_the_provider_gave_none_of_its_own(
    given_ids: tuple[str | None, ...] | None, expected: list[str]
) -> None:
    """Each call of a round can be told from the others, and its result belongs to it (T12)."""
    calls = call(0, "find", READING), call(1, "find", READING)
    run = after(answered(0, *calls, provider_ids=given_ids), *(finished(made) for made in calls))
    said_, *results = dialogue(run)

    assert [made.id for made in said_.calls] == expected
    assert [result.call_id for result in results] == expected


def test_a_blank_round_is_not_told() -> None:
    """It is asked again as it was: no provider takes an empty message (R4)."""
    assert dialogue(after(answered(0))) == ()


def test_a_refused_call_is_told_by_its_reason() -> None:
    """Its text is given, or made of its reason where it was forgotten (R4, E4)."""
    refused = call(0, refusal=NotExecuted.DECLINED_BEFORE)
    forgotten = after(
        answered(0, refused),
        finished(refused, Outcome.ERROR, executed=False, refusal=NotExecuted.DECLINED_BEFORE, text=None),
    )

    assert dialogue(forgotten)[1].text == not_executed_text(NotExecuted.DECLINED_BEFORE)


def test_an_outcome_that_came_late_replaces_the_unknown_one() -> None:
    """The model reads what is known now (R7)."""
    writing = call(0)
    unknown = after(
        answered(0, writing),
        ToolStarted(0, 0, "save", WRITING, "k"),
        finished(writing, Outcome.UNKNOWN, text=OUTCOME_UNKNOWN),
    )
    known = unknown.after(finished(writing, late=True, text=None, writes=(PAGE,)))

    assert dialogue(unknown)[1].text == OUTCOME_UNKNOWN
    assert dialogue(known)[1].text == "This call was carried out. Written: pages:42 (created)."


def test_a_call_whose_result_is_missing_is_still_answered() -> None:
    """Every call of a question has its result, or providers refuse it."""
    assert [message.role for message in dialogue(after(answered(0, call(0, "find", READING))))] == ["assistant", "tool"]


def test_the_dialogue_is_weighed_densely() -> None:
    """Arguments and results are taken for dense text, calls cost beyond it (R11)."""
    reading = call(0, "find", READING)
    run = after(answered(0, reading, text="hm"), finished(reading, text="x" * 100))
    floor = FLOOR + cost("hm") + CALL_TOKENS + estimate("find") + estimate('{"n": 0}', dense=True)
    floor += MESSAGE_TOKENS + estimate("x" * 100, dense=True)

    assert Briefing("system", (), "And now?", tokens=floor).request(run, True) is not None
    assert Briefing("system", (), "And now?", tokens=floor - 1).request(run, True) is None


@given(event_streams())
def test_any_run_can_be_told_and_every_call_has_one_result(stream: tuple[RunEvent, ...]) -> None:
    """Whatever happened: assistant messages with calls are followed by exactly their results."""
    run = fold("run", stream)
    waiting: list[str | None] = []
    for message in dialogue(run):
        if message.role == "tool":
            assert waiting.pop(0) == message.call_id
            assert message.text is not None
        else:
            assert waiting == []
            assert message.text or message.calls
            waiting = [made.id for made in message.calls]
            assert len(set(waiting)) == len(waiting)
    assert waiting == []


@given(event_streams())
def test_one_briefing_tells_a_run_as_a_new_one_would(stream: tuple[RunEvent, ...]) -> None:
    """What a briefing keeps between questions changes nothing (R2)."""
    kept = Briefing("system", (), "And now?", tokens=ROOM)
    run = Run("run")
    for event in stream:
        run = run.after(event)
        fresh = Briefing("system", (), "And now?", tokens=ROOM)

        assert kept.request(run, True) == fresh.request(run, True)


# --------------------------------------------------------------------------- what runs tell of calls


def test_outcomes_are_known_late_or_still_not() -> None:
    """Carried out with records, not carried out, unknown: as the stream has it now (R7)."""
    calls = [call(number) for number in range(3)]
    run = after(
        answered(0, *calls),
        *itertools.chain.from_iterable(
            (ToolStarted(0, made.index, "save", WRITING, "k"), finished(made, Outcome.UNKNOWN)) for made in calls
        ),
    )
    run = run.after(finished(calls[0], late=True, text=None, writes=(PAGE,)))
    run = run.after(finished(calls[1], Outcome.ERROR, late=True, text=None))

    assert known_outcomes(run) == (
        KnownOutcome("0.0", "save", True, (PAGE,)),
        KnownOutcome("0.1", "save", False),
        KnownOutcome("0.2", "save"),
    )


def test_only_denied_calls_that_asked_a_person_are_declined() -> None:
    """Reading siblings waited with them and are not named; granted rounds neither (M4)."""
    asked, sibling = call(0, approval=True), call(1, "find", READING)
    waiting = (answered(0, asked, sibling), ApprovalRequested("g"))
    denied = after(*waiting, ApprovalDecided(False, "anna", DecisionPlace.CHAT, "g", "s2"))
    granted = after(*waiting, ApprovalDecided(True, "anna", DecisionPlace.CHAT, "g", "s2"))

    assert declined_tools(denied) == ("save",)
    assert declined_tools(granted) == declined_tools(after(*waiting)) == ()


def test_runs_to_ask_again_are_those_that_left_an_unknown_outcome() -> None:
    """Each once; other messages name none (R7)."""
    flag = notice(NoticeCode.WRITE_OUTCOME_UNKNOWN, tools=["save"], calls=["0.0"])
    messages = (user(0, run_id="a"), said(1, "x", flag, run_id="a"), said(2, "", flag, run_id="a"), said(3, run_id="b"))

    assert runs_of_unknown_outcome(messages) == ("a",)


@given(event_streams(conversation="c"))
def test_whatever_a_run_leaves_can_be_told(stream: tuple[RunEvent, ...]) -> None:
    """Notices made by the verdict become lines that name every record and every unknown tool (M1, F5)."""
    run = fold("run", stream)
    if not run.settled:
        return
    if any(isinstance(event, RunCompleted) for event in stream):
        message = said(1, "Answer.", *verdict("Answer.", run, lambda text: True), run_id="run")
    else:
        message = said(1, "", *ended_notices(run), run_id="run")
    line = told(message, writes={"run": run.evidence.records}, outcomes={"run": known_outcomes(run)})

    for record in run.evidence.records:
        assert str(record) in line
    for tool in run.evidence.unknown_tools:
        assert tool in line
    outside = told(said(1, "", finished_outside_notice(RunStatus.COMPLETED, run.evidence.records)))
    assert all(str(record) in outside for record in run.evidence.records)


# ---------------------------------------------------------------------------------------- the cache


NOTHING = notice(NoticeCode.NOTHING_SAVED)
UNKNOWN = notice(NoticeCode.WRITE_OUTCOME_UNKNOWN, tools=["save"], calls=["0.0"])


@st.composite
def conversations(draw: st.DrawFn) -> list[Message]:
    """A conversation with answers, lines without text, notices and runs."""
    messages: list[Message] = []
    for number in range(draw(st.integers(0, 8))):
        messages.append(user(len(messages), draw(texts(max_size=5)), f"run{number}"))
        for _ in range(draw(st.integers(0, 2))):
            flags = draw(st.sampled_from([(), (), (NOTHING,), (UNKNOWN,)]))
            messages.append(said(len(messages), draw(texts(max_size=5)), *flags, run_id=f"run{number}"))
    return messages


@st.composite
def windows(draw: st.DrawFn) -> tuple[int, int, bool, dict[str, object]]:
    """Where a window lies, and what is known of the runs at that time."""
    runs = st.sampled_from([f"run{number}" for number in range(8)])
    facts: dict[str, object] = {
        "writes": draw(st.dictionaries(runs, st.sampled_from([(PAGE,), (PAGE, TEAM)]), max_size=4)),
        "declined": draw(st.dictionaries(runs, st.just(("save",)), max_size=2)),
        "outcomes": draw(st.dictionaries(runs, st.just((KnownOutcome("0.0", "save", True),)), max_size=2)),
    }
    return draw(st.integers(0, 12)), draw(st.integers(0, 24)), draw(st.booleans()), facts


@given(conversations(), st.lists(windows(), min_size=1, max_size=6), st.integers(FLOOR, FLOOR + 300))
def test_a_cache_changes_nothing_but_the_cost(
    messages: list[Message], asked: list[tuple[int, int, bool, dict[str, object]]], tokens: int
) -> None:
    """Whatever window and facts come after whatever others: the same question as without a cache (M5)."""
    cache = BriefingCache()
    for first, last, copied, facts in asked:
        window = messages[first:last]
        if copied:
            window = [attrs.evolve(message) for message in window]
        cached = Briefing("system", window, "And now?", tokens=tokens, cache=cache, **facts).request(RUN, True)
        fresh = Briefing("system", window, "And now?", tokens=tokens, **facts).request(RUN, True)

        assert cached == fresh


def test_a_cached_message_is_not_made_again() -> None:
    """A turn pays for what is new: the kept lines are the very same objects."""
    cache = BriefingCache()
    messages = list(itertools.chain.from_iterable((user(2 * n), said(2 * n + 1, run_id=f"r{n}")) for n in range(50)))
    first = brief(*messages[:80], cache=cache).request.messages
    second = brief(*messages[10:90], cache=cache, writes={"r44": (PAGE,)}).request.messages

    assert all(one is two for one, two in zip(first[10:80], second[:70], strict=True))


def test_a_briefing_is_not_changed_by_a_later_one_with_the_same_cache() -> None:
    """Two segments may work at the same time; what one converted stays as it was."""
    cache = BriefingCache()
    messages = (user(0), said(1, run_id="r"))
    earlier = Briefing("system", messages, "And now?", tokens=ROOM, cache=cache)
    before = earlier.request(RUN, True)
    Briefing("system", messages, "And now?", tokens=ROOM, cache=cache, writes={"r": (PAGE,)}).request(RUN, True)

    assert earlier.request(RUN, True) == before


def test_a_superseded_run_is_told_in_full() -> None:
    """From the run to the model's line, through the stored notice (F5, M4)."""
    run = after(
        answered(0, call(0, approval=True), call(1, "find", READING)),
        ApprovalRequested("g"),
        RunCancelled(RunReason.SUPERSEDED),
    )
    line = told(said(1, "", *ended_notices(run), run_id="now"))

    assert "status=cancelled, reason=superseded" in line
    assert "not carried out, nothing of them saved: save, find" in line


def test_the_failure_code_is_part_of_the_line() -> None:
    """Codes, never the sanitised text (P9)."""
    run = after(RunFailed(RunReason.PROVIDER_FAILED, FailureCode.RATE_LIMITED, "secret detail"))
    line = told(said(1, "", *ended_notices(run)))

    assert "code=rateLimited" in line
    assert "secret detail" not in line
