"""
What the model is told: the system prompt, earlier turns with their notes, and the run's own dialogue (M1-M5).

All of it is built per segment and question, and none of it is stored. What does not fit into the
model's window is left out by whole turns, the oldest first; the head and the newest turn stay, and
the prompt says that something is missing (R11).
"""

from collections.abc import Mapping, Sequence

import attrs

from nr_agent_core.domain.briefed_history import BriefedHistory, BriefingCache, RunFacts
from nr_agent_core.domain.context_window import CALL_TOKENS, MESSAGE_TOKENS, estimate, fit
from nr_agent_core.domain.conversation import Message
from nr_agent_core.domain.model_dialogue import ModelCall, ModelMessage, ModelRequest, OfferedTool
from nr_agent_core.domain.model_notes import KnownOutcome, known_outcomes, runs_of_unknown_outcome
from nr_agent_core.domain.run import Round, Run
from nr_agent_core.domain.run_events import RecordedCall, ToolFinished
from nr_agent_core.domain.system_prompt import system_prompt
from nr_agent_core.domain.tool_outcomes import late_text
from nr_agent_core.domain.tool_result import RecordWrite
from nr_agent_core.domain.value import Value

__all__ = [
    "BriefedRequest",
    "Briefing",
    "BriefingCache",
    "KnownOutcome",
    "declined_tools",
    "known_outcomes",
    "runs_of_unknown_outcome",
    "system_prompt",
]


@attrs.frozen(repr=False, eq=False)
class BriefedRequest(Value):
    """
    A question to the model: how many messages it holds, how many older ones were left out, and the
    tokens it is taken for, uncorrected.
    """

    request: ModelRequest
    messages: int
    left_out: int
    tokens: int


class Briefing:
    """
    Builds the questions of one segment.

    Args:
        system: the system prompt, see :func:`system_prompt`.

        messages: earlier messages of the conversation, oldest first. The run's own user message
            may be the last of them; it is told once.

        text: what the user wrote and the run answers. A retried message is told again at the end (F5).

        tokens: the budget of the question, see :func:`~nr_agent_core.domain.context_window.budget`.

        position: where the run's user message stands in the conversation; None for a bare run.

        tools: what the model is offered.

        writes: by run, the records it wrote (M5).

        declined: by run, the tools of denied calls that it went on without (M4), see :func:`declined_tools`.

        outcomes: by run, what became of calls of unknown outcome (R7), see :func:`known_outcomes`.

        cache: what earlier briefings of the same conversation made, and their model taught.

        shortened: the system prompt of a question that leaves older turns out; None: the same.
    """

    __slots__ = (
        "_cache",
        "_history",
        "_rounds",
        "_shortened",
        "_starts",
        "_system",
        "_tokens",
        "_tools",
        "_user",
        "_user_tokens",
    )

    def __init__(
        self,
        system: str,
        messages: Sequence[Message],
        text: str,
        *,
        tokens: int,
        position: int | None = None,
        tools: tuple[OfferedTool, ...] = (),
        writes: Mapping[str, tuple[RecordWrite, ...]] | None = None,
        declined: Mapping[str, tuple[str, ...]] | None = None,
        outcomes: Mapping[str, tuple[KnownOutcome, ...]] | None = None,
        cache: BriefingCache | None = None,
        shortened: str | None = None,
    ) -> None:
        earlier = tuple(messages)
        if earlier and position is not None and earlier[-1].position == position:
            earlier = earlier[:-1]
        self._cache = BriefingCache() if cache is None else cache
        self._system, self._tools, self._tokens = system, tools, tokens
        self._history: BriefedHistory = self._cache.history(earlier, RunFacts(writes, declined, outcomes))
        self._user = ModelMessage("user", text)
        self._user_tokens = estimate(text) + MESSAGE_TOKENS
        self._shortened = system if shortened is None else shortened
        self._starts = self._turns()
        self._rounds: list[tuple[Round, tuple[ModelMessage, ...], int]] = []

    def request(self, run: Run, offer_tools: bool) -> BriefedRequest | None:
        """
        The next question of *run*, or None when even what is never left out is larger than the budget (R11).

        Args:
            run: the run, all calls of its last round carried out.
            offer_tools: False for a closing round (R4).
        """
        own, own_tokens = self._dialogue(run)
        tools = self._tools if offer_tools else ()
        rest = self._user_tokens + own_tokens + (self._cache.tool_tokens(tools) if tools else 0)
        history, system = self._history, self._system
        found = self._start(system, rest)
        if found is None:
            return None
        if history.first + found[0]:
            # It costs some tokens to say so; a floor that leaves no room for that is asked without it.
            noted = self._start(self._shortened, rest)
            if noted is not None:
                found, system = noted, self._shortened
        start, tokens = found
        messages = (*history.lines[start:], self._user, *own)
        return BriefedRequest(ModelRequest(system, messages, tools), len(messages), history.first + start, tokens)

    def answered(self, briefed: BriefedRequest, counted: object) -> None:
        """
        Learn from the usage of an answer: further questions keep within the corrected estimate (R11).

        Args:
            briefed: the question.
            counted: the input tokens that the provider reported for it; anything else changes nothing.
        """
        self._cache.calibration = self._cache.calibration.after(counted, briefed.tokens)

    def told(self, run: Run) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """
        All texts that the model was given in this segment, and those of them that tools of *run* returned (V7).

        Neither the model's own calls nor what it said beside them is given to it. Messages that did
        not fit are among them: what is not in here, the model cannot have read.
        """
        import json

        offers = (f"{tool.description}\n{json.dumps(tool.parameters, default=str)}" for tool in self._tools)
        history = (line.text for line in self._history.lines)
        own, _ = self._dialogue(run)
        results = tuple(line.text for line in own if line.role == "tool")
        return (self._system, *offers, *history, self._user.text), results

    @property
    def earlier_writes(self) -> tuple[RecordWrite, ...] | None:
        """The records that earlier turns wrote; None when the conversation begins before what was read of it."""
        if self._history.first > 0:
            return None
        writes = self._history.facts.writes
        return tuple(record for records in writes.values() for record in records)

    def _turns(self) -> list[int]:
        """The position of the first message of each earlier turn, and behind them that of the run's own."""
        history, first, end = self._history, self._history.first, len(self._history.lines)
        # What stands before the first user message is the rest of a turn that was cut, or a
        # greeting at the very beginning of the conversation.
        greeting = [0] if end and first == 0 and history.turns[:1] != [0] else []
        return [*greeting, *history.turns, first + end]

    def _start(self, system: str, rest: int) -> tuple[int, int] | None:
        """The index of the first message that fits, and the tokens of all; None when the floor does not fit."""
        starts, until, first = self._starts, self._history.until, self._history.first
        floor = estimate(system) + MESSAGE_TOKENS + rest
        room = self._cache.calibration.room(self._tokens) - floor
        if room < 0:
            return None
        start = starts[fit(starts, lambda start: until[start - first], until[-1] - room)] - first
        return start, floor + until[-1] - until[start]

    def _dialogue(self, run: Run) -> tuple[list[ModelMessage], int]:
        """The run's own rounds: what the model said and called, and what came of the calls."""
        messages: list[ModelMessage] = []
        tokens = 0
        for number, at in enumerate(run.rounds):
            if number >= len(self._rounds) or self._rounds[number][0] is not at:
                del self._rounds[number:]
                told = _round(at)
                self._rounds.append((at, told, sum(map(_tokens, told))))
            _, told, cost = self._rounds[number]
            messages.extend(told)
            tokens += cost
        return messages, tokens


def declined_tools(run: Run) -> tuple[str, ...]:
    """
    The tools of the calls that needed approval and that a person denied in *run*, each once (M4).
    """
    denied = (at for at in run.rounds if at.decision is not None and not at.decision.approved)
    return tuple(dict.fromkeys(call.tool for at in denied for call in at.waiting_calls if call.approval))


def _round(at: Round) -> tuple[ModelMessage, ...]:
    """A blank round is not told: the question is asked again as it was (R4)."""
    if at.blank:
        return ()
    answer, results = at.answer, {result.index: result for result in at.results}
    ids = _ids(at)
    calls = tuple(
        ModelCall(call.tool, answer.arguments[call.index] if answer.arguments else "{}", ids[call.index])
        for call in answer.calls
    )
    said = ModelMessage("assistant", answer.text or "", calls, provider_data=answer.provider_data)
    brought = (
        ModelMessage("tool", _result_text(call, results.get(call.index)), call_id=ids[call.index])
        for call in answer.calls
    )
    return (said, *brought)


def _ids(at: Round) -> list[str]:
    """The provider's ids, echoed; one is made where it gave none, or the same one twice (T12)."""
    given = at.answer.provider_ids or (None,) * len(at.answer.calls)
    ids: list[str] = []
    for call in at.answer.calls:
        echoed = given[call.index] if call.index < len(given) else None
        ids.append(echoed if echoed and echoed not in ids else f"call_{at.answer.round}_{call.index}")
    return ids


def _result_text(call: RecordedCall, result: ToolFinished | None) -> str:
    if result is None:
        return f"No result of {call.tool} is known."
    return late_text(result) if result.text is None else result.text


def _tokens(message: ModelMessage) -> int:
    tokens = MESSAGE_TOKENS + estimate(message.text, dense=message.role == "tool")
    if message.provider_data:
        tokens += estimate(message.provider_data, dense=True)
    for call in message.calls:
        tokens += CALL_TOKENS + estimate(call.name) + estimate(call.arguments, dense=True)
    return tokens
