"""
Notices as the model reads them: one language-neutral line each, built per turn, never stored (M1, F5, C4).
"""

from collections.abc import Callable, Iterable, Mapping

import attrs

from nr_agent_core.domain.conversation import Message
from nr_agent_core.domain.notices import JsonValue, Notice, NoticeCode
from nr_agent_core.domain.run import Run
from nr_agent_core.domain.system_prompt import NOTE
from nr_agent_core.domain.tool_outcomes import listed
from nr_agent_core.domain.tool_result import Outcome, RecordWrite
from nr_agent_core.domain.value import Value


@attrs.frozen(repr=False, eq=False)
class KnownOutcome(Value):
    """
    What is known now of a call whose outcome was unknown once (R7).

    Args:
        call_id: the call's identity in its run, ``"round.index"``.
        tool: its tool.
        carried_out: True: it was; False: it was not, or wrote nothing; None: still unknown.
        records: what it wrote.
    """

    call_id: str
    tool: str
    carried_out: bool | None = None
    records: tuple[RecordWrite, ...] = ()


def known_outcomes(run: Run) -> tuple[KnownOutcome, ...]:
    """
    The calls of *run* whose outcome came late or is still unknown, as its stream has it now (R7).
    """
    late = [
        KnownOutcome(result.call_id, result.tool, result.outcome is Outcome.TEXT, result.writes)
        for at in run.rounds
        for result in at.results
        if result.late and result.outcome is not Outcome.UNKNOWN
    ]
    still_open = [KnownOutcome(call.call_id, call.tool) for call in run.evidence.open_calls]
    return (*late, *still_open)


def runs_of_unknown_outcome(messages: Iterable[Message]) -> tuple[str, ...]:
    """
    The runs behind *messages* that left a call of unknown outcome: their streams may know more by now (R7).
    """
    code = NoticeCode.WRITE_OUTCOME_UNKNOWN
    # A list: most messages of a long window have no notice, and only the walk remains of them.
    flagged = [message for message in messages if message.notices]
    found = (message.run_id for message in flagged if any(notice.code is code for notice in message.notices))
    return tuple(dict.fromkeys(run_id for run_id in found if run_id is not None))


def note(code: str, sentence: str) -> str:
    """
    One line for the model: its code, then what it says.

    >>> note("nothingSaved", "The run behind this answer wrote no record.")
    '[run note: nothingSaved] The run behind this answer wrote no record.'
    """
    return f"{NOTE}{code}] {sentence}"


def notes(notices: Iterable[Notice], *, answer: bool, outcomes: tuple[KnownOutcome, ...] = ()) -> list[str]:
    """
    The lines of a message's *notices*, in their order (M1).

    Args:
        notices: what stands beside the message.
        answer: whether the message is an answer, or the line that a run left (F5, C4).
        outcomes: what became of the calls of unknown outcome, as far as it was asked (R7).
    """
    lines = []
    for notice in notices:
        if notice.code is NoticeCode.WRITE_OUTCOME_UNKNOWN and outcomes:
            sentence = " ".join(map(_outcome, outcomes))
        elif notice.code is NoticeCode.RUN_FINISHED_OUTSIDE:
            sentence = _finished_outside(notice.arguments, answer=answer)
        else:
            sentence = _SENTENCES[notice.code](notice.arguments)
        lines.append(note(notice.code.value, sentence))
    return lines


def written_note(records: tuple[RecordWrite, ...]) -> str:
    """
    The line that follows an answer whose run wrote *records* (M5).
    """
    return note("written", f"Records that the run of this turn wrote: {listed(records)}.")


def declined_note(tools: Iterable[str]) -> str:
    """
    The line on calls of a run that went on without them (M4).
    """
    names = ", ".join(dict.fromkeys(tools))
    return note("declined", f"A person declined calls of this turn; not carried out, nothing of them saved: {names}.")


def _run_ended(arguments: Mapping[str, JsonValue]) -> str:
    parts = (f"{name}={arguments[name]}" for name in ("status", "reason", "code") if arguments.get(name))
    ended = f"The run of this turn ended without an answer: {', '.join(parts)}."
    tools = _names(arguments.get("tools"))
    return f"{ended} Proposed, not carried out, nothing of them saved: {tools}." if tools else ended


def _call_not_made(arguments: Mapping[str, JsonValue]) -> str:
    tools = _names(arguments.get("tools"))
    return f"No call was made: {tools} stood in the text of this answer. A call must be made as a call."


def _other_records(arguments: Mapping[str, JsonValue]) -> str:
    claimed, written = _names(arguments.get("claimed")), _names(arguments.get("written"))
    return f"The answer says otherwise ({claimed}). Written: {written or 'no record'}."


def _saved_nonetheless(arguments: Mapping[str, JsonValue]) -> str:
    records, tools = _names(arguments.get("records")), _names(arguments.get("tools"))
    told = f"The run behind this answer did change something. Written: {records or 'no record'}."
    return f"{told} Carried out, naming no record: {tools}." if tools else told


def _unknown_outcome(arguments: Mapping[str, JsonValue]) -> str:
    tools = arguments.get("tools")
    names = [str(tool) for tool in tools] if isinstance(tools, list) else []
    return " ".join(f"Outcome of {name} unknown; check before repeating." for name in names or ["a call"])


def _outcome(known: KnownOutcome) -> str:
    if known.carried_out is None:
        return f"Outcome of {known.tool} (call {known.call_id}) unknown; check before repeating."
    if not known.carried_out:
        return f"Outcome of {known.tool} (call {known.call_id}) known by now: not carried out, nothing written."
    written = f"written: {listed(known.records)}" if known.records else "it named no record"
    return f"Outcome of {known.tool} (call {known.call_id}) known by now: carried out, {written}."


def _saved_before_end(arguments: Mapping[str, JsonValue]) -> str:
    records, tools = _names(arguments.get("records")), _names(arguments.get("tools"))
    told = f"Written before the run ended: {records}." if records else ""
    released = f"Carried out before the run ended, naming no record: {tools}." if tools else ""
    return " ".join(filter(None, (told, released)))


def _finished_outside(arguments: Mapping[str, JsonValue], *, answer: bool) -> str:
    declined = _names(arguments.get("declined"))
    if answer:
        how = f": a person declined {declined}, which was not carried out" if declined else ""
        return f"The run behind this answer was decided outside this chat{how}."
    records, tools = _names(arguments.get("records")), _names(arguments.get("tools"))
    told = f"The run before was ended outside this chat: status={arguments.get('status')}. "
    told += f"Written: {records}." if records else "Records written: none."
    told += f" Declined by a person, not carried out: {declined}." if declined else ""
    return f"{told} Outcome unknown, check before repeating: {tools}." if tools else told


def _names(value: JsonValue) -> str:
    """A list as an argument holds it: names, or records with their kind."""
    if not isinstance(value, list):
        return "" if value is None else str(value)
    return ", ".join(
        f"{item.get('reference')} ({item.get('kind')})" if isinstance(item, dict) else str(item) for item in value
    )


_SENTENCES: dict[NoticeCode, Callable[[Mapping[str, JsonValue]], str]] = {
    NoticeCode.RUN_ENDED: _run_ended,
    NoticeCode.CALL_NOT_MADE: _call_not_made,
    NoticeCode.NOTHING_SAVED: lambda _: "The run behind this answer wrote no record.",
    NoticeCode.OTHER_RECORDS_WRITTEN: _other_records,
    NoticeCode.SAVED_NONETHELESS: _saved_nonetheless,
    NoticeCode.UNKNOWN_REFERENCE: lambda arguments: f"No tool returned {_names(arguments.get('references'))}.",
    NoticeCode.WRITE_OUTCOME_UNKNOWN: _unknown_outcome,
    NoticeCode.SAVED_BEFORE_END: _saved_before_end,
}
