"""
A stream read once more, without the library's fold: what each call left, and what was not known when the run ended.

The comparison must not believe the code that it holds to account.
"""

from collections.abc import Iterable

import attrs

from nr_agent_core import Outcome, ToolEffect
from nr_agent_core.domain.run_events import (
    ApprovalDecided,
    Claimed,
    ClaimReason,
    ModelAnswered,
    Requeued,
    RunCancelled,
    RunCompleted,
    RunEvent,
    RunFailed,
    ToolFinished,
    ToolStarted,
)
from nr_agent_core.ports.run_store import RunRow, StoredEvent

Entry = tuple[str, str, str]
"""Run, record, kind: what is announced and what the feed holds."""


@attrs.define
class Call:
    """
    What the stream says of one call: executed with which outcome, or an intent whose outcome nobody knows.
    """

    tool: str
    effect: ToolEffect
    intents: int = 0
    outcome: Outcome | None = None
    executed: bool = False

    @property
    def unknown(self) -> bool:
        """Whether it may or may not have happened."""
        if self.outcome is None:
            return self.intents > 0
        return self.executed and self.outcome is Outcome.UNKNOWN

    @property
    def succeeded(self) -> bool:
        """Whether its success is known."""
        return self.executed and self.outcome is Outcome.TEXT


class Tale:
    """
    One run: its row, its events, and what they come to.
    """

    def __init__(self, row: RunRow, events: Iterable[StoredEvent]) -> None:
        self.row, self.events = row, tuple(events)
        self.id = row.id
        self.calls = dict[str, Call]()
        self.writes = list[Entry]()
        self.decisions = dict[str, ApprovalDecided]()
        self.released = set[int]()
        self.unknown_at_end: tuple[str, ...] = ()
        self.excused = 0
        self.ends = 0
        self.takeovers = 0
        self.handovers = 0
        self.requeues = 0
        self.late = 0
        self._round = -1
        for stored in self.events:
            self._take(stored.event)

    def _take(self, event: RunEvent) -> None:
        match event:
            case ModelAnswered():
                self._round = event.round
            case ApprovalDecided():
                self.decisions[event.digest] = event
                if event.approved:
                    self.released.add(self._round)
            case Claimed(why=ClaimReason.RECOVERY):
                self.takeovers += 1
            case Claimed():
                self.handovers += 1
            case Requeued():
                self.requeues += 1
            case ToolStarted():
                call = self._call(f"{event.round}.{event.index}", event)
                call.intents += 1
            case ToolFinished():
                self._outcome(event)
            case RunCompleted() | RunFailed() | RunCancelled():
                self.ends += 1
                self.unknown_at_end = self.unknown
            case _:
                return

    def _outcome(self, event: ToolFinished) -> None:
        call = self._call(event.call_id, event)
        self.late += event.late
        # A write that became known later does not make an outcome known that a repeat left open.
        call.outcome, call.executed = event.outcome, event.executed
        if event.late and not event.effect.writes:
            # A tool that is declared as reading and writes: nobody could know of it before (T7).
            self.excused += len(event.writes)
        self.writes.extend((self.id, str(write.reference), write.kind.value) for write in event.writes)

    def _call(self, call_id: str, event: ToolStarted | ToolFinished) -> Call:
        return self.calls.setdefault(call_id, Call(event.tool, event.effect))

    @property
    def unknown(self) -> tuple[str, ...]:
        """The calls whose outcome nobody knows."""
        return tuple(call_id for call_id, call in self.calls.items() if call.unknown)

    @property
    def wrote(self) -> bool:
        """Whether anything of this run wrote, or may have."""
        effective = any(call.succeeded and call.effect.writes for call in self.calls.values())
        return bool(len(self.writes) > self.excused or self.unknown or effective)

    def lines(self) -> list[str]:
        """The stream for a person."""
        return [f"    {stored.number:>3} {stored.at:.3f} {stored.event}" for stored in self.events]
