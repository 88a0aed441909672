"""
From what a server said to a failure class: each adapter has one table, read from the top (R10).
"""

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from nr_agent_core.domain.errors import FailureClass

LONGEST_MESSAGE = 300
"""How many characters of a server's message a failure repeats."""

_MASKED = re.compile(r"\S*\*{2,}\S*")


class Refused:
    """
    What a server said instead of an answer.

    Args:
        status: the HTTP status; None inside a stream that had begun.
        codes: whatever the server calls the failure: codes and types.
        message: its words, for developers and administrators.
        retry_after: seconds after which it wants to be asked again.
    """

    __slots__ = ("codes", "message", "retry_after", "status")

    def __init__(
        self,
        status: int | None = None,
        codes: Collection[str] = (),
        message: str = "",
        retry_after: float | None = None,
    ) -> None:
        self.status, self.codes, self.message, self.retry_after = status, tuple(codes), message, retry_after


class Sign:
    """
    One row of a table: what of :class:`Refused` stands for a failure class. What is not given fits all.

    Args:
        failure_class: what it stands for.
        statuses: HTTP statuses.
        codes: codes or types, one of which was given.
        words: a pattern that the server's message holds, in any case.
    """

    __slots__ = ("codes", "failure_class", "statuses", "words")

    def __init__(
        self,
        failure_class: FailureClass,
        *,
        statuses: Collection[int] = (),
        codes: Collection[str] = (),
        words: str = "",
    ) -> None:
        self.failure_class, self.statuses, self.codes = failure_class, statuses, frozenset(codes)
        self.words = re.compile(words, re.IGNORECASE) if words else None

    def fits(self, refused: Refused) -> bool:
        """Whether all that this row names is there."""
        return (
            (not self.statuses or refused.status in self.statuses)
            and (not self.codes or not self.codes.isdisjoint(refused.codes))
            and (self.words is None or self.words.search(refused.message) is not None)
        )


TOO_LONG_WORDS = (
    r"context (length|window|size)|maximum context|(prompt|input) is too long|too many (input )?tokens"
    r"|exceeds? the .*token"
)
"""How servers without a code say that a prompt does not fit."""

BY_STATUS = (
    Sign(FailureClass.AUTHENTICATION, statuses=(401,)),
    Sign(FailureClass.QUOTA, statuses=(402,)),
    # The key may not do this, or there is no such model or path: set-up, not the question.
    Sign(FailureClass.CONFIGURATION, statuses=(403, 404, 405, 410)),
    # A redirect is not followed: a key goes to the server that it was given for.
    Sign(FailureClass.CONFIGURATION, statuses=range(300, 400)),
    Sign(FailureClass.CONNECTION, statuses=(408, 499)),
    # Two requests met; the next one may pass.
    Sign(FailureClass.SERVER_ERROR, statuses=(409, 425)),
    Sign(FailureClass.CONTEXT_TOO_LONG, statuses=(413,)),
    Sign(FailureClass.RATE_LIMIT, statuses=(429,)),
    Sign(FailureClass.CLIENT_ERROR, statuses=range(400, 500)),
    Sign(FailureClass.SERVER_ERROR, statuses=range(500, 600)),
)
"""The rest of every table: what an HTTP status says by itself."""


def class_of(table: Sequence[Sign], refused: Refused) -> FailureClass:
    """
    The class of the first row that fits; without one the server has failed in a way of its own.
    """
    return next((sign.failure_class for sign in table if sign.fits(refused)), FailureClass.SERVER_ERROR)


def without_key(text: str, key: str) -> str:
    """
    *text* in one line, without the key and without what looks like a masked one (P9).
    """
    if key:
        text = text.replace(key, "[key]")
    text = _MASKED.sub("[key]", " ".join(text.split()))
    return text if len(text) <= LONGEST_MESSAGE else text[: LONGEST_MESSAGE - 3] + "..."


def retry_after(headers: Mapping[str, str]) -> float | None:
    """
    The seconds after which a server wants to be asked again; None when it does not say so.
    """
    for name, unit in (("retry-after-ms", 1000), ("retry-after", 1)):
        try:
            seconds = float(headers.get(name, "")) / unit
        except ValueError:
            continue
        if 0 <= seconds < math.inf:
            return seconds
    return None


def codes_of(*found: object) -> tuple[str, ...]:
    """
    Those of *found* that are codes, each once; whatever else a server put there is left out.
    """
    return tuple(
        dict.fromkeys(str(code) for code in found if isinstance(code, str | int) and code and code is not True)
    )


def refused(
    body: object, status: int | None, after: float | None, codes: Callable[[dict[str, Any]], Iterable[object]]
) -> Refused:
    """
    What the body of a failure says.

    Args:
        body: as the server sent it: an object, one inside ``error``, or a text.
        status: the HTTP status; None inside an answer that had begun. A status inside the body counts then.
        after: seconds after which the server wants to be asked again.
        codes: where the protocol has its codes and types.
    """
    found = body.get("error", body) if isinstance(body, dict) else body
    if not isinstance(found, dict):
        # A page of a proxy says nothing that belongs into a failure's text.
        words = found if isinstance(found, str) and len(found) <= 200 and "<" not in found else ""
        return Refused(status, (), words, after)
    inside, message = found.get("code"), found.get("message")
    if status is None and isinstance(inside, int) and not isinstance(inside, bool) and 400 <= inside < 600:
        status = inside
    return Refused(status, codes_of(*codes(found)), message if isinstance(message, str) else "", after)
