"""
What a call's end means, and what the model reads about it (T4).

The texts are neutral: an exception's own text never reaches the model (T10), and a call that may
have written is never told as one that failed.
"""

from nr_agent_core.domain.run_events import NotExecuted, ToolFinished
from nr_agent_core.domain.tool_result import Outcome, RecordWrite, ToolEffect, ToolResult

OUTCOME_UNKNOWN = (
    "The outcome of this call is unknown: what it was to do may or may not have happened. "
    "Check before doing anything about it, and do not claim either."
)
_READING_FAILED = "The tool failed and brought no result. It only reads; nothing was changed."
_READING_TOO_LATE = "The tool did not answer in time and brought no result. It only reads; nothing was changed."
_NOTHING_WRITTEN = "The tool failed. It wrote nothing."

_NOT_EXECUTED = {
    NotExecuted.NOT_REGISTERED: "There is no tool of this name. Nothing was executed.",
    NotExecuted.TOOL_DISABLED: "This tool is withheld: it is switched off. Nothing was executed.",
    NotExecuted.REQUIRES_ADMIN: "This tool is withheld: it is for administrators only. Nothing was executed.",
    NotExecuted.CONFIGURATION_GROUP: (
        "This tool is withheld: it is not among the tools set up for this chat. Nothing was executed."
    ),
    NotExecuted.TRUST_ZONE: (
        "This tool is withheld: it handles data that may not leave for where this model runs. Nothing was executed."
    ),
    NotExecuted.NOT_STORED: (
        "This tool is withheld: it changes something or needs an approval, and this run is not stored. "
        "Nothing was executed."
    ),
    NotExecuted.INVALID_ARGUMENTS: "The arguments do not fit this tool. Nothing was executed.",
    NotExecuted.DECLINED: (
        "A person declined this round of calls. It was not executed; do not propose it again in this turn."
    ),
    NotExecuted.DECLINED_BEFORE: (
        "A person declined exactly this call before. It was not executed; do not propose it again in this turn."
    ),
    NotExecuted.APPROVAL_MISSING: "This call needs the approval of a person and has none. It was not executed.",
    NotExecuted.CLOSING_ROUND: "No more calls can be made in this turn. Nothing was executed; answer in text.",
    NotExecuted.NEVER_HAPPENED: "This call was interrupted before it took effect. It did not happen and will not.",
}


def outcome_of_return(effect: ToolEffect, value: object) -> ToolResult:
    """
    What a tool that returned *value* brought (T4).

    A result counts as it is and a plain text as the text of a success. Anything else says nothing
    about what happened: an error from a reading tool, unknown from a writing one.
    """
    if isinstance(value, ToolResult) and isinstance(value.outcome, Outcome) and isinstance(value.content, str):
        return value
    if isinstance(value, str):
        return ToolResult.text(str.__str__(value))
    return _failed(effect, _READING_FAILED)


def outcome_of_exception(effect: ToolEffect, error: Exception) -> ToolResult:
    """
    What a tool that raised *error* brought (T4). Nothing of the error's text is in the result (T10).

    ``NothingWrittenError`` promises that nothing was written; the promise is its own, not that of
    an error it caused.
    """
    from nr_agent_core.domain.errors import NothingWrittenError

    if isinstance(error, NothingWrittenError):
        return ToolResult.error(_NOTHING_WRITTEN if effect.writes else _READING_FAILED)
    return _failed(effect, _READING_FAILED)


def outcome_of_deadline(effect: ToolEffect) -> ToolResult:
    """
    What a tool that passed its deadline brought, as far as is known by then (T4).
    """
    return _failed(effect, _READING_TOO_LATE)


def _failed(effect: ToolEffect, text: str) -> ToolResult:
    return ToolResult.unknown(OUTCOME_UNKNOWN) if effect.writes else ToolResult.error(text)


def repeat_unknown_text(result: ToolResult) -> str:
    """
    What the model reads when an interrupted write was repeated and the repeat wrote nothing (R7).

    An unchanged or an error speaks for the repeat alone: what the first try did stays unknown.
    """
    ended = "changed nothing" if result.outcome is Outcome.UNCHANGED else "brought no success"
    told = f" It says: {result.content}" if result.content else ""
    return f"{OUTCOME_UNKNOWN} The call was interrupted; a repeat of it {ended}.{told}"


def not_executed_text(why: NotExecuted, detail: str | None = None) -> str:
    """
    What the model reads about a call that was not executed (R4, A2, A6, R7).

    Args:
        why: the recorded reason.
        detail: what is wrong with the arguments, in words fit for the model; other reasons have none.
    """
    text = _NOT_EXECUTED[why]
    return f"{text} {detail}" if detail and why is NotExecuted.INVALID_ARGUMENTS else text


def late_text(event: ToolFinished) -> str:
    """
    What the model reads about a call whose text is not at hand, told from its facts alone.

    So it is with an outcome that became known after it had been given up (R7), and with a text
    that was forgotten (E4).
    """
    if not event.executed:
        return _NOT_EXECUTED[event.refusal] if event.refusal is not None else "This call was not executed."
    match event.outcome:
        case Outcome.UNKNOWN:
            return OUTCOME_UNKNOWN
        case Outcome.ERROR:
            return "This call failed. It wrote nothing." if event.effect.writes else _READING_FAILED
        case Outcome.UNCHANGED:
            return "This call was carried out and changed nothing: all was as asked already."
        case Outcome.TEXT:
            return _carried_out(event)


def _carried_out(event: ToolFinished) -> str:
    if event.writes:
        return f"This call was carried out. Written: {listed(event.writes)}."
    if event.effect.writes:
        return "This call was carried out. It named no record."
    return "This call was carried out; its result is no longer at hand."


def listed(writes: tuple[RecordWrite, ...]) -> str:
    """
    Records as the model reads them: ``pages:42 (created), pages:7 (updated)`` (M5).
    """
    return ", ".join(map(str, writes))
