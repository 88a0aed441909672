"""
What the PostgreSQL store costs beside a bare psycopg loop that stores the same rows in the same transactions.

    python -m bench.postgres_store [--dsn "host=... dbname=..."] [--turns 300] [--rounds 5] [--threads 1,4]

Without ``--dsn`` a private server is started. A turn is two commits: a message with a run and its
call under way; the outcome with a record written, the end of the run, and the answer. All changes
are made before the clock starts. The loop checks nothing, holds nothing, and knows every position;
it is the least that any program must do for these rows.
"""

import argparse
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

import psycopg

from bench.dialogue import final_text, user_text
from nr_agent_core import codec
from nr_agent_core.adapters.postgres import PostgresStore
from nr_agent_core.domain.conversation import MessageRole
from nr_agent_core.ports.unit_of_work import Change, OpenConversation
from nr_agent_core.testing.contracts.run_script import RunScript, wrote
from nr_agent_core.testing.contracts.store_contract import joined, said
from tests.postgres_server import Server

SCHEMAS = ("bench_store", "bench_bare")
RUN = """
    INSERT INTO run(id, owner, conversation, status, sequence, message, created_at,
                    lease_until, not_before, expires_at, reason, code, error, outside, declined)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
"""
GO_ON = """
    UPDATE run SET status = %s, sequence = %s, lease_until = %s, not_before = %s, expires_at = %s,
                   reason = %s, code = %s, error = %s, outside = %s, declined = %s
    WHERE id = %s
"""
MESSAGE = "INSERT INTO message VALUES (%s, %s, %s, %s, %s, %s, %s, %s)"
EVENT = "INSERT INTO event VALUES (%s, %s, %s, %s, %s, %s)"
FORGET = "UPDATE event SET content = NULL WHERE run = %s AND content IS NOT NULL"
WRITE = """
    INSERT INTO tool_write(position, run, conversation, seq, record_table, record_uid, uid_type, kind)
    VALUES (nextval('bare_position'), %s, %s, %s, %s, %s, %s, %s)
"""

Commits = list[list[Change]]
Statements = list[list[tuple[str, tuple[Any, ...]]]]


def turns(conversation: str, count: int) -> Commits:
    """The commits of *count* turns of one conversation."""
    commits: Commits = []
    for number in range(count):
        script = RunScript(f"{conversation}-{number}", conversation=conversation)
        position = 2 * number
        asked = said(conversation, user_text(number), run_id=script.run.id, position=position)
        commits.append([asked, joined(script.start(message=position), script.propose(), script.intend())])
        answer = said(conversation, final_text(number), role=MessageRole.ASSISTANT, run_id=script.run.id)
        commits.append([joined(script.outcome(wrote(number + 1)), script.answer(final_text(number))), answer])
    return commits


def statements(commits: Commits) -> Statements:
    """The rows of the same commits, as a program would store them that knows everything before."""
    positions: dict[str, int] = {}
    return [list(_statements(changes, positions)) for changes in commits]


def _statements(changes: Sequence[Change], positions: dict[str, int]) -> Iterator[tuple[str, tuple[Any, ...]]]:
    now = 1_000_000.0
    for columns in map(codec.columns_of, changes):
        if isinstance(columns, codec.AddColumns):
            for message in columns.messages:
                position = positions[columns.conversation] = positions.get(columns.conversation, -1) + 1
                row = (message.role, message.run_id, now, message.tokens, message.notices, message.text)
                yield MESSAGE, (columns.conversation, position, *row)
        elif isinstance(columns, codec.AppendColumns):
            run, state = columns.run, codec.state_at(columns, now)
            if columns.expected == 0:
                named = (run.id, run.owner, run.conversation, columns.status.value, run.sequence, run.message, now)
                yield RUN, (*named, *state)
            else:
                yield GO_ON, (columns.status.value, run.sequence, *state, run.id)
                if columns.forgets:
                    yield FORGET, (run.id,)
            for number, kind, facts, content in columns.events:
                yield EVENT, (run.id, number, kind, now, facts, content)
            for number, write in columns.writes:
                yield WRITE, (run.id, run.conversation, number, *codec.write_columns(write))


def by_store(dsn: str, count: int, threads: int, name: str) -> float:
    """Commits per second of the store."""
    with closing(PostgresStore(dsn, schema=SCHEMAS[0], connections=threads)) as store:
        told = [turns(f"{name}-{number}", count) for number in range(threads)]
        store.commit([OpenConversation(f"{name}-{number}", "anna") for number in range(threads)])

        def play(commits: Commits) -> None:
            for changes in commits:
                store.commit(changes)

        return _timed(play, told)


def by_loop(dsn: str, count: int, threads: int, name: str) -> float:
    """Commits per second of the bare loop."""
    told = [statements(turns(f"{name}-{number}", count)) for number in range(threads)]
    connections = [psycopg.connect(dsn, options=f"-c search_path={SCHEMAS[1]}") for _ in told]
    with connections[0].transaction():
        for number in range(threads):
            connections[0].execute("INSERT INTO conversation VALUES (%s, 'anna', 0)", (f"{name}-{number}",))
    idle = list(connections)

    def play(commits: Statements) -> None:
        db = idle.pop()
        for rows in commits:
            for statement, values in rows:
                db.execute(statement.encode(), values)
            db.commit()

    try:
        return _timed(play, told)
    finally:
        for db in connections:
            db.close()


def _timed(play: Callable[[Any], None], told: Sequence[Any]) -> float:
    workers = [threading.Thread(target=play, args=(commits,)) for commits in told]
    began = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return sum(map(len, told)) / (time.perf_counter() - began)


@contextmanager
def server(dsn: str | None) -> Iterator[str]:
    """The server that was named, or a private one; with both schemas new."""
    private = Server() if dsn is None else None
    where = dsn if private is None else private.dsn()
    assert where is not None
    try:
        for schema in SCHEMAS:
            with psycopg.connect(where) as db:
                db.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE".encode())
            with closing(PostgresStore(where, schema=schema)) as store:
                store.conversation_row("none")
        with psycopg.connect(where) as db:
            db.execute(f"CREATE SEQUENCE {SCHEMAS[1]}.bare_position".encode())
        yield where
    finally:
        if private is not None:
            private.end()


def main() -> int:
    """Play both in turn, and print the medians."""
    parser = argparse.ArgumentParser(prog="python -m bench.postgres_store", description=__doc__)
    parser.add_argument("--dsn", default=None, help="a database to use instead of a private server")
    parser.add_argument("--turns", type=int, default=300, help="turns of each thread in a round")
    parser.add_argument("--rounds", type=int, default=5, help="interleaved rounds")
    parser.add_argument("--threads", default="1,4", help="numbers of threads")
    given = parser.parse_args()
    with server(given.dsn) as dsn:
        for threads in map(int, given.threads.split(",")):
            ratios, rates = [], []
            for number in range(given.rounds + 1):
                name = f"{threads}-{number}"
                turns_now = given.turns if number else 20
                pair = by_store(dsn, turns_now, threads, name), by_loop(dsn, turns_now, threads, name)
                # The first round warms up.
                if number:
                    rates.append(pair)
                    ratios.append(pair[0] / pair[1])
            store, bare = (statistics.median(column) for column in zip(*rates, strict=True))
            low, high = min(ratios), max(ratios)
            print(
                f"{threads} thread(s): store {store:.0f} commits/s, bare loop {bare:.0f} commits/s, "
                f"throughput {statistics.median(ratios):.0%} ({low:.0%} to {high:.0%})"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
