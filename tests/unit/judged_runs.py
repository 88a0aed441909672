"""
Runs to be judged: their events in short, and one run of each kind that a verdict tells apart.
"""

import attrs

from nr_agent_core.domain.run import Run, fold
from nr_agent_core.domain.run_events import (
    ApprovalDecided,
    ApprovalRequested,
    DecisionPlace,
    ModelAnswered,
    RecordedCall,
    RunCompleted,
    RunEvent,
    Started,
    ToolFinished,
    ToolStarted,
)
from nr_agent_core.domain.run_status import RunReason
from nr_agent_core.domain.tool_result import Outcome, RecordReference, RecordWrite, ToolEffect, WriteKind

WRITING = ToolEffect.NON_IDEMPOTENT_WRITE
READING = ToolEffect.READ_ONLY
PAGE = RecordWrite(RecordReference("pages", 42), WriteKind.CREATED)
TEAM = RecordWrite(RecordReference("team", "a-1"), WriteKind.UPDATED)


def call(index: int, tool: str = "save", effect: ToolEffect = WRITING, **more: object) -> RecordedCall:
    """A recorded call."""
    return RecordedCall(index, tool, effect, "d" * 64, **more)  # type: ignore[arg-type]


def answered(number: int, *calls: RecordedCall, text: str = "") -> ModelAnswered:
    """One round's answer."""
    return ModelAnswered(number, "p", "m", len(text), 1, 0, calls=calls, text=text)


def started(call: RecordedCall, number: int = 0) -> ToolStarted:
    """The intent of a call."""
    return ToolStarted(number, call.index, call.tool, call.effect, "k" * 64)


def finished(
    call: RecordedCall, outcome: Outcome = Outcome.TEXT, *writes: RecordWrite, number: int = 0, **more: object
) -> ToolFinished:
    """The end of a call."""
    return ToolFinished(number, call.index, call.tool, call.effect, True, outcome, 0, writes=writes, **more)  # type: ignore[arg-type]


def run_of(*events: RunEvent) -> Run:
    """The run that begins and goes on with these events."""
    return fold("run", (Started("owner", 5, "c", 0, "s"), *events))


def completed(*events: RunEvent) -> Run:
    """The same, ended with an answer."""
    number = sum(isinstance(event, ModelAnswered) for event in events)
    return run_of(*events, answered(number, text="Done."), RunCompleted(RunReason.COMPLETED))


WROTE_NOTHING = completed()
WROTE = completed(answered(0, call(0)), started(call(0)), finished(call(0), Outcome.TEXT, PAGE))
UNKNOWN = completed(answered(0, call(0)), started(call(0)), finished(call(0), Outcome.UNKNOWN))
UNPROVEN = completed(answered(0, call(0)), started(call(0)), finished(call(0), Outcome.TEXT))
FAILED_CALL = completed(answered(0, call(0)), started(call(0)), finished(call(0), Outcome.ERROR))
READ = completed(answered(0, call(0, effect=READING)), finished(call(0, effect=READING)))
WROTE_AND_UNKNOWN = completed(
    answered(0, call(0), call(1, "send")),
    started(call(0)),
    finished(call(0), Outcome.TEXT, PAGE),
    started(call(1, "send")),
    finished(call(1, "send"), Outcome.UNKNOWN),
)


WAITING = (answered(0, call(0, approval=True), call(1, "find", READING)), ApprovalRequested("g" * 64))

ASKED = completed(
    answered(0, call(0, "mail", approval=True)),
    answered(
        1,
        call(0, "save", approval=True),
        call(1, "look"),
        call(2, "save", approval=True),
        call(3, "send", approval=True),
    ),
    answered(2, call(0, "send", approval=True)),
)


def decided(run: Run, number: int, *, approved: bool, where: DecisionPlace = DecisionPlace.OUTSIDE) -> Run:
    """*run* with a decision on the round *number*."""
    decision = ApprovalDecided(approved, "boss", where, "g" * 64, "s2")
    rounds = (attrs.evolve(at, decision=decision) if n == number else at for n, at in enumerate(run.rounds))
    return attrs.evolve(run, outside=True, rounds=tuple(rounds))
