"""
How a process opens a segment of a run that it finds in a store: queued and due, or left alone too long.
"""

import attrs
import pytest

from nr_agent_core.domain.errors import IllegalMoveError, LeaseHeldError, StaleAppendError
from nr_agent_core.domain.run_events import ClaimReason
from nr_agent_core.domain.run_status import RunStatus
from nr_agent_core.ports.unit_of_work import AppendEvents, UnitOfWork
from nr_agent_core.testing.contracts.run_script import RunScript
from nr_agent_core.testing.contracts.store_contract import StoreContract, status_of
from nr_agent_core.testing.manual_clock import ManualClock


class ClaimingContract(StoreContract):
    """
    Every store keeps these promises about claims; part of the unit of work's contract.
    """

    def test_a_queued_run_is_claimed_once(self, store: UnitOfWork) -> None:
        """Two workers, one run: the second is refused by the sequence (R6)."""
        script = RunScript("r1")
        store.commit([script.start(queued=True)])
        other = script.copy()
        store.commit([script.claim()])

        with pytest.raises(StaleAppendError):
            store.commit([other.claim()])

    def test_a_queued_run_is_claimed_when_its_time_has_come(self, store: UnitOfWork, clock: ManualClock) -> None:
        """A retry waits for its delay (R8)."""
        script = RunScript("r1")
        store.commit([script.start(), script.requeue(not_before=clock.now() + 30)])

        clock.advance(29.5)
        with pytest.raises(LeaseHeldError) as refused:
            store.commit([script.copy().claim(ClaimReason.RETRY)])
        assert refused.value.until == clock.now() + 0.5

        clock.advance(0.5)
        store.commit([script.claim(ClaimReason.RETRY)])
        assert status_of(store, "r1") is RunStatus.RUNNING

    def test_a_running_run_is_taken_over_when_its_lease_has_expired(
        self, store: UnitOfWork, clock: ManualClock
    ) -> None:
        """The lease is read at the claim alone (R8)."""
        script = RunScript("r1", lease_for=60)
        store.commit([script.start()])

        clock.advance(59.5)
        with pytest.raises(LeaseHeldError) as refused:
            store.commit([script.copy().claim(ClaimReason.RECOVERY)])
        assert refused.value.until == clock.now() + 0.5

        clock.advance(0.5)
        store.commit([script.claim(ClaimReason.RECOVERY)])
        row = store.run_row("r1")
        assert row is not None
        assert (row.sequence, row.lease_until) == (2, clock.now() + 60)

    def test_every_append_of_a_running_run_renews_its_lease(self, store: UnitOfWork, clock: ManualClock) -> None:
        """Whoever works is left alone (R8)."""
        script = RunScript("r1", lease_for=60)
        store.commit([script.start()])
        clock.advance(50)
        store.commit([script.propose()])
        clock.advance(50)

        with pytest.raises(LeaseHeldError):
            store.commit([script.copy().claim(ClaimReason.RECOVERY)])

    def test_an_expired_lease_stops_nobody_but_claims(self, store: UnitOfWork, clock: ManualClock) -> None:
        """The lease guards against needless takeover, never against the driver itself (R8)."""
        script = RunScript("r1", lease_for=60)
        store.commit([script.start()])
        clock.advance(1000)
        store.commit([script.answer()])

        assert status_of(store, "r1") is RunStatus.COMPLETED

    def test_after_a_takeover_the_older_worker_is_refused(self, store: UnitOfWork, clock: ManualClock) -> None:
        """A takeover is an append, so the sequence refuses whoever slept (R3)."""
        script = RunScript("r1", lease_for=60)
        store.commit([script.start()])
        sleeper = script.copy()
        clock.advance(61)
        store.commit([script.claim(ClaimReason.RECOVERY)])

        with pytest.raises(StaleAppendError):
            store.commit([sleeper.answer()])

    def test_a_stale_claim_is_stale_though_the_lease_stands(self, store: UnitOfWork) -> None:
        """The sequence is the first thing that is said (R3)."""
        script = RunScript("r1", lease_for=60)
        store.commit([script.start()])
        other = script.copy()
        store.commit([script.propose()])

        with pytest.raises(StaleAppendError):
            store.commit([other.claim(ClaimReason.RECOVERY)])

    def test_a_waiting_run_is_not_claimed(self, store: UnitOfWork) -> None:
        """A decision alone goes on from a pause (R1)."""
        script = RunScript("r1")
        store.commit([script.start()])
        taken = script.copy().claim(ClaimReason.RECOVERY)
        store.commit([script.request()])
        forged = AppendEvents(attrs.evolve(taken.run, sequence=4), 3, taken.events)

        with pytest.raises(IllegalMoveError):
            store.commit([forged])

        assert status_of(store, "r1") is RunStatus.WAITING_FOR_APPROVAL
