"""
What a window onto the newest messages of a conversation asks of the database.
"""

from collections.abc import Iterator
from typing import Any

import psycopg

from nr_agent_core import codec
from nr_agent_core.adapters.postgres.reading import MESSAGE_COLUMNS, WRITE_COLUMNS, message_row, rows_of

# What was denied in a run is known once its answer is stored, so it is read with that message alone.
_DECLINED = """(SELECT declined FROM run
    WHERE message.role = 'assistant' AND run.id = message.run AND run.conversation = message.conversation)"""
# The mark tells of writes that were passed over because their run was not in the window.
_FOLLOWING = f"""
    SELECT {MESSAGE_COLUMNS}, {_DECLINED},
        EXISTS (SELECT 1 FROM tool_write WHERE tool_write.run = message.run AND tool_write.position <= %s)
    FROM message WHERE conversation = %s AND position >= %s ORDER BY position
"""
_BEFORE = f"""
    SELECT {MESSAGE_COLUMNS}, {_DECLINED} FROM message WHERE conversation = %s AND position < %s
    ORDER BY position DESC LIMIT %s
"""
_NEWEST_WRITE = "SELECT position FROM tool_write WHERE conversation = %s ORDER BY position DESC LIMIT 1"
_NEW_WRITES = f"""
    SELECT position, run, {WRITE_COLUMNS} FROM tool_write WHERE conversation = %s AND position > %s ORDER BY position
"""
# By run, so that not all that was ever written in the conversation is walked; OFFSET keeps it like that.
_WRITES_BETWEEN = f"""
    SELECT written.run, {WRITE_COLUMNS}
    FROM (SELECT DISTINCT run FROM message WHERE conversation = %s AND position >= %s AND position < %s) AS shown,
        LATERAL (SELECT * FROM tool_write WHERE tool_write.run = shown.run OFFSET 0) AS written
    WHERE written.conversation = %s
    ORDER BY written.position
"""
_PAGE = 32
_LARGEST_PAGE = 512


class TableSource:
    """
    The tables, as a window asks them (:class:`~nr_agent_core.codec.WindowSource`).
    """

    __slots__ = ("_db", "_sealing")

    def __init__(self, db: psycopg.Connection[Any], sealing: codec.Sealing) -> None:
        self._db, self._sealing = db, sealing

    def following(self, conversation: str, seen: int, position: int) -> list[Any]:
        """Messages from *position* on, and whether their run has an entry in the feed up to *seen*."""
        rows = rows_of(self._db, _FOLLOWING, seen, codec.escape_nul(conversation), position)
        return list(self._sealing.messages(conversation, map(message_row, rows)))

    def before(self, conversation: str, end: int) -> Iterator[Any]:
        """Messages below position *end*, newest first, in pages that grow as far as they are asked for."""
        known, page = codec.escape_nul(conversation), _PAGE
        while rows := rows_of(self._db, _BEFORE, known, end, page):
            yield from self._sealing.messages(conversation, map(message_row, rows))
            if len(rows) < page:
                return
            end, page = rows[-1][0], min(page * 2, _LARGEST_PAGE)

    def newest_write(self, conversation: str) -> int:
        """The position of the conversation's newest entry in the feed; 0 when there is none."""
        for (position,) in rows_of(self._db, _NEWEST_WRITE, codec.escape_nul(conversation)):
            return int(position)
        return 0

    def new_writes(self, conversation: str, seen: int) -> list[Any]:
        """The conversation's entries above position *seen*."""
        rows = rows_of(self._db, _NEW_WRITES, codec.escape_nul(conversation), seen)
        return [(position, codec.restore_nul(run), *record) for position, run, *record in rows]

    def writes_between(self, conversation: str, first: int, end: int) -> list[Any]:
        """What the runs of the messages from *first* to below *end* wrote."""
        known = codec.escape_nul(conversation)
        rows = rows_of(self._db, _WRITES_BETWEEN, known, first, end, known)
        return [(codec.restore_nul(run), *record) for run, *record in rows]
