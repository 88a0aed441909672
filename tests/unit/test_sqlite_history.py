"""
What a process remembers of a conversation: never other than what it would read, and never more work than what is new.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nr_agent_core.adapters.memory import MemoryStore
from nr_agent_core.adapters.sqlite import SqliteStore
from nr_agent_core.codec import Windows, window
from nr_agent_core.domain.conversation import MessageRole
from nr_agent_core.domain.errors import StaleAppendError
from nr_agent_core.domain.tool_result import WriteKind
from nr_agent_core.ports.conversation_store import History
from nr_agent_core.ports.unit_of_work import OpenConversation
from nr_agent_core.testing.contracts.run_script import RunScript, wrote
from nr_agent_core.testing.contracts.store_contract import opened, said


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The file that several processes would share."""
    return tmp_path / "chat.db"


@pytest.fixture
def make(path: Path) -> Iterator[Callable[[], SqliteStore]]:
    """Stores on one file; each remembers for itself, as processes do."""
    made: list[SqliteStore] = []

    def store() -> SqliteStore:
        made.append(SqliteStore(path, synchronous="NORMAL"))
        return made[-1]

    yield store
    for each in made:
        each.close()


def statements(store: SqliteStore, action: Callable[[], object]) -> list[str]:
    """The statements that *action* runs."""
    seen: list[str] = []
    with store._connections.of_this_thread() as db:
        db.set_trace_callback(seen.append)
    action()
    with store._connections.of_this_thread() as db:
        db.set_trace_callback(None)
    return [statement for statement in seen if not statement.startswith("--")]


def turn(store: SqliteStore, number: int, *, conversation: str = "c1", tokens: int = 10) -> None:
    """One turn whose run writes a record, in two commits."""
    script = RunScript(f"{conversation}-{number}", conversation=conversation)
    said_first = said(conversation, f"Please {number}.", run_id=script.run.id, tokens=tokens)
    store.commit([said_first, script.start(), script.propose(), script.intend()])
    answer = said(conversation, f"Done {number}.", role=MessageRole.ASSISTANT, run_id=script.run.id, tokens=tokens)
    store.commit([script.outcome(wrote(number + 1)), script.answer(), answer])


def test_processes_that_alternate_and_one_that_begins_are_told_the_same(make: Callable[[], SqliteStore]) -> None:
    """Two stores take turns, a third begins cold each time: one history (R11, M5)."""
    one, other = make(), make()
    opened(one, "c1")
    for number in range(12):
        turn(one if number % 2 else other, number, tokens=number)
        for budget in (100, 60, 1000):
            cold = make().history("c1", budget=budget)
            assert one.history("c1", budget=budget) == other.history("c1", budget=budget) == cold
            assert cold.messages[-1].text == f"Done {number}."


@given(
    story=st.lists(
        st.one_of(
            st.tuples(st.just("say"), st.integers(0, 9), st.integers(0, 4)),
            st.tuples(st.just("write"), st.integers(0, 3), st.integers(0, 4)),
            st.tuples(st.just("look"), st.integers(0, 30), st.just(0)),
            st.tuples(st.just("look"), st.integers(0, 30), st.just(1)),
        ),
        max_size=30,
    )
)
def test_whatever_came_in_whatever_order_the_history_is_the_one_that_is_stored(
    story: list[tuple[str, int, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Messages of any run in any order, writes before, between and after them, looks with any budget."""
    path = tmp_path_factory.mktemp("history") / "chat.db"
    stores = [SqliteStore(path, synchronous="NORMAL") for _ in range(2)]
    memory = MemoryStore(clock=_Standing())
    for store in stores:
        store._clock = _Standing()
    everybody = (stores[0], memory)
    scripts = [RunScript(f"r{number}", conversation="c1") for number in range(5)]
    for store in everybody:
        store.commit([OpenConversation("c1", "anna")])
    for script in scripts:
        changes = [script.start(), script.propose(), script.intend(), script.cancel()]
        for store in everybody:
            store.commit(changes)
    for what, number, of in story:
        if what == "say":
            for store in everybody:
                store.commit([said("c1", f"{number}", run_id=f"r{of}" if of < 4 else None, tokens=number)])
        elif what == "write" and scripts[of].run.intent is not None:
            change = scripts[of].outcome(wrote(number + 1), late=True)
            for store in everybody:
                store.commit([change])
        elif what == "look":
            assert stores[of].history("c1", budget=number) == memory.history("c1", budget=number)
    for store in stores:
        assert store.history("c1", budget=50) == memory.history("c1", budget=50)
        store.close()


class _Standing:
    def now(self) -> float:
        """The same time in both stores."""
        return 1.0


def test_a_turn_reads_what_is_new_and_nothing_else(make: Callable[[], SqliteStore]) -> None:
    """Two statements a look, however long the conversation and whatever the window dropped."""
    store = make()
    opened(store, "c1")
    for number in range(40):
        turn(store, number)
        seen = statements(store, lambda: store.history("c1", budget=100))
        assert number == 0 or len(seen) == 2, seen


def test_a_window_keeps_to_its_budget(make: Callable[[], SqliteStore]) -> None:
    """What is kept from turn to turn is what was asked for, not the whole conversation."""
    store = make()
    opened(store, "c1")
    for number in range(40):
        turn(store, number)
        store.history("c1", budget=100)

    (window,) = store._windows._windows.values()
    assert window.tokens == 100
    assert len(window._messages) == len(store.history("c1", budget=100).messages) == 10
    assert len(window._writes) == len(window._runs) == 5


def test_a_cold_process_reads_what_fits_and_one_message_more(
    make: Callable[[], SqliteStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The work of a process that remembers nothing does not grow with the conversation either (M5)."""
    store = make()
    opened(store, "c1")
    read: list[object] = []
    original = window.read_message
    monkeypatch.setattr(window, "read_message", lambda row: read.append(row) or original(row))
    for number in range(60):
        turn(store, number)

    shown = make().history("c1", budget=100)

    assert len(shown.messages) == len(read) == 10


def test_no_statement_walks_a_conversation(make: Callable[[], SqliteStore]) -> None:
    """Every statement of a turn finds its rows by an index (R11)."""
    store = make()
    opened(store, "c1")
    turn(store, 0)
    store.history("c1", budget=50)

    def whole_turn() -> None:
        store.conversation_row("c1")
        store.history("c1", budget=50)
        turn(store, 1)
        make_cold = SqliteStore(store._connections.name)
        make_cold.close()
        store.messages("c1", limit=5)
        store.events("c1-1")
        store.writes(after=0, limit=5)
        store.writes_of("c1-1")
        store.waiting_runs(limit=5)
        store.due_runs(queued_grace=0.0, limit=5)

    for statement in {*statements(store, whole_turn)}:
        if statement.startswith(("BEGIN", "COMMIT", "PRAGMA")):
            continue
        with store._connections.of_this_thread() as db:
            plan = [row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {statement}")]
        # The unsettled runs are few and have an index of their own.
        scans = [
            step
            for step in plan
            if step.startswith("SCAN")
            and "run_unsettled" not in step
            and "CONSTANT" not in step
            and "subquery" not in step
        ]
        assert scans == [], (statement, plan)


def steps(store: SqliteStore, action: Callable[[], object]) -> int:
    """How many steps SQLite's machine takes for *action*."""
    counted = 0

    def count() -> int:
        nonlocal counted
        counted += 1
        return 0

    with store._connections.of_this_thread() as db:
        db.set_progress_handler(count, 1)
    action()
    with store._connections.of_this_thread() as db:
        db.set_progress_handler(None, 1)
    return counted


def test_the_cost_of_a_turn_does_not_grow(make: Callable[[], SqliteStore]) -> None:
    """Turn 300 takes no more work than turn 60 did, for a process that remembers and for one that begins (R11, M5)."""
    store = make()
    opened(store, "c1")

    def whole_turn(number: int) -> None:
        store.conversation_row("c1")
        store.history("c1", budget=200)
        turn(store, number)

    warm, cold = [], []
    for number in range(300):
        warm.append(steps(store, lambda: whole_turn(number)))  # noqa: B023 - called at once
        if number in (59, 299):
            other = make()
            cold.append(steps(other, lambda: other.history("c1", budget=200)))  # noqa: B023 - called at once

    assert max(warm[290:]) <= 1.05 * max(warm[50:60])
    assert cold[1] <= 1.05 * cold[0]


def test_writes_that_came_before_their_message_are_told(make: Callable[[], SqliteStore]) -> None:
    """A run may write, be passed over because none of its messages is in the window, and come into it later."""
    store = make()
    opened(store, "c1")
    script = RunScript("r1", conversation="c1")
    store.commit([said("c1", "Please.", run_id="r1", tokens=1), script.start(), script.propose(), script.intend()])
    store.commit([said("c1", "Meanwhile.", tokens=50)])
    assert len(store.history("c1", budget=50).messages) == 1
    store.commit([script.outcome(wrote(1))])
    assert dict(store.history("c1", budget=50).writes) == {}

    store.commit([script.answer(), said("c1", "Done.", role=MessageRole.ASSISTANT, run_id="r1", tokens=50)])

    assert dict(store.history("c1", budget=50).writes) == {"r1": (wrote(1),)}
    assert store.history("c1", budget=50) == make().history("c1", budget=50)


def test_a_plain_turn_takes_fourteen_statements_in_two_commits(make: Callable[[], SqliteStore]) -> None:
    """Row, history and two commits; the number is part of what a turn costs."""
    store = make()
    opened(store, "c1")
    script = RunScript("before", conversation="c1")
    store.commit([said("c1", "Hello.", run_id="before"), script.start(), script.answer()])
    store.history("c1", budget=100)

    def plain_turn() -> None:
        store.conversation_row("c1")
        store.history("c1", budget=100)
        script = RunScript("r1", conversation="c1")
        store.commit([said("c1", "Please.", run_id="r1", position=1), script.start(message=1, text=None)])
        events = (script.propose(), script.intend(), script.outcome())
        store.commit([_one(*events, script.answer()), said("c1", "Done.", role=MessageRole.ASSISTANT, run_id="r1")])

    seen = statements(store, plain_turn)

    assert len(seen) == 14, seen
    assert [statement for statement in seen if statement.startswith(("BEGIN", "COMMIT"))] == [
        "BEGIN IMMEDIATE",
        "COMMIT",
    ] * 2


def _one(*appends: object) -> object:
    from nr_agent_core.testing.contracts.store_contract import joined

    return joined(*appends)  # type: ignore[arg-type]


def test_late_outcomes_reach_a_window_that_is_known(make: Callable[[], SqliteStore]) -> None:
    """A process that remembers hears of what another one stored about an older run (R7)."""
    one, other = make(), make()
    opened(one, "c1")
    script = RunScript("r1", conversation="c1")
    one.commit([said("c1", "Please.", run_id="r1"), script.start(), script.propose(), script.intend(), script.cancel()])
    assert dict(one.history("c1", budget=100).writes) == {}

    other.commit([script.outcome(wrote(7, WriteKind.DELETED), late=True)])

    assert dict(one.history("c1", budget=100).writes) == {"r1": (wrote(7, WriteKind.DELETED),)}


def test_a_refused_commit_is_never_remembered(make: Callable[[], SqliteStore]) -> None:
    """Neither the message nor the position of a turn that lost its race (R3)."""
    one, other = make(), make()
    opened(one, "c1")
    script = RunScript("r1", conversation="c1")
    one.commit([said("c1", "First.", run_id="r1"), script.start()])
    one.history("c1", budget=100)
    behind = script.copy()
    other.commit([script.answer(), said("c1", "Done.", role=MessageRole.ASSISTANT, run_id="r1")])

    with pytest.raises(StaleAppendError):
        one.commit([said("c1", "Never.", run_id="r1"), behind.answer()])

    assert [message.text for message in one.history("c1", budget=100).messages] == ["First.", "Done."]


def test_a_conversation_that_went_is_not_remembered(make: Callable[[], SqliteStore]) -> None:
    """The first row that is read shows that the prefix does not hold any more."""
    one, other = make(), make()
    opened(one, "c1")
    turn(one, 0)
    assert len(one.history("c1", budget=100).messages) == 2
    with other._connections.of_this_thread() as db:
        db.execute("DELETE FROM conversation WHERE id = 'c1'")

    assert one.history("c1", budget=100) == History()

    opened(other, "c1")
    other.commit([said("c1", "Anew.")])
    assert [message.text for message in one.history("c1", budget=100).messages] == ["Anew."]


def test_what_is_told_does_not_change_afterwards(make: Callable[[], SqliteStore]) -> None:
    """A history is a value: the next turn does not reach into it."""
    store = make()
    opened(store, "c1")
    turn(store, 0)
    before = store.history("c1", budget=20)
    copy = (before.messages, dict(before.writes))
    turn(store, 1)
    store.history("c1", budget=20)

    assert (before.messages, dict(before.writes)) == copy


@pytest.mark.parametrize(("most", "most_tokens", "kept"), [(3, 1000, 3), (10, 40, 2), (10, 1, 1)])
def test_what_is_remembered_is_bounded(make: Callable[[], SqliteStore], most: int, most_tokens: int, kept: int) -> None:
    """By the number of conversations and by their tokens; what was read last stays."""
    store = make()
    store._windows = Windows(most=most, most_tokens=most_tokens)
    for number in range(6):
        opened(store, f"c{number}")
        turn(store, number, conversation=f"c{number}")
        store.history(f"c{number}", budget=100)
        store.history("c0", budget=100)

    windows = store._windows._windows
    assert len(windows) == kept
    assert next(reversed(windows)) == "c0"
    assert store._windows._tokens == sum(window.tokens for window in windows.values())


def test_threads_that_look_at_one_conversation_do_not_disturb_each_other(path: Path) -> None:
    """Looks and commits from several threads: each look is a true state, and the last one is complete."""
    with closing(SqliteStore(path, synchronous="NORMAL")) as store:
        opened(store, "c1")
        wrong: list[object] = []
        done = threading.Event()

        def look() -> None:
            while not done.is_set():
                history = store.history("c1", budget=10_000)
                positions = [message.position for message in history.messages]
                if positions != list(range(len(positions))):
                    wrong.append(positions)
            store.close()

        threads = [threading.Thread(target=look) for _ in range(3)]
        for thread in threads:
            thread.start()
        for number in range(25):
            turn(store, number)
        done.set()
        for thread in threads:
            thread.join(60)

        assert wrong == []
        cold = SqliteStore(path)
        assert store.history("c1", budget=10_000) == cold.history("c1", budget=10_000)
        cold.close()
