"""
Rotation of keys in the file.
"""

from collections.abc import Sequence
from typing import Any

from nr_agent_core.adapters.sqlite.appending import rewriting
from nr_agent_core.adapters.sqlite.connections import Connections, WriteTransaction
from nr_agent_core.adapters.sqlite.reading import rows_of

_EVENTS = """
    SELECT run, seq, content FROM event WHERE (run, seq) > (?, ?) AND content IS NOT NULL ORDER BY run, seq LIMIT ?
"""
_MESSAGES = """
    SELECT conversation, position, text, notices FROM message WHERE (conversation, position) > (?, ?)
    ORDER BY conversation, position LIMIT ?
"""
# Only what still stands there: a run may have settled meanwhile.
_CONTENT = "UPDATE event SET content = ? WHERE run = ? AND seq = ? AND content = ?"
_MESSAGE = {
    column: f"UPDATE message SET {column} = ? WHERE conversation = ? AND position = ? AND {column} = ?"
    for column in ("text", "notices")
}


class FileRotation:
    """
    The file, as a rotation asks it (:class:`~nr_agent_core.codec.rotation.RotationSource`).
    """

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def events(self, after: tuple[str, int], limit: int) -> Sequence[Any]:
        """Content of events behind *after*."""
        with self._connections.of_this_thread() as db:
            return rows_of(db, _EVENTS, *after, limit)

    def messages(self, after: tuple[str, int], limit: int) -> Sequence[Any]:
        """Messages behind *after*."""
        with self._connections.of_this_thread() as db:
            return rows_of(db, _MESSAGES, *after, limit)

    def replace_contents(self, changes: Sequence[tuple[str, str, int, str]]) -> int:
        """New content for events, in one transaction."""
        return self._replace(_CONTENT, changes)

    def replace_messages(self, column: str, changes: Sequence[tuple[str, str, int, str]]) -> int:
        """New texts or notices for messages, in one transaction."""
        return self._replace(_MESSAGE[column], changes)

    def _replace(self, statement: str, changes: Sequence[tuple[str, str, int, str]]) -> int:
        with WriteTransaction(self._connections) as db, rewriting(db):
            return sum(db.execute(statement, change).rowcount for change in changes)
