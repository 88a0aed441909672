"""
The newest messages of a conversation, kept from turn to turn so that a turn reads only what is new.

Messages are append-only, so what was read once stays right: it is a prefix that cannot be wrong.
One statement reads what follows it and shows, by the message it begins with, that it still holds.
Only what is committed is ever read, so a refused commit leaves no trace here.
"""

import sqlite3
import threading
from collections import OrderedDict, deque
from typing import Any

from nr_agent_core.adapters.sqlite.reading import (
    MESSAGE_COLUMNS,
    WRITE_COLUMNS,
    last_kinds,
    read_message,
    read_write,
    rows_of,
)
from nr_agent_core.domain.conversation import Message
from nr_agent_core.domain.tool_result import RecordWrite
from nr_agent_core.ports.conversation_store import History

# What was denied in a run is known once its answer is stored, so it is read with that message alone.
_DECLINED = """(SELECT declined FROM run
    WHERE message.role = 'assistant' AND run.id = message.run AND run.conversation = message.conversation)"""
# The mark tells of writes that were passed over because their run was not in the window.
_FOLLOWING = f"""
    SELECT {MESSAGE_COLUMNS}, {_DECLINED},
        EXISTS (SELECT 1 FROM tool_write WHERE tool_write.run = message.run AND tool_write.position <= ?)
    FROM message WHERE conversation = ? AND position >= ? ORDER BY position
"""
_BEFORE = f"""
    SELECT {MESSAGE_COLUMNS}, {_DECLINED} FROM message WHERE conversation = ? AND position < ? ORDER BY position DESC
"""
_NEWEST_WRITE = "SELECT position FROM tool_write WHERE conversation = ? ORDER BY position DESC LIMIT 1"
_NEW_WRITES = f"""
    SELECT position, run, {WRITE_COLUMNS} FROM tool_write WHERE conversation = ? AND position > ? ORDER BY position
"""
# The plus keeps the index of the conversation out: it would walk all that was ever written in it.
_WRITES_BETWEEN = f"""
    SELECT run, {WRITE_COLUMNS} FROM tool_write
    WHERE +conversation = ? AND run IN
        (SELECT run FROM message WHERE conversation = ? AND position >= ? AND position < ?)
    ORDER BY position
"""
_END = 2**63 - 1


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

    def fit(self, db: sqlite3.Connection, budget: int) -> bool:
        """Make the window hold what is stored now and fits into *budget*; False when it does not hold any more."""
        if not self._messages:
            self._begin(db, budget)
            return True
        if not self._follow(db):
            return False
        self._narrow(budget)
        if self.older is not None and self.tokens + self.older <= budget:
            self._widen(db, budget)
        return True

    def history(self) -> History:
        """What the window shows."""
        return History(tuple(self._messages), self._writes.copy(), self.older is None, self._declined.copy())

    def _begin(self, db: sqlite3.Connection, budget: int) -> None:
        """Read what fits; where nothing was ever written, no writes are looked for."""
        self._read_back(db, budget)
        # Behind the messages: what was written until now is read below, what comes later is heard of.
        for (position,) in rows_of(db, _NEWEST_WRITE, self._conversation):
            self._seen = position
        if self._seen and self._messages:
            self._read_writes(db, self._messages[0].position, _END)

    def _follow(self, db: sqlite3.Connection) -> bool:
        last = self._messages[-1]
        rows = rows_of(db, _FOLLOWING, self._seen, self._conversation, last.position)
        if not rows or (rows[0][0], rows[0][4]) != (last.position, last.at):
            return False
        passed_over = set()
        for row in rows[1:]:
            message = read_message(row)
            if row[8] and message.run_id not in self._runs:
                passed_over.add(message.run_id)
            self._take(message, row[7])
            self._messages.append(message)
        self._hear_of_writes(db)
        if passed_over:
            self._read_writes(db, rows[1][0], _END)
        return True

    def _hear_of_writes(self, db: sqlite3.Connection) -> None:
        """What was written since, late outcomes included."""
        for position, run, *columns in rows_of(db, _NEW_WRITES, self._conversation, self._seen):
            self._seen = position
            if run in self._runs:
                self._writes[run] = last_kinds([*self._writes.get(run, ()), read_write(*columns)])

    def _read_writes(self, db: sqlite3.Connection, first: int, end: int) -> None:
        """All that the runs of some messages wrote."""
        by_run: dict[str, list[RecordWrite]] = {}
        for run, *columns in rows_of(db, _WRITES_BETWEEN, self._conversation, self._conversation, first, end):
            by_run.setdefault(run, []).append(read_write(*columns))
        self._writes.update((run, last_kinds(writes)) for run, writes in by_run.items() if run in self._runs)

    def _widen(self, db: sqlite3.Connection, budget: int) -> None:
        """Read further back, and what those runs wrote."""
        end = self._messages[0].position
        self._read_back(db, budget)
        if self._messages[0].position < end:
            self._read_writes(db, self._messages[0].position, end)

    def _read_back(self, db: sqlite3.Connection, budget: int) -> None:
        """Read backwards until the budget is used."""
        end = self._messages[0].position if self._messages else _END
        self.older = None
        for row in _each(db, _BEFORE, self._conversation, end):
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


def _each(db: sqlite3.Connection, statement: str, conversation: str, end: int) -> Any:
    """Row after row; nothing stays open when the reader stops early."""
    cursor = db.cursor()
    try:
        yield from cursor.execute(statement, (conversation, end))
    except UnicodeEncodeError:
        return
    finally:
        cursor.close()


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

    def history(self, db: sqlite3.Connection, conversation: str, budget: int) -> History:
        """The newest messages that fit into *budget*, at least one, and the records their runs wrote."""
        with self._lock:
            window = self._windows.pop(conversation, None)
            if window is not None:
                self._tokens -= window.tokens
        if window is None or not window.fit(db, budget):
            window = Window(conversation)
            window.fit(db, budget)
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
