"""
A PostgreSQL database: its server, its schema, the feed.
"""

from collections.abc import Iterator
from typing import Final

from nr_agent_core.adapters.postgres.schema import STEPS
from nr_agent_core.cli.doctor.findings import Check, Finding, Level, listed
from nr_agent_core.cli.stores.tables import PostgresTables

_OLDEST: Final = 12
_LONG: Final = 60.0
_GUARDS: Final = {
    *("event_facts_stay", "event_content_is_only_forgotten", "event_stays", "event_is_not_emptied"),
    *("message_is_not_changed", "message_stays", "message_is_not_emptied"),
    *("tool_write_is_not_changed", "tool_write_is_not_emptied"),
}
# Where a transaction stands still, commits on the same rows wait, and vacuum cannot give anything back.
_LONGEST: Final = """
    SELECT pid, extract(epoch FROM clock_timestamp() - xact_start)::float8, state FROM pg_stat_activity
    WHERE datname = current_database() AND xact_start IS NOT NULL AND pid <> pg_backend_pid()
    ORDER BY xact_start LIMIT 1
"""
_WAITING: Final = """
    SELECT count(*) FROM pg_locks JOIN pg_class ON pg_class.oid = pg_locks.relation
    WHERE NOT granted AND relnamespace = to_regnamespace(quote_ident(?))
"""
_DEAD: Final = """
    SELECT relname, n_live_tup, n_dead_tup FROM pg_stat_user_tables
    WHERE schemaname = ? AND n_dead_tup > 10000 AND n_dead_tup > n_live_tup
"""


class PostgresChecks:
    """
    Looks at the server and the schema.

    Args:
        tables: the store.
        follower: the last position that a follower of the feed handled; None: it is not known.
    """

    def __init__(self, tables: PostgresTables, *, follower: int | None) -> None:
        self._tables, self._follower = tables, follower

    def server(self) -> list[tuple[str, Check]]:
        """What can be looked at without tables."""
        return [("server", self._server), ("settings", self._settings), ("schema", self._schema)]

    def all(self) -> list[tuple[str, Check]]:
        """All checks, in order."""
        return [
            *self.server(),
            ("guards", self._guards),
            ("transactions", self._transactions),
            ("vacuum", self._vacuum),
            ("feed", self._feed),
        ]

    def _server(self) -> Iterator[Finding]:
        version, encoding, copy = self._tables.ask(
            "SELECT current_setting('server_version_num')::int, current_setting('server_encoding'), pg_is_in_recovery()"
        )[0]
        level = Level.FINE if version >= _OLDEST * 10_000 else Level.ERROR
        yield Finding(level, "server", f"PostgreSQL {version // 10_000}; {_OLDEST} or later is needed")
        if encoding != "UTF8":
            yield Finding(Level.ERROR, "server", f"its encoding is {encoding}; UTF8 is needed")
        if copy:
            yield Finding(Level.ERROR, "server", "it is a copy and takes no writes: name the server that does")

    def _settings(self) -> Iterator[Finding]:
        names = "'fsync', 'full_page_writes', 'synchronous_commit', 'autovacuum'"
        said = dict(self._tables.ask(f"SELECT name, setting FROM pg_settings WHERE name IN ({names})"))
        worst = {
            "fsync": "a crash of the machine may lose or damage everything, intents of harmful writes included",
            "full_page_writes": "a crash of the machine may damage pages",
        }
        for name, what in worst.items():
            if said.get(name) == "off":
                yield Finding(Level.ERROR, "settings", f"{name} is off: {what}")
        if said.get("synchronous_commit") == "off":
            text = "synchronous_commit is off here; the store switches it on unless it was made with NORMAL"
            yield Finding(Level.NOTE, "settings", text)
        if said.get("autovacuum") == "off":
            text = "autovacuum is off: what was forgotten or deleted stays in the files until somebody runs VACUUM"
            yield Finding(Level.WARNING, "settings", text)
        shown = ", ".join(f"{name} {said.get(name)}" for name in ("fsync", "full_page_writes", "synchronous_commit"))
        yield Finding(Level.NOTE, "settings", shown)

    def _schema(self) -> Iterator[Finding]:
        version = self._tables.version
        if version == 0:
            yield Finding(Level.NOTE, "schema", f"nothing is in {self._tables.schema!r} yet; the first use makes it")
        elif version < len(STEPS):
            text = f"version {version}; its next use by this release brings it to version {len(STEPS)}"
            yield Finding(Level.NOTE, "schema", text)
        else:
            yield Finding(Level.FINE, "schema", f"version {version}, the newest that this release knows")

    def _guards(self) -> Iterator[Finding]:
        rows = self._tables.ask(
            "SELECT tgname, tgenabled FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid "
            "WHERE NOT tgisinternal AND relnamespace = to_regnamespace(quote_ident(?))",
            self._tables.schema,
        )
        at_work = {name for name, enabled in rows if enabled in ("O", "A", b"O", b"A")}
        missing = sorted(_GUARDS - at_work)
        if missing:
            yield Finding(Level.ERROR, "guards", f"triggers were taken away or switched off: {listed(missing)}")
        else:
            yield Finding(Level.FINE, "guards", "all triggers are at work")

    def _transactions(self) -> Iterator[Finding]:
        rows = self._tables.ask(_LONGEST)
        if rows and rows[0][1] > _LONG:
            pid, seconds, state = rows[0]
            text = f"one is open for {seconds:.0f} seconds (process {pid}, {state}): others wait for its rows"
            yield Finding(Level.WARNING, "transactions", text)
        else:
            yield Finding(Level.FINE, "transactions", f"none is open for more than {_LONG:g} seconds")
        (waiting,) = self._tables.ask(_WAITING, self._tables.schema)[0]
        if waiting:
            yield Finding(Level.WARNING, "transactions", f"{waiting} wait for a lock on its tables")

    def _vacuum(self) -> Iterator[Finding]:
        for table, live, dead in self._tables.ask(_DEAD, self._tables.schema):
            text = f"{table} holds {dead} dead rows beside {live}: what was forgotten is still in its file"
            yield Finding(Level.NOTE, "vacuum", text)

    def _feed(self) -> Iterator[Finding]:
        rows = self._tables.ask("SELECT position, (SELECT max(position) FROM tool_write) FROM feed")
        if len(rows) != 1:
            yield Finding(Level.ERROR, "feed", "it has lost its position: no write can be stored")
            return
        position, newest = rows[0]
        if newest is not None and newest > position:
            text = f"its position is {position} although entry {newest} is there: new entries would be refused"
            yield Finding(Level.ERROR, "feed", text)
        elif self._follower is None:
            yield Finding(Level.FINE, "feed", f"newest position {position}")
        else:
            yield self._lag(position, self._follower)

    def _lag(self, position: int, follower: int) -> Finding:
        if follower > position:
            text = (
                f"the follower is at {follower}, ahead of the newest position {position}: was an older backup restored?"
            )
            return Finding(Level.ERROR, "feed", text)
        (left,) = self._tables.ask("SELECT count(*) FROM tool_write WHERE position > ?", follower)[0]
        return Finding(Level.NOTE, "feed", f"newest position {position}; the follower has {left} entries to go")
