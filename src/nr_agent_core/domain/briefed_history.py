"""
Earlier turns as the model reads them, converted once and kept (M1, M4, M5).

A window of some hundred messages is the same from turn to turn, but for its ends. So what was
converted is kept beside what it was made from, and a turn pays for what is new.
"""

import bisect
import itertools
from collections.abc import Mapping
from typing import Any, TypeAlias

from nr_agent_core.domain.context_window import MESSAGE_TOKENS, Calibration, estimate
from nr_agent_core.domain.conversation import Message, MessageRole
from nr_agent_core.domain.model_dialogue import ModelMessage, OfferedTool
from nr_agent_core.domain.model_notes import KnownOutcome, declined_note, notes, written_note
from nr_agent_core.domain.system_prompt import NOTE
from nr_agent_core.domain.tool_result import RecordWrite

# What is told about a run beyond its message: records written, tools declined, outcomes known by now.
_About: TypeAlias = tuple[tuple[RecordWrite, ...], tuple[str, ...], tuple[KnownOutcome, ...]]


class RunFacts:
    """
    What is known, when a segment opens, of the runs behind a conversation's messages; by run id.

    Args:
        writes: the records each run wrote (M5).
        declined: the tools of calls that a person denied and the run went on without (M4).
        outcomes: what became of calls of unknown outcome, as the streams have it now (R7).
    """

    __slots__ = ("declined", "outcomes", "writes")

    def __init__(
        self,
        writes: Mapping[str, tuple[RecordWrite, ...]] | None = None,
        declined: Mapping[str, tuple[str, ...]] | None = None,
        outcomes: Mapping[str, tuple[KnownOutcome, ...]] | None = None,
    ) -> None:
        # Copies: they are compared with those of a later turn.
        self.writes, self.declined, self.outcomes = dict(writes or ()), dict(declined or ()), dict(outcomes or ())

    def about(self, run_id: str | None) -> _About:
        """What is told about this run."""
        if run_id is None:
            return (), (), ()
        return self.writes.get(run_id, ()), self.declined.get(run_id, ()), self.outcomes.get(run_id, ())

    def changed_since(self, before: "RunFacts") -> set[str]:
        """The runs of which something else is known now."""
        changed: set[str] = set()
        kinds: tuple[tuple[dict[str, Any], dict[str, Any]], ...] = (
            (self.writes, before.writes),
            (self.declined, before.declined),
            (self.outcomes, before.outcomes),
        )
        for now, then in kinds:
            # Identity first: most of a window is the same from turn to turn.
            changed.update(
                run_id for run_id, fact in now.items() if (known := then.get(run_id)) is not fact and known != fact
            )
            changed.update(then.keys() - now.keys())
        return changed


class BriefedHistory:
    """
    Messages beside what the model reads of them, and what that is taken for in tokens. Never changed once made.

    ``turns`` holds the position of each user message; ``facts`` what the runs' messages tell. The
    tokens of the lines from one index to another are the difference of ``until`` at the two.
    """

    __slots__ = ("facts", "lines", "sources", "turns", "until")

    def __init__(self, sources: tuple[Message, ...] = (), facts: RunFacts | None = None) -> None:
        self.sources, self.facts = sources, RunFacts() if facts is None else facts
        self.lines: list[ModelMessage] = []
        self.until: list[int] = [0]
        self.turns: list[int] = []

    @property
    def first(self) -> int:
        """The position of the first message; 0 when there is none."""
        return self.sources[0].position if self.sources else 0

    def of(self, messages: tuple[Message, ...], facts: RunFacts) -> "BriefedHistory":
        """
        The history of *messages*, taking from this one what is the same (flat per turn).
        """
        made = self._moved(messages, facts)
        if made.lines:
            made._tell_anew(facts.changed_since(self.facts))
        for message in messages[len(made.lines) :]:
            made._add(message)
        return made

    def _moved(self, messages: tuple[Message, ...], facts: RunFacts) -> "BriefedHistory":
        """What of this history *messages* begin with, from wherever in it they start."""
        made = BriefedHistory(messages, facts)
        if not messages or not self.sources:
            return made
        away = made.first - self.first
        # Comparing tuples looks at identity first: the same messages cost nothing but the walk.
        same = self.sources[away:] if 0 <= away < len(self.sources) else ()
        if not same or messages[: len(same)] != same:
            return made
        made.lines, made.until = self.lines[away:], self.until[away:]
        made.turns = self.turns[bisect.bisect_left(self.turns, made.first) :]
        return made

    def _add(self, message: Message) -> None:
        if message.role is MessageRole.USER:
            self.turns.append(message.position)
            line, tokens = ModelMessage("user", message.text), message.tokens + MESSAGE_TOKENS
        else:
            line, tokens = _assistant(message, self.facts.about(message.run_id))
        self.lines.append(line)
        self.until.append(self.until[-1] + tokens)

    def _tell_anew(self, runs: set[str]) -> None:
        """Convert the messages of these runs again."""
        if not runs:
            return
        tokens = [until - start for start, until in itertools.pairwise(self.until)]
        for index, message in enumerate(self.sources[: len(self.lines)]):
            if message.run_id in runs and message.role is MessageRole.ASSISTANT:
                self.lines[index], tokens[index] = _assistant(message, self.facts.about(message.run_id))
        self.until = list(itertools.accumulate(tokens, initial=0))


class BriefingCache:
    """
    What the briefings of one conversation need not make again; bounded by the model's window.

    A caller may hold one for each conversation it answers, or none: what is briefed is the same, as
    long as it fits. ``calibration`` is what the conversation's model taught about the estimates (R11).
    It may be used from several threads; the last briefing stays.
    """

    __slots__ = ("_history", "_tools", "calibration")

    def __init__(self) -> None:
        self.calibration = Calibration()
        self._history = BriefedHistory()
        self._tools: tuple[tuple[OfferedTool, ...], int] = ((), 0)

    def history(self, messages: tuple[Message, ...], facts: RunFacts) -> BriefedHistory:
        """The earlier turns as the model reads them."""
        self._history = made = self._history.of(messages, facts)
        return made

    def tool_tokens(self, tools: tuple[OfferedTool, ...]) -> int:
        """What offering *tools* is taken for (R11)."""
        known, tokens = self._tools
        if known != tools:
            tokens = sum(_tool_tokens(tool) for tool in tools)
            self._tools = (tools, tokens)
        return tokens


def _assistant(message: Message, about: _About) -> tuple[ModelMessage, int]:
    """An answer or a run's last line, with its notes, and what it is taken for."""
    written, declined, outcomes = about
    text = message.text
    if not (message.notices or written or declined) and text and NOTE not in text:
        return ModelMessage("assistant", text), message.tokens + MESSAGE_TOKENS
    answered = bool(text.strip())
    lines = notes(message.notices, answer=answered, outcomes=outcomes)
    # A line without answer names its records itself; what it does not name became known later.
    unnamed = [record for record in written if answered or not any(str(record) in line for line in lines)]
    if unnamed:
        lines.append(written_note(tuple(unnamed)))
    if declined and answered:
        lines.append(declined_note(declined))
    told = "\n".join(lines)
    # A note inside an answer is the model's own invention; only what the library adds may look like one.
    said = text.replace(NOTE, "(no run note: ") if answered else ""
    if not (said or told):
        told = "(no text)"
    tokens = message.tokens + MESSAGE_TOKENS + estimate(told)
    return ModelMessage("assistant", "\n\n".join(filter(None, (said, told)))), tokens


def _tool_tokens(tool: OfferedTool) -> int:
    import json

    schema = json.dumps(tool.parameters, ensure_ascii=False, default=str)
    return MESSAGE_TOKENS + estimate(tool.name + tool.description) + estimate(schema, dense=True)
