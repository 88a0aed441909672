"""
How a run ends in a store: what is forgotten, what may still come, and how a run is let go.
"""

import pytest

from nr_agent_core.domain.errors import StaleAppendError
from nr_agent_core.domain.failures import FailureCode
from nr_agent_core.domain.run_events import ModelAnswered, RunCancelled, RunFailed, Started, ToolFinished
from nr_agent_core.domain.run_status import RunReason, RunStatus
from nr_agent_core.domain.tool_result import Outcome
from nr_agent_core.ports.unit_of_work import LetGo, UnitOfWork
from nr_agent_core.testing.contracts.run_script import RunScript, wrote
from nr_agent_core.testing.contracts.store_contract import StoreContract, joined, opened, read_out, status_of
from nr_agent_core.testing.manual_clock import ManualClock


class SettlingContract(StoreContract):
    """
    Every store keeps these promises about runs that end; part of the unit of work's contract.
    """

    # ---------------------------------------------------------------------------------- content

    def test_content_stays_while_a_run_is_unsettled(self, store: UnitOfWork) -> None:
        """What is needed to go on is there, in whatever process (R2, E4)."""
        script = RunScript("r1")
        store.commit([script.start(text="The text."), script.request()])

        started, answered, _ = (entry.event for entry in store.events("r1"))

        assert isinstance(started, Started)
        assert started.text == "The text."
        assert isinstance(answered, ModelAnswered)
        assert answered.arguments == ('{"title":"Team"}',)

    def test_content_is_forgotten_when_the_run_settles(self, store: UnitOfWork) -> None:
        """Texts, arguments and results go; facts, lengths and counts stay (E4)."""
        other = RunScript("other")
        script = RunScript("r1")
        store.commit([other.start(text="Kept."), script.start(text="Gone."), script.propose(), script.intend()])
        store.commit([script.outcome(wrote(1))])
        store.commit([script.answer("An answer.")])

        started, proposed, _, finished, answered, _ = (entry.event for entry in store.events("r1"))

        assert isinstance(started, Started)
        assert isinstance(proposed, ModelAnswered)
        assert isinstance(finished, ToolFinished)
        assert isinstance(answered, ModelAnswered)
        assert (started.text, started.owner) == (None, "anna")
        assert (proposed.arguments, proposed.calls[0].tool) == (None, "save_page")
        assert (finished.text, finished.length, finished.writes) == (None, 6, (wrote(1),))
        assert (answered.text, answered.length) == (None, 10)
        (kept,) = (entry.event for entry in store.events("other"))
        assert isinstance(kept, Started)
        assert kept.text == "Kept."

    @pytest.mark.parametrize("way", ["cancel", "let go", "at once"])
    def test_content_is_forgotten_however_the_run_ends(self, store: UnitOfWork, way: str) -> None:
        """Cancelled, let go or begun and ended in one commit: nothing of it stays (E4)."""
        script = RunScript("r1")
        if way == "at once":
            store.commit([joined(script.start(), script.request(), script.cancel())])
        else:
            store.commit([script.start(), script.request()])
            store.commit([script.cancel() if way == "cancel" else LetGo("r1")])

        for entry in store.events("r1"):
            assert getattr(entry.event, "text", None) is None
            assert getattr(entry.event, "arguments", None) is None

    def test_a_late_outcome_brings_no_content(self, store: UnitOfWork, clock: ManualClock) -> None:
        """Neither on a settled run nor on one that waits, and no lease is touched by it (E4, R7)."""
        settled = RunScript("settled")
        store.commit([settled.start(), settled.propose(), settled.intend()])
        store.commit([settled.cancel()])
        queued = RunScript("queued")
        store.commit([queued.start(), queued.propose(), queued.intend(), queued.requeue(not_before=clock.now() + 9)])
        rows = {name: store.run_row(name) for name in ("settled", "queued")}

        for script in (settled, queued):
            store.commit([script.outcome(wrote(1), late=True)])
            finished = store.events(script.run.id)[-1].event
            row, before = store.run_row(script.run.id), rows[script.run.id]
            assert isinstance(finished, ToolFinished)
            assert (finished.text, finished.late, finished.writes) == (None, True, (wrote(1),))
            assert row is not None
            assert before is not None
            assert (row.lease_until, row.not_before, row.status) == (
                before.lease_until,
                before.not_before,
                before.status,
            )

    def test_a_late_outcome_renews_no_lease(self, store: UnitOfWork, clock: ManualClock) -> None:
        """What became known of an earlier call says nothing about who is at work now (R7, R8)."""
        script = RunScript("r1", lease_for=60)
        store.commit([script.start(), script.propose(), script.intend(), script.outcome(outcome=Outcome.UNKNOWN)])
        until = clock.now() + 60
        clock.advance(30)

        store.commit([script.outcome(wrote(1), late=True)])

        row = store.run_row("r1")
        assert row is not None
        assert (row.status, row.lease_until) == (RunStatus.RUNNING, until)

    # ------------------------------------------------------------------------------------ let go

    @pytest.mark.parametrize("state", ["running", "queued", "waiting"])
    def test_letting_go_ends_an_unsettled_run(self, store: UnitOfWork, clock: ManualClock, state: str) -> None:
        """``cancelled``/``superseded`` stands behind the row's sequence (C5)."""
        opened(store, "c1")
        script = RunScript("r1", conversation="c1")
        store.commit([script.start(queued=state == "queued")])
        if state == "waiting":
            store.commit([script.request(expires_at=clock.now() + 10)])
        decider = script.copy()
        clock.advance(3)

        store.commit([LetGo("r1"), RunScript("r2", conversation="c1").start()])

        last, row = store.events("r1")[-1], store.run_row("r1")
        assert (last.event, last.at) == (RunCancelled(RunReason.SUPERSEDED), clock.now())
        assert last.number == script.run.sequence
        assert row is not None
        assert (row.status, row.reason, row.sequence) == (
            RunStatus.CANCELLED,
            RunReason.SUPERSEDED,
            script.run.sequence + 1,
        )
        assert (row.lease_until, row.expires_at) == (0.0, None)
        with pytest.raises(StaleAppendError):
            store.commit([decider.cancel()])

    @pytest.mark.parametrize("queued", [False, True])
    def test_the_row_says_what_the_last_event_says(self, store: UnitOfWork, *, queued: bool) -> None:
        """A run that upkeep ends is failed with its code, ended outside its chat, and frees the conversation (O2)."""
        opened(store, "c1")
        store.commit([RunScript("r1", conversation="c1").start(queued=queued)])
        ended = RunFailed(RunReason.INTERNAL, FailureCode.INTERRUPTED, "a \0 in it", outside=True)

        store.commit([LetGo("r1", ended), RunScript("r2", conversation="c1").start()])

        row = store.run_row("r1")
        assert row is not None
        assert (row.status, row.reason, row.code) == (RunStatus.FAILED, ended.reason, ended.code)
        assert (row.error, row.outside) == (ended.text, True)
        assert store.events("r1")[-1].event == ended

    def test_letting_go_of_a_settled_run_or_none_changes_nothing(self, store: UnitOfWork) -> None:
        """There is nothing left to end (C5)."""
        script = RunScript("r1")
        store.commit([script.start(), script.answer()])
        before = read_out(store)

        store.commit([LetGo("r1"), LetGo("nobody")])

        assert read_out(store) == before

    def test_letting_go_needs_no_readable_stream(self, store: UnitOfWork) -> None:
        """A run that nobody can read is ended without being read (C5)."""
        opened(store, "c1")
        script = RunScript("r1", conversation="c1")
        store.commit([script.start()])
        self.plant(store, "r1", 0, facts="no JSON")

        store.commit([LetGo("r1"), RunScript("r2", conversation="c1").start()])

        assert status_of(store, "r1") is RunStatus.CANCELLED
        assert status_of(store, "r2") is RunStatus.RUNNING
