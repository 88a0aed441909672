"""
What is past its window goes (O2).

What is to go is locked first and looked at once more then: whoever changed it in between has
committed by that time, and what somebody changes now is passed over.
"""

from typing import Any

import psycopg

from nr_agent_core.adapters.postgres.schema import SETTLED
from nr_agent_core.ports.retention import Bounds, Purged

_LAST_RUN = "SELECT number FROM run AS last WHERE last.conversation = {of} ORDER BY number DESC LIMIT 1"
_LAST_EVENT = "(SELECT at FROM event WHERE event.run = run.id ORDER BY seq DESC LIMIT 1)"

# Settled, and not the one that says how a conversation stands. A run begins before it ends.
_OLD_RUN = f"""
    run.status IN {SETTLED} AND run.created_at <= %(runs_until)s::float8
    AND coalesce({_LAST_EVENT}, run.created_at) <= %(runs_until)s::float8
    AND (run.conversation IS NULL OR run.number < ({_LAST_RUN.format(of="run.conversation")}))
"""
_DEAD = f"""
    c.created_at <= %(conversations_until)s::float8
    AND coalesce((SELECT at FROM message WHERE conversation = c.id ORDER BY position DESC LIMIT 1), c.created_at)
        <= %(conversations_until)s::float8
    AND coalesce((SELECT {_LAST_EVENT} FROM run WHERE number = ({_LAST_RUN.format(of="c.id")})), c.created_at)
        <= %(conversations_until)s::float8
    AND NOT EXISTS (SELECT FROM run WHERE conversation = c.id AND status NOT IN {SETTLED})
"""
_HOLD_RUNS = f"SELECT id FROM run WHERE {_OLD_RUN} ORDER BY number LIMIT %(limit)s FOR UPDATE SKIP LOCKED"
_OLD_RUNS = f"SELECT id FROM run WHERE id = ANY(%(held)s::text[]) AND {_OLD_RUN} ORDER BY number"
_HOLD_CONVERSATIONS = f"SELECT id FROM conversation AS c WHERE {_DEAD} LIMIT %(limit)s FOR UPDATE SKIP LOCKED"
_DEAD_CONVERSATIONS = f"SELECT id FROM conversation AS c WHERE id = ANY(%(held)s::text[]) AND {_DEAD}"
_RUNS_OF = "SELECT id FROM run WHERE conversation = %(id)s ORDER BY number LIMIT %(limit)s"
# What nothing refers to any more, up to a position that the host named.
_ALONE = """
    NOT EXISTS (SELECT FROM run WHERE run.id = tool_write.run)
    AND NOT EXISTS (SELECT FROM conversation WHERE conversation.id = tool_write.conversation)
"""
_ENTRIES = f"""
    DELETE FROM tool_write WHERE position IN (
        SELECT position FROM tool_write WHERE position <= %(writes_up_to)s AND {_ALONE}
        ORDER BY position LIMIT %(limit)s
    )
"""
_NEEDED_NO_MORE = "(%(with_writes)s OR position <= %(writes_up_to)s)"
_WRITES_OF_RUNS = (
    f"DELETE FROM tool_write WHERE run = ANY(%(ids)s::text[]) AND conversation IS NULL AND {_NEEDED_NO_MORE}"
)
_WRITES_OF_CONVERSATION = f"DELETE FROM tool_write WHERE conversation = %(id)s AND {_NEEDED_NO_MORE}"
_EVERYTHING = f"""
    WITH dead AS MATERIALIZED (SELECT id FROM conversation AS c WHERE {_DEAD}),
    going AS MATERIALIZED (
        SELECT id, conversation FROM run WHERE ({_OLD_RUN}) OR conversation IN (SELECT id FROM dead)
    )
    SELECT (SELECT count(*) FROM dead),
        (SELECT count(*) FROM message WHERE conversation IN (SELECT id FROM dead)),
        (SELECT count(*) FROM going),
        (SELECT count(*) FROM event WHERE run IN (SELECT id FROM going)),
        (SELECT count(*) FROM tool_write WHERE
            CASE WHEN conversation IS NULL AND run IN (SELECT id FROM going)
                OR coalesce(conversation IN (SELECT id FROM dead), false) THEN {_NEEDED_NO_MORE}
            ELSE position <= %(writes_up_to)s AND {_ALONE} END)
"""


def everything(db: psycopg.Connection[Any], bounds: Bounds) -> Purged:
    """What would go by now."""
    ((conversations, messages, runs, events, writes),) = _rows(db, _EVERYTHING, bounds)
    return Purged(conversations=conversations, messages=messages, runs=runs, events=events, writes=writes)


def portion(db: psycopg.Connection[Any], bounds: Bounds, limit: int) -> Purged:
    """Delete about *limit* things, at least one, in a transaction of its own."""
    limit = max(limit, 1)
    with db.transaction():
        done = Purged(writes=_changed(db, _ENTRIES, bounds, limit=limit))
        held = _ids(db, _HOLD_RUNS, bounds, limit=_left(limit, done))
        done += _delete_runs(db, bounds, _ids(db, _OLD_RUNS, bounds, held=held), bare=True)
        held = _ids(db, _HOLD_CONVERSATIONS, bounds, limit=_left(limit, done))
        for conversation in _ids(db, _DEAD_CONVERSATIONS, bounds, held=held):
            if not _left(limit, done):
                break
            done = _delete_conversation(db, bounds, conversation, limit, done)
    return done + Purged(more=not _left(limit, done))


def _delete_runs(db: psycopg.Connection[Any], bounds: Bounds, ids: list[str], *, bare: bool) -> Purged:
    if not ids:
        return Purged()
    ((events,),) = _rows(db, "SELECT count(*) FROM event WHERE run = ANY(%(ids)s::text[])", bounds, ids=ids)
    _changed(db, "DELETE FROM run WHERE id = ANY(%(ids)s::text[])", bounds, ids=ids)
    writes = _changed(db, _WRITES_OF_RUNS, bounds, ids=ids) if bare else 0
    return Purged(runs=len(ids), events=events, writes=writes)


def _delete_conversation(
    db: psycopg.Connection[Any], bounds: Bounds, conversation: str, limit: int, done: Purged
) -> Purged:
    """Its runs first, as many as there is room for: there may be thousands."""
    runs = _ids(db, _RUNS_OF, bounds, id=conversation, limit=_left(limit, done) + 1)
    # The last one goes with its conversation: until then it says how that stands.
    done += _delete_runs(db, bounds, runs[:-1], bare=False)
    if not _left(limit, done):
        return done
    done += _delete_runs(db, bounds, runs[-1:], bare=False)
    counted = "SELECT count(*) FROM message WHERE conversation = %(id)s"
    ((messages,),) = _rows(db, counted, bounds, id=conversation)
    _changed(db, "DELETE FROM conversation WHERE id = %(id)s", bounds, id=conversation)
    writes = _changed(db, _WRITES_OF_CONVERSATION, bounds, id=conversation)
    return done + Purged(conversations=1, messages=messages, writes=writes)


def _left(limit: int, done: Purged) -> int:
    """How much of the portion is left."""
    return max(limit - done.runs - done.conversations - done.messages // 10 - done.writes, 0)


def _rows(db: psycopg.Connection[Any], statement: str, bounds: Bounds, **values: Any) -> list[Any]:
    return db.execute(statement.encode(), {**bounds._asdict(), **values}).fetchall()


def _ids(db: psycopg.Connection[Any], statement: str, bounds: Bounds, **values: Any) -> list[str]:
    return [row[0] for row in _rows(db, statement, bounds, **values)]


def _changed(db: psycopg.Connection[Any], statement: str, bounds: Bounds, **values: Any) -> int:
    return db.execute(statement.encode(), {**bounds._asdict(), **values}).rowcount
