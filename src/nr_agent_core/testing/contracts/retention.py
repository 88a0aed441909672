"""
What upkeep asks of a store: what is past its window goes, everything else stays, and damage is found.
"""

import pytest

from nr_agent_core.domain.conversation import MessageRole
from nr_agent_core.domain.errors import RunUnreadableError, StaleAppendError, StoredFormError
from nr_agent_core.domain.failures import FailureCode
from nr_agent_core.domain.run_events import RunFailed
from nr_agent_core.domain.run_status import RunReason, RunStatus
from nr_agent_core.ports.retention import Purged, Retention
from nr_agent_core.ports.unit_of_work import LetGo, UnitOfWork
from nr_agent_core.testing.contracts.run_script import RunScript, wrote
from nr_agent_core.testing.contracts.store_contract import StoreContract, opened, read_out, said, status_of
from nr_agent_core.testing.manual_clock import ManualClock

_DAY = 86_400.0
_FOR_EVER = Retention(conversation_days=None, run_days=None, waiting_days=None)
_WITH_WRITES = Retention(write_days=30)


class RetentionContract(StoreContract):
    """
    Every store keeps these promises about what goes and what stays; part of the unit of work's contract.
    """

    # --------------------------------------------------------------------------- conversations

    def test_a_conversation_goes_as_a_whole(self, store: UnitOfWork, clock: ManualClock) -> None:
        """Messages, runs and events are gone; what it wrote is still told, by the run's id (O2, W4)."""
        _turn(store, "c1", "r1", uid=1)
        clock.advance(30 * _DAY)

        gone = _purged(store, Retention())

        assert gone == Purged(conversations=1, messages=2, runs=1, events=6)
        assert store.conversation_row("c1") is None
        assert (store.messages("c1"), store.history("c1", budget=1000).messages) == ((), ())
        assert store.run_row("r1") is None
        with pytest.raises(RunUnreadableError):
            store.events("r1")
        assert store.writes_of("r1") == (wrote(1),)
        assert [entry.written.correlation_id for entry in store.writes(after=0, limit=9)] == ["r1"]

    def test_the_last_message_counts(self, store: UnitOfWork, clock: ManualClock) -> None:
        """A conversation that somebody came back to is young, however old its beginning is (O2)."""
        _turn(store, "c1", "r1")
        _turn(store, "c2", "r2")
        clock.advance(29 * _DAY)
        store.commit([said("c1", "Still there?")])
        clock.advance(1 * _DAY - 1)
        before = read_out(store)
        assert _purged(store, Retention()) == Purged()
        assert read_out(store) == before

        clock.advance(1)
        assert _purged(store, Retention()).conversations == 1

        assert store.conversation_row("c2") is None
        assert len(store.messages("c1")) == 3
        assert status_of(store, "r1") is RunStatus.COMPLETED

    def test_what_ended_late_is_young(self, store: UnitOfWork, clock: ManualClock) -> None:
        """The end of the last run counts, too, and what became known after it (R7)."""
        opened(store, "c1")
        script = RunScript("r1", conversation="c1")
        store.commit([said("c1", "Save it."), script.start(), script.propose(), script.intend()])
        store.commit([script.cancel()])
        clock.advance(20 * _DAY)
        store.commit([script.outcome(wrote(9), late=True)])
        clock.advance(20 * _DAY)

        assert _purged(store, Retention()) == Purged()
        clock.advance(10 * _DAY)
        assert _purged(store, Retention()).conversations == 1

    def test_an_empty_conversation_goes_too(self, store: UnitOfWork, clock: ManualClock) -> None:
        """One that was opened and never used is as old as its opening."""
        opened(store, "c1")
        clock.advance(31 * _DAY)
        opened(store, "c2")

        assert _purged(store, Retention()) == Purged(conversations=1)
        assert store.conversation_row("c1") is None
        assert store.conversation_row("c2") is not None

    @pytest.mark.parametrize("state", ["running", "queued", "waiting"])
    def test_what_is_unsettled_stays(self, store: UnitOfWork, clock: ManualClock, state: str) -> None:
        """An unsettled run and its conversation stay, however old; so does one without a conversation (O2)."""
        opened(store, "c1")
        scripts = [RunScript("r1", conversation="c1"), RunScript("r2")]
        for script in scripts:
            store.commit([script.start(queued=state == "queued")])
            if state == "waiting":
                store.commit([script.request()])
        clock.advance(5000 * _DAY)
        before = read_out(store)

        assert _purged(store, _WITH_WRITES) == Purged()

        assert read_out(store) == before
        store.commit([script.cancel() for script in scripts])
        assert _purged(store, Retention()) == Purged()

    def test_a_name_that_went_can_be_used_again(self, store: UnitOfWork, clock: ManualClock) -> None:
        """Nothing of the old conversation is told in a new one of the same name."""
        _turn(store, "c1", "r1", uid=1)
        store.history("c1", budget=1000)
        clock.advance(31 * _DAY)
        _purged(store, _WITH_WRITES)

        opened(store, "c1")
        assert store.history("c1", budget=1000).messages == ()
        _turn(store, None, "r1", uid=2)
        store.commit([said("c1", "Hello.", run_id="r1")])

        history = store.history("c1", budget=1000)
        assert [message.text for message in history.messages] == ["Hello."]
        assert store.writes_of("r1") == (wrote(2),)

    # ------------------------------------------------------------------------------------ runs

    def test_a_settled_run_goes_by_its_end(self, store: UnitOfWork, clock: ManualClock) -> None:
        """A run without a conversation goes when it has been over for its window, with its events (O2)."""
        long = RunScript("long")
        store.commit([long.start()])
        _turn(store, None, "short", uid=1)
        clock.advance(29 * _DAY)
        store.commit([long.cancel()])
        clock.advance(_DAY)

        assert _purged(store, Retention()) == Purged(runs=1, events=6)

        assert store.run_row("short") is None
        assert status_of(store, "long") is RunStatus.CANCELLED
        assert len(store.events("long")) == 2

    def test_a_conversation_keeps_its_last_run(self, store: UnitOfWork, clock: ManualClock) -> None:
        """How a conversation stands is read from its last run; its messages and what it wrote stay (O1, M5)."""
        _turn(store, "c1", "r1", uid=1)
        _turn(store, "c1", "r2", uid=2)
        failed = RunScript("r3", conversation="c1")
        store.commit([failed.start(), failed.append(RunFailed(RunReason.INTERNAL, FailureCode.INTERNAL, "no luck"))])
        clock.advance(40 * _DAY)
        store.commit([said("c1", "Still there?")])
        last = store.conversation_row("c1")
        told = store.history("c1", budget=1000)

        assert _purged(store, _WITH_WRITES) == Purged(runs=2, events=12)

        assert store.conversation_row("c1") == last
        assert store.history("c1", budget=1000) == told
        assert told.writes == {"r1": (wrote(1),), "r2": (wrote(2),)}
        assert [store.run_row(run_id) is None for run_id in ("r1", "r2", "r3")] == [True, True, False]

    def test_nobody_goes_on_with_a_run_that_went(self, store: UnitOfWork, clock: ManualClock) -> None:
        """A late outcome of a run that is gone is refused like any other stale append (R3)."""
        script = RunScript("r1")
        store.commit([script.start(), script.propose(), script.intend()])
        store.commit([script.cancel()])
        clock.advance(31 * _DAY)
        _purged(store, Retention())

        with pytest.raises(StaleAppendError):
            store.commit([script.outcome(wrote(9), late=True)])
        store.commit([LetGo("r1")])
        assert store.run_row("r1") is None

    def test_windows_are_kept_apart(self, store: UnitOfWork, clock: ManualClock) -> None:
        """Each window takes what is its own, and None takes nothing."""
        _turn(store, "c1", "r1")
        _turn(store, "c1", "r2")
        _turn(store, None, "bare")
        clock.advance(1000 * _DAY)

        assert _purged(store, _FOR_EVER) == Purged()
        only_runs = Retention(conversation_days=None, run_days=5)
        assert _purged(store, only_runs) == Purged(runs=2, events=12)
        assert len(store.messages("c1")) == 4
        only_conversations = Retention(conversation_days=5, run_days=None)
        assert _purged(store, only_conversations) == Purged(conversations=1, messages=4, runs=1, events=6)

    # ---------------------------------------------------------------------------------- the feed

    def test_a_position_of_the_feed_is_given_once(self, store: UnitOfWork, clock: ManualClock) -> None:
        """A follower keeps its place although everything before it went, the newest entry included (W4)."""
        for number in range(1, 4):
            _turn(store, None, f"r{number}", uid=number)
        positions = [entry.position for entry in store.writes(after=0, limit=9)]
        clock.advance(31 * _DAY)

        assert _purged(store, _WITH_WRITES) == Purged(runs=3, events=18, writes=3)

        assert store.writes(after=0, limit=9) == ()
        _turn(store, None, "r4", uid=4)
        (entry,) = store.writes(after=positions[-1], limit=9)
        assert entry.position > positions[-1]

    def test_entries_go_with_what_they_are_of(self, store: UnitOfWork, clock: ManualClock) -> None:
        """With a window of their own they go together with their run and their conversation, no sooner (W4)."""
        _turn(store, "c1", "r1", uid=1)
        clock.advance(20 * _DAY)
        _turn(store, "c1", "r2", uid=2)
        _turn(store, None, "bare", uid=3)
        clock.advance(20 * _DAY)

        assert _purged(store, _WITH_WRITES) == Purged(runs=1, events=6)
        assert store.writes_of("r1") == (wrote(1),)
        clock.advance(10 * _DAY)
        assert _purged(store, _WITH_WRITES) == Purged(conversations=1, messages=4, runs=2, events=12, writes=3)
        assert store.writes(after=0, limit=9) == ()

    def test_the_host_names_a_position(self, store: UnitOfWork, clock: ManualClock) -> None:
        """Up to there entries go once their run is gone, those of earlier purges too; no other goes (W4)."""
        for number in range(1, 4):
            _turn(store, None, f"r{number}", uid=number)
        _turn(store, "c1", "kept", uid=4)
        first, second, third, fourth = (entry.position for entry in store.writes(after=0, limit=9))
        clock.advance(31 * _DAY)
        store.commit([said("c1", "Still there?")])

        assert _purged(store, Retention(writes_up_to=first)) == Purged(runs=3, events=18, writes=1)
        assert [entry.position for entry in store.writes(after=0, limit=9)] == [second, third, fourth]
        assert _purged(store, Retention(writes_up_to=second)) == Purged(writes=1)
        assert _purged(store, Retention(writes_up_to=2**70)) == Purged(writes=1)
        assert [entry.position for entry in store.writes(after=0, limit=9)] == [fourth]

    # -------------------------------------------------------------------------------- portions

    @pytest.mark.parametrize("limit", [1, 2, 7, 1000])
    def test_what_goes_is_told_before_and_goes_in_portions(
        self, store: UnitOfWork, clock: ManualClock, limit: int
    ) -> None:
        """A portion is about as large as asked for; together they are what was foretold, and nothing is left (O2)."""
        for number in range(1, 5):
            _turn(store, "c1", f"a{number}", uid=number)
            _turn(store, None, f"b{number}", uid=number)
        clock.advance(10 * _DAY)
        _turn(store, "c2", "c", uid=9)
        clock.advance(25 * _DAY)
        retention = Retention(write_days=30, writes_up_to=3)
        before = read_out(store, runs=("a1", "b1", "c"))

        foretold = store.purgeable(retention)

        assert read_out(store, runs=("a1", "b1", "c")) == before
        assert foretold == Purged(conversations=1, messages=8, runs=8, events=48, writes=8)
        portions: list[Purged] = []
        while not portions or portions[-1].more:
            portions.append(store.purge(retention, limit=limit))
        assert sum(portions, Purged()) == foretold
        # A conversation goes together with its last run.
        assert all(part.runs + part.conversations <= limit + 1 for part in portions)
        assert store.purgeable(retention) == Purged()
        assert [store.run_row(run_id) is None for run_id in ("a1", "b4", "c")] == [True, True, False]

    def test_tidying_changes_nothing_that_is_read(self, store: UnitOfWork, clock: ManualClock) -> None:
        """What is given back was not needed any more (E4)."""
        _turn(store, "c1", "r1", uid=1)
        before = read_out(store)

        store.tidy()

        assert read_out(store) == before

    # ------------------------------------------------------------------------------ damaged rows

    @pytest.mark.parametrize("state", ["running", "queued", "waiting", "settled"])
    def test_a_damaged_row_is_found(self, store: UnitOfWork, clock: ManualClock, state: str) -> None:
        """Once nobody drives it; a run that says it is settled is left alone, and sound ones are none (O2)."""
        opened(store, "c1")
        script, sound = RunScript("r1", conversation="c1", lease_for=60), RunScript("r2", lease_for=1)
        store.commit([sound.start(), script.start(queued=state == "queued")])
        if state == "waiting":
            store.commit([script.request()])
        if state == "settled":
            store.commit([script.cancel()])
        self.plant_row(store, "r1", code="E1")

        found = store.unreadable_runs(limit=9)
        clock.advance(61)

        later = [(run.id, run.owner, run.conversation) for run in store.unreadable_runs(limit=9)]
        assert later == ([] if state == "settled" else [("r1", "anna", "c1")])
        assert (found == ()) is (state in {"running", "settled"})
        assert store.unreadable_runs(limit=0) == ()
        with pytest.raises(StoredFormError):
            store.run_row("r1")

    def test_a_status_that_nobody_wrote_is_found(self, store: UnitOfWork) -> None:
        """What does not say that it is settled is not taken for it (E6)."""
        script = RunScript("r1", lease_for=0)
        store.commit([script.start()])
        self.plant_row(store, "r1", status="paused")

        assert [run.id for run in store.unreadable_runs(limit=9)] == ["r1"]
        store.commit([LetGo("r1", RunFailed(RunReason.INTERNAL, FailureCode.INTERRUPTED, outside=True))])
        assert store.unreadable_runs(limit=9) == ()
        assert status_of(store, "r1") is RunStatus.FAILED


def _purged(store: UnitOfWork, retention: Retention) -> Purged:
    """
    All that goes by now, in portions; as was foretold.
    """
    foretold = store.purgeable(retention)
    done = store.purge(retention, limit=3)
    while done.more:
        done += store.purge(retention, limit=3)
    assert done == foretold
    return done


def _turn(store: UnitOfWork, conversation: str | None, run_id: str, *, uid: int | None = None) -> None:
    """A whole turn: six events, two messages where there is a conversation, and a record that was written."""
    script = RunScript(run_id, conversation=conversation)
    if conversation is not None and store.conversation_row(conversation) is None:
        opened(store, conversation)
    words = [said(conversation, "Save it.", run_id=run_id)] if conversation else []
    store.commit([*words, script.start(), script.propose(), script.intend()])
    answer = [said(conversation, "Done.", role=MessageRole.ASSISTANT, run_id=run_id)] if conversation else []
    store.commit([script.outcome(*([] if uid is None else [wrote(uid)])), script.answer(), *answer])
