"""
The look: a whole round of calls is judged before any call of it is executed (R4).

What is refused here is refused for good. What is recorded here (effect, digest, whether a
person must approve) is what a card shows, a decision binds and a recovery reads.
"""

from typing import Any

import attrs

from nr_agent_core.domain.bounding import well_formed
from nr_agent_core.domain.canonical import call_digest
from nr_agent_core.domain.errors import InvalidValueError, StoredFormError
from nr_agent_core.domain.gate import Gate
from nr_agent_core.domain.model_dialogue import ModelCall
from nr_agent_core.domain.parameters import parse_arguments
from nr_agent_core.domain.run import Round, Run
from nr_agent_core.domain.run_events import NotExecuted, RecordedCall
from nr_agent_core.domain.tool_result import ToolEffect
from nr_agent_core.domain.value import Value

_LONGEST_NAME = 64


@attrs.frozen(repr=False, eq=False)
class LookedAt(Value):
    """
    The calls of one answer as they are recorded: facts, arguments as given, provider ids to echo.
    """

    calls: tuple[RecordedCall, ...] = ()
    arguments: tuple[str, ...] = ()
    provider_ids: tuple[str | None, ...] = ()


def look(calls: tuple[ModelCall, ...], run: Run, gate: Gate, *, closing: bool) -> LookedAt:
    """
    The recorded form of a round's *calls*.

    Two calls with the same provider id and the same digest are one (T12). In a closing round
    every call is refused (R4); a call that a person declined before in this run is refused
    without asking again (A6).
    """
    if not calls:
        return LookedAt()
    declined = declined_digests(run)
    recorded: list[RecordedCall] = []
    kept: list[ModelCall] = []
    seen: set[tuple[str, str]] = set()
    for call in calls:
        seen_as = _record(len(recorded), call, gate, declined, closing=closing)
        identity = (call.id or "", seen_as.digest)
        if call.id and identity in seen:
            continue
        seen.add(identity)
        recorded.append(seen_as)
        kept.append(call)
    return LookedAt(
        tuple(recorded),
        tuple(well_formed(call.arguments) for call in kept),
        tuple(None if call.id is None else well_formed(call.id) for call in kept),
    )


def declined_digests(run: Run) -> frozenset[str]:
    """
    The digests of calls that needed approval and were denied in this run (A6).
    """
    denied = (at for at in run.rounds if at.decision is not None and not at.decision.approved)
    return frozenset(call.digest for at in denied for call in at.waiting_calls if call.approval)


def recorded_arguments(run: Run, at: Round, call: RecordedCall) -> dict[str, Any]:
    """
    The stored arguments of *call*, held against the digest that was recorded with it (P7).

    Raises:
        StoredFormError: they are missing, damaged, or not those that were looked at and approved.
    """
    subject = f"arguments of call {at.answer.round}.{call.index} of run {run.id!r}"
    raw = at.answer.arguments
    if raw is None or call.index >= len(raw):
        raise StoredFormError(subject, "they are missing")
    try:
        arguments = parse_arguments(raw[call.index])
    except InvalidValueError as error:
        # Without what was found: a stored text is in no error.
        raise StoredFormError(subject, f"they are not {error.allowed}") from None
    if call_digest(call.tool, arguments) != call.digest:
        raise StoredFormError(subject, "they are not those that were recorded")
    return arguments


def argument_violation(call: ModelCall, gate: Gate) -> str | None:
    """
    What is wrong with the arguments of *call*, in words for the model; None when nothing is.
    """
    tool = gate.registry.get(call.name)
    if tool is None:
        return None
    try:
        return tool.violation(parse_arguments(call.arguments))
    except InvalidValueError as error:
        return str(error)


def _record(index: int, call: ModelCall, gate: Gate, declined: frozenset[str], *, closing: bool) -> RecordedCall:
    # Looked up whole: what is cut for the record must not become another tool's name.
    tool = gate.registry.get(call.name)
    name = call.name if tool is not None else well_formed(call.name)[:_LONGEST_NAME]
    arguments: dict[str, Any] | None = None
    try:
        parsed = parse_arguments(call.arguments)
        digest, arguments = call_digest(name, parsed), parsed
    except InvalidValueError:
        digest = call_digest(name, {"invalid": well_formed(call.arguments)})
    if tool is None:
        why = NotExecuted.CLOSING_ROUND if closing else NotExecuted.NOT_REGISTERED
        return RecordedCall(index, name, ToolEffect.NON_IDEMPOTENT_WRITE, digest, refusal=why)
    decision = gate.decide(name)
    needs_approval = gate.needs_approval(tool)
    refusal: NotExecuted | None = None
    if closing:
        refusal = NotExecuted.CLOSING_ROUND
    elif decision.reason is not None:
        refusal = NotExecuted(decision.reason.value)
    elif arguments is None or tool.violation(arguments) is not None:
        refusal = NotExecuted.INVALID_ARGUMENTS
    elif needs_approval and digest in declined:
        refusal = NotExecuted.DECLINED_BEFORE
    return RecordedCall(index, name, tool.effect, digest, tool.remote, needs_approval and refusal is None, refusal)
