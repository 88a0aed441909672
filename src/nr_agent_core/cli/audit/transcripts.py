"""
From the messages of a conversation to its completed answers.

A turn begins with a user message. Its answer is its last assistant message, if that has text and makes
no call: text beside calls, and text before later calls, is no answer (V9).
"""

from collections.abc import Iterator

import attrs

from nr_agent_core.cli.audit.answer import Answer, Call, CallOutcome, Given
from nr_agent_core.cli.audit.malformed import Malformed, MalformedError
from nr_agent_core.cli.audit.messages import CallMade, CallResult, Message, Role, read_message

_LONGEST = 2_000_000
"""Texts of a conversation that are kept for comparing, in characters; of a longer one nothing is compared."""


@attrs.define
class _TurnCall:
    """
    A call of the turn and what every result for it told.
    """

    made: CallMade
    round: int
    outcomes: set[CallOutcome] = attrs.field(factory=set)

    def seen(self) -> Call:
        # Two results that contradict each other tell nothing.
        outcome = next(iter(self.outcomes)) if len(self.outcomes) == 1 else CallOutcome.UNKNOWN
        return Call(self.made.name, outcome)


class Conversation:
    """
    Takes messages one by one and gives an answer whenever a turn ends.

    Args:
        file: name of the input.

        gap: something before the first message could not be read.
    """

    def __init__(self, file: str, *, gap: bool = False) -> None:
        self._file = file
        self._names: dict[str, str] = {}
        self._texts: list[str] = []
        self._results: list[str] = []
        self._said: list[str] = []
        self._length = 0
        # Without a system message the transcript leaves out what the model was told first.
        self._instructed = False
        self._complete = not gap
        self._begin(gap=gap)

    def _begin(self, *, gap: bool = False) -> None:
        self._texts += self._said
        self._said = []
        self._complete = self._complete and not gap
        self._calls: list[_TurnCall] = []
        self._by_id: dict[str, list[_TurnCall]] = {}
        self._round = 0
        self._gap = gap
        self._last: tuple[str, str, int] | None = None

    def add(self, value: object, *, label: str, line: int, place: str = "") -> Iterator[Answer | Malformed]:
        """
        Takes the next message; gives the answer of the turn that it ends, or says why it is no message.

        Args:
            value: the parsed message.
            label: id of the answer if this message turns out to be one.
            line: where it stands.
            place: where in the line it stands, for messages; empty when it is the whole line.
        """
        try:
            message = read_message(value)
        except MalformedError as error:
            yield Malformed(self._file, line, f"{place}{error}")
            yield from self.skip()
            return
        if message.role is Role.USER and not message.results:
            yield from self.end()
            self._begin()
            self._give(message.text)
        elif message.role is Role.SYSTEM:
            self._instructed = self._instructed or bool(message.text.strip())
            self._give(message.text)
        else:
            self._follow(message, label, line)

    def skip(self) -> Iterator[Answer]:
        """
        Something here could not be read: neither the turn so far nor the one it may belong to is complete.
        """
        self._gap = True
        yield from self.end()
        self._begin(gap=True)

    def end(self) -> Iterator[Answer]:
        """
        The answer of the turn that ends here, if it has one.
        """
        if self._last is not None:
            text, label, line = self._last
            calls = tuple(call.seen() for call in self._calls)
            yield Answer(label, self._file, line, text, calls, gap=self._gap, given=self._given())
            self._last = None

    def _give(self, text: str) -> None:
        self._length += len(text)
        if self._length <= _LONGEST:
            self._texts.append(text)

    def _given(self) -> Given | None:
        told = all(call.outcomes for call in self._calls)
        if not (self._instructed and self._complete and told) or self._length > _LONGEST:
            return None
        return Given(self._texts, len(self._texts), self._results)

    def _follow(self, message: Message, label: str, line: int) -> None:
        if message.role is Role.ASSISTANT:
            self._round += 1
            self._length += len(message.text)
            self._said.append(message.text)
            if message.is_answer:
                self._last = message.text, label, line
            elif message.calls:
                self._last = None
        for call in message.calls:
            self._remember(_TurnCall(call, self._round))
        for result in message.results:
            answered = self._call_of(result)
            answered.outcomes.add(result.outcome)
            if result.text is None:
                self._complete = False
                continue
            self._give(result.text)
            self._results.append(result.text)
            if result.outcome is CallOutcome.SUCCEEDED:
                # What a tool took without complaint is not held against the answer.
                self._give(answered.made.arguments)

    def _call_of(self, result: CallResult) -> _TurnCall:
        """
        The call that *result* belongs to: of the latest round, the first that waits for a result.

        A result whose call this turn did not make (it came late, or the transcript is cut) counts as a call
        of its own, so that what it wrote is not overlooked.
        """
        fitting = self._by_id.get(result.id or "") or [call for call in self._calls if _may_fit(call, result)]
        waiting = [call for call in fitting if not call.outcomes]
        if found := waiting or fitting:
            latest = max(call.round for call in found)
            return next(call for call in found if call.round == latest)
        name = result.name or self._names.get(result.id or "")
        return self._remember(_TurnCall(CallMade(result.id, name), self._round))

    def _remember(self, call: _TurnCall) -> _TurnCall:
        self._calls.append(call)
        if call.made.id:
            self._by_id.setdefault(call.made.id, []).append(call)
            if call.made.name:
                self._names[call.made.id] = call.made.name
        return call


def _may_fit(call: _TurnCall, result: CallResult) -> bool:
    """
    Whether *result*, which no id ties to a call, may belong to *call*.
    """
    if result.id is not None and call.made.id is not None:
        return False
    if result.name is not None and call.made.name is not None:
        return call.made.name == result.name
    # One of the two tells neither id nor tool: their order has to do, for calls that still wait.
    return not call.outcomes
