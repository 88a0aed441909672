"""
Labels on what an AI wrote: this site's answer to a question that the library leaves to its hosts.

Two ways lead here. The bus tells at once and in this process only; the feed tells everything that
is stored, to whoever asks, whenever. Both may tell something twice, and both bring the same three
values, so those three are the key.
"""

from examples.site_chat.site import Site
from nr_agent_core import AiRecordWritten, Runtime

_SCHEMA = """
CREATE TABLE IF NOT EXISTS ai_write (
    correlation_id TEXT NOT NULL, reference TEXT NOT NULL, kind TEXT NOT NULL,
    PRIMARY KEY (correlation_id, reference, kind)
) STRICT;
CREATE TABLE IF NOT EXISTS ai_feed (position INTEGER NOT NULL) STRICT;
"""
_FORGET = "DELETE FROM ai_feed"
_ADD = "INSERT OR IGNORE INTO ai_write (correlation_id, reference, kind) VALUES (?, ?, ?)"


class Labels:
    """
    The records of *site* that an AI wrote and that still exist.
    """

    def __init__(self, site: Site) -> None:
        self._site = site
        with site.transaction() as connection:
            for statement in _SCHEMA.split(";"):
                connection.execute(statement)

    def heard(self, event: AiRecordWritten) -> None:
        """Listener of the bus: subscribe this."""
        with self._site.transaction() as connection:
            connection.execute(_ADD, _three_values(event))

    def catch_up(self, runtime: Runtime) -> int:
        """
        Read the feed from where the last reading ended; how many writes were new.

        The position is kept in the transaction of what was read, so nothing is skipped or lost.
        """
        with self._site.transaction() as connection:
            position = connection.execute("SELECT coalesce(max(position), 0) FROM ai_feed").fetchone()[0]
            new = 0
            for stored in runtime.writes(after=position):
                new += connection.execute(_ADD, _three_values(stored.written)).rowcount
                position = stored.position
            connection.execute(_FORGET)
            connection.execute("INSERT INTO ai_feed (position) VALUES (?)", (position,))
        return new

    def labelled(self) -> list[str]:
        """The labelled records by name; one that was deleted needs no label."""
        with self._site.transaction() as connection:
            rows = connection.execute("SELECT reference, kind FROM ai_write ORDER BY reference").fetchall()
        gone = {reference for reference, kind in rows if kind == "deleted"}
        return sorted({reference for reference, _ in rows} - gone)


def _three_values(event: AiRecordWritten) -> tuple[str, str, str]:
    return event.correlation_id, str(event.reference), event.kind.value
