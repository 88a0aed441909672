"""
The statements of a commit, as a plan. Each runs inside a transaction that somebody else opened.

Whatever a statement changes it changes only if it may; one that changed less than it should is
refused, and :class:`Step` knows how to find out why. So the statements of a commit need no answer
from one another, and all of them can be on their way at once, the commit included: guarded, each
fails by itself when it is refused.
"""

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, NoReturn, TypeAlias, assert_never

import psycopg

from nr_agent_core import codec
from nr_agent_core.adapters.postgres.schema import ALLOW_REWRITING, SETTLED
from nr_agent_core.domain.errors import (
    ConversationBusyError,
    IllegalMoveError,
    InvalidValueError,
    LeaseHeldError,
    NotFoundError,
    StaleAppendError,
    StoredFormError,
)
from nr_agent_core.domain.run_status import RunStatus
from nr_agent_core.domain.tool_result import RecordWrite
from nr_agent_core.ports.unit_of_work import OpenConversation

Database: TypeAlias = psycopg.Connection[Any]

# Whoever changes a conversation holds its row, and takes all rows of a commit in one order. The time
# is told once they are held: leases and stamps are as of now, not as of the wait before.
_HOLD_ONE = b"""
    WITH conversations AS MATERIALIZED (SELECT 1 FROM conversation WHERE id = %s FOR NO KEY UPDATE),
    held AS MATERIALIZED (SELECT count(*) AS number FROM conversations)
    SELECT extract(epoch FROM clock_timestamp())::float8, number FROM held
"""
_HOLD = b"""
    WITH conversations AS MATERIALIZED (
        SELECT 1 FROM conversation WHERE id = ANY(%s::text[]) ORDER BY id FOR NO KEY UPDATE
    ), runs AS MATERIALIZED (
        SELECT 1 FROM run WHERE id = ANY(%s::text[]) ORDER BY id FOR NO KEY UPDATE
    ), held AS MATERIALIZED (
        SELECT (SELECT count(*) FROM conversations) + (SELECT count(*) FROM runs) AS number
    )
    SELECT extract(epoch FROM clock_timestamp())::float8, number FROM held
"""

_OPEN = b"INSERT INTO conversation(id, owner, created_at) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING"
# Written as the first row of an order: an aggregate here would walk the whole conversation.
_REDACT = b"""
    UPDATE event SET content = kept.content
    FROM unnest(%s::bigint[], %s::text[]) AS kept(seq, content)
    WHERE event.run = %s AND event.seq = kept.seq
"""
_NEXT = "SELECT coalesce((SELECT position FROM message WHERE conversation = %s ORDER BY position DESC LIMIT 1), -1) + 1"
# One statement finds the next position, compares it with the expected one and takes it.
_ADD = f"""
    INSERT INTO message(conversation, position, role, run, at, tokens, notices, text)
    SELECT conversation.id, next, %s, %s, %s, %s, %s, %s FROM conversation, LATERAL ({_NEXT}) AS known(next)
    WHERE conversation.id = %s AND (%s::bigint IS NULL OR next = %s::bigint)
""".encode()
_POSITIONS = f"""
    SELECT next FROM unnest(%s::text[]) WITH ORDINALITY AS asked(conversation, number),
        LATERAL ({_NEXT.replace("%s", "asked.conversation")}) AS known(next)
    ORDER BY number
""".encode()
_LENGTH = f"SELECT 1 WHERE EXISTS (SELECT FROM conversation WHERE id = %s) AND ({_NEXT}) = %s".encode()
_BEGIN = f"""
    INSERT INTO run(id, owner, conversation, status, sequence, message, created_at,
                    lease_until, not_before, expires_at, reason, code, error, outside, declined)
    SELECT %s, %s, %s::text, %s, %s, %s::bigint, %s, %s, %s, %s::float8, %s::text, %s::text, %s::text, %s, %s::text
    WHERE %s::text IS NULL OR EXISTS (SELECT FROM conversation WHERE id = %s)
        AND NOT EXISTS (SELECT FROM run WHERE conversation = %s AND status NOT IN {SETTLED})
    ON CONFLICT DO NOTHING
""".encode()
_GO_ON = """
    UPDATE run SET status = %s, sequence = %s, lease_until = coalesce(%s::float8, lease_until),
                   not_before = coalesce(%s::float8, not_before), expires_at = %s::float8,
                   reason = %s, code = %s, error = %s, outside = %s, declined = coalesce(%s, declined)
    WHERE id = %s AND sequence = %s
"""
# The one place where a lease is read (R8).
_CLAIM = f"{_GO_ON} AND (status = 'queued' AND not_before <= %s OR status = 'running' AND lease_until <= %s)".encode()
_GO_ON_STATEMENT = _GO_ON.encode()
_FORGET = b"UPDATE event SET content = NULL WHERE run = %s AND content IS NOT NULL"
_FORGET_UNSETTLED = f"""
    UPDATE event SET content = NULL FROM run
    WHERE run.id = %s AND run.status NOT IN {SETTLED} AND event.run = run.id AND event.content IS NOT NULL
""".encode()
# Whatever made the row unreadable is mended with it; a row that is damaged itself is unsettled as
# long as it does not say that it is settled.
_LET_GO = f"""
    WITH ended AS (
        UPDATE run SET sequence = 1 + greatest(sequence,
                           coalesce((SELECT seq + 1 FROM event WHERE event.run = run.id ORDER BY seq DESC LIMIT 1), 0)),
                       status = %s, reason = %s, code = %s, error = %s, outside = %s,
                       lease_until = 0, expires_at = NULL
        WHERE id = %s AND status NOT IN {SETTLED}
        RETURNING id, sequence
    )
    INSERT INTO event(run, seq, kind, at, facts) SELECT id, sequence - 1, %s, %s, %s FROM ended
""".encode()
# Sent together with the end of the transaction: the feed is held for as long as the disk takes, not the client.
_FEED = b"""
    WITH taken AS (UPDATE feed SET position = position + %s RETURNING position - %s AS before),
    stored AS (
        INSERT INTO tool_write(position, run, conversation, seq, record_table, record_uid, uid_type, kind)
        SELECT taken.before + entry.number, entry.run, entry.conversation, entry.seq,
               entry.record_table, entry.record_uid, entry.uid_type, entry.kind
        FROM taken, unnest(%s::text[], %s::text[], %s::bigint[], %s::text[], %s::text[], %s::text[], %s::text[])
            WITH ORDINALITY AS entry(run, conversation, seq, record_table, record_uid, uid_type, kind, number)
        RETURNING position
    )
    SELECT pg_notify(current_schema() || '.writes', max(position)::text) FROM stored
"""
_STANDING = b"SELECT sequence, status, not_before, lease_until FROM run WHERE id = %s"


class Step(NamedTuple):
    """
    One statement. If it concerns less than *least* rows, *refuse* raises why.
    """

    statement: bytes
    values: tuple[Any, ...]
    least: int = 0
    refuse: Callable[[Database], NoReturn] | None = None


def guarded(steps: Sequence[Step]) -> tuple[bytes, tuple[Any, ...]]:
    """Steps that do not see each other as one statement that fails by itself when one of them is refused."""
    if len(steps) == 1 and steps[0].refuse is None:
        return steps[0].statement, steps[0].values
    statement = _guarded(tuple([(step.statement, step.refuse is not None) for step in steps]))
    least = [step.least for step in steps if step.refuse is not None]
    return statement, (*itertools.chain.from_iterable([step.values for step in steps]), *least)


@functools.cache
def _guarded(statements: tuple[tuple[bytes, bool], ...]) -> bytes:
    parts, enough = [], []
    for number, (statement, needed) in enumerate(statements):
        returning = b"" if statement.lstrip().startswith(b"SELECT") else b" RETURNING 1"
        parts.append(b"s%d AS (%b%b)" % (number, statement, returning))
        if needed:
            enough.append(b"(SELECT count(*) FROM s%d) >= %%s" % number)
    return b"WITH %b SELECT require(%b)" % (b", ".join(parts), b" AND ".join(enough))


def hold(stored: Iterable[codec.ChangeColumns]) -> Step:
    """
    Holds, from the beginning of a commit to its end, its conversations and its runs without one, and
    tells the time from then on.
    """
    conversations, runs = set(), set()
    for columns in stored:
        match columns:
            case codec.AppendColumns():
                if columns.run.conversation is not None:
                    conversations.add(codec.escape_nul(columns.run.conversation))
                elif columns.expected:
                    runs.add(codec.escape_nul(columns.run.id))
            case codec.AddColumns():
                conversations.add(codec.escape_nul(columns.conversation))
            case codec.LetGoColumns():
                runs.add(codec.escape_nul(columns.run_id))
            case OpenConversation():
                pass
            case _:
                assert_never(columns)
    if len(conversations) == 1 and not runs:
        return Step(_HOLD_ONE, tuple(conversations))
    return Step(_HOLD, (list(conversations), list(runs)))


def positions(conversations: Sequence[str]) -> Step:
    """Asks for the position of the next message of each of *conversations*, which are held."""
    return Step(_POSITIONS, ([codec.escape_nul(conversation) for conversation in conversations],))


def plan(stored: Sequence[codec.ChangeColumns], now: float) -> Iterator[tuple[Step, ...]]:
    """
    The statements that store all changes at the time *now*, without what they add to the feed.
    Those that do not see each other come together.
    """
    for columns in stored:
        match columns:
            case codec.AppendColumns():
                if columns.redacted:
                    yield (Step(ALLOW_REWRITING, ()),)
                yield tuple(_append(columns, now))
            case codec.AddColumns(conversation, messages, expected):
                if expected is not None:
                    yield (_length(conversation, expected),)
                for message in messages:
                    yield (_add(conversation, message, now),)
            case OpenConversation(conversation, owner):
                yield (_open(conversation, owner, now),)
            case codec.LetGoColumns():
                yield from [(step,) for step in _let_go(columns, now)]
            case _:
                assert_never(columns)


def feed(stored: Iterable[codec.ChangeColumns]) -> Step | None:
    """
    What the changes add to the feed, if anything. It comes last: whoever comes later gets a later
    position, and is seen later (W4).
    """
    entries = [
        _entry(columns, number, write)
        for columns in stored
        if isinstance(columns, codec.AppendColumns)
        for number, write in columns.writes
    ]
    if not entries:
        return None
    return Step(_FEED, (len(entries), len(entries), *(list(column) for column in zip(*entries, strict=True))))


# -------------------------------------------------------------------------------- conversations


def _open(conversation: str, owner: str, now: float) -> Step:
    def refuse(_: Database) -> NoReturn:
        raise ConversationBusyError(conversation)

    return Step(_OPEN, (codec.escape_nul(conversation), codec.escape_nul(owner), now), 1, refuse)


def _add(conversation: str, message: codec.MessageColumns, now: float) -> Step:
    known, expected = codec.escape_nul(conversation), message.expected
    run = message.run_id and codec.escape_nul(message.run_id)
    row = (message.role, run, now, message.tokens, message.notices, message.text)

    def refuse(db: Database) -> NoReturn:
        _require_conversation(db, conversation)
        following = _one(db, _NEXT.encode(), known)[0]
        if expected is None or expected < following:
            raise ConversationBusyError(conversation)
        raise InvalidValueError(f"the position of a message in {conversation!r}", expected, f"{following}")

    return Step(_ADD, (*row, known, known, expected, expected), 1, refuse)


def _length(conversation: str, expected: int) -> Step:
    known = codec.escape_nul(conversation)

    def refuse(db: Database) -> NoReturn:
        _require_conversation(db, conversation)
        raise ConversationBusyError(conversation)

    return Step(_LENGTH, (known, known, expected), 1, refuse)


def _require_conversation(db: Database, conversation: str) -> None:
    found = db.execute(b"SELECT 1 FROM conversation WHERE id = %s", (codec.escape_nul(conversation),))
    if not found.rowcount:
        raise NotFoundError("conversation", conversation)


# ----------------------------------------------------------------------------------------- runs


def _append(columns: codec.AppendColumns, now: float) -> Iterator[Step]:
    run = codec.escape_nul(columns.run.id)
    if columns.expected == 0:
        yield _begin(columns, now)
    else:
        yield _go_on(columns, now)
        if columns.forgets:
            yield Step(_FORGET, (run,))
        if columns.redacted:
            numbers, contents = zip(*columns.redacted, strict=True)
            yield Step(_REDACT, (list(numbers), list(contents), run))

    def refuse(_: Database) -> NoReturn:
        raise StoredFormError(f"run {columns.run.id!r}", "its stream is longer than its row says")

    rows = [(run, number, kind, now, facts, content) for number, kind, facts, content in columns.events]
    yield Step(_events(len(rows)), tuple(itertools.chain.from_iterable(rows)), len(rows), refuse)


@functools.cache
def _events(number: int) -> bytes:
    """The statement for so many events. Few numbers ever come, so each is prepared once."""
    rows = ", ".join(["(%s, %s, %s, %s, %s, %s)"] * number)
    return f"INSERT INTO event(run, seq, kind, at, facts, content) VALUES {rows} ON CONFLICT DO NOTHING".encode()


def _state(columns: codec.AppendColumns, now: float) -> list[Any]:
    until, due, expires_at, reason, code, error, outside, declined = codec.state_at(columns, now)
    return [until, due, expires_at, reason, code, error and codec.escape_nul(error), outside, declined]


def _begin(columns: codec.AppendColumns, now: float) -> Step:
    run = columns.run
    until, due, *state = _state(columns, now)
    known, conversation = codec.escape_nul(run.id), run.conversation and codec.escape_nul(run.conversation)

    def refuse(db: Database) -> NoReturn:
        standing = db.execute(_STANDING, (known,)).fetchone()
        if standing is not None:
            raise StaleAppendError(run.id, 0, standing[0])
        _require_conversation(db, run.conversation or "")
        raise ConversationBusyError(run.conversation or "")

    values = (
        *(known, codec.escape_nul(run.owner), conversation, columns.status.value, run.sequence, run.message, now),
        *(until or 0.0, due or 0.0, *state),
        *(conversation, conversation, conversation),
    )
    return Step(_BEGIN, values, 1, refuse)


def _go_on(columns: codec.AppendColumns, now: float) -> Step:
    run, expected = columns.run, columns.expected
    known = codec.escape_nul(run.id)
    values = (columns.status.value, run.sequence, *_state(columns, now), known, expected)

    def refuse(db: Database) -> NoReturn:
        standing = db.execute(_STANDING, (known,)).fetchone()
        if standing is None or standing[0] != expected:
            raise StaleAppendError(run.id, expected, 0 if standing is None else standing[0])
        _, status, not_before, lease_until = standing
        if status not in (RunStatus.QUEUED.value, RunStatus.RUNNING.value):
            raise IllegalMoveError(run.id, status, "claimed")
        raise LeaseHeldError(run.id, not_before if status == RunStatus.QUEUED.value else lease_until)

    if columns.claims:
        return Step(_CLAIM, (*values, now, now), 1, refuse)
    return Step(_GO_ON_STATEMENT, values, 1, refuse)


def _entry(columns: codec.AppendColumns, number: int, write: RecordWrite) -> tuple[Any, ...]:
    conversation = columns.run.conversation
    where = conversation and codec.escape_nul(conversation)
    return codec.escape_nul(columns.run.id), where, number, *codec.write_columns(write)


def _let_go(columns: codec.LetGoColumns, now: float) -> Iterator[Step]:
    run, error = codec.escape_nul(columns.run_id), columns.error and codec.escape_nul(columns.error)
    said = (columns.status.value, columns.reason.value, columns.code and columns.code.value, error, columns.outside)
    # Forgotten first, and only of a run that is let go of.
    yield Step(_FORGET_UNSETTLED, (run,))
    yield Step(_LET_GO, (*said, run, columns.kind, now, columns.facts))


def _one(db: Database, statement: bytes, *values: Any) -> Any:
    found = db.execute(statement, values).fetchone()
    assert found is not None  # noqa: S101 - the statement always finds one row
    return found
