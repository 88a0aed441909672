"""
The tables, and how a database of an earlier release is brought up to them.

Rule 1: a released step is never changed; what is new is a further step.
Rule 2: a schema that a newer release wrote, or that is somebody else's, is left as it is.

All statements are meant for a connection whose search path is the store's schema alone.
"""

from typing import Any

import psycopg
from psycopg import sql

from nr_agent_core.domain.errors import NewerFormError, StoredFormError

SETTLED = "('completed', 'failed', 'cancelled')"
APPEND_ONLY, REFUSED, PLAIN_REFUSED = "NR001", "NR002", "NR003"
"""The states that the triggers and guards below raise; no state of the server begins like them."""

_SEALED = "E'\\x10E'"
_REFUSE = f"USING ERRCODE = '{APPEND_ONLY}'"

_FIRST = (
    """
    CREATE TABLE conversation(
        id text COLLATE "C" PRIMARY KEY,
        owner text NOT NULL,
        created_at float8 NOT NULL
    )
    """,
    """
    CREATE TABLE message(
        conversation text COLLATE "C" NOT NULL REFERENCES conversation(id) ON DELETE CASCADE,
        position bigint NOT NULL,
        role text NOT NULL,
        run text COLLATE "C",
        at float8 NOT NULL,
        tokens bigint NOT NULL,
        notices text,
        text text NOT NULL,
        PRIMARY KEY (conversation, position)
    )
    """,
    # Room on the page: a run's row is updated at every append.
    """
    CREATE TABLE run(
        number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        id text COLLATE "C" NOT NULL UNIQUE,
        owner text NOT NULL,
        conversation text COLLATE "C" REFERENCES conversation(id) ON DELETE CASCADE,
        status text NOT NULL,
        sequence bigint NOT NULL,
        message bigint,
        created_at float8 NOT NULL,
        lease_until float8 NOT NULL,
        not_before float8 NOT NULL,
        expires_at float8,
        reason text,
        code text,
        error text,
        outside boolean NOT NULL,
        declined text
    ) WITH (fillfactor = 80)
    """,
    "CREATE INDEX run_of_conversation ON run(conversation, number) WHERE conversation IS NOT NULL",
    f"CREATE UNIQUE INDEX run_unsettled ON run(conversation) WHERE status NOT IN {SETTLED}",
    """
    CREATE TABLE event(
        run text COLLATE "C" NOT NULL REFERENCES run(id) ON DELETE CASCADE,
        seq bigint NOT NULL,
        kind text NOT NULL,
        at float8 NOT NULL,
        facts text NOT NULL,
        content text,
        PRIMARY KEY (run, seq)
    )
    """,
    # The one row that whoever adds to the feed holds until its commit: positions are in commit order.
    "CREATE TABLE feed(one boolean PRIMARY KEY CHECK (one), position bigint NOT NULL)",
    "INSERT INTO feed VALUES (true, 0)",
    # Outlives its run and conversation: the feed is kept until the host says otherwise.
    """
    CREATE TABLE tool_write(
        position bigint PRIMARY KEY,
        run text COLLATE "C" NOT NULL,
        conversation text COLLATE "C",
        seq bigint NOT NULL,
        record_table text NOT NULL,
        record_uid text NOT NULL,
        uid_type text NOT NULL,
        kind text NOT NULL
    )
    """,
    "CREATE INDEX tool_write_of_run ON tool_write(run, position)",
    "CREATE INDEX tool_write_of_conversation ON tool_write(conversation, position) WHERE conversation IS NOT NULL",
    f"""
    CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        RAISE EXCEPTION '%', TG_ARGV[0] {_REFUSE};
    END $$
    """,
    f"""
    CREATE FUNCTION refuse_without_its_run() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT AS $$
    BEGIN
        IF EXISTS (SELECT 1 FROM run WHERE id = OLD.run) THEN
            RAISE EXCEPTION 'an event is deleted with its run only' {_REFUSE};
        END IF;
        RETURN OLD;
    END $$
    """,
    f"""
    CREATE FUNCTION refuse_without_its_conversation() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT AS $$
    BEGIN
        IF EXISTS (SELECT 1 FROM conversation WHERE id = OLD.conversation) THEN
            RAISE EXCEPTION 'a message is deleted with its conversation only' {_REFUSE};
        END IF;
        RETURN OLD;
    END $$
    """,
    # A statement of a commit that concerned fewer rows than it should.
    f"""
    CREATE FUNCTION require(enough boolean) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
        IF NOT enough THEN
            RAISE EXCEPTION 'a statement of a commit was refused' USING ERRCODE = '{REFUSED}';
        END IF;
    END $$
    """,
    """
    CREATE TRIGGER event_facts_stay BEFORE UPDATE OF run, seq, kind, at, facts ON event
    FOR EACH ROW EXECUTE FUNCTION refuse_change('the facts of an event are never changed')
    """,
    """
    CREATE TRIGGER event_content_is_only_forgotten BEFORE UPDATE OF content ON event
    FOR EACH ROW WHEN (NEW.content IS NOT NULL)
    EXECUTE FUNCTION refuse_change('the content of an event is never changed, only forgotten')
    """,
    # A whole run may go, and its events with it; a single event may not.
    """
    CREATE TRIGGER event_stays BEFORE DELETE ON event
    FOR EACH ROW EXECUTE FUNCTION refuse_without_its_run()
    """,
    """
    CREATE TRIGGER message_is_not_changed BEFORE UPDATE ON message
    FOR EACH ROW EXECUTE FUNCTION refuse_change('a message is never changed')
    """,
    """
    CREATE TRIGGER message_stays BEFORE DELETE ON message
    FOR EACH ROW EXECUTE FUNCTION refuse_without_its_conversation()
    """,
    """
    CREATE TRIGGER tool_write_is_not_changed BEFORE UPDATE ON tool_write
    FOR EACH ROW EXECUTE FUNCTION refuse_change('an entry of the feed is never changed')
    """,
    *(
        f"""
        CREATE TRIGGER {table}_is_not_emptied BEFORE TRUNCATE ON {table}
        FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('table {table} is never emptied at once')
        """
        for table in ("event", "message", "tool_write")
    ),
)

_REWRITING = "current_setting('nr_agent_core.rewriting', true) IS NOT DISTINCT FROM 'on'"
ALLOW_REWRITING = b"SELECT set_config('nr_agent_core.rewriting', 'on', true)"
"""Lets the rest of a transaction rewrite content that is there."""

# What may change is what says the same: encrypted under another key, or without its secrets.
_SEALING = (
    # 'sealed': nothing plain is stored here.
    'CREATE TABLE mark(name text COLLATE "C" PRIMARY KEY)',
    "DROP TRIGGER event_content_is_only_forgotten ON event",
    f"""
    CREATE TRIGGER event_content_is_only_forgotten BEFORE UPDATE OF content ON event
    FOR EACH ROW WHEN (NEW.content IS NOT NULL AND (OLD.content IS NULL OR NOT ({_REWRITING})))
    EXECUTE FUNCTION refuse_change('the content of an event is never changed, only forgotten')
    """,
    "DROP TRIGGER message_is_not_changed ON message",
    f"""
    CREATE TRIGGER message_is_not_changed BEFORE UPDATE ON message
    FOR EACH ROW WHEN (NOT ({_REWRITING})
        OR ROW(NEW.conversation, NEW.position, NEW.role, NEW.run, NEW.at, NEW.tokens)
            IS DISTINCT FROM ROW(OLD.conversation, OLD.position, OLD.role, OLD.run, OLD.at, OLD.tokens))
    EXECUTE FUNCTION refuse_change('a message is never changed')
    """,
)

# Made at the first use with a cipher, so that a store without one pays nothing.
_SEALED_ONLY = (
    f"""
    CREATE FUNCTION refuse_plain() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        RAISE EXCEPTION 'content is encrypted here' USING ERRCODE = '{PLAIN_REFUSED}';
    END $$
    """,
    f"""
    CREATE TRIGGER event_is_sealed BEFORE INSERT ON event
    FOR EACH ROW WHEN (left(NEW.content, 2) <> {_SEALED}) EXECUTE FUNCTION refuse_plain()
    """,
    f"""
    CREATE TRIGGER message_is_sealed BEFORE INSERT ON message
    FOR EACH ROW WHEN (left(NEW.text, 2) <> {_SEALED} AND NEW.text <> '' OR left(NEW.notices, 2) <> {_SEALED})
    EXECUTE FUNCTION refuse_plain()
    """,
    "INSERT INTO mark VALUES ('sealed')",
)

STEPS: tuple[tuple[str, ...], ...] = (_FIRST, _SEALING)
"""What brings a schema from one version to the next; the version is the number of steps taken."""

_FOUND = """
    SELECT to_regclass(format('%%I.schema_version', %(schema)s::text)) IS NOT NULL,
        EXISTS (SELECT 1 FROM pg_class WHERE relnamespace = to_regnamespace(quote_ident(%(schema)s::text))),
        to_regnamespace(quote_ident(%(schema)s::text)) IS NOT NULL
"""
# One key per schema, in a space of our own.
_ALONE = "SELECT pg_advisory_xact_lock(hashtextextended('nr_agent_core schema ' || %s::text, 0))"


def require_ours(db: psycopg.Connection[Any], schema: str) -> int:
    """
    The version of the tables in *schema*; 0 where there are none yet. Nothing is changed.

    Raises:
        NewerFormError: a newer release wrote them.
        StoredFormError: something else is in the schema.
    """
    marked, occupied, _ = _look(db, schema)
    if not marked:
        if occupied:
            raise StoredFormError(
                f"schema {schema!r}", "it holds tables of another application; nothing was changed in it"
            )
        return 0
    rows = db.execute("SELECT version FROM schema_version").fetchall()
    if len(rows) != 1 or rows[0][0] < 1:
        raise StoredFormError(f"schema {schema!r}", "it does not say which version it is")
    if rows[0][0] > len(STEPS):
        raise NewerFormError(f"schema {schema!r}", rows[0][0], len(STEPS))
    return int(rows[0][0])


def bring_up_to_date(db: psycopg.Connection[Any], schema: str) -> None:
    """
    Take the steps that are missing in *schema*, all of them or none.

    Several processes may try at once: one takes them, the others find them taken. The connection
    commits by itself and has the search path of the schema.
    """
    if require_ours(db, schema) == len(STEPS):
        return
    with db.transaction():
        db.execute(_ALONE, (schema,))
        version = require_ours(db, schema)
        if not _look(db, schema)[2]:
            db.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(schema)))
        for step in STEPS[version:]:
            for statement in step:
                db.execute(statement.encode())
        if version == 0:
            db.execute("CREATE TABLE schema_version(one boolean PRIMARY KEY CHECK (one), version bigint NOT NULL)")
            db.execute("INSERT INTO schema_version VALUES (true, 0)")
        db.execute("UPDATE schema_version SET version = %s", (len(STEPS),))


def mark_sealed(db: psycopg.Connection[Any], schema: str) -> None:
    """From now on nothing plain is stored in these tables, by whatever process (E7)."""
    if _is_sealed(db):
        return
    with db.transaction():
        db.execute(_ALONE, (schema,))
        if not _is_sealed(db):
            for statement in _SEALED_ONLY:
                db.execute(statement.encode())


def _is_sealed(db: psycopg.Connection[Any]) -> bool:
    return db.execute("SELECT 1 FROM mark WHERE name = 'sealed'").rowcount == 1


def _look(db: psycopg.Connection[Any], schema: str) -> tuple[bool, bool, bool]:
    """Whether the schema has our mark, holds anything, is there."""
    found = db.execute(_FOUND, {"schema": schema}).fetchone()
    assert found is not None  # noqa: S101 - a row without a table
    return found[0], found[1], found[2]
