"""
The contract of :class:`~nr_agent_core.ports.conversation_store.ConversationStore`.
"""

import attrs
import pytest

from nr_agent_core.domain.conversation import Message, MessageRole
from nr_agent_core.domain.errors import ConversationBusyError, NotFoundError
from nr_agent_core.domain.notices import Notice, NoticeCode
from nr_agent_core.domain.tool_result import WriteKind
from nr_agent_core.ports.conversation_store import ConversationRow, History
from nr_agent_core.ports.unit_of_work import AddMessages, UnitOfWork
from nr_agent_core.testing.contracts.run_script import TOOL, RunScript, wrote
from nr_agent_core.testing.contracts.store_contract import StoreContract, opened, said
from nr_agent_core.testing.manual_clock import ManualClock

_ASSISTANT = MessageRole.ASSISTANT


class ConversationStoreContract(StoreContract):
    """
    Every store keeps these promises about conversations.
    """

    # ---------------------------------------------------------------------------------- the row

    def test_a_conversation_that_is_not_there_is_none(self, store: UnitOfWork) -> None:
        """There is no row, no message and no history, and no error."""
        assert store.conversation_row("c1") is None
        assert store.messages("c1") == ()
        assert store.history("c1", budget=1000) == History()

    def test_a_new_conversation_is_empty(self, store: UnitOfWork, clock: ManualClock) -> None:
        """A conversation has an owner and a time before it has messages."""
        opened(store, "c1", owner="a\0nna")

        assert store.conversation_row("c1") == ConversationRow("c1", "a\0nna", clock.now(), None, -1, -1)

    def test_ids_are_compared_exactly(self, store: UnitOfWork) -> None:
        """Case, accents and trailing spaces make another conversation."""
        opened(store, "Ab", "ab", "ab ", "a\u0308b", "äb")

        for conversation in ("Ab", "ab", "ab ", "a\u0308b", "äb"):
            row = store.conversation_row(conversation)
            assert row is not None
            assert row.id == conversation
        assert store.conversation_row("AB") is None

    def test_the_row_knows_the_last_message_and_the_last_of_the_user(self, store: UnitOfWork) -> None:
        """Positions count from 0 in each conversation (O1)."""
        opened(store, "c1", "c2")
        store.commit([said("c2", "Hello.")])
        store.commit([said("c1", "One."), said("c1", "Two.", role=_ASSISTANT), said("c1", "Three.")])
        store.commit([said("c1", "Four.", "Five.", role=_ASSISTANT)])

        row = store.conversation_row("c1")

        assert row is not None
        assert (row.last_position, row.last_user_position) == (4, 2)

    def test_the_row_knows_the_last_run(self, store: UnitOfWork, clock: ManualClock) -> None:
        """The last run is the one that began last, whatever happens to earlier ones (O1)."""
        opened(store, "c1", "c2")
        first, second = RunScript("z-first", conversation="c1"), RunScript("a-second", conversation="c1")
        store.commit([first.start(), first.propose(), first.intend(), first.cancel()])
        clock.advance(-100)
        store.commit([second.start()])
        store.commit([first.outcome(wrote(1), late=True)])
        store.commit([RunScript("elsewhere", conversation="c2").start(), RunScript("bare").start()])

        row = store.conversation_row("c1")

        assert row is not None
        assert row.last_run == store.run_row("a-second")

    # ---------------------------------------------------------------------------------- messages

    def test_a_message_comes_back_as_it_was(self, store: UnitOfWork, clock: ManualClock) -> None:
        """Text, role, run, time, estimate and notices are stored as data (P2, P3, V10)."""
        opened(store, "c1")
        text = "a\0b\x10\x10@P 'q' \"d\" \r\n😀 e\u0301"
        notices = (
            Notice(NoticeCode.UNKNOWN_REFERENCE, {"references": ["pages:42", "UID\0 7"]}),
            Notice(NoticeCode.NOTHING_SAVED),
        )
        store.commit([said("c1", text, role=_ASSISTANT, run_id="r\0", tokens=123, notices=notices)])

        assert store.messages("c1") == (Message(0, _ASSISTANT, text, "r\0", clock.now(), 123, notices),)

    def test_an_empty_text_is_a_message(self, store: UnitOfWork) -> None:
        """A failed run leaves a message without text (F5)."""
        opened(store, "c1")
        notice = Notice(NoticeCode.RUN_ENDED, {"status": "failed", "reason": "internal", "code": None, "tools": []})
        store.commit([said("c1", "", role=_ASSISTANT, notices=(notice,))])

        (message,) = store.messages("c1")

        assert (message.text, message.notices) == ("", (notice,))

    def test_messages_are_paged_backwards(self, store: UnitOfWork) -> None:
        """The newest page first, each page oldest first, nothing twice and nothing left out."""
        opened(store, "c1", "c2")
        for number in range(7):
            store.commit([said("c1", f"m{number}"), said("c2", f"other {number}")])

        def texts(before: int | None, limit: int) -> list[str]:
            return [message.text for message in store.messages("c1", before=before, limit=limit)]

        assert texts(None, 3) == ["m4", "m5", "m6"]
        assert texts(4, 3) == ["m1", "m2", "m3"]
        assert texts(1, 3) == ["m0"]
        assert texts(0, 3) == texts(-5, 3) == texts(None, 0) == texts(None, -1) == []
        assert texts(99, 100) == [f"m{number}" for number in range(7)]

    def test_a_length_may_be_asked_for_alone(self, store: UnitOfWork) -> None:
        """With messages or without: what does not hold just so many is busy, and nothing is stored (F5)."""
        opened(store, "c1", "c2")
        store.commit([AddMessages("c1", (), 0), said("c1", "One.")])
        asked = attrs.evolve(said("c1", "Two."), expected=1)
        store.commit([AddMessages("c1", (), 1), asked, AddMessages("c1", (), 2)])
        for expected in (0, 1, 3):
            with pytest.raises(ConversationBusyError):
                store.commit([said("c2", "Not stored."), AddMessages("c1", (), expected)])
            with pytest.raises(ConversationBusyError):
                store.commit([attrs.evolve(said("c1", "Not stored."), expected=expected)])
        with pytest.raises(NotFoundError):
            store.commit([AddMessages("nowhere", (), 0)])
        assert [message.text for message in store.messages("c1")] == ["One.", "Two."]
        assert store.messages("c2") == ()

    # ----------------------------------------------------------------------------------- history

    @pytest.mark.parametrize(
        ("budget", "expected"),
        [
            (0, ["m4"]),
            (1, ["m4"]),
            (50, ["m4"]),
            (89, ["m4"]),
            (90, ["m3", "m4"]),
            (100, ["m2", "m3", "m4"]),
            (149, ["m2", "m3", "m4"]),
            (150, ["m0", "m1", "m2", "m3", "m4"]),
        ],
    )
    def test_history_is_what_fits_read_backwards(self, store: UnitOfWork, budget: int, expected: list[str]) -> None:
        """The newest messages within the budget, always the newest one, never one behind a gap (R11, M5)."""
        opened(store, "c1")
        for number, tokens in enumerate((0, 50, 10, 40, 50)):
            store.commit([said("c1", f"m{number}", tokens=tokens)])

        for _ in range(2):
            history = store.history("c1", budget=budget)
            assert [message.text for message in history.messages] == expected
            assert history.complete is (len(expected) == 5)

    def test_history_follows_what_is_stored(self, store: UnitOfWork) -> None:
        """Reading it again after more was stored tells the same as reading it for the first time."""
        opened(store, "c1")
        for number in range(30):
            store.commit([said("c1", f"m{number}", tokens=number % 7)])
            for budget in (20, 40, 20):
                fits = _fitting(store.messages("c1", limit=1000), budget)
                assert store.history("c1", budget=budget).messages == fits

    def test_history_names_what_the_runs_of_its_messages_wrote(self, store: UnitOfWork) -> None:
        """Each run of the window with its records, the last kind counting; runs without are left out (M5)."""
        opened(store, "c1")
        for number in range(3):
            script = RunScript(f"r{number}", conversation="c1")
            store.commit([said("c1", "Please.", run_id=f"r{number}"), script.start()])
            if number != 1:
                store.commit([script.propose(), script.intend(), script.outcome(wrote(number + 1), wrote("x"))])
                store.commit([script.propose(), script.intend(), script.outcome(wrote("x", WriteKind.DELETED))])
            store.commit([script.answer(), said("c1", "Done.", role=_ASSISTANT, run_id=f"r{number}")])

        everything, newest = store.history("c1", budget=1000), store.history("c1", budget=30)

        last = (wrote(3), wrote("x", WriteKind.DELETED))
        assert dict(everything.writes) == {"r0": (wrote(1), wrote("x", WriteKind.DELETED)), "r2": last}
        assert dict(newest.writes) == {"r2": last}
        assert dict(store.history("c1", budget=1000).writes) == dict(everything.writes)

    def test_history_names_the_tools_of_denied_calls(self, store: UnitOfWork) -> None:
        """Once their run left its answer, whoever read before and however little fits (M4)."""
        opened(store, "c1", "c2")
        denied, other = RunScript("r1", conversation="c1"), RunScript("r2", conversation="c1")
        store.commit([said("c1", "Please.", run_id="r1"), denied.start(), denied.request()])
        assert dict(store.history("c1", budget=100).declined) == {}
        store.commit([denied.decide(approved=False)])
        assert dict(store.history("c1", budget=100).declined) == {}
        store.commit([denied.outcome(), denied.answer(), said("c1", "No.", role=MessageRole.ASSISTANT, run_id="r1")])
        store.commit([other.start(), other.request()])
        store.commit([other.decide(), other.intend(), other.outcome(), other.answer()])
        store.commit([said("c1", "Yes.", role=MessageRole.ASSISTANT, run_id="r2")])
        store.commit([said("c2", "Elsewhere.", role=MessageRole.ASSISTANT, run_id="r1")])

        assert dict(store.history("c1", budget=100).declined) == {"r1": (TOOL,)}
        assert dict(store.history("c1", budget=20).declined) == {"r1": (TOOL,)}
        assert dict(store.history("c1", budget=10).declined) == {}
        assert dict(store.history("c1", budget=100).declined) == {"r1": (TOOL,)}
        assert dict(store.history("c2", budget=100).declined) == {}

    def test_history_sees_late_outcomes(self, store: UnitOfWork) -> None:
        """What a run wrote becomes known to later turns even when the run had ended (R7, M5)."""
        opened(store, "c1")
        script = RunScript("r1", conversation="c1")
        store.commit([said("c1", "Please.", run_id="r1"), script.start(), script.propose(), script.intend()])
        store.commit([script.cancel(), said("c1", "", role=_ASSISTANT, run_id="r1")])
        assert dict(store.history("c1", budget=100).writes) == {}

        store.commit([script.outcome(wrote(5), late=True)])

        assert dict(store.history("c1", budget=100).writes) == {"r1": (wrote(5),)}

    def test_a_refused_commit_leaves_no_trace_in_history(self, store: UnitOfWork) -> None:
        """Only what was stored is ever told (R3)."""
        opened(store, "c1")
        store.commit([said("c1", "One.")])
        before = store.history("c1", budget=100)
        script = RunScript("r1", conversation="c1")
        script.start()

        with pytest.raises(Exception, match="r1"):
            store.commit([said("c1", "Two.", run_id="r1"), script.answer()])

        assert store.history("c1", budget=100) == before
        store.commit([said("c1", "Three.")])
        assert [message.text for message in store.history("c1", budget=100).messages] == ["One.", "Three."]


def _fitting(messages: tuple[Message, ...], budget: int) -> tuple[Message, ...]:
    kept: list[Message] = []
    for message in reversed(messages):
        if kept and sum(each.tokens for each in kept) + message.tokens > budget:
            break
        kept.insert(0, message)
    return tuple(kept)
