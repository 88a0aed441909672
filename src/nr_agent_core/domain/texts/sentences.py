"""
Labels and sentences for one reader, by code (V10, V11, F2, G4).
"""

from collections.abc import Mapping
from enum import Enum

from nr_agent_core.domain.failures import FailureCode, failure_code
from nr_agent_core.domain.notices import Notice, NoticeCode
from nr_agent_core.domain.run_status import RunReason, RunStatus
from nr_agent_core.domain.texts.rendering import Translating, render


def notice_label(notice: Notice, language: str, translator: Translating | None = None) -> str:
    """
    The label of *notice* for a reader (V10). It never raises, whatever the stored arguments are.

    Args:
        notice: the notice. ``writeOutcomeUnknown`` may hold what became ``known`` since (R7).
        language: the reader's language.
        translator: the host's own texts.
    """
    arguments = notice.arguments if isinstance(notice.arguments, Mapping) else {}
    parts_of = _PARTS.get(notice.code)
    parts = [(f"notice.{notice.code.value}", arguments)] if parts_of is None else parts_of(arguments)
    return " ".join(_text(key, values, language, translator) for key, values in parts)


def reply_sentence(code: object, language: str, translator: Translating | None = None) -> str:
    """
    The sentence of a reply, a :class:`~nr_agent_core.domain.notices.ReplyCode` or its value (V11).
    """
    return render(f"reply.{_value(code)}", {}, language, translator)


def failure_sentence(code: FailureCode | str | None, language: str, translator: Translating | None = None) -> str:
    """
    Why there is no answer and what to do next, for everybody but administrators (F2).

    A failure without a code, or with a strange one, is rendered as ``internal`` (F4).
    """
    return render(f"failure.{failure_code(code).value}", {}, language, translator)


def request_sentence(code: str, language: str, translator: Translating | None = None) -> str:
    """
    Why a client's request was not carried out: ``invalidRequest``, ``notFound``, ``accessDenied`` or
    ``messageRejected``. Nothing was done (F2).
    """
    return render(f"request.{code}", {}, language, translator)


def denial_sentence(reason: object, language: str, translator: Translating | None = None) -> str:
    """
    Why a tool cannot be used, by the gate's reason or its value (G1, G4).
    """
    return render(f"denial.{_value(reason)}", {}, language, translator)


def status_label(status: object, language: str, translator: Translating | None = None) -> str:
    """
    Where a run stands, by its status or the status's value (R1).
    """
    return render(f"status.{_value(status)}", {}, language, translator)


_Parts = list[tuple[str, Mapping[str, object]]]


def _value(code: object) -> str:
    found = code.value if isinstance(code, Enum) else code
    return found if isinstance(found, str) and found else "unknown"


def _text(key: str, arguments: Mapping[str, object], language: str, translator: Translating | None) -> str:
    """One part of a label; an argument that is itself a key of texts is rendered first."""
    nested = {
        name: render(value.key, {}, language, translator) if isinstance(value, _Key) else value
        for name, value in arguments.items()
    }
    return render(key, nested, language, translator)


class _Key:
    """An argument that is the text of another key."""

    def __init__(self, key: str) -> None:
        self.key = key


def _ended(arguments: Mapping[str, object]) -> _Parts:
    reason, status = _known(arguments.get("reason"), _REASONS), arguments.get("status")
    key = reason or ("anyFailure" if status == RunStatus.FAILED.value else "anyEnd")
    parts: _Parts = [("notice.runEnded", {"ended": _Key(f"ended.{key}")})]
    tools = _listed(arguments.get("tools"))
    return [*parts, ("notice.notCarriedOut", {"tools": tools, "count": len(tools)})] if tools else parts


def _nonetheless(arguments: Mapping[str, object]) -> _Parts:
    records, tools = _listed(arguments.get("records")), _listed(arguments.get("tools"))
    parts: _Parts = [("notice.savedNonetheless", {"records": records})] if records or not tools else []
    return [*parts, ("notice.savedNonethelessTools", {"tools": tools})] if tools else parts


def _before_end(arguments: Mapping[str, object]) -> _Parts:
    records, tools = _listed(arguments.get("records")), _listed(arguments.get("tools"))
    parts: _Parts = [("notice.savedBeforeEnd", {"records": records})] if records or not tools else []
    return [*parts, ("notice.savedBeforeEndTools", {"tools": tools})] if tools else parts


def _references(arguments: Mapping[str, object]) -> _Parts:
    references = _listed(arguments.get("references"))
    return [("notice.unknownReference", {"references": references, "count": len(references) or 1})]


def _unknown_outcome(arguments: Mapping[str, object]) -> _Parts:
    known = [entry for entry in _listed(arguments.get("known")) if isinstance(entry, Mapping)]
    if not known:
        return [("notice.writeOutcomeUnknown", {"tools": arguments.get("tools")})]
    return [_outcome(entry) for entry in known]


def _outcome(entry: Mapping[str, object]) -> tuple[str, Mapping[str, object]]:
    tool, records = entry.get("tool"), _listed(entry.get("records"))
    match entry.get("carriedOut"):
        case True if records:
            return "outcome.carriedOut", {"tool": tool, "records": records}
        case True:
            return "outcome.carriedOutNone", {"tool": tool}
        case False:
            return "outcome.notCarriedOut", {"tool": tool}
        case _:
            return "outcome.stillUnknown", {"tool": tool}


def _outside(arguments: Mapping[str, object]) -> _Parts:
    status = _known(arguments.get("status"), _STATUSES)
    records, tools = _listed(arguments.get("records")), _listed(arguments.get("tools"))
    shown = {"status": _Key(f"status.{status}") if status else None}
    declined = _listed(arguments.get("declined"))
    parts: _Parts
    if declined:
        parts = [("notice.runDeclinedOutside", {"tools": declined})]
        parts += [("notice.savedBeforeEnd", {"records": records})] if records else []
    else:
        key = "notice.runFinishedOutside" if records else "notice.runFinishedOutsideNone"
        parts = [(key, {**shown, "records": records} if records else shown)]
    return [*parts, ("notice.writeOutcomeUnknown", {"tools": tools})] if tools else parts


def _known(value: object, values: frozenset[str]) -> str | None:
    return value if isinstance(value, str) and value in values else None


_STATUSES = frozenset(status.value for status in RunStatus)
# A completed run leaves an answer, so no sentence says that there is none.
_REASONS = frozenset(reason.value for reason in RunReason) - {"completed", "max_iterations"}


def _listed(value: object) -> list[object]:
    return list(value) if isinstance(value, (list, tuple)) else []


_PARTS = {
    NoticeCode.RUN_ENDED: _ended,
    NoticeCode.SAVED_NONETHELESS: _nonetheless,
    NoticeCode.SAVED_BEFORE_END: _before_end,
    NoticeCode.UNKNOWN_REFERENCE: _references,
    NoticeCode.WRITE_OUTCOME_UNKNOWN: _unknown_outcome,
    NoticeCode.RUN_FINISHED_OUTSIDE: _outside,
}
