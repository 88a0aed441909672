"""
Failures as codes: one walk along an exception's chain, one classifier, one code for readers (F1, R10).

Nothing here reads an exception's text. The text is the sanitiser's concern, the sentence for a
reader that of :mod:`nr_agent_core.domain.texts`.
"""

import enum
from collections.abc import Iterator

from nr_agent_core.domain.errors import FailureClass, ProviderError

LONGEST_WALK = 10_000
"""How many exceptions of one chain are looked at. Far more than a program builds by itself."""

_DECISIVE = frozenset((FailureClass.AUTHENTICATION, FailureClass.CONFIGURATION))


class FailureCode(enum.Enum):
    """
    What a failure is called towards everyone who looks at a conversation (F1).
    """

    PROVIDER_NOT_CONFIGURED = "providerNotConfigured"
    CHAT_NOT_CONFIGURED = "chatNotConfigured"
    RATE_LIMITED = "rateLimited"
    PROVIDER_UNAVAILABLE = "providerUnavailable"
    CONTEXT_TOO_LONG = "contextTooLong"
    CONTENT_REFUSED = "contentRefused"
    EMPTY_ANSWER = "emptyAnswer"
    WRITE_OUTCOME_UNKNOWN = "writeOutcomeUnknown"
    INTERRUPTED = "interrupted"
    INTERNAL = "internal"


_CODES = {
    FailureClass.AUTHENTICATION: FailureCode.PROVIDER_NOT_CONFIGURED,
    FailureClass.CONFIGURATION: FailureCode.PROVIDER_NOT_CONFIGURED,
    FailureClass.CONNECTION: FailureCode.PROVIDER_UNAVAILABLE,
    FailureClass.SERVER_ERROR: FailureCode.PROVIDER_UNAVAILABLE,
    FailureClass.RATE_LIMIT: FailureCode.RATE_LIMITED,
    FailureClass.QUOTA: FailureCode.RATE_LIMITED,
    FailureClass.CONTEXT_TOO_LONG: FailureCode.CONTEXT_TOO_LONG,
    FailureClass.CONTENT_REFUSED: FailureCode.CONTENT_REFUSED,
    FailureClass.CLIENT_ERROR: FailureCode.INTERNAL,
    FailureClass.UNKNOWN: FailureCode.INTERNAL,
}

_LINK_TARGETS = {
    FailureCode.PROVIDER_NOT_CONFIGURED: "providers",
    FailureCode.CHAT_NOT_CONFIGURED: "tasks",
}

LINK_TARGETS = frozenset(_LINK_TARGETS.values())
"""Every name that :func:`link_target` answers."""


def chain(error: BaseException) -> Iterator[BaseException]:
    """
    Every exception that *error* stands for, outermost first, each once (R10).

    After an exception comes what it was raised from (its cause, else its context unless that is
    suppressed), with all that hangs on it, and then the members of a group, in order. A cycle ends
    where it closes, and no walk is longer than :data:`LONGEST_WALK`.

    >>> [type(found).__name__ for found in chain(ExceptionGroup("two", [KeyError(), OSError()]))]
    ['ExceptionGroup', 'KeyError', 'OSError']
    """
    waiting, seen = [error], set[int]()
    while waiting and len(seen) < LONGEST_WALK:
        current = waiting.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        if isinstance(current, BaseExceptionGroup):
            waiting.extend(reversed(current.exceptions))
        below = current.__cause__
        if below is None and not current.__suppress_context__:
            below = current.__context__
        if below is not None:
            waiting.append(below)


def classify(error: BaseException) -> FailureClass:
    """
    Of which kind a failure is, told from its whole chain (R10).

    An authentication or configuration error anywhere in the chain decides; else the outermost
    exception that has a class does; else the failure is unknown.
    """
    first = FailureClass.UNKNOWN
    for level in chain(error):
        found = _class_of(level)
        if found in _DECISIVE:
            return found
        if first is FailureClass.UNKNOWN:
            first = found
    return first


def code_of(failure_class: FailureClass) -> FailureCode:
    """
    The code that stands for failures of this class (F1).
    """
    return _CODES[failure_class]


def failure_code(value: object) -> FailureCode:
    """
    The code that a stored *value* names; :attr:`FailureCode.INTERNAL` for none and for a strange one (F4).
    """
    try:
        return FailureCode(value)
    except ValueError:
        return FailureCode.INTERNAL


def link_target(code: FailureCode) -> str | None:
    """
    Where an administrator can mend it, as a name that the host maps to a URL: providers, tasks or None (F2).
    """
    return _LINK_TARGETS.get(code)


def _class_of(level: BaseException) -> FailureClass:
    try:
        declared = getattr(level, "failure_class", None)
    except Exception:  # noqa: BLE001 - a property of somebody else's exception may fail; then it says nothing
        declared = None
    if isinstance(declared, FailureClass):
        return declared
    if isinstance(level, (ConnectionError, TimeoutError)) and not isinstance(level, ProviderError):
        return FailureClass.CONNECTION
    return FailureClass.UNKNOWN
