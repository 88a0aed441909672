"""
The feed of the PostgreSQL store: a follower misses nothing, however transactions overlap (W4).
"""

import threading
from contextlib import closing

import pytest

from nr_agent_core.adapters.postgres import PostgresStore
from nr_agent_core.domain.errors import StaleAppendError, StoreUnavailableError
from nr_agent_core.domain.provenance import StoredWrite
from nr_agent_core.testing.contracts.run_script import RunScript, wrote
from tests.postgres.tables import wait_for, wait_until_blocked
from tests.postgres_server import Server

LISTENING = "FROM pg_stat_activity WHERE query LIKE 'SELECT EXISTS%' AND state = 'idle'"


def writing(store: PostgresStore, run_id: str) -> RunScript:
    """A run whose call is under way."""
    script = RunScript(run_id)
    store.commit([script.start(), script.propose(), script.intend()])
    return script


class Follower:
    """
    Asks for what comes behind what it saw, as another process would.
    """

    def __init__(self, store: PostgresStore) -> None:
        self._store, self.seen = store, list[StoredWrite]()

    @property
    def position(self) -> int:
        """Up to where it knows the feed."""
        return self.seen[-1].position if self.seen else 0

    def look(self, limit: int = 100) -> list[int | str]:
        """Everything that is new."""
        page = self._store.writes(after=self.position, limit=limit)
        self.seen.extend(page)
        return [entry.written.reference.uid for entry in page]


def test_a_slow_transaction_is_not_passed_over(store: PostgresStore) -> None:
    """
    Two overlap, and the one that took its position first commits last: the fast one waits with its
    position, so the follower sees them in order and misses neither.
    """
    follower = Follower(store)
    fast = writing(store, "fast")
    change = fast.outcome(wrote(2))
    with closing(store._connections.apart()) as slow:
        slow.execute("BEGIN")
        slow.execute("UPDATE feed SET position = position + 1")
        slow.execute(
            "INSERT INTO tool_write SELECT position, 'slow', NULL, 0, 'pages', '1', 'int', 'created' FROM feed"
        )
        thread = threading.Thread(target=store.commit, args=([change],))
        thread.start()
        wait_until_blocked(store)
        assert follower.look() == []

        slow.execute("COMMIT")
    thread.join(60)

    assert follower.look() == [1, 2]
    assert [entry.position for entry in follower.seen] == [1, 2]


def test_a_position_that_was_given_up_is_void(store: PostgresStore) -> None:
    """A transaction that is rolled back leaves nothing that a follower could wait for."""
    script = writing(store, "r1")
    with closing(store._connections.apart()) as given_up:
        given_up.execute("BEGIN")
        given_up.execute("UPDATE feed SET position = position + 1")
        given_up.execute("ROLLBACK")

    store.commit([script.outcome(wrote(1))])

    assert Follower(store).look() == [1]


def test_a_refused_commit_takes_no_position(store: PostgresStore) -> None:
    """The feed comes last, so what is refused before it never held it."""
    script = writing(store, "r1")
    behind = script.copy()
    store.commit([script.outcome(wrote(1))])

    with pytest.raises(StaleAppendError):
        store.commit([behind.outcome(wrote(2))])

    script.propose()
    assert store.writes(after=0, limit=9)[-1].position == 1


def test_commits_without_writes_do_not_wait_for_the_feed(store: PostgresStore, postgres: Server) -> None:
    """Only who adds to the feed takes turns."""
    script = writing(store, "r1")
    hasty = PostgresStore(postgres.dsn(), schema=store._connections.schema, patience=0.2)
    with closing(hasty), closing(store._connections.apart()) as holder, holder.transaction():
        holder.execute("UPDATE feed SET position = position")

        writing(hasty, "r2")
        with pytest.raises(StoreUnavailableError):
            hasty.commit([script.copy().outcome(wrote(1))])

    store.commit([script.outcome(wrote(1))])
    assert Follower(store).look() == [1]


def test_followers_of_many_writers_miss_nothing(store: PostgresStore, postgres: Server) -> None:
    """Whatever overlaps with whatever: each follower ends with everything, once, in order of positions."""
    writers, each = 6, 8
    scripts = [writing(store, f"r{number}") for number in range(writers)]
    done, failed = threading.Event(), list[BaseException]()
    others = [PostgresStore(postgres.dsn(), schema=store._connections.schema) for _ in range(2)]
    followers = [Follower(other) for other in others]

    def write(script: RunScript, number: int) -> None:
        try:
            for count in range(1, each + 1):
                store.commit([script.outcome(wrote(number * 100 + count)), script.propose(), script.intend()])
        except BaseException as error:  # noqa: BLE001 - shown by the assertion
            failed.append(error)

    def follow(follower: Follower) -> None:
        while not done.is_set():
            follower.look(limit=3)

    threads = [threading.Thread(target=write, args=(script, number)) for number, script in enumerate(scripts)]
    watching = [threading.Thread(target=follow, args=(follower,)) for follower in followers]
    for thread in [*threads, *watching]:
        thread.start()
    for thread in threads:
        thread.join(120)
    done.set()
    for thread in watching:
        thread.join(60)

    assert failed == []
    for follower, other in zip(followers, others, strict=True):
        while follower.look():
            pass
        other.close()
        assert follower.seen == list(store.writes(after=0, limit=1000))
        assert len(follower.seen) == writers * each


# -------------------------------------------------------------------------------------- waking up


def test_a_follower_is_woken_up(store: PostgresStore) -> None:
    """Waiting ends with the commit that brings something, long before its time is over."""
    script = writing(store, "r1")
    told: list[bool] = []
    waiting = threading.Thread(target=lambda: told.append(store.wait_for_writes(after=0, timeout=3600)))
    waiting.start()
    wait_until_listening(store)

    store.commit([script.outcome(wrote(1))])
    waiting.join(60)

    assert told == [True]


def test_what_is_there_is_not_waited_for(store: PostgresStore) -> None:
    """And what is behind a follower does not wake it up."""
    script = writing(store, "r1")
    store.commit([script.outcome(wrote(1))])

    assert store.wait_for_writes(after=0, timeout=3600) is True
    assert store.wait_for_writes(after=1, timeout=0.01) is False


def test_waiting_takes_no_connection_from_the_pool(store: PostgresStore, postgres: Server) -> None:
    """A follower that waits holds up nobody."""
    lean = PostgresStore(postgres.dsn(), schema=store._connections.schema, connections=1, patience=5)
    waiting = threading.Thread(target=lean.wait_for_writes, kwargs={"after": 0, "timeout": 3600})
    waiting.start()
    wait_until_listening(store)

    script = writing(lean, "r1")
    lean.commit([script.outcome(wrote(1))])
    waiting.join(60)
    lean.close()

    assert not waiting.is_alive()


def test_a_follower_hears_that_the_server_is_gone(store: PostgresStore) -> None:
    """It is told, and may wait again."""
    failed: list[BaseException] = []

    def wait() -> None:
        try:
            store.wait_for_writes(after=0, timeout=3600)
        except StoreUnavailableError as error:
            failed.append(error)

    waiting = threading.Thread(target=wait)
    waiting.start()
    wait_until_listening(store)
    with closing(store._connections.apart()) as db:
        db.execute(f"SELECT pg_terminate_backend(pid) {LISTENING}".encode())
    waiting.join(60)

    assert len(failed) == 1


def wait_until_listening(store: PostgresStore) -> None:
    """Until some follower has looked and waits."""
    wait_for(store, f"SELECT count(*) {LISTENING}")
