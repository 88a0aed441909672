"""
A completed answer of a transcript and the calls of its turn.
"""

import enum
from collections.abc import Sequence

import attrs

from nr_agent_core.domain.write_evidence import Wrote


class CallOutcome(enum.Enum):
    """
    What a transcript tells about a call: only a result counts, and only a clear one.
    """

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    UNKNOWN = "unknown"


@attrs.frozen
class Call:
    """
    A call of the answer's turn. ``name`` is None when the transcript does not tell which tool it was.
    """

    name: str | None
    outcome: CallOutcome


@attrs.frozen
class Given:
    """
    What the model was given before an answer, as far as the transcript is complete (V7).

    ``texts`` grows with the conversation; the first ``until`` of them are meant. ``results`` are those
    that tools returned.
    """

    texts: Sequence[str]
    until: int
    results: Sequence[str]


@attrs.frozen
class Answer:
    """
    A completed answer: what a reader got at the end of a turn.

    Attributes:
        id: from the input, or made of file, line and message.

        file, line: where it was found.

        text: as the transcript holds it; lone surrogates became U+FFFD (P3).

        calls: the calls since the last user message, in their order.

        stated: what the input itself says about writes, or None when the calls have to tell.

        gap: a part of the turn could not be read, so its calls may be incomplete.

        given: what the model was given; None when the transcript does not tell all of it.
    """

    id: str
    file: str
    line: int
    text: str
    calls: tuple[Call, ...] = ()
    stated: Wrote | None = None
    gap: bool = False
    given: Given | None = None
