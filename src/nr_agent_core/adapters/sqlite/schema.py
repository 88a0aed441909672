"""
The tables, and how a file of an earlier release is brought up to them.

Rule 1: a released step is never changed; what is new is a further step.
Rule 2: a file that a newer release wrote, or that is somebody else's, is left as it is.
"""

import sqlite3

from nr_agent_core.domain.errors import NewerFormError, StoredFormError

APPLICATION_ID = 0x6E726163
"""Marks a file as ours, so that no other application's database is ever taken for an empty one."""

SETTLED = "('completed', 'failed', 'cancelled')"

PLAIN_REFUSED = "content is encrypted here, and this store has no cipher"
"""What the triggers say of content that came plain."""

_SEALED = "char(16) || 'E'"

_FIRST = (
    """
    CREATE TABLE conversation(
        id TEXT PRIMARY KEY,
        owner TEXT NOT NULL,
        created_at REAL NOT NULL
    ) STRICT, WITHOUT ROWID
    """,
    """
    CREATE TABLE message(
        conversation TEXT NOT NULL REFERENCES conversation(id) ON DELETE CASCADE,
        position INTEGER NOT NULL,
        role TEXT NOT NULL,
        run TEXT,
        at REAL NOT NULL,
        tokens INTEGER NOT NULL,
        notices TEXT,
        text TEXT NOT NULL,
        PRIMARY KEY (conversation, position)
    ) STRICT, WITHOUT ROWID
    """,
    """
    CREATE TABLE run(
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        owner TEXT NOT NULL,
        conversation TEXT REFERENCES conversation(id) ON DELETE CASCADE,
        status TEXT NOT NULL,
        sequence INTEGER NOT NULL,
        message INTEGER,
        created_at REAL NOT NULL,
        lease_until REAL NOT NULL,
        not_before REAL NOT NULL,
        expires_at REAL,
        reason TEXT,
        code TEXT,
        error TEXT,
        outside INTEGER NOT NULL,
        declined TEXT
    ) STRICT
    """,
    "CREATE INDEX run_of_conversation ON run(conversation) WHERE conversation IS NOT NULL",
    f"CREATE UNIQUE INDEX run_unsettled ON run(conversation) WHERE status NOT IN {SETTLED}",
    """
    CREATE TABLE event(
        run TEXT NOT NULL REFERENCES run(id) ON DELETE CASCADE,
        seq INTEGER NOT NULL,
        kind TEXT NOT NULL,
        at REAL NOT NULL,
        facts TEXT NOT NULL,
        content ANY,
        PRIMARY KEY (run, seq)
    ) STRICT, WITHOUT ROWID
    """,
    # Outlives its run and conversation: the feed is kept until the host says otherwise.
    """
    CREATE TABLE tool_write(
        position INTEGER PRIMARY KEY AUTOINCREMENT,
        run TEXT NOT NULL,
        conversation TEXT,
        seq INTEGER NOT NULL,
        record_table TEXT NOT NULL,
        record_uid TEXT NOT NULL,
        uid_type TEXT NOT NULL,
        kind TEXT NOT NULL
    ) STRICT
    """,
    "CREATE INDEX tool_write_of_run ON tool_write(run)",
    "CREATE INDEX tool_write_of_conversation ON tool_write(conversation) WHERE conversation IS NOT NULL",
    """
    CREATE TRIGGER event_facts_stay BEFORE UPDATE OF run, seq, kind, at, facts ON event
    BEGIN SELECT RAISE(ABORT, 'the facts of an event are never changed'); END
    """,
    """
    CREATE TRIGGER event_content_is_only_forgotten BEFORE UPDATE OF content ON event WHEN NEW.content IS NOT NULL
    BEGIN SELECT RAISE(ABORT, 'the content of an event is never changed, only forgotten'); END
    """,
    # A whole run may go, and its events with it; a single event may not.
    """
    CREATE TRIGGER event_stays BEFORE DELETE ON event WHEN EXISTS (SELECT 1 FROM run WHERE id = OLD.run)
    BEGIN SELECT RAISE(ABORT, 'an event is deleted with its run only'); END
    """,
    """
    CREATE TRIGGER message_is_not_changed BEFORE UPDATE ON message
    BEGIN SELECT RAISE(ABORT, 'a message is never changed'); END
    """,
    """
    CREATE TRIGGER message_stays BEFORE DELETE ON message
    WHEN EXISTS (SELECT 1 FROM conversation WHERE id = OLD.conversation)
    BEGIN SELECT RAISE(ABORT, 'a message is deleted with its conversation only'); END
    """,
    """
    CREATE TRIGGER tool_write_is_not_changed BEFORE UPDATE ON tool_write
    BEGIN SELECT RAISE(ABORT, 'an entry of the feed is never changed'); END
    """,
)

# What may change is what says the same: encrypted under another key, or without its secrets.
_SEALING = (
    # 'sealed': nothing plain is stored here. 'rewriting': only inside a transaction that rewrites content.
    "CREATE TABLE mark(name TEXT PRIMARY KEY) STRICT, WITHOUT ROWID",
    "DROP TRIGGER event_content_is_only_forgotten",
    """
    CREATE TRIGGER event_content_is_only_forgotten BEFORE UPDATE OF content ON event
    WHEN NEW.content IS NOT NULL
        AND (OLD.content IS NULL OR NOT EXISTS (SELECT 1 FROM mark WHERE name = 'rewriting'))
    BEGIN SELECT RAISE(ABORT, 'the content of an event is never changed, only forgotten'); END
    """,
    "DROP TRIGGER message_is_not_changed",
    """
    CREATE TRIGGER message_is_not_changed BEFORE UPDATE ON message
    WHEN NOT EXISTS (SELECT 1 FROM mark WHERE name = 'rewriting')
        OR (NEW.conversation, NEW.position, NEW.role, NEW.run, NEW.at, NEW.tokens)
            IS NOT (OLD.conversation, OLD.position, OLD.role, OLD.run, OLD.at, OLD.tokens)
    BEGIN SELECT RAISE(ABORT, 'a message is never changed'); END
    """,
)

# Made at the first use with a cipher, so that a store without one pays nothing.
_SEALED_ONLY = (
    f"""
    CREATE TRIGGER event_is_sealed BEFORE INSERT ON event WHEN substr(NEW.content, 1, 2) <> {_SEALED}
    BEGIN SELECT RAISE(ABORT, '{PLAIN_REFUSED}'); END
    """,
    f"""
    CREATE TRIGGER message_is_sealed BEFORE INSERT ON message
    WHEN substr(NEW.text, 1, 2) <> {_SEALED} AND NEW.text <> '' OR substr(NEW.notices, 1, 2) <> {_SEALED}
    BEGIN SELECT RAISE(ABORT, '{PLAIN_REFUSED}'); END
    """,
    "INSERT INTO mark VALUES ('sealed')",
)

STEPS: tuple[tuple[str, ...], ...] = (_FIRST, _SEALING)
"""What brings a file from one schema version to the next; the version is the number of steps taken."""


def require_ours(db: sqlite3.Connection, name: str) -> int:
    """
    The schema version of the file *name*; 0 for an empty one. Nothing is changed.

    Raises:
        NewerFormError: a newer release wrote it.
        StoredFormError: it is the database of another application.
    """
    if db.in_transaction:
        mark, version, empty = _marks(db)
    else:
        # One look: somebody may be making the tables just now.
        db.execute("BEGIN")
        try:
            mark, version, empty = _marks(db)
        finally:
            if db.in_transaction:
                db.execute("ROLLBACK")
    if empty and mark in (0, APPLICATION_ID):
        return 0
    if mark != APPLICATION_ID:
        raise StoredFormError(f"file {name!r}", "it is the database of another application; nothing was changed in it")
    if version > len(STEPS):
        raise NewerFormError(f"schema of {name!r}", version, len(STEPS))
    return version


def mark_sealed(db: sqlite3.Connection) -> None:
    """From now on nothing plain is stored in this file, by whatever process (E7)."""
    if _is_sealed(db):
        return
    db.execute("BEGIN IMMEDIATE")
    try:
        if not _is_sealed(db):
            for statement in _SEALED_ONLY:
                db.execute(statement)
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def _is_sealed(db: sqlite3.Connection) -> bool:
    return db.execute("SELECT 1 FROM mark WHERE name = 'sealed'").fetchone() is not None


def _marks(db: sqlite3.Connection) -> tuple[int, int, bool]:
    (mark,), (version,) = (db.execute(f"PRAGMA {each}").fetchone() for each in ("application_id", "user_version"))
    return mark, version, db.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)


def bring_up_to_date(db: sqlite3.Connection, name: str, version: int = 0) -> None:
    """
    Take the steps that are missing in the file *name* of schema *version*, all of them or none.

    Several processes may try at once: one takes them, the others find them taken.
    """
    if version == len(STEPS):
        return
    db.execute("BEGIN IMMEDIATE")
    try:
        for step in STEPS[require_ours(db, name) :]:
            for statement in step:
                db.execute(statement)
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        db.execute(f"PRAGMA user_version = {len(STEPS)}")
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
