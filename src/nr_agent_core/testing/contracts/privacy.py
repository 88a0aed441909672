"""
What a store keeps of the content of a run that settles, by the level in force (E4).
"""

import attrs
import pytest

from nr_agent_core.domain.failures import FailureCode
from nr_agent_core.domain.privacy import Privacy
from nr_agent_core.domain.run_events import ModelAnswered, RunEvent, RunFailed, Started, ToolFinished
from nr_agent_core.domain.run_status import RunReason, RunStatus
from nr_agent_core.ports.unit_of_work import AppendEvents, LetGo, UnitOfWork
from nr_agent_core.testing.contracts.run_script import RunScript, wrote
from nr_agent_core.testing.contracts.store_contract import StoreContract, joined, opened, read_out, said, status_of

_SAID, _KEPT = "Use password: tulip7 for the page.", "Use password: [secret] for the page."


def _at(level: Privacy, change: AppendEvents) -> AppendEvents:
    return attrs.evolve(change, privacy=level)


class PrivacyContract(StoreContract):
    """
    Every store keeps these promises about privacy levels; part of the unit of work's contract.
    """

    def test_at_full_content_stays_as_it_is(self, store: UnitOfWork) -> None:
        """Of earlier events and of those that settle the run (E4)."""
        script = RunScript("r1")
        store.commit([script.start(text=_SAID), script.propose(), script.intend()])
        store.commit([script.outcome(wrote(1))])

        store.commit([_at(Privacy.FULL, script.answer(_SAID))])

        assert [entry.event for entry in store.events("r1")] == script.events

    def test_at_redacted_content_stays_without_secrets(self, store: UnitOfWork) -> None:
        """Of earlier events and of those that settle the run; facts stay as they were (E4)."""
        other, script = RunScript("other"), RunScript("r1")
        store.commit([other.start(text=_SAID), script.start(text=_SAID), script.propose(), script.intend()])
        store.commit([script.outcome(wrote(1))])

        store.commit([_at(Privacy.REDACTED, script.answer(_SAID))])

        events = [entry.event for entry in store.events("r1")]
        started, proposed, _, finished, answered, _ = events
        assert isinstance(started, Started)
        assert isinstance(proposed, ModelAnswered)
        assert isinstance(finished, ToolFinished)
        assert isinstance(answered, ModelAnswered)
        assert (started.text, answered.text, answered.length) == (_KEPT, _KEPT, len(_SAID))
        assert (proposed.arguments, finished.text) == (('{"title":"Team"}',), "Saved.")
        assert [_unsaid(event) for event in events] == [_unsaid(event) for event in script.events]
        assert [entry.event for entry in store.events("other")] == other.events

    @pytest.mark.parametrize("level", Privacy)
    def test_content_is_whole_until_the_run_settles(self, store: UnitOfWork, level: Privacy) -> None:
        """A run that waits needs its content whatever the level (E4)."""
        script = RunScript("r1")

        store.commit([_at(level, script.start(text=_SAID)), _at(level, script.request())])

        assert [entry.event for entry in store.events("r1")] == script.events

    def test_the_level_at_settling_decides(self, store: UnitOfWork) -> None:
        """What earlier appends said of a level keeps nothing (E4)."""
        script = RunScript("r1")
        store.commit([_at(Privacy.FULL, script.start(text=_SAID))])

        store.commit([script.cancel()])

        started = store.events("r1")[0].event
        assert isinstance(started, Started)
        assert started.text is None

    @pytest.mark.parametrize(
        ("level", "kept"), [(Privacy.METADATA, None), (Privacy.REDACTED, _KEPT), (Privacy.FULL, _SAID)]
    )
    def test_the_level_holds_for_a_run_that_begins_and_ends_at_once(
        self, store: UnitOfWork, level: Privacy, kept: str | None
    ) -> None:
        """All of it is in one commit (E4)."""
        script = RunScript("r1")

        store.commit([_at(level, joined(script.start(text=_SAID), script.request(), script.cancel()))])

        started = store.events("r1")[0].event
        assert isinstance(started, Started)
        assert started.text == kept

    @pytest.mark.parametrize("level", Privacy)
    def test_a_late_outcome_changes_nothing_that_was_kept(self, store: UnitOfWork, level: Privacy) -> None:
        """It brings no content, and forgets none (E4, R7)."""
        script = RunScript("r1")
        store.commit([script.start(text=_SAID), script.propose(), script.intend()])
        store.commit([_at(level, script.cancel())])
        before = store.events("r1")

        store.commit([script.outcome(wrote(1), late=True)])

        assert store.events("r1")[:-1] == before
        late = store.events("r1")[-1].event
        assert isinstance(late, ToolFinished)
        assert (late.text, late.writes) == (None, (wrote(1),))

    @pytest.mark.parametrize("level", Privacy)
    def test_letting_go_keeps_no_content(self, store: UnitOfWork, level: Privacy) -> None:
        """What cannot be read cannot be redacted (E4, C5)."""
        script = RunScript("r1")
        store.commit([_at(level, script.start(text=_SAID))])

        store.commit([LetGo("r1")])

        started = store.events("r1")[0].event
        assert isinstance(started, Started)
        assert started.text is None

    def test_two_runs_settle_by_their_own_levels(self, store: UnitOfWork) -> None:
        """One commit may end one run and begin and end another, beside messages (C6)."""
        opened(store, "c1")
        first, second = RunScript("r1", conversation="c1"), RunScript("r2", conversation="c1")
        store.commit([first.start(text=_SAID), first.request()])
        failed = RunFailed(RunReason.INTERNAL, FailureCode.INTERNAL, "text")

        store.commit(
            [
                _at(Privacy.REDACTED, first.cancel(RunReason.SUPERSEDED)),
                said("c1", "", _SAID),
                _at(Privacy.FULL, joined(second.start(text=_SAID), second.append(failed))),
            ]
        )

        texts = [getattr(store.events(run_id)[0].event, "text", None) for run_id in ("r1", "r2")]
        assert texts == [_KEPT, _SAID]
        assert [message.text for message in store.messages("c1")] == ["", _SAID]

    def test_a_stale_settling_redacts_nothing(self, store: UnitOfWork) -> None:
        """Whoever was overtaken changes nothing, content included (R3)."""
        script = RunScript("r1")
        store.commit([script.start(text=_SAID)])
        behind = script.copy()
        store.commit([script.request()])
        before = read_out(store)

        with pytest.raises(Exception, match="expected"):
            store.commit([_at(Privacy.REDACTED, behind.cancel())])

        assert read_out(store) == before

    def test_a_damaged_event_does_not_keep_its_run_from_settling(self, store: UnitOfWork) -> None:
        """Its content is forgotten; the others are redacted (E4)."""
        script = RunScript("r1")
        store.commit([script.start(text=_SAID), script.request()])
        self.plant(store, "r1", 1, content='{"text": 7}')

        store.commit([_at(Privacy.REDACTED, script.cancel())])

        started, proposed = (entry.event for entry in store.events("r1")[:2])
        assert isinstance(started, Started)
        assert isinstance(proposed, ModelAnswered)
        assert (started.text, proposed.text, proposed.arguments) == (_KEPT, None, None)
        assert status_of(store, "r1") is RunStatus.CANCELLED


def _unsaid(event: RunEvent) -> RunEvent:
    """All of an event but the text that is redacted."""
    return attrs.evolve(event, text=None) if isinstance(event, Started | ModelAnswered) else event
