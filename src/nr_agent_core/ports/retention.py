"""
How long what is over is kept (O2).
"""

import math
from typing import NamedTuple

import attrs

from nr_agent_core.domain.errors import InvalidValueError
from nr_agent_core.domain.value import Value

_DAY = 86_400.0
_LARGEST = 2**63 - 1
"""The largest position that a store can hold."""


class Bounds(NamedTuple):
    """
    A retention at one moment, as a store compares it with its rows.

    ``with_writes`` says that entries of the feed go with their run and their conversation;
    otherwise only those up to the position ``writes_up_to`` do.
    """

    runs_until: float
    conversations_until: float
    with_writes: bool
    writes_up_to: int


@attrs.frozen(kw_only=True, repr=False, eq=False)
class Retention(Value):
    """
    The windows after which upkeep deletes, in days; None keeps for ever.

    Args:
        conversation_days: since a conversation's last message and the end of its last run. One with
            an unsettled run stays. It goes as a whole.
        run_days: since a run was settled. A conversation's last run stays as long as the conversation does.
        waiting_days: since a card was put up; then its run ends ``cancelled``/``approval_expired``.
        write_days: for entries of the feed, which go no sooner than their run and their conversation.
            Their time is not kept beyond these, so this window is at most as long as those two.
        writes_up_to: a position of the feed up to which the host needs nothing any more: entries up to
            there go, however old, once their run and their conversation are gone.

    Raises:
        InvalidValueError: a window is no number of days above 0, or *write_days* outlasts another one.
    """

    conversation_days: float | None = 30.0
    run_days: float | None = 30.0
    waiting_days: float | None = 90.0
    write_days: float | None = None
    writes_up_to: int = 0

    def __attrs_post_init__(self) -> None:
        for name in ("conversation_days", "run_days", "waiting_days", "write_days"):
            days = getattr(self, name)
            known = isinstance(days, int | float) and not isinstance(days, bool)
            if days is not None and not (known and 0 < days < math.inf):
                raise InvalidValueError(f"{name} of a retention", days, "days above 0, or None to keep for ever")
        position: object = self.writes_up_to
        if isinstance(position, bool) or not isinstance(position, int) or position < 0:
            raise InvalidValueError("writes_up_to of a retention", position, "a position of the feed, from 0")
        others = [days for days in (self.conversation_days, self.run_days) if days is not None]
        if self.write_days is not None and others and self.write_days > min(others):
            wanted = f"at most {min(others):g}, as the times of writes go with their runs; or writes_up_to"
            raise InvalidValueError("write_days of a retention", self.write_days, wanted)

    def bounds(self, now: float) -> Bounds:
        """What it means at the time *now*."""
        return Bounds(
            self.runs_until(now),
            self.conversations_until(now),
            self.write_days is not None,
            min(self.writes_up_to, _LARGEST),
        )

    def conversations_until(self, now: float) -> float:
        """Up to which time a conversation is past its window at the time *now*."""
        return _until(now, self.conversation_days)

    def runs_until(self, now: float) -> float:
        """Up to which time a settled run is past its window at the time *now*."""
        return _until(now, self.run_days)

    def waiting_until(self, now: float) -> float:
        """Up to which time a card is past its window at the time *now*."""
        return _until(now, self.waiting_days)


def _until(now: float, days: float | None) -> float:
    return -math.inf if days is None else now - days * _DAY


@attrs.frozen(kw_only=True, repr=False, eq=False)
class Purged(Value):
    """
    How many rows went, or would go. ``writes`` are entries of the feed.

    ``more`` says that this was one portion and more may follow.
    """

    conversations: int = 0
    messages: int = 0
    runs: int = 0
    events: int = 0
    writes: int = 0
    more: bool = False

    def __add__(self, other: "Purged") -> "Purged":
        return Purged(
            conversations=self.conversations + other.conversations,
            messages=self.messages + other.messages,
            runs=self.runs + other.runs,
            events=self.events + other.events,
            writes=self.writes + other.writes,
            more=other.more,
        )
