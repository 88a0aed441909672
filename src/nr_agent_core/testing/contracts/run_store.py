"""
The contract of :class:`~nr_agent_core.ports.run_store.RunStore`.
"""

import pytest

from nr_agent_core.domain.errors import NewerFormError, RunUnreadableError, StoredFormError
from nr_agent_core.domain.failures import FailureCode
from nr_agent_core.domain.provenance import AiRecordWritten, StoredWrite
from nr_agent_core.domain.run import fold
from nr_agent_core.domain.run_events import ApprovalDecided, DecisionPlace, RunFailed, Started
from nr_agent_core.domain.run_status import RunReason, RunStatus
from nr_agent_core.domain.tool_result import Outcome, RecordReference, WriteKind
from nr_agent_core.ports.run_store import RunRow
from nr_agent_core.ports.unit_of_work import UnitOfWork
from nr_agent_core.testing.contracts.run_script import RunScript, wrote
from nr_agent_core.testing.contracts.store_contract import StoreContract, opened
from nr_agent_core.testing.manual_clock import ManualClock


class RunStoreContract(StoreContract):
    """
    Every store keeps these promises about runs.
    """

    # ------------------------------------------------------------------------------- the stream

    def test_a_stream_is_read_as_it_was_appended(self, store: UnitOfWork, clock: ManualClock) -> None:
        """Events come back equal, numbered from 0, each with the time of its commit (R2)."""
        script = RunScript("r1")
        began = clock.now()
        store.commit([script.start()])
        clock.advance(5)
        store.commit([script.request()])

        stored = store.events("r1")

        assert [entry.number for entry in stored] == [0, 1, 2]
        assert [entry.event for entry in stored] == script.events
        assert [entry.at for entry in stored] == [began, began + 5, began + 5]
        assert fold("r1", (entry.event for entry in stored)) == script.run

    def test_a_stream_can_be_read_from_anywhere(self, store: UnitOfWork) -> None:
        """``after`` leaves out what a follower has seen; past the end there is nothing, and no error."""
        script = RunScript("r1")
        store.commit([script.start(), script.request()])

        assert [entry.number for entry in store.events("r1", after=0)] == [1, 2]
        assert store.events("r1", after=2) == ()
        assert store.events("r1", after=99) == ()

    @pytest.mark.parametrize("after", [-1, 0, 5])
    def test_a_run_that_is_not_there_has_no_empty_stream(self, store: UnitOfWork, after: int) -> None:
        """A stream that cannot be found is an error of its own (E5)."""
        with pytest.raises(RunUnreadableError) as refused:
            store.events("nobody", after=after)

        assert refused.value.run_id == "nobody"
        assert store.run_row("nobody") is None

    def test_every_text_comes_back_as_it_was(self, store: UnitOfWork) -> None:
        """NUL, quotes, emoji and line ends are given back character by character (P3)."""
        text = "a\0b\x10c\x10@ 'q' \"d\" \\ \r\n\t😀 é e\u0301 \u2028"
        script = RunScript("r1", owner="o\0w'ner")
        store.commit([script.start(text=text)])

        (stored,) = store.events("r1")

        assert isinstance(stored.event, Started)
        assert (stored.event.text, stored.event.owner) == (text, "o\0w'ner")

    # ------------------------------------------------------------------------------ damaged rows

    @pytest.mark.parametrize("approved", ['"false"', '"true"', "0", "1", "null", "[]"])
    def test_a_damaged_decision_is_never_read_as_one(self, store: UnitOfWork, approved: str) -> None:
        """Nothing is coerced: what is not exactly true or false is damage (E6)."""
        script = self._decided(store)
        facts = f'{{"approved":{approved},"decided_by":"b","where":"chat","digest":"d"}}'
        self.plant(store, script.run.id, 3, facts=facts)

        with pytest.raises(StoredFormError):
            store.events("r1")

    @pytest.mark.parametrize("facts", ["", "{", "[]", "null", '{"owner":"a"}', '{"owner":"a","max_rounds":5,"more":1}'])
    def test_damaged_facts_are_damage(self, store: UnitOfWork, facts: str) -> None:
        """A missing or an unknown fact is damage, never a default (E6)."""
        self._decided(store)
        self.plant(store, "r1", 0, facts=facts)

        with pytest.raises(StoredFormError):
            store.events("r1")

    def test_damaged_content_is_damage(self, store: UnitOfWork) -> None:
        """Content is read as strictly as facts are (E6)."""
        self._decided(store)
        self.plant(store, "r1", 0, content='{"text":5}')

        with pytest.raises(StoredFormError):
            store.events("r1")

    @pytest.mark.parametrize("kind", ["approval.2", "approval.10", "weighed"])
    def test_a_newer_form_is_named_as_such(self, store: UnitOfWork, kind: str) -> None:
        """A form of a later release is refused with an error of its own (E6)."""
        self._decided(store)
        self.plant(store, "r1", 3, kind=kind)

        with pytest.raises(NewerFormError):
            store.events("r1")

    @pytest.mark.parametrize("after", [-1, 0, 1])
    def test_a_stream_without_its_beginning_cannot_be_read(self, store: UnitOfWork, after: int) -> None:
        """A stream that does not begin with ``started`` is no stream (E5)."""
        self._decided(store)
        self.remove(store, "r1", 0)

        with pytest.raises(RunUnreadableError):
            store.events("r1", after=after)

    @pytest.mark.parametrize("number", [1, 2, 3])
    def test_a_stream_with_a_gap_cannot_be_read(self, store: UnitOfWork, number: int) -> None:
        """An event that is missing, in between or at the end, is never passed over (E5)."""
        self._decided(store)
        self.remove(store, "r1", number)

        with pytest.raises(RunUnreadableError):
            store.events("r1")

    # ------------------------------------------------------------------------------------ the row

    def test_the_row_tells_what_the_stream_tells(self, store: UnitOfWork, clock: ManualClock) -> None:
        """The row beside the stream follows every append (R2)."""
        opened(store, "c1")
        script = RunScript("r1", conversation="c1")
        began = clock.now()
        store.commit([script.start(message=7)])
        assert store.run_row("r1") == _row(script, began, message=7, lease_until=began + 60)

        clock.advance(1)
        store.commit([script.request(expires_at=began + 3600)])
        assert store.run_row("r1") == _row(script, began, message=7, expires_at=began + 3600)

        clock.advance(1)
        store.commit([script.decide()])
        assert store.run_row("r1") == _row(script, began, message=7, lease_until=began + 62)

        store.commit([script.requeue(not_before=began + 500)])
        assert store.run_row("r1") == _row(script, began, message=7, not_before=began + 500)

        clock.advance(1000)
        store.commit([script.claim()])
        store.commit(
            [script.append(RunFailed(RunReason.PROVIDER_FAILED, FailureCode.RATE_LIMITED, "too\0many", outside=True))]
        )
        assert store.run_row("r1") == _row(script, began, message=7, not_before=began + 500)
        assert script.run.error == "too\0many"

    def test_a_decision_from_outside_is_marked(self, store: UnitOfWork) -> None:
        """The row says when something its chat did not cause moved the run (C4)."""
        script = RunScript("r1")
        store.commit([script.start(), script.request()])
        digest = script.run.rounds[-1].request
        assert digest is not None
        store.commit([script.append(ApprovalDecided(True, "berta", DecisionPlace.OUTSIDE, digest.digest, None))])

        row = store.run_row("r1")

        assert row is not None
        assert (row.outside, row.status) == (True, RunStatus.QUEUED)

    # ---------------------------------------------------------------------------------- waiting

    def test_what_waits_is_listed_oldest_first(self, store: UnitOfWork, clock: ManualClock) -> None:
        """The inbox begins with what has waited longest (A5)."""
        scripts = [RunScript(f"r{number}") for number in (3, 1, 2, 5, 4)]
        for script in scripts:
            store.commit([script.start(), script.request()])
            clock.advance(1)
        store.commit([scripts[1].decide()])
        store.commit([scripts[3].cancel()])

        assert [row.id for row in store.waiting_runs(limit=10)] == ["r3", "r2", "r4"]
        assert [row.id for row in store.waiting_runs(limit=2)] == ["r3", "r2"]
        assert store.waiting_runs(limit=0) == ()

    # --------------------------------------------------------------------------------------- due

    def test_upkeep_finds_what_is_overdue_longest_first(self, store: UnitOfWork, clock: ManualClock) -> None:
        """Expired leases, queued runs past their time, and expired approvals (O2, R8, A4)."""
        start = clock.now()
        running, queued, waiting = RunScript("running", lease_for=100), RunScript("queued"), RunScript("waiting")
        store.commit(
            [running.start(), queued.start(queued=True), waiting.start(), waiting.request(expires_at=start + 50)]
        )
        later = RunScript("later")
        store.commit([later.start(), later.requeue(not_before=start + 30)])
        forever, settled = RunScript("forever"), RunScript("settled")
        store.commit([forever.start(), forever.request(), settled.start(), settled.answer()])

        def due() -> list[str]:
            return [row.id for row in store.due_runs(queued_grace=300, limit=10)]

        clock.advance(49.5)
        assert due() == []
        clock.advance(0.5)
        assert due() == ["waiting"]
        clock.advance(50)
        assert due() == ["waiting", "running"]
        clock.advance(200)
        assert due() == ["waiting", "running", "queued"]
        clock.advance(30)
        assert due() == ["waiting", "running", "queued", "later"]
        assert [row.id for row in store.due_runs(queued_grace=300, limit=2)] == ["waiting", "running"]
        assert store.due_runs(queued_grace=300, limit=0) == ()

    def test_a_queued_run_has_its_grace(self, store: UnitOfWork, clock: ManualClock) -> None:
        """A queued run is left to its workers for a while after its time has come (O2)."""
        script, start = RunScript("r1"), clock.now()
        store.commit([script.start(), script.requeue(not_before=start + 10)])

        clock.advance(309)
        assert store.due_runs(queued_grace=300, limit=10) == ()
        clock.advance(1)
        assert [row.id for row in store.due_runs(queued_grace=300, limit=10)] == ["r1"]

    @pytest.mark.parametrize("decided", [False, True])
    def test_a_run_that_was_handed_over_is_due_from_then_on(
        self, store: UnitOfWork, clock: ManualClock, *, decided: bool
    ) -> None:
        """Its workers have the whole grace, and a late outcome changes nothing about it (R8, O2)."""
        script = RunScript("r1")
        store.commit([script.start(queued=not decided)])
        if decided:
            clock.advance(50)
            store.commit([script.request()])
            clock.advance(50)
            store.commit([script.decide(queued=True)])
        clock.advance(299)
        assert store.due_runs(queued_grace=300, limit=10) == ()
        clock.advance(1)
        assert [row.id for row in store.due_runs(queued_grace=300, limit=10)] == ["r1"]
        store.commit([script.claim()])

    # -------------------------------------------------------------------------------- the writes

    def test_the_feed_holds_every_stored_write_in_commit_order(self, store: UnitOfWork) -> None:
        """Positions rise, and the three values are those that were announced (E2, W3, W4)."""
        first, second = RunScript("r1"), RunScript("r2")
        store.commit([first.start(), first.propose(), first.intend()])
        store.commit([second.start(), second.propose(), second.intend()])
        store.commit([second.outcome(wrote(42), wrote("42", WriteKind.DELETED))])
        store.commit([first.outcome(wrote(42, WriteKind.UPDATED))])

        feed = store.writes(after=0, limit=100)

        assert [entry.written for entry in feed] == [
            AiRecordWritten("r2", RecordReference("pages", 42), WriteKind.CREATED),
            AiRecordWritten("r2", RecordReference("pages", "42"), WriteKind.DELETED),
            AiRecordWritten("r1", RecordReference("pages", 42), WriteKind.UPDATED),
        ]
        positions = [entry.position for entry in feed]
        assert positions == sorted(set(positions))
        assert positions[0] > 0

    def test_the_feed_is_followed_by_position(self, store: UnitOfWork) -> None:
        """A follower that asks behind what it saw misses nothing and gets nothing twice (W4)."""
        script = RunScript("r1")
        store.commit([script.start()])
        for uid in range(1, 8):
            store.commit([script.propose(), script.intend(), script.outcome(wrote(uid))])

        seen: list[StoredWrite] = []
        while page := store.writes(after=seen[-1].position if seen else 0, limit=3):
            seen.extend(page)

        assert [entry.written.reference.uid for entry in seen] == list(range(1, 8))
        assert store.writes(after=0, limit=0) == ()

    def test_the_writes_of_a_run_name_each_record_once(self, store: UnitOfWork) -> None:
        """One entry a record, in order, the last kind counting (M5)."""
        script = RunScript("r1")
        store.commit([script.start()])
        for write in (wrote(1), wrote("a"), wrote(1, WriteKind.UPDATED), wrote(2), wrote("a", WriteKind.DELETED)):
            store.commit([script.propose(), script.intend(), script.outcome(write)])

        assert store.writes_of("r1") == (
            wrote(1, WriteKind.UPDATED),
            wrote("a", WriteKind.DELETED),
            wrote(2),
        )
        assert store.writes_of("nobody") == ()

    @pytest.mark.parametrize("uid", [1, 2**63 - 1, 2**63, 10**40, "0", "007", "A~b.c-d_e", "x" * 128])
    def test_a_uid_keeps_its_type_and_size(self, store: UnitOfWork, uid: int | str) -> None:
        """A number stays a number and a text a text, whatever its size (T6)."""
        script = RunScript("r1")
        store.commit([script.start(), script.propose(), script.intend(), script.outcome(wrote(uid))])

        (write,) = store.writes_of("r1")
        (entry,) = store.writes(after=0, limit=1)

        assert write == wrote(uid)
        assert type(write.reference.uid) is type(uid)
        assert entry.written.reference == write.reference

    def test_a_late_outcome_enters_the_feed(self, store: UnitOfWork) -> None:
        """What became known after the run ended is stored and told like any other write (R7, E2)."""
        script = RunScript("r1")
        store.commit([script.start(), script.propose(), script.intend()])
        store.commit([script.cancel()])
        store.commit([script.outcome(wrote(9), late=True)])

        row = store.run_row("r1")

        assert store.writes_of("r1") == (wrote(9),)
        assert row is not None
        assert (row.status, row.sequence) == (RunStatus.CANCELLED, 5)

    def test_an_outcome_without_writes_leaves_the_feed_alone(self, store: UnitOfWork) -> None:
        """An unknown outcome announces nothing and adds nothing (W3)."""
        script = RunScript("r1")
        store.commit([script.start(), script.propose(), script.intend(), script.outcome(outcome=Outcome.UNKNOWN)])

        assert store.writes(after=0, limit=10) == ()

    def _decided(self, store: UnitOfWork) -> RunScript:
        script = RunScript("r1")
        store.commit([script.start(), script.request()])
        store.commit([script.decide()])
        return script


def _row(
    script: RunScript,
    created_at: float,
    *,
    message: int | None = None,
    lease_until: float = 0.0,
    not_before: float = 0.0,
    expires_at: float | None = None,
) -> RunRow:
    run = script.run
    assert run.status is not None
    return RunRow(
        id=run.id,
        owner=run.owner,
        conversation=run.conversation,
        status=run.status,
        sequence=run.sequence,
        message=message,
        created_at=created_at,
        lease_until=lease_until,
        not_before=not_before,
        expires_at=expires_at,
        reason=run.reason,
        code=run.code,
        error=run.error,
        outside=run.outside,
    )
