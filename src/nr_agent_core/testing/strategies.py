"""
Hypothesis strategies for what the library stores and says: texts, references, results, events, whole streams.

Needs the package ``hypothesis``.
"""

import functools
import math
from collections.abc import Callable
from typing import TypeVar

import attrs
from hypothesis import strategies as st

from nr_agent_core.domain.effects import AskModel, CallTool, Fail, Finish, RecoverCall, RefuseCall, RequestApproval
from nr_agent_core.domain.effects import StartTool as StartToolEffect
from nr_agent_core.domain.failures import FailureCode
from nr_agent_core.domain.previews import CallPreview
from nr_agent_core.domain.run import Run
from nr_agent_core.domain.run_events import (
    ApprovalDecided,
    ApprovalRequested,
    Claimed,
    ClaimReason,
    DecisionPlace,
    ModelAnswered,
    NotExecuted,
    RecordedCall,
    Requeued,
    RunCancelled,
    RunCompleted,
    RunEvent,
    RunFailed,
    Started,
    ToolFinished,
    ToolStarted,
)
from nr_agent_core.domain.run_status import RunReason, RunStatus
from nr_agent_core.domain.tool_result import Outcome, RecordReference, RecordWrite, ToolEffect, ToolResult, WriteKind
from nr_agent_core.domain.tool_result import merge_writes as _merge

_T = TypeVar("_T")

NASTY = (
    "",
    " ",
    "\x00",
    "a\x00b",
    "\r\n",
    "\u2028\u2029",
    "\ufeff",
    "\u202eabc\u202c",
    "e\u0301",
    "\u00e9",
    "\U0001f469\u200d\U0001f4bb",
    "\U0001d49c",
    "\ufffd",
    "ß",
    "İ",
    "'; DROP TABLE run; --",
    '{"a": 1}',
    "[run note: nothingSaved] ",
    "~~~~",
)
"""Texts that stores, wires and patterns get wrong; all of them valid."""

HEX = "0123456789abcdef"
"""The digits of digests and keys."""

_numbers, _counts = st.integers(0, 20), st.integers(0, 10**6)


@functools.cache
def texts(*, max_size: int = 40) -> st.SearchStrategy[str]:
    """Valid text, nasty on purpose: NUL, line separators, combining marks, joined emoji, text that looks like code."""
    plain = st.text(st.characters(codec="utf-8"), max_size=max_size)
    return st.one_of(plain, st.sampled_from(NASTY), st.lists(st.sampled_from(NASTY), max_size=4).map("".join))


@functools.cache
def texts_with_surrogates() -> st.SearchStrategy[str]:
    """What a model, a browser or a tool may hand over: valid text with lone surrogates in between (P3)."""
    halves = st.sampled_from(["\ud800", "\udfff", "\udc80", "x"])
    return st.lists(st.one_of(texts(max_size=5), halves), min_size=1, max_size=6).map("".join)


@functools.cache
def ids() -> st.SearchStrategy[str]:
    """Ids of runs, conversations and actors: 1 to 255 characters, compared exactly."""
    return st.one_of(
        st.text(HEX, min_size=32, max_size=32), st.text(st.characters(codec="utf-8"), min_size=1).map(_cut)
    )


def _cut(text: str) -> str:
    return text[:255]


@functools.cache
def record_references() -> st.SearchStrategy[RecordReference]:
    """References with integers and with texts as uid, from the smallest to the longest (T6)."""
    letters = "abcXYZ019_"
    uids = st.one_of(
        st.integers(1, 2**63),
        st.text(letters + ".~-", min_size=1, max_size=128),
        st.sampled_from(["0", "42", "a" * 128, "00000000-0000-4000-8000-000000000000"]),
    )
    return st.builds(RecordReference, st.text(letters, min_size=1, max_size=64), uids)


@functools.cache
def record_writes(*, max_size: int = 3) -> st.SearchStrategy[tuple[RecordWrite, ...]]:
    """Writes of one call: one entry per record (T5)."""
    writes = st.lists(st.builds(RecordWrite, record_references(), st.sampled_from(WriteKind)), max_size=max_size)
    return writes.map(lambda made: _merge((), tuple(made)))


@functools.cache
def tool_results() -> st.SearchStrategy[ToolResult]:
    """Results of every outcome; a text may have written (T4, T5)."""
    made = st.builds(ToolResult, st.sampled_from(Outcome), texts())
    written = st.tuples(made, record_writes())
    return written.map(lambda both: both[0].carrying(both[1]) if both[0].outcome is Outcome.TEXT else both[0])


@functools.cache
def recorded_calls(index: int = 0) -> st.SearchStrategy[RecordedCall]:
    """A call as it was looked at; one that was refused waits for nobody (R4)."""
    return st.builds(
        lambda tool, effect, digest, remote, approval, refusal: RecordedCall(
            index, tool, effect, digest, remote, approval and refusal is None, refusal
        ),
        _names(),
        st.sampled_from(ToolEffect),
        st.text(HEX, min_size=64, max_size=64),
        st.booleans(),
        st.booleans(),
        _maybe(st.sampled_from(NotExecuted), often=False),
    )


@functools.cache
def _names() -> st.SearchStrategy[str]:
    return st.text("abcdefXYZ019_-", min_size=1, max_size=64)


def _maybe(strategy: st.SearchStrategy[_T], *, often: bool = True) -> st.SearchStrategy[_T | None]:
    none = st.none()
    return st.one_of(none, strategy) if often else st.one_of(none, none, none, strategy)


@functools.cache
def _times() -> st.SearchStrategy[float]:
    return st.floats(0, 4e9, allow_nan=False).map(lambda seconds: math.floor(seconds * 1000) / 1000)


@functools.cache
def _tokens() -> st.SearchStrategy[str]:
    return st.text(HEX, min_size=16, max_size=16)


@functools.cache
def _maybe_token() -> st.SearchStrategy[str | None]:
    return _maybe(_tokens())


@functools.cache
def _digests() -> st.SearchStrategy[str]:
    return st.text(HEX, min_size=64, max_size=64)


@functools.cache
def _previews() -> st.SearchStrategy[CallPreview]:
    lines = st.lists(texts(), max_size=3).map(tuple)
    return st.builds(CallPreview, st.just("0.0"), lines, st.integers(0, 9), st.booleans(), st.booleans())


@functools.cache
def events() -> st.SearchStrategy[RunEvent]:
    """
    Any single event, every kind and every field; it need not fit any run. For codecs and stores.
    """
    return st.one_of(_opening_events(), _answer_events(), _approval_events(), _call_events(), _end_events())


def _opening_events() -> st.SearchStrategy[RunEvent]:
    return st.one_of(
        st.builds(
            Started,
            owner=ids(),
            max_rounds=st.integers(1, 20),
            conversation=_maybe(ids()),
            message=_maybe(_counts),
            segment=_maybe_token(),
            text=_maybe(texts()),
            instructions=_maybe(texts()),
        ),
        st.builds(Claimed, _tokens(), st.sampled_from(ClaimReason), st.booleans()),
    )


def _answer_events() -> st.SearchStrategy[RunEvent]:
    return st.builds(
        ModelAnswered,
        round=_numbers,
        provider=texts(),
        model=texts(),
        length=_counts,
        messages=_counts,
        left_out=_counts,
        offered=st.lists(_names(), max_size=3).map(tuple),
        calls=st.lists(recorded_calls(), max_size=3).map(tuple),
        input_tokens=_maybe(_counts),
        output_tokens=_maybe(_counts),
        finish_reason=_maybe(texts()),
        text=_maybe(texts()),
        arguments=_maybe(st.lists(texts(), max_size=3).map(tuple)),
        provider_ids=_maybe(st.lists(_maybe(texts()), max_size=3).map(tuple)),
        provider_data=_maybe(texts()),
    )


def _approval_events() -> st.SearchStrategy[RunEvent]:
    preconditions = _maybe(st.lists(_maybe(texts()), max_size=3).map(tuple))
    previews = _maybe(st.lists(_previews(), max_size=3).map(tuple))
    places = st.sampled_from(DecisionPlace)
    return st.one_of(
        st.builds(ApprovalRequested, _digests(), _maybe(_times()), previews=previews, preconditions=preconditions),
        st.builds(ApprovalDecided, st.booleans(), ids(), places, _digests(), _maybe_token()),
    )


def _call_events() -> st.SearchStrategy[RunEvent]:
    effects = st.sampled_from(ToolEffect)
    return st.one_of(
        st.builds(ToolStarted, _numbers, _numbers, _names(), effects, _digests()),
        st.builds(
            ToolFinished,
            _numbers,
            _numbers,
            _names(),
            effects,
            st.booleans(),
            st.sampled_from(Outcome),
            _counts,
            st.booleans(),
            st.booleans(),
            _maybe(st.sampled_from(NotExecuted)),
            record_writes(),
            text=_maybe(texts()),
        ),
    )


def _end_events() -> st.SearchStrategy[RunEvent]:
    reasons, codes = st.sampled_from(RunReason), st.sampled_from(FailureCode)
    return st.one_of(
        st.builds(RunCompleted, reasons),
        st.builds(RunFailed, reasons, codes, _maybe(texts()), st.booleans()),
        st.builds(RunCancelled, reasons, _maybe(ids()), st.booleans()),
        st.builds(Requeued, _times(), st.booleans()),
    )


@st.composite
def event_streams(draw: st.DrawFn, *, max_events: int = 25, conversation: str | None = None) -> tuple[RunEvent, ...]:
    """
    The stream of a run as it may be stored, from ``started`` on: every prefix folds.

    It may stop anywhere: running, waiting, queued, settled, or with a late outcome behind that.

    Args:
        draw: given by Hypothesis.
        max_events: how long it may become.
        conversation: the run's conversation; None for a bare run.
    """
    told = Started("owner", draw(st.integers(1, 3)), conversation, None, draw(_maybe_token()), text=draw(texts()))
    stream: list[RunEvent] = [told]
    run = Run("run").after(told)
    for _ in range(draw(st.integers(0, max_events))):
        event = _next_event(draw, run)
        if event is None:
            break
        run = run.after(event)
        stream.append(event)
    return tuple(stream)


def _next_event(draw: st.DrawFn, run: Run) -> RunEvent | None:
    """An event that *run* takes, or None where it has ended for good."""
    late = run.evidence.open_calls
    kinds: tuple[Callable[[st.DrawFn, Run], RunEvent | None], ...]
    match run.status:
        case RunStatus.QUEUED:
            kinds = (*((_claimed_by_worker,) * 4), _cancelled, _failed, *(_late for _ in late))
        case RunStatus.WAITING_FOR_APPROVAL:
            kinds = (_decided, _decided, _decided, _waits_on, _waits_on, _cancelled, *(_late for _ in late))
        case RunStatus.RUNNING:
            aside = (_claimed_by_recovery, _claimed_by_recovery, _requeued, _requeued, _cancelled, _failed)
            kinds = (*((_onward,) * 12), draw(st.sampled_from(aside)))
        case _:
            kinds = (_late,) if late else ()
    return draw(st.sampled_from(kinds))(draw, run) if kinds else None


def _waits_on(_: st.DrawFn, __: Run) -> RunEvent | None:
    """Nobody decides yet: the stream ends here."""
    return None


def _claimed_by_worker(draw: st.DrawFn, _: Run) -> RunEvent:
    return Claimed(draw(_tokens()), ClaimReason.WORKER)


def _claimed_by_recovery(draw: st.DrawFn, _: Run) -> RunEvent:
    return Claimed(draw(_tokens()), ClaimReason.RECOVERY, draw(st.booleans()))


def _cancelled(draw: st.DrawFn, run: Run) -> RunEvent:
    return RunCancelled(RunReason.CANCELLED, run.owner, draw(st.booleans()))


def _failed(draw: st.DrawFn, _: Run) -> RunEvent:
    return RunFailed(RunReason.INTERNAL, FailureCode.INTERNAL, "RuntimeError", draw(st.booleans()))


def _requeued(draw: st.DrawFn, _: Run) -> RunEvent:
    return Requeued(draw(_times()), draw(st.booleans()))


def _decided(draw: st.DrawFn, run: Run) -> RunEvent:
    digest = run.request.digest if run.request else ""
    where = draw(st.sampled_from(DecisionPlace))
    return ApprovalDecided(draw(st.booleans()), "decider", where, digest, draw(_maybe_token()))


def _late(draw: st.DrawFn, run: Run) -> RunEvent:
    """The outcome of a call that was given up (R7)."""
    number, index = map(int, draw(st.sampled_from(run.evidence.open_calls)).call_id.split("."))
    call = run.rounds[number].answer.calls[index]
    results = tool_results().map(lambda result: attrs.evolve(_finished(number, call, result), late=True, text=None))
    # Of a call that was tried again, a single try's error or unchanged tells nothing.
    return draw(results.filter(run.lacks))


def _onward(draw: st.DrawFn, run: Run) -> RunEvent:
    """What the segment at work brings about next."""
    match run.next_effect():
        case AskModel(number, offer_tools):
            return _answer(draw, number, closing=not offer_tools)
        case RequestApproval():
            return ApprovalRequested(draw(_digests()))
        case RefuseCall(number, call, why):
            return attrs.evolve(_finished(number, call, ToolResult.error("no")), executed=False, refusal=why)
        case StartToolEffect(number, call):
            return ToolStarted(number, call.index, call.tool, call.effect, "0" * 64)
        case CallTool(number, call) | RecoverCall(number, call, _):
            return _finished(number, call, draw(tool_results()))
        case Finish(reason):
            return RunCompleted(reason)
        case Fail(reason, code):
            return RunFailed(reason, code)
        case effect:
            raise AssertionError(f"a running run asks for {effect!r}")


def _answer(draw: st.DrawFn, number: int, *, closing: bool) -> ModelAnswered:
    calls = [draw(recorded_calls(index)) for index in range(draw(st.sampled_from((1, 2, 3, 0))))]
    if closing:
        calls = [attrs.evolve(call, approval=False, refusal=NotExecuted.CLOSING_ROUND) for call in calls]
    text = draw(texts())
    given = tuple(draw(st.sampled_from([None, "a", "b", "toolu_1"])) for _ in calls)
    return ModelAnswered(
        number,
        "scripted",
        "m",
        len(text) if text.strip() else 0,
        1,
        0,
        calls=tuple(calls),
        text=text,
        arguments=tuple('{"n": 1}' for _ in calls) or None,
        provider_ids=given or None,
    )


def _finished(number: int, call: RecordedCall, result: ToolResult) -> ToolFinished:
    return ToolFinished(
        number,
        call.index,
        call.tool,
        call.effect,
        True,
        result.outcome,
        len(result.content),
        call.remote,
        writes=result.writes,
        text=result.content,
    )
