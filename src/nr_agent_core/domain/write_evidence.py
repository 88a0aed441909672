"""
Did this run write: yes, no, or cannot tell (V1).

A fold over the run's stream, across all its segments, and over nothing else: neither a tool's
name nor any text counts.
"""

import enum
from typing import Self

import attrs

from nr_agent_core.domain.run_events import ToolFinished, ToolStarted
from nr_agent_core.domain.tool_result import Outcome, RecordWrite, merge_writes
from nr_agent_core.domain.value import Value


class Wrote(enum.Enum):
    """
    The three values of the evidence. The third is a verdict of its own (P4).
    """

    YES = "yes"
    NO = "no"
    CANNOT_TELL = "cannot_tell"


@attrs.frozen(repr=False, eq=False)
class OpenCall(Value):
    """
    A call whose outcome is not known: an intent without outcome, or an unknown outcome.

    ``repeated``: it was tried again after a crash, so that a single try cannot speak for it (R7).
    """

    call_id: str
    tool: str
    released: bool
    repeated: bool = False


@attrs.frozen(repr=False, eq=False)
class WriteEvidence(Value):
    """
    What the stream so far proves about writes.

    ``records`` were written; ``released_tools`` executed with text after an approval without
    naming a record; ``unproven_tools`` did so unattended; ``open_calls`` have no known outcome.
    """

    records: tuple[RecordWrite, ...] = ()
    released_tools: tuple[str, ...] = ()
    unproven_tools: tuple[str, ...] = ()
    open_calls: tuple[OpenCall, ...] = ()

    @property
    def wrote(self) -> Wrote:
        """The evidence's value (V1)."""
        if self.records or self.released_tools:
            return Wrote.YES
        return Wrote.CANNOT_TELL if self.open_calls or self.unproven_tools else Wrote.NO

    @property
    def unknown_tools(self) -> tuple[str, ...]:
        """The tools of the calls of unknown outcome, each once, in order."""
        return tuple(dict.fromkeys(call.tool for call in self.open_calls))

    def is_open(self, call_id: str) -> bool:
        """Whether the outcome of this call is still missing or unknown."""
        return self.open_call(call_id) is not None

    def after_intent(self, event: ToolStarted, *, released: bool) -> Self:
        """The evidence once the intent of a writing call is stored."""
        call = OpenCall(f"{event.round}.{event.index}", event.tool, released)
        return attrs.evolve(self, open_calls=(*self.open_calls, call))

    def open_call(self, call_id: str) -> OpenCall | None:
        """The call of this id, if its outcome is still missing or unknown."""
        return next((call for call in self.open_calls if call.call_id == call_id), None)

    def names_more(self, event: ToolFinished) -> bool:
        """Whether *event* names a write that is not among the records."""
        return bool(event.writes) and merge_writes(self.records, event.writes) != self.records

    def after_outcome(self, event: ToolFinished, *, released: bool, repeated: bool = False) -> Self:
        """The evidence once an outcome is stored; a late one closes the call it belongs to."""
        known = self.open_call(event.call_id)
        still_open = tuple(call for call in self.open_calls if call is not known)
        if event.executed and event.outcome is Outcome.UNKNOWN:
            opened = known or OpenCall(event.call_id, event.tool, released)
            if repeated:
                opened = attrs.evolve(opened, repeated=True)
            return attrs.evolve(
                self, open_calls=(*still_open, opened), records=merge_writes(self.records, event.writes)
            )
        if not event.executed or event.outcome is not Outcome.TEXT or not (event.effect.writes or event.writes):
            return self if known is None else attrs.evolve(self, open_calls=still_open)
        if event.writes:
            return attrs.evolve(self, open_calls=still_open, records=merge_writes(self.records, event.writes))
        if known.released if known else released:
            return attrs.evolve(self, open_calls=still_open, released_tools=(*self.released_tools, event.tool))
        return attrs.evolve(self, open_calls=still_open, unproven_tools=(*self.unproven_tools, event.tool))
