"""
Lines that hold one answer each: ``text``, ``calls`` with ``name`` and ``error``, and perhaps ``wrote``.
"""

from collections.abc import Mapping
from typing import Any, Final

from nr_agent_core.cli.audit.answer import Answer, Call, CallOutcome
from nr_agent_core.cli.audit.malformed import MalformedError, kind_of
from nr_agent_core.domain.bounding import well_formed
from nr_agent_core.domain.write_evidence import Wrote

_STATED: Final = {True: Wrote.YES, False: Wrote.NO, None: Wrote.CANNOT_TELL}


def read_answer_line(value: Mapping[str, Any], *, label: str, file: str, line: int) -> Answer:
    """
    *value* as an answer; *label* is its id where the line has none.

    Raises:
        MalformedError: a field has the wrong type. Nothing is guessed from the rest of the line.
    """
    text = value.get("text")
    if not isinstance(text, str):
        raise MalformedError(f"its text is {kind_of(text)}; a text is expected")
    calls = value.get("calls")
    if calls is not None and not isinstance(calls, list):
        raise MalformedError(f"its calls are {kind_of(calls)}; a list is expected")
    return Answer(
        identifier(value, "id") or label,
        file,
        line,
        well_formed(text),
        tuple(map(_call, calls or ())),
        stated=_stated(value),
        # Without the field nobody says that there were no calls.
        gap=calls is None,
    )


def identifier(value: Mapping[str, Any], *fields: str) -> str | None:
    """
    The first of *fields* that holds a text or a whole number, as text.
    """
    for field in fields:
        found = value.get(field)
        if (isinstance(found, str) and found) or (isinstance(found, int) and not isinstance(found, bool)):
            return well_formed(str(found))
    return None


def _stated(value: Mapping[str, Any]) -> Wrote | None:
    if "wrote" not in value:
        return None
    wrote = value["wrote"]
    if wrote is not None and not isinstance(wrote, bool):
        raise MalformedError(f"wrote is {kind_of(wrote)}; true, false or null is expected")
    return _STATED[wrote]


def _call(call: object) -> Call:
    if not isinstance(call, dict):
        raise MalformedError(f"one of its calls is {kind_of(call)}; an object is expected")
    name = call.get("name")
    if name is not None and not isinstance(name, str):
        raise MalformedError(f"the name of a call is {kind_of(name)}; a text is expected")
    return Call(well_formed(name) if name else None, _outcome(call))


def _outcome(call: Mapping[str, Any]) -> CallOutcome:
    # "error": null says that there was none; a call without the field says nothing.
    if "error" not in call:
        return CallOutcome.UNKNOWN
    return CallOutcome.FAILED if call["error"] else CallOutcome.SUCCEEDED
