"""
Rotation of keys in the tables.
"""

from collections.abc import Sequence
from typing import Any

from nr_agent_core import codec
from nr_agent_core.adapters.postgres.connections import Connections, Session
from nr_agent_core.adapters.postgres.reading import rows_of
from nr_agent_core.adapters.postgres.schema import ALLOW_REWRITING

_EVENTS = """
    SELECT run, seq, content FROM event WHERE (run, seq) > (%s, %s::bigint) AND content IS NOT NULL
    ORDER BY run, seq LIMIT %s
"""
_MESSAGES = """
    SELECT conversation, position, text, notices FROM message WHERE (conversation, position) > (%s, %s::bigint)
    ORDER BY conversation, position LIMIT %s
"""
# Only what still stands there: a run may have settled meanwhile. In the order of the key, so that
# two rotations do not wait for each other.
_REPLACE = """
    WITH asked AS MATERIALIZED (
        SELECT * FROM unnest(%s::text[], %s::text[], %s::bigint[], %s::text[]) AS asked(new, whose, number, old)
    ), held AS MATERIALIZED (
        SELECT asked.* FROM asked JOIN {table} ON {table}.{whose} = asked.whose AND {table}.{number} = asked.number
        ORDER BY asked.whose, asked.number FOR NO KEY UPDATE OF {table}
    )
    UPDATE {table} SET {column} = held.new FROM held
    WHERE {table}.{whose} = held.whose AND {table}.{number} = held.number AND {table}.{column} = held.old
"""
_CONTENT = _REPLACE.format(table="event", whose="run", number="seq", column="content").encode()
_MESSAGE = {
    column: _REPLACE.format(table="message", whose="conversation", number="position", column=column).encode()
    for column in ("text", "notices")
}


class TableRotation:
    """
    The tables, as a rotation asks them (:class:`~nr_agent_core.codec.rotation.RotationSource`).
    """

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def events(self, after: tuple[str, int], limit: int) -> Sequence[Any]:
        """Content of events behind *after*."""
        return self._rows(_EVENTS, after, limit)

    def messages(self, after: tuple[str, int], limit: int) -> Sequence[Any]:
        """Messages behind *after*."""
        return self._rows(_MESSAGES, after, limit)

    def replace_contents(self, changes: Sequence[tuple[str, str, int, str]]) -> int:
        """New content for events, in one transaction."""
        return self._replace(_CONTENT, changes)

    def replace_messages(self, column: str, changes: Sequence[tuple[str, str, int, str]]) -> int:
        """New texts or notices for messages, in one transaction."""
        return self._replace(_MESSAGE[column], changes)

    def _rows(self, statement: str, after: tuple[str, int], limit: int) -> Sequence[Any]:
        whose, number = after
        rows = self._connections.work(lambda db: rows_of(db, statement, codec.escape_nul(whose), number, limit))
        return [(codec.restore_nul(row[0]), *row[1:]) for row in rows]

    def _replace(self, statement: bytes, changes: Sequence[tuple[str, str, int, str]]) -> int:
        new, whose, numbers, old = zip(*changes, strict=True)
        columns = list(new), [codec.escape_nul(each) for each in whose], list(numbers), list(old)

        def replace(db: Session) -> int:
            with db.transaction():
                db.execute(ALLOW_REWRITING)
                return db.execute(statement, columns).rowcount

        return self._connections.work(replace)
