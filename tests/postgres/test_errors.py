"""
What the server reports, in the library's own errors.
"""

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest

from nr_agent_core.adapters.postgres import PostgresStore
from nr_agent_core.adapters.postgres.error_mapping import in_own_words
from nr_agent_core.domain.errors import (
    AgentCoreError,
    AppendOnlyError,
    InvalidValueError,
    StaleAppendError,
    StoredFormError,
    StoreError,
    StoreUnavailableError,
)
from nr_agent_core.testing.contracts.run_script import RunScript
from nr_agent_core.testing.contracts.store_contract import opened, said
from nr_agent_core.testing.manual_clock import ManualClock
from tests.postgres.tables import asked
from tests.postgres_server import Server


def failing(store: PostgresStore, state: str, times: int) -> None:
    """From now on *times* messages fail with *state*."""
    asked(store, f"CREATE SEQUENCE failures_{state}")
    asked(
        store,
        f"""
        CREATE FUNCTION fail_{state}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF nextval('failures_{state}') <= {times} THEN RAISE 'it failed' USING ERRCODE = '{state}'; END IF;
            RETURN NEW;
        END $$
        """,
    )
    asked(
        store,
        f"CREATE TRIGGER fail BEFORE INSERT ON message FOR EACH ROW EXECUTE FUNCTION fail_{state}()",
    )


@pytest.fixture
def failures(postgres: Server, fresh: str) -> Iterator[Callable[[str, int], PostgresStore]]:
    """Makes a store in which the first messages fail."""
    with closing(PostgresStore(postgres.dsn(), schema=fresh, patience=20)) as store:

        def make(state: str, times: int) -> PostgresStore:
            opened(store, "c1")
            failing(store, state, times)
            return store

        yield make


@pytest.mark.parametrize("state", ["40001", "40P01"])
def test_what_the_server_rolled_back_is_begun_again(failures: Any, state: str) -> None:
    """A deadlock or a serialisation failure left nothing; the commit is repeated and lands once."""
    store = failures(state, 2)
    store.commit([said("c1", "Hello.")])

    assert [message.text for message in store.messages("c1")] == ["Hello."]


@pytest.mark.parametrize(("state", "expected"), [
    ("40001", StoreUnavailableError), ("40P01", StoreUnavailableError), ("53100", StoreUnavailableError),
    ("53200", StoreUnavailableError), ("53300", StoreUnavailableError), ("55P03", StoreUnavailableError),
    ("57014", StoreUnavailableError), ("25006", StoreUnavailableError), ("58030", StoreUnavailableError),
    ("42501", StoreUnavailableError), ("XX001", StoredFormError), ("22003", InvalidValueError),
    ("54000", InvalidValueError), ("NR001", AppendOnlyError), ("P0001", StoreError), ("23514", StoreError),
])  # fmt: skip
def test_every_report_of_the_server_has_its_own_words(failures: Any, state: str, expected: type[Exception]) -> None:
    """Disk full, out of memory, time-outs, a read-only copy: typed, named after the database, nothing stored."""
    store = failures(state, 99)

    with pytest.raises(AgentCoreError) as refused:
        store.commit([said("c1", "A secret text."), RunScript("r1", conversation="c1").start()])

    assert type(refused.value) is expected
    assert "secret text" not in str(refused.value)
    assert store.run_row("r1") is None
    assert store.messages("c1") == ()


def test_what_is_no_matter_of_postgresql_keeps_its_words() -> None:
    """Other exceptions pass."""
    assert in_own_words(KeyError("x"), "site") is None
    assert in_own_words(KeyboardInterrupt(), "site") is None


def test_a_number_beyond_every_column_is_refused(store: PostgresStore) -> None:
    """Nothing is cut to make it fit."""
    opened(store, "c1")

    with pytest.raises(InvalidValueError):
        store.commit([said("c1", "Hello.", tokens=2**70)])

    assert store.messages("c1", before=2**70) == store.writes(after=2**70, limit=2**70) == ()


def test_an_interrupt_leaves_nothing_open(store: PostgresStore) -> None:
    """Whatever breaks out of a commit, neither a transaction nor a lock stays."""
    opened(store, "c1")

    class Interrupting(ManualClock):
        def now(self) -> float:
            raise KeyboardInterrupt

    store._clock = Interrupting()
    with pytest.raises(KeyboardInterrupt):
        store.commit([said("c1", "Hello.")])

    store._clock = None
    store.commit([said("c1", "Hello again.")])
    assert [message.text for message in store.messages("c1")] == ["Hello again."]


def test_a_race_that_is_lost_is_no_matter_for_the_log(store: PostgresStore, caplog: pytest.LogCaptureFixture) -> None:
    """Whoever is refused is told; the driver warns of nothing (R3)."""
    script = RunScript("r1")
    store.commit([script.start()])
    behind = script.copy()
    store.commit([script.propose(), script.intend()])

    for change in (behind.copy().answer(), behind.copy().cancel(), RunScript("r1").start()):
        with pytest.raises(StaleAppendError):
            store.commit([change])

    assert caplog.records == []
