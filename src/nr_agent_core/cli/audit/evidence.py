"""
Did the turn behind an answer write: yes, no, or cannot tell (V1, P4).

A transcript declares nothing about its tools, so the reader of the report does: by name. Neither a
tool's name nor its description is read as a hint.
"""

import fnmatch
import re
from collections.abc import Iterable

import attrs

from nr_agent_core.cli.audit.answer import Answer, CallOutcome
from nr_agent_core.domain.write_evidence import Wrote


@attrs.frozen
class TurnEvidence:
    """
    What the turn proves.

    ``open_write``: a call of a writing tool has no known outcome. ``undeclared``: it cannot be told
    because nobody said which tools write.
    """

    wrote: Wrote
    open_write: bool = False
    undeclared: bool = False


class WriteTools:
    """
    Which tools write, as the caller names them.

    Args:
        patterns: names or globs (``*``, ``?``, ``[...]``), exact in their case. With patterns, a tool that
            matches none of them only reads. Without, no tool is known to write or to read.
    """

    def __init__(self, patterns: Iterable[str] = ()) -> None:
        self._patterns = {pattern: re.compile(fnmatch.translate(pattern)) for pattern in patterns}
        self._writes: dict[str, bool] = {}
        self._matched: set[str] = set()

    @property
    def patterns(self) -> tuple[str, ...]:
        """The names and globs, each once, in their order."""
        return tuple(self._patterns)

    @property
    def seen(self) -> tuple[str, ...]:
        """Names of the tools that were asked about, in the order of their first call."""
        return tuple(self._writes)

    @property
    def unmatched(self) -> tuple[str, ...]:
        """Patterns that no tool seen so far matches: perhaps misspelt."""
        return tuple(pattern for pattern in self._patterns if pattern not in self._matched)

    def writes(self, name: str | None) -> bool | None:
        """
        Whether the tool *name* writes; None where nobody says.
        """
        if name is None:
            return None
        if name not in self._writes:
            matching = {pattern for pattern, compiled in self._patterns.items() if compiled.match(name)}
            self._matched |= matching
            self._writes[name] = bool(matching)
        return self._writes[name] if self._patterns else None


def evidence(answer: Answer, tools: WriteTools) -> TurnEvidence:
    """
    What the calls behind *answer* prove; what the input states itself comes first.

    A failed call wrote nothing. A call without a result, of a tool that nobody named, or in a turn that
    could be read only in part, leaves the question open, never answered with no.
    """
    kinds = [(tools.writes(call.name), call.outcome) for call in answer.calls]
    if answer.stated is not None:
        return TurnEvidence(answer.stated)
    open_write = (True, CallOutcome.UNKNOWN) in kinds
    if (True, CallOutcome.SUCCEEDED) in kinds:
        return TurnEvidence(Wrote.YES, open_write)
    undeclared = any(writes is None and outcome is not CallOutcome.FAILED for writes, outcome in kinds)
    if open_write or undeclared or answer.gap:
        return TurnEvidence(Wrote.CANNOT_TELL, open_write, undeclared and not tools.patterns)
    return TurnEvidence(Wrote.NO)
