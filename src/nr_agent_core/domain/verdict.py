"""
The verdict on a run that is over: which notices stand beside what it leaves (V6, F5, C4).

The run decides, the text only triggers (P1). A verdict is made once, where the run settles, from
the run's stream and from nothing a tool or model said about itself (V9).
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from nr_agent_core.domain.errors import InvalidValueError
from nr_agent_core.domain.notices import JsonValue, Notice, NoticeCode, in_order
from nr_agent_core.domain.run import Run
from nr_agent_core.domain.run_events import ApprovalDecided, DecisionPlace
from nr_agent_core.domain.run_status import RunStatus
from nr_agent_core.domain.tool_result import RecordWrite
from nr_agent_core.domain.write_evidence import WriteEvidence, Wrote

if TYPE_CHECKING:
    from nr_agent_core.domain.statements.statements import Statements


def verdict(
    text: str,
    run: Run,
    claims_change: Callable[[str], bool],
    *,
    outside: bool | None = None,
    statements: "Statements | None" = None,
) -> tuple[Notice, ...]:
    """
    The notices of a completed answer (V6, V7, V8, V9, V12, C7).

    A claim beside a run that wrote nothing is ``nothingSaved``. Any call of unknown outcome is
    ``writeOutcomeUnknown``, whatever the text says and whatever else was written. A run that was
    decided outside its chat says so.

    Args:
        text: the answer as it is stored.
        run: the run, completed or about to be.
        claims_change: whether a text claims a change; asked only where the answer matters, which
            is when the run provably wrote nothing.
        outside: whether the run was decided outside its chat; None: what the run says.
        statements: holds what else the answer states against the run; None: claims alone are weighed.

    Raises:
        Exception: what *claims_change* or *statements* raise. A caller that may not lose the answer asks it
            through something that logs the failure and answers False (V2).
    """
    evidence = run.evidence
    notices: list[Notice] = []
    if statements is not None:
        # A call written as text is no claim by itself (V12): what is weighed is the rest.
        text, stated = statements.examine(text)
        notices.extend(stated)
    if evidence.wrote is Wrote.NO and claims_change(text):
        notices.append(Notice(NoticeCode.NOTHING_SAVED))
    notices.extend(_unknown(evidence))
    if decided_outside(run) if outside is None else outside:
        # Calls of unknown outcome have a notice of their own on this message.
        declined = declined_last(run)
        notices.append(finished_outside_notice(RunStatus.COMPLETED, evidence.records, declined=declined))
    return in_order(notices)


def ended_notices(run: Run) -> tuple[Notice, ...]:
    """
    The notices of the message that a failed or cancelled run leaves (F5).

    Raises:
        InvalidValueError: the run is neither failed nor cancelled.
    """
    status, evidence = run.status, run.evidence
    if status is None or status not in (RunStatus.FAILED, RunStatus.CANCELLED):
        raise InvalidValueError(f"the status of run {run.id!r}", status, "failed or cancelled")
    ended: dict[str, JsonValue] = {
        "status": status.value,
        "reason": None if run.reason is None else run.reason.value,
        "code": None if run.code is None else run.code.value,
        "tools": list(proposed_tools(run)),
    }
    notices = [Notice(NoticeCode.RUN_ENDED, ended), *_unknown(evidence), *_saved_before(evidence)]
    if decided_outside(run):
        notices.append(finished_outside_notice(status, evidence.records, declined=declined_last(run)))
    return in_order(notices)


def finished_outside_notice(
    status: RunStatus,
    records: Iterable[RecordWrite],
    unknown_tools: Iterable[str] = (),
    *,
    declined: Iterable[str] = (),
) -> Notice:
    """
    That the run was ended by something its chat did not cause, and what it wrote (C4, C7).

    Args:
        status: how it ended.
        records: the records it wrote.
        unknown_tools: the tools of its calls of unknown outcome.
        declined: the tools of the calls that its last decision denied.
    """
    arguments: dict[str, JsonValue] = {
        "status": status.value,
        "records": records_json(records),
        "tools": list(dict.fromkeys(unknown_tools)),
    }
    if declined_tools := tuple(dict.fromkeys(declined)):
        arguments["declined"] = list(declined_tools)
    return Notice(NoticeCode.RUN_FINISHED_OUTSIDE, arguments)


def decided_outside(run: Run) -> bool:
    """
    Whether a decision taken outside the run's chat brought about what it did last (C7).

    Expiry, a cancel or upkeep end a run outside too (C4), and decide nothing.
    """
    decision = _last_decision(run)
    return run.outside and decision is not None and decision.where is DecisionPlace.OUTSIDE


def declined_last(run: Run) -> tuple[str, ...]:
    """
    The tools of the calls that the run's last decision denied; none when it approved.
    """
    decision = _last_decision(run)
    if decision is None or decision.approved:
        return ()
    at = next(at for at in reversed(run.rounds) if at.decision is decision)
    return tuple(dict.fromkeys(call.tool for call in at.waiting_calls if call.approval))


def _last_decision(run: Run) -> ApprovalDecided | None:
    return next((at.decision for at in reversed(run.rounds) if at.decision is not None), None)


def proposed_tools(run: Run) -> tuple[str, ...]:
    """
    The tools of calls that the model proposed, that were allowed, and that were not carried out; each once.

    A call whose intent stands is of unknown outcome and not among them.
    """
    open_calls = {call.call_id for call in run.evidence.open_calls}
    tools: dict[str, None] = {}
    for at in run.rounds:
        executed = {result.index for result in at.results if result.executed}
        for call in at.waiting_calls:
            if call.index not in executed and f"{at.answer.round}.{call.index}" not in open_calls:
                tools[call.tool] = None
    return tuple(tools)


def records_json(records: Iterable[RecordWrite]) -> list[JsonValue]:
    """
    Records as the arguments of a notice hold them: ``{"reference": "pages:42", "kind": "created"}`` each.
    """
    return [{"reference": str(record.reference), "kind": record.kind.value} for record in records]


def _unknown(evidence: WriteEvidence) -> tuple[Notice, ...]:
    if not evidence.open_calls:
        return ()
    arguments: dict[str, JsonValue] = {
        "tools": list(evidence.unknown_tools),
        "calls": [call.call_id for call in evidence.open_calls],
    }
    return (Notice(NoticeCode.WRITE_OUTCOME_UNKNOWN, arguments),)


def _saved_before(evidence: WriteEvidence) -> tuple[Notice, ...]:
    """Records, and the tools that a person released and that named none: they wrote as well (V1)."""
    if not evidence.records and not evidence.released_tools:
        return ()
    arguments: dict[str, JsonValue] = {"records": records_json(evidence.records)}
    if evidence.released_tools:
        arguments["tools"] = list(dict.fromkeys(evidence.released_tools))
    return (Notice(NoticeCode.SAVED_BEFORE_END, arguments),)
