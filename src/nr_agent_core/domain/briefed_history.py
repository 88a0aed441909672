"""
Earlier turns as the model reads them, converted once and kept (M1, M4, M5).

A window of some hundred messages is the same from turn to turn, but for its ends. So what was
converted is kept beside what it was made from, and a turn pays for what is new.
"""

from collections.abc import Mapping
from typing import TypeAlias

from nr_agent_core.domain.context_window import MESSAGE_TOKENS, estimate
from nr_agent_core.domain.conversation import Message, MessageRole
from nr_agent_core.domain.model_dialogue import ModelMessage, OfferedTool
from nr_agent_core.domain.model_notes import KnownOutcome, declined_note, notes, written_note
from nr_agent_core.domain.system_prompt import NOTE
from nr_agent_core.domain.tool_result import RecordWrite

# What is told about a run beyond its message: records written, tools declined, outcomes known by now.
_About: TypeAlias = tuple[tuple[RecordWrite, ...], tuple[str, ...], tuple[KnownOutcome, ...]]
_NOTHING: _About = ((), (), ())


class RunFacts:
    """
    What is known, when a segment opens, of the runs behind a conversation's messages; by run id.

    Args:
        writes: the records each run wrote (M5).
        declined: the tools of calls that a person denied and the run went on without (M4).
        outcomes: what became of calls of unknown outcome, as the streams have it now (R7).
    """

    __slots__ = ("declined", "outcomes", "runs", "writes")

    def __init__(
        self,
        writes: Mapping[str, tuple[RecordWrite, ...]] | None = None,
        declined: Mapping[str, tuple[str, ...]] | None = None,
        outcomes: Mapping[str, tuple[KnownOutcome, ...]] | None = None,
    ) -> None:
        self.writes, self.declined, self.outcomes = writes or {}, declined or {}, outcomes or {}
        self.runs = self.writes.keys() | self.declined.keys() | self.outcomes.keys()

    def about(self, run_id: str | None) -> _About:
        """What is told about this run."""
        if run_id is None or run_id not in self.runs:
            return _NOTHING
        return self.writes.get(run_id, ()), self.declined.get(run_id, ()), self.outcomes.get(run_id, ())


class BriefedHistory:
    """
    Messages beside what the model reads of them, and what that is taken for in tokens. Never changed once made.

    ``turns`` holds the index of each user message; ``told`` what was told about which run.
    """

    __slots__ = ("lines", "places", "sources", "tokens", "told", "turns")

    def __init__(self) -> None:
        self.sources: tuple[Message, ...] = ()
        self.lines: list[ModelMessage] = []
        self.tokens: list[int] = []
        self.turns: list[int] = []
        # Where a run's answers are: positions of messages, not indexes, so that a window may move.
        self.places: dict[str, tuple[int, ...]] = {}
        self.told: dict[str, _About] = {}

    def of(self, messages: tuple[Message, ...], facts: RunFacts) -> "BriefedHistory":
        """
        The history of *messages*, taking from this one what is the same (flat per turn).
        """
        made = self._moved(messages)
        made.sources = messages
        for run_id in facts.runs | made.told.keys():
            made._tell_anew(run_id, facts)
        for index in range(len(made.lines), len(messages)):
            made._add(messages[index], index, facts)
        return made

    def _moved(self, messages: tuple[Message, ...]) -> "BriefedHistory":
        """What of this history *messages* begin with, from wherever in it they start."""
        made = BriefedHistory()
        if not messages or not self.sources:
            return made
        away = messages[0].position - self.sources[0].position
        if not 0 <= away < len(self.sources):
            return made
        # Comparing tuples looks at identity first: the same messages cost nothing but the walk.
        same = self.sources[away:]
        if messages[: len(same)] != same:
            return made
        made.lines, made.tokens = self.lines[away:], self.tokens[away:]
        made.turns = [index - away for index in self.turns if index >= away] if away else list(self.turns)
        made.places, made.told = dict(self.places), dict(self.told)
        if away:
            made._forget_before(messages[0].position)
        return made

    def _forget_before(self, position: int) -> None:
        gone = [run_id for run_id, places in self.places.items() if places[-1] < position]
        for run_id in gone:
            del self.places[run_id]
            self.told.pop(run_id, None)

    def _add(self, message: Message, index: int, facts: RunFacts) -> None:
        if message.role is MessageRole.USER:
            self.turns.append(index)
            self.lines.append(ModelMessage("user", message.text))
            self.tokens.append(message.tokens + MESSAGE_TOKENS)
            return
        about = facts.about(message.run_id)
        line, tokens = _assistant(message, about)
        self.lines.append(line)
        self.tokens.append(tokens)
        if message.run_id is not None:
            self.places[message.run_id] = (*self.places.get(message.run_id, ()), message.position)
            if about is not _NOTHING:
                self.told[message.run_id] = about

    def _tell_anew(self, run_id: str, facts: RunFacts) -> None:
        """Convert the run's messages again when something else is known about it than when they were."""
        places, about = self.places.get(run_id), facts.about(run_id)
        if places is None or self.told.get(run_id, _NOTHING) == about:
            return
        for position in places:
            index = position - self.sources[0].position
            if index >= 0:
                self.lines[index], self.tokens[index] = _assistant(self.sources[index], about)
        self.told[run_id] = about


class BriefingCache:
    """
    What the briefings of one conversation need not make again; bounded by the model's window.

    A caller may hold one for each conversation it answers, or none: what is briefed is the same.
    It may be used from several threads; the last briefing stays.
    """

    __slots__ = ("_history", "_tools")

    def __init__(self) -> None:
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
    tokens = message.tokens + MESSAGE_TOKENS + estimate(told)
    # A note inside an answer is the model's own invention; only what the library adds may look like one.
    said = text.replace(NOTE, "(no run note: ") if answered else ""
    return ModelMessage("assistant", "\n\n".join(filter(None, (said, told))) or "(no text)"), tokens


def _tool_tokens(tool: OfferedTool) -> int:
    import json

    schema = json.dumps(tool.parameters, ensure_ascii=False, default=str)
    return MESSAGE_TOKENS + estimate(tool.name + tool.description) + estimate(schema, dense=True)
