"""
The newest messages of a conversation, kept from turn to turn so that a turn reads only what is new.

Messages are append-only, so what was read once stays right: it is a prefix that cannot be wrong.
One look at what follows it shows, by the message it begins with, that it still holds. Only what
is committed is ever read, so a refused commit leaves no trace here.
"""

import threading
from collections import OrderedDict, deque
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from nr_agent_core.codec.rows import last_kinds, read_message, read_write
from nr_agent_core.domain.conversation import Message
from nr_agent_core.domain.tool_result import RecordWrite
from nr_agent_core.ports.conversation_store import History

END = 2**63 - 1
"""Behind every position."""


class WindowSource(Protocol):
    """
    What a window asks a store. Message rows begin with the columns of :func:`.rows.read_message`, followed
    by the names of the tools that were denied in the run that left an answer, or None.
    """

    def following(self, conversation: str, seen: int, position: int) -> Sequence[Any]:
        """
        Message rows from *position* on, oldest first, each followed by whether its run has an entry
        in the feed up to position *seen* of the feed.
        """
        ...

    def before(self, conversation: str, end: int) -> Iterable[Any]:
        """Message rows below position *end*, newest first, read only as far as they are asked for."""
        ...

    def newest_write(self, conversation: str) -> int:
        """The position of the conversation's newest entry in the feed; 0 when there is none."""
        ...

    def new_writes(self, conversation: str, seen: int) -> Sequence[Any]:
        """Position, run and record of the conversation's entries above position *seen*, in order."""
        ...

    def writes_between(self, conversation: str, first: int, end: int) -> Sequence[Any]:
        """Run and record of what the runs of the messages from *first* to below *end* wrote here, in order."""
        ...


class Window:
    """
    The newest messages of one conversation that fit into a budget, and what their runs wrote.

    ``older`` is the estimate of the message just before the window, None when there is none.
    """

    __slots__ = ("_conversation", "_declined", "_messages", "_runs", "_seen", "_writes", "older", "tokens")

    def __init__(self, conversation: str) -> None:
        self._conversation = conversation
        self._messages: deque[Message] = deque()
        self._runs: dict[str, int] = {}
        self._writes: dict[str, tuple[RecordWrite, ...]] = {}
        self._declined: dict[str, tuple[str, ...]] = {}
        self._seen = 0
        self.tokens = 0
        self.older: int | None = 0

    def fit(self, source: WindowSource, budget: int) -> bool:
        """Make the window hold what is stored now and fits into *budget*; False when it does not hold any more."""
        if not self._messages:
            self._begin(source, budget)
            return True
        if not self._follow(source):
            return False
        self._narrow(budget)
        if self.older is not None and self.tokens + self.older <= budget:
            self._widen(source, budget)
        return True

    def history(self) -> History:
        """What the window shows."""
        return History(tuple(self._messages), self._writes.copy(), self.older is None, self._declined.copy())

    def _begin(self, source: WindowSource, budget: int) -> None:
        """Read what fits; where nothing was ever written, no writes are looked for."""
        self._read_back(source, budget)
        # Behind the messages: what was written until now is read below, what comes later is heard of.
        self._seen = source.newest_write(self._conversation)
        if self._seen and self._messages:
            self._read_writes(source, self._messages[0].position, END)

    def _follow(self, source: WindowSource) -> bool:
        last = self._messages[-1]
        rows = source.following(self._conversation, self._seen, last.position)
        if not rows or (rows[0][0], rows[0][4]) != (last.position, last.at):
            return False
        passed_over = set()
        for row in rows[1:]:
            message = read_message(row)
            if row[8] and message.run_id not in self._runs:
                passed_over.add(message.run_id)
            self._take(message, row[7])
            self._messages.append(message)
        self._hear_of_writes(source)
        if passed_over:
            self._read_writes(source, rows[1][0], END)
        return True

    def _hear_of_writes(self, source: WindowSource) -> None:
        """What was written since, late outcomes included."""
        for position, run, *columns in source.new_writes(self._conversation, self._seen):
            self._seen = position
            if run in self._runs:
                self._writes[run] = last_kinds([*self._writes.get(run, ()), read_write(*columns)])

    def _read_writes(self, source: WindowSource, first: int, end: int) -> None:
        """All that the runs of some messages wrote."""
        by_run: dict[str, list[RecordWrite]] = {}
        for run, *columns in source.writes_between(self._conversation, first, end):
            by_run.setdefault(run, []).append(read_write(*columns))
        self._writes.update((run, last_kinds(writes)) for run, writes in by_run.items() if run in self._runs)

    def _widen(self, source: WindowSource, budget: int) -> None:
        """Read further back, and what those runs wrote."""
        end = self._messages[0].position
        self._read_back(source, budget)
        if self._messages[0].position < end:
            self._read_writes(source, self._messages[0].position, end)

    def _read_back(self, source: WindowSource, budget: int) -> None:
        """Read backwards until the budget is used."""
        end = self._messages[0].position if self._messages else END
        self.older = None
        for row in source.before(self._conversation, end):
            tokens = row[5]
            if self._messages and self.tokens + tokens > budget:
                self.older = tokens
                break
            message = read_message(row)
            self._take(message, row[7])
            self._messages.appendleft(message)

    def _narrow(self, budget: int) -> None:
        while self.tokens > budget and len(self._messages) > 1:
            message = self._messages.popleft()
            self.tokens -= message.tokens
            self.older = message.tokens
            if message.run_id is not None:
                self._leave(message.run_id)

    def _leave(self, run_id: str) -> None:
        self._runs[run_id] -= 1
        if not self._runs[run_id]:
            del self._runs[run_id]
            self._writes.pop(run_id, None)
            self._declined.pop(run_id, None)

    def _take(self, message: Message, declined: str | None) -> None:
        self.tokens += message.tokens
        if message.run_id is not None:
            self._runs[message.run_id] = self._runs.get(message.run_id, 0) + 1
            if declined:
                self._declined[message.run_id] = tuple(declined.split())


class Windows:
    """
    The windows of the conversations that were read last, bounded in number and in tokens.

    A window in use is taken out, so that two threads never change one; the second reads anew.
    """

    def __init__(self, *, most: int = 256, most_tokens: int = 4_000_000) -> None:
        self._most, self._most_tokens = most, most_tokens
        self._windows: OrderedDict[str, Window] = OrderedDict()
        self._tokens = 0
        self._lock = threading.Lock()

    def history(self, source: WindowSource, conversation: str, budget: int) -> History:
        """The newest messages that fit into *budget*, at least one, and the records their runs wrote."""
        with self._lock:
            window = self._windows.pop(conversation, None)
            if window is not None:
                self._tokens -= window.tokens
        if window is None or not window.fit(source, budget):
            window = Window(conversation)
            window.fit(source, budget)
        shown = window.history()
        if shown.messages:
            self._keep(conversation, window)
        return shown

    def _keep(self, conversation: str, window: Window) -> None:
        with self._lock:
            other = self._windows.pop(conversation, None)
            self._windows[conversation] = window
            self._tokens += window.tokens - (other.tokens if other else 0)
            while len(self._windows) > 1 and (len(self._windows) > self._most or self._tokens > self._most_tokens):
                _, oldest = self._windows.popitem(last=False)
                self._tokens -= oldest.tokens
