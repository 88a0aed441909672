"""
What a window onto the newest messages of a conversation asks of the file.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

from nr_agent_core import codec
from nr_agent_core.adapters.sqlite.reading import MESSAGE_COLUMNS, WRITE_COLUMNS, rows_of

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


class FileSource:
    """
    The tables, as a window asks them (:class:`~nr_agent_core.codec.WindowSource`).
    """

    __slots__ = ("_db", "_sealing")

    def __init__(self, db: sqlite3.Connection, sealing: codec.Sealing) -> None:
        self._db, self._sealing = db, sealing

    def following(self, conversation: str, seen: int, position: int) -> Sequence[Any]:
        """Messages from *position* on, and whether their run has an entry in the feed up to *seen*."""
        return list(self._sealing.messages(conversation, rows_of(self._db, _FOLLOWING, seen, conversation, position)))

    def before(self, conversation: str, end: int) -> Iterator[Any]:
        """Messages below position *end*, newest first; nothing stays open when the reader stops early."""
        cursor = self._db.cursor()
        try:
            yield from self._sealing.messages(conversation, cursor.execute(_BEFORE, (conversation, end)))
        except UnicodeEncodeError:
            return
        finally:
            cursor.close()

    def newest_write(self, conversation: str) -> int:
        """The position of the conversation's newest entry in the feed; 0 when there is none."""
        for (position,) in rows_of(self._db, _NEWEST_WRITE, conversation):
            return int(position)
        return 0

    def new_writes(self, conversation: str, seen: int) -> list[Any]:
        """The conversation's entries above position *seen*."""
        return rows_of(self._db, _NEW_WRITES, conversation, seen)

    def writes_between(self, conversation: str, first: int, end: int) -> list[Any]:
        """What the runs of the messages from *first* to below *end* wrote."""
        return rows_of(self._db, _WRITES_BETWEEN, conversation, conversation, first, end)
