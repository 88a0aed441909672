"""
What is past its window goes, inside a transaction that somebody else opened (O2).
"""

import sqlite3

from nr_agent_core.adapters.sqlite.schema import SETTLED
from nr_agent_core.ports.retention import Bounds, Purged

_LAST_RUN = "SELECT number FROM run AS last WHERE last.conversation = {of} ORDER BY number DESC LIMIT 1"
_LAST_EVENT = "(SELECT at FROM event WHERE event.run = run.id ORDER BY seq DESC LIMIT 1)"

# Settled, and not the one that says how a conversation stands. A run begins before it ends.
_OLD_RUN = f"""
    run.status IN {SETTLED} AND run.created_at <= :runs_until
    AND coalesce({_LAST_EVENT}, run.created_at) <= :runs_until
    AND (run.conversation IS NULL OR run.number < ({_LAST_RUN.format(of="run.conversation")}))
"""
_DEAD = f"""
    c.created_at <= :conversations_until
    AND coalesce((SELECT at FROM message WHERE conversation = c.id ORDER BY position DESC LIMIT 1), c.created_at)
        <= :conversations_until
    AND coalesce((SELECT {_LAST_EVENT} FROM run WHERE number = ({_LAST_RUN.format(of="c.id")})), c.created_at)
        <= :conversations_until
    AND NOT EXISTS (SELECT 1 FROM run WHERE conversation = c.id AND status NOT IN {SETTLED})
"""
_OLD_RUNS = f"SELECT id, conversation FROM run WHERE {_OLD_RUN} ORDER BY number LIMIT :limit"
_DEAD_CONVERSATIONS = f"SELECT id FROM conversation AS c WHERE {_DEAD} LIMIT :limit"
_RUNS_OF = "SELECT id, NULL FROM run WHERE conversation = ? ORDER BY number LIMIT ?"
# What nothing refers to any more, up to a position that the host named.
_ALONE = """
    NOT EXISTS (SELECT 1 FROM run WHERE run.id = tool_write.run)
    AND NOT EXISTS (SELECT 1 FROM conversation WHERE conversation.id = tool_write.conversation)
"""
_ENTRIES = f"""
    DELETE FROM tool_write WHERE position IN
        (SELECT position FROM tool_write WHERE position <= :writes_up_to AND {_ALONE} ORDER BY position LIMIT :limit)
"""
_NEEDED_NO_MORE = "(:with_writes OR position <= :writes_up_to)"
_WRITES_OF_RUN = f"DELETE FROM tool_write WHERE run = :id AND conversation IS NULL AND {_NEEDED_NO_MORE}"
_WRITES_OF_CONVERSATION = f"DELETE FROM tool_write WHERE conversation = :id AND {_NEEDED_NO_MORE}"
_EVERYTHING = f"""
    WITH dead(id) AS MATERIALIZED (SELECT id FROM conversation AS c WHERE {_DEAD}),
    going(id, conversation) AS MATERIALIZED (
        SELECT id, conversation FROM run WHERE ({_OLD_RUN}) OR conversation IN (SELECT id FROM dead)
    )
    SELECT (SELECT count(*) FROM dead),
        (SELECT count(*) FROM message WHERE conversation IN (SELECT id FROM dead)),
        (SELECT count(*) FROM going),
        (SELECT count(*) FROM event WHERE run IN (SELECT id FROM going)),
        (SELECT count(*) FROM tool_write WHERE
            CASE WHEN conversation IS NULL AND run IN (SELECT id FROM going)
                OR conversation IN (SELECT id FROM dead) THEN {_NEEDED_NO_MORE}
            ELSE position <= :writes_up_to AND {_ALONE} END)
"""


def everything(db: sqlite3.Connection, bounds: Bounds) -> Purged:
    """What would go by now."""
    conversations, messages, runs, events, writes = db.execute(_EVERYTHING, bounds._asdict()).fetchone()
    return Purged(conversations=conversations, messages=messages, runs=runs, events=events, writes=writes)


def portion(db: sqlite3.Connection, bounds: Bounds, limit: int) -> Purged:
    """Delete about *limit* things, at least one."""
    limit = max(limit, 1)
    values = {**bounds._asdict(), "limit": limit}
    done = Purged(writes=db.execute(_ENTRIES, values).rowcount)
    for run_id, conversation in db.execute(_OLD_RUNS, {**values, "limit": _left(limit, done)}).fetchall():
        done += _delete_run(db, bounds, run_id, bare=conversation is None)
    for (conversation,) in db.execute(_DEAD_CONVERSATIONS, {**values, "limit": _left(limit, done)}).fetchall():
        done = _delete_conversation(db, bounds, conversation, limit, done)
        if not _left(limit, done):
            break
    return done + Purged(more=not _left(limit, done))


def _delete_run(db: sqlite3.Connection, bounds: Bounds, run_id: str, *, bare: bool) -> Purged:
    (events,) = db.execute("SELECT count(*) FROM event WHERE run = ?", (run_id,)).fetchone()
    db.execute("DELETE FROM run WHERE id = ?", (run_id,))
    writes = db.execute(_WRITES_OF_RUN, {**bounds._asdict(), "id": run_id}).rowcount if bare else 0
    return Purged(runs=1, events=events, writes=writes)


def _delete_conversation(db: sqlite3.Connection, bounds: Bounds, conversation: str, limit: int, done: Purged) -> Purged:
    """Its runs first, as many as there is room for: there may be thousands."""
    room = _left(limit, done)
    runs = db.execute(_RUNS_OF, (conversation, room + 1)).fetchall()
    # The last one goes with its conversation: until then it says how that stands.
    for run_id, _ in runs[:-1]:
        done += _delete_run(db, bounds, run_id, bare=False)
    if not _left(limit, done):
        return done
    for run_id, _ in runs[-1:]:
        done += _delete_run(db, bounds, run_id, bare=False)
    (messages,) = db.execute("SELECT count(*) FROM message WHERE conversation = ?", (conversation,)).fetchone()
    db.execute("DELETE FROM conversation WHERE id = ?", (conversation,))
    writes = db.execute(_WRITES_OF_CONVERSATION, {**bounds._asdict(), "id": conversation}).rowcount
    return done + Purged(conversations=1, messages=messages, writes=writes)


def _left(limit: int, done: Purged) -> int:
    """How much of the portion is left."""
    return max(limit - done.runs - done.conversations - done.messages // 10 - done.writes, 0)
