"""
The contract of :class:`~nr_agent_core.ports.unit_of_work.UnitOfWork`: one commit, all of it or nothing.
"""

import threading
from collections.abc import Sequence

import pytest

from nr_agent_core.domain.errors import (
    ConversationBusyError,
    InvalidValueError,
    NotFoundError,
    StaleAppendError,
)
from nr_agent_core.domain.failures import FailureCode
from nr_agent_core.domain.notices import Notice, NoticeCode
from nr_agent_core.domain.run import fold
from nr_agent_core.domain.run_events import RunFailed
from nr_agent_core.domain.run_status import RunReason, RunStatus
from nr_agent_core.ports.unit_of_work import AppendEvents, Change, LetGo, OpenConversation, UnitOfWork
from nr_agent_core.testing.contracts.claiming import ClaimingContract
from nr_agent_core.testing.contracts.conversation_store import ConversationStoreContract
from nr_agent_core.testing.contracts.privacy import PrivacyContract
from nr_agent_core.testing.contracts.retention import RetentionContract
from nr_agent_core.testing.contracts.run_script import RunScript, wrote
from nr_agent_core.testing.contracts.run_store import RunStoreContract
from nr_agent_core.testing.contracts.settling import SettlingContract
from nr_agent_core.testing.contracts.store_contract import joined, opened, read_out, said, status_of
from nr_agent_core.testing.manual_clock import ManualClock


class UnitOfWorkContract(
    RunStoreContract, ConversationStoreContract, ClaimingContract, SettlingContract, PrivacyContract, RetentionContract
):
    """
    Every store keeps these promises about commits, and the contracts of runs and conversations.
    """

    def test_the_store_tells_the_time_of_its_clock(self, store: UnitOfWork, clock: ManualClock) -> None:
        """Stamps, leases and expiry are in the store's time (R8)."""
        clock.advance(1.5)

        assert store.now() == clock.now()

    # ---------------------------------------------------------------------- the expected sequence

    def test_a_stale_append_is_refused(self, store: UnitOfWork) -> None:
        """Of two processes at the same event one goes on; the other is told where the run is (R3)."""
        script = RunScript("r1")
        store.commit([script.start()])
        other = script.copy()
        store.commit([script.request()])

        with pytest.raises(StaleAppendError) as refused:
            store.commit([other.answer()])

        assert (refused.value.run_id, refused.value.expected, refused.value.found) == ("r1", 1, 3)
        assert [entry.event for entry in store.events("r1")] == script.events

    def test_a_run_begins_once(self, store: UnitOfWork) -> None:
        """A run id is unique: a second beginning is stale (R3)."""
        store.commit([RunScript("r1").start()])

        with pytest.raises(StaleAppendError) as refused:
            store.commit([RunScript("r1", owner="berta").start()])

        assert refused.value.found == 1
        row = store.run_row("r1")
        assert row is not None
        assert row.owner == "anna"

    def test_an_append_to_a_run_that_was_never_stored_is_stale(self, store: UnitOfWork) -> None:
        """There is nothing to go on from."""
        script = RunScript("r1")
        script.start()

        with pytest.raises(StaleAppendError) as refused:
            store.commit([script.answer()])

        assert refused.value.found == 0
        assert store.run_row("r1") is None

    def test_an_append_from_ahead_is_stale(self, store: UnitOfWork) -> None:
        """The expected sequence is compared for equality, in both directions (R3)."""
        script = RunScript("r1")
        store.commit([script.start()])
        script.request()

        with pytest.raises(StaleAppendError):
            store.commit([script.decide()])

    def test_a_state_that_does_not_follow_is_refused(self, store: UnitOfWork) -> None:
        """An append brings the state after its events; another one is the caller's mistake."""
        script = RunScript("r1")
        change = script.start()
        wrong = [
            AppendEvents(change.run, 0, ()),
            AppendEvents(change.run, 1, change.events),
            AppendEvents(change.run, 0, change.events * 2),
        ]
        for each in wrong:
            with pytest.raises(InvalidValueError):
                store.commit([each])

        assert store.run_row("r1") is None

    def test_several_appends_of_one_run_in_a_commit_follow_each_other(self, store: UnitOfWork) -> None:
        """Changes are stored in their order."""
        script = RunScript("r1")
        store.commit([script.start(), script.request(), script.decide(), script.intend(), script.outcome(wrote(1))])

        assert fold("r1", (entry.event for entry in store.events("r1"))) == script.run

    # ------------------------------------------------------------------------------ conversations

    def test_a_conversation_has_one_unsettled_run(self, store: UnitOfWork) -> None:
        """A second run is refused while one is at work, waits or is queued (O1)."""
        opened(store, "c1", "c2")
        first = RunScript("r1", conversation="c1")
        store.commit([first.start()])
        self._refuses_a_second_run(store)
        store.commit([first.requeue(not_before=0.0)])
        self._refuses_a_second_run(store)
        store.commit([first.claim(), first.request()])
        self._refuses_a_second_run(store)
        store.commit([RunScript("elsewhere", conversation="c2").start(), RunScript("bare").start()])

        store.commit([first.cancel()])
        store.commit([RunScript("r2", conversation="c1").start()])
        assert status_of(store, "r2") is RunStatus.RUNNING

    def test_a_turn_that_fails_at_once_is_refused_while_a_run_is_unsettled(self, store: UnitOfWork) -> None:
        """Begun and ended in one commit is a turn like any other (G0, O1)."""
        opened(store, "c1")
        store.commit([RunScript("r1", conversation="c1").start()])
        second = RunScript("r2", conversation="c1")
        begun = second.start()
        failed = RunFailed(RunReason.NOT_CONFIGURED, FailureCode.CHAT_NOT_CONFIGURED)
        at_once = AppendEvents(second.run.after(failed), 0, (*begun.events, failed))

        with pytest.raises(ConversationBusyError):
            store.commit([at_once])

        store.commit([LetGo("r1"), at_once])
        assert status_of(store, "r2") is RunStatus.FAILED

    def test_a_superseding_turn_is_one_commit(self, store: UnitOfWork) -> None:
        """The old run ends, its message, the new message and the new run stand together (C6)."""
        opened(store, "c1")
        old, new = RunScript("r1", conversation="c1"), RunScript("r2", conversation="c1")
        store.commit([said("c1", "Save it.", run_id="r1"), old.start(message=0)])
        store.commit([old.request()])
        ended = Notice(NoticeCode.RUN_ENDED, {"status": "cancelled", "reason": "superseded", "code": None, "tools": []})
        store.commit(
            [
                old.cancel(RunReason.SUPERSEDED),
                said("c1", "", run_id="r1", notices=(ended,), position=1),
                said("c1", "Something else.", run_id="r2", position=2),
                new.start(message=2),
            ]
        )

        row = store.conversation_row("c1")
        assert row is not None
        assert row.last_run == store.run_row("r2")
        assert status_of(store, "r1") is RunStatus.CANCELLED
        assert [message.run_id for message in store.messages("c1")] == ["r1", "r1", "r2"]

    def test_a_superseding_turn_that_loses_its_race_leaves_nothing(self, store: UnitOfWork) -> None:
        """A decision that came first stands; nothing of the new turn is stored (C6)."""
        opened(store, "c1")
        old, new = RunScript("r1", conversation="c1"), RunScript("r2", conversation="c1")
        store.commit([old.start(), old.request()])
        late = old.copy()
        store.commit([old.decide()])

        with pytest.raises(StaleAppendError):
            store.commit([late.cancel(RunReason.SUPERSEDED), said("c1", "New.", run_id="r2"), new.start()])

        assert status_of(store, "r1") is RunStatus.RUNNING
        assert store.run_row("r2") is None
        assert store.messages("c1") == ()

    def test_a_position_is_taken_once(self, store: UnitOfWork) -> None:
        """Of two messages for one position the second is told that the conversation went on (O1)."""
        opened(store, "c1")
        store.commit([said("c1", "One.", position=0)])

        with pytest.raises(ConversationBusyError):
            store.commit([said("c1", "Uno.", position=0)])

        store.commit([said("c1", "Two.", position=1), said("c1", "Three.")])
        assert [(m.position, m.text) for m in store.messages("c1")] == [(0, "One."), (1, "Two."), (2, "Three.")]

    def test_no_position_is_left_out(self, store: UnitOfWork) -> None:
        """A position that is not the next one is no race but a mistake."""
        opened(store, "c1")

        with pytest.raises(InvalidValueError):
            store.commit([said("c1", "One.", position=1)])

        assert store.messages("c1") == ()

    def test_a_conversation_is_opened_once(self, store: UnitOfWork) -> None:
        """Who comes second keeps nothing of it."""
        opened(store, "c1")

        with pytest.raises(ConversationBusyError):
            store.commit([OpenConversation("c1", "berta"), said("c1", "Mine.")])

        row = store.conversation_row("c1")
        assert row is not None
        assert (row.owner, row.last_position) == ("anna", -1)

    def test_nothing_is_added_to_a_conversation_that_is_not_there(self, store: UnitOfWork) -> None:
        """Neither messages nor runs make a conversation."""
        for change in (said("c1", "One."), RunScript("r1", conversation="c1").start()):
            with pytest.raises(NotFoundError):
                store.commit([change])

        assert store.conversation_row("c1") is None
        assert store.run_row("r1") is None

    # --------------------------------------------------------------------------- all or nothing

    @pytest.mark.parametrize("place", range(5))
    def test_a_commit_is_all_or_nothing(self, store: UnitOfWork, place: int) -> None:
        """Wherever a refused change stands among others, nothing of the commit is stored (R3)."""
        opened(store, "c1")
        standing = RunScript("standing")
        store.commit([standing.start()])
        stale = standing.copy()
        store.commit([standing.propose(), standing.intend(), standing.outcome(wrote(1))])
        script = RunScript("r1", conversation="c1")
        good: list[Change] = [
            OpenConversation("c2", "anna"),
            said("c1", "One.", run_id="r1"),
            script.start(),
            joined(script.propose(), script.intend(), script.outcome(wrote(2))),
        ]
        good.insert(place, stale.answer())
        before = read_out(store)

        with pytest.raises(StaleAppendError):
            store.commit(good)

        assert read_out(store) == before
        del good[place]
        store.commit(good)
        assert [entry.written.reference.uid for entry in store.writes(after=0, limit=10)] == [1, 2]

    def test_an_empty_commit_changes_nothing(self, store: UnitOfWork) -> None:
        """There is nothing to refuse."""
        store.commit([])

        assert read_out(store) == read_out(store)

    @pytest.mark.parametrize("bad", ["\ud800", "ok \udfff", "😀\ud83d"])
    def test_a_text_that_nothing_can_hold_is_refused(self, store: UnitOfWork, bad: str) -> None:
        """Half a surrogate pair raises a typed error, stores nothing and blocks nobody (P3)."""
        opened(store, "c1")
        script = RunScript("r1", conversation="c1")
        start = script.start()
        notice = Notice(NoticeCode.CALL_NOT_MADE, {"tools": [bad]})
        refused: list[Sequence[Change]] = [
            [said("c1", bad)],
            [said("c1", "fine", notices=(notice,))],
            [said("c1", "fine", run_id=bad)],
            [said(bad, "fine")],
            [OpenConversation(bad, "anna")],
            [OpenConversation("c2", bad)],
            [RunScript("r2", conversation="c1").start(text=bad)],
            [RunScript("r2", owner=bad).start()],
            [RunScript(bad).start()],
        ]
        for changes in refused:
            with pytest.raises(InvalidValueError) as error:
                store.commit([start, *changes])
            assert bad not in str(error.value)

        assert store.conversation_row(bad) is None
        assert store.run_row(bad) is None
        assert store.messages(bad) == ()
        assert store.writes_of(bad) == ()
        assert store.history(bad, budget=1).messages == ()
        assert store.run_row("r1") is None
        store.commit([start, said("c1", "fine")])
        assert status_of(store, "r1") is RunStatus.RUNNING

    # ----------------------------------------------------------------------------------- threads

    def test_threads_share_a_store(self, store: UnitOfWork) -> None:
        """Of many threads at one event exactly one goes on; each sees what the others stored (R3)."""
        store.commit([RunScript("r1").start()])
        outcomes: list[str] = []
        barrier = threading.Barrier(6)

        def decide(number: int) -> None:
            script = RunScript("r1")
            script.start()
            change = script.answer(f"By {number}.")
            barrier.wait(30)
            try:
                store.commit([change])
                outcomes.append("stored")
            except StaleAppendError:
                outcomes.append("stale")
            finally:
                store.close()

        threads = [threading.Thread(target=decide, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)

        assert sorted(outcomes) == ["stale"] * 5 + ["stored"]
        assert len(store.events("r1")) == 3

    def test_a_closed_store_can_be_used_again(self, store: UnitOfWork) -> None:
        """Closing lets go of what this thread holds; what is stored stays."""
        opened(store, "c1")
        store.close()
        store.close()

        assert store.conversation_row("c1") is not None

    def _refuses_a_second_run(self, store: UnitOfWork) -> None:
        with pytest.raises(ConversationBusyError) as refused:
            store.commit([said("c1", "More.", run_id="r2"), RunScript("r2", conversation="c1").start()])
        assert refused.value.conversation == "c1"
        assert store.run_row("r2") is None
        assert store.messages("c1") == ()
