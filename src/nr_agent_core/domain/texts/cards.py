"""
What a card says beyond its calls: labels, and one note for everything an approver must know (T11, A3, A4, A6).
"""

from collections.abc import Iterable, Mapping

from nr_agent_core.domain.approvals import CallCard
from nr_agent_core.domain.texts.rendering import Translating, render
from nr_agent_core.domain.tool_result import Outcome

_UNITS = (("days", 86_400), ("hours", 3_600), ("minutes", 60), ("seconds", 1))
_LONGEST = 1e9


def card_labels(language: str, translator: Translating | None = None) -> Mapping[str, str]:
    """
    The fixed words of a card by name: ``title``, ``waiting``, ``approve``, ``deny``.
    """
    return {name: render(f"card.{name}", {}, language, translator) for name in ("title", "waiting", "approve", "deny")}


def card_notes(
    calls: Iterable[CallCard],
    *,
    asked_at: float,
    expires_at: float | None,
    can_approve: bool,
    now: float,
    language: str,
    translator: Translating | None = None,
) -> tuple[str, ...]:
    """
    The notes of a card for one reader, in a fixed order: who may decide, until when, each call, how old it is.

    Args:
        calls: the waiting calls, as this reader sees them.
        asked_at: when the previews were made.
        expires_at: until when a decision counts; None: for ever (A4).
        can_approve: False: this reader can only deny, by four-eyes (A3).
        now: the time at which the reader looks, on the same clock.
        language: the reader's language.
        translator: the host's own texts.
    """

    def text(key: str, arguments: Mapping[str, object] | None = None) -> str:
        return render(f"card.{key}", arguments, language, translator)

    calls = tuple(calls)
    notes = [] if can_approve else [text("fourEyes")]
    if expires_at is not None:
        left = expires_at - now
        notes.append(text("expiresIn", {"age": age(left, language, translator)}) if left > 0 else text("expired"))
    equal: set[tuple[str, int]] = set()
    for call in calls:
        notes.extend(text(key, {"tool": call.tool, **more}) for key, more in _of_call(call, equal))
    if any(call.lines for call in calls):
        notes.append(text("snapshot", {"age": age(now - asked_at, language, translator)}))
    return tuple(notes)


def age(seconds: float, language: str, translator: Translating | None = None) -> str:
    """
    A span of time in its largest whole unit, such as ``3 hours``; less than a second is one.
    """
    whole = int(min(seconds, _LONGEST)) if seconds >= 1 else 1
    unit, length = next(found for found in _UNITS if whole >= found[1])
    return render(f"age.{unit}", {"count": whole // length}, language, translator)


def _of_call(call: CallCard, equal: set[tuple[str, int]]) -> Iterable[tuple[str, Mapping[str, object]]]:
    if call.withheld and call.needs_approval:
        yield "withheld", {}
    elif call.failed:
        yield "noPreview", {}
    elif call.generated:
        yield "generated", {}
    if call.more:
        yield "moreLines", {"count": call.more}
    if call.before is Outcome.UNKNOWN:
        yield "secondAttemptUnknown", {}
    elif call.before is not None:
        yield "secondAttemptFailed", {}
    # Equal calls share tool and number; one note speaks for all of them.
    if call.copies > 1 and (call.tool, call.copies) not in equal:
        equal.add((call.tool, call.copies))
        yield "equalCalls", {"count": call.copies}
