"""
What is said while an approval waits: the run is asked, the text never decides (P1, P6, C1-C7, A1).
"""

from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from nr_agent_core import (
    AccessDeniedError,
    MessageRole,
    NoticeCode,
    ReplyCode,
    RunReason,
    RunStatus,
    SendOutcome,
    ToolEffect,
    ToolResult,
)
from nr_agent_core.testing.scripted_model import call, round_of
from tests.cases.desk import ANNA, BOSS, Desk, everything, tool_of

READ_ONLY = ToolEffect.READ_ONLY
THREE = round_of(call("publish", title="a"), call("publish", title="b"), call("publish", title="c"))


@given(st.one_of(st.text(min_size=1, max_size=80), st.from_regex(r"(?i)(ok|ja|yes|approve|gib frei)[ !.,\w]{0,20}")))
def test_no_text_at_all_executes_what_waits(text: str) -> None:
    """(P6) Whatever is typed, a waiting write is not carried out, now or later."""
    assume(text.strip())
    desk = Desk()
    first = desk.waiting()
    old = desk.card(first.conversation)
    sent = desk.chat.send(text, ANNA, conversation=first.conversation)
    desk.chat.upkeep()

    assert desk.published == []
    assert sent.outcome in (SendOutcome.HELD, SendOutcome.ACCEPTED)
    # Either the same card stands untouched, or its run is over and it never counts again.
    if sent.outcome is SendOutcome.HELD:
        assert desk.card(first.conversation) == old
        assert sent.text
    else:
        assert desk.decide(first.conversation, card=old).code is ReplyCode.SUPERSEDED
        assert desk.published == []


@pytest.mark.parametrize("text", ["Freigeben", "Approve", "approved", "Ja", "okay", "Mach weiter", "carry on"])
@pytest.mark.parametrize("pending", [1, 3])
def test_words_of_the_card_itself_are_held_and_nothing_is_stored(text: str, pending: int) -> None:
    """(C2) The label of a button is no decision: the reader is told where it is taken, in their language."""
    desk = Desk(THREE if pending > 1 else call("publish", title="a"))
    sent = desk.waiting()
    before = desk.chat.view(sent.conversation, ANNA)

    held = desk.chat.send(text, ANNA, conversation=sent.conversation)

    assert (held.outcome, held.code, held.run_id) == (SendOutcome.HELD, ReplyCode.APPROVAL_PENDING, sent.run_id)
    assert desk.chat.view(sent.conversation, ANNA) == before
    assert len(desk.model.requests) == 1


def test_a_claim_after_words_that_were_held_is_marked() -> None:
    """(V6) Assent, then another request, then "done" without a write: the answer gets its notice."""
    desk = Desk(call("publish", title="a"), "Done, I have published the note.")
    sent = desk.waiting()
    desk.chat.send("approve", ANNA, conversation=sent.conversation)
    desk.chat.send("So is it out now or not?", ANNA, conversation=sent.conversation)

    assert NoticeCode.NOTHING_SAVED.value in desk.codes(sent.conversation)
    assert desk.published == []


def test_another_request_ends_all_that_waits_together() -> None:
    """(C6) Three calls wait; a correction ends their run, its own text is kept, none is ever executed."""
    desk = Desk(THREE, "Then for the test site.")
    sent = desk.waiting()
    old = desk.card(sent.conversation)

    new = desk.chat.send("No: do these three on the test site instead", ANNA, conversation=sent.conversation)

    assert (new.outcome, new.status) == (SendOutcome.ACCEPTED, RunStatus.COMPLETED)
    assert new.run_id != sent.run_id
    ended = desk.chat.runtime.status(sent.run_id, "anna")
    assert (ended.status, ended.reason) == (RunStatus.CANCELLED, RunReason.SUPERSEDED)
    roles = [message.role for message in desk.chat.view(sent.conversation, ANNA).messages]
    assert roles == [MessageRole.USER, MessageRole.ASSISTANT, MessageRole.USER, MessageRole.ASSISTANT]
    assert "No: do these three on the test site instead" in desk.texts(sent.conversation)
    for choice in ("approve", "deny"):
        assert desk.decide(sent.conversation, choice, card=old).code is ReplyCode.SUPERSEDED
    assert desk.chat.runtime.inbox("boss") == ()
    assert desk.published == []


@pytest.mark.parametrize("text", ["Yes", "ok", "weiter", "gib frei"])
def test_the_same_words_are_a_message_where_nothing_waits(text: str) -> None:
    """(C1) Without a waiting approval they reach the model like any other message."""
    desk = Desk("Shall I?", "Then I begin.")
    sent = desk.chat.send("Could you tidy up the notes?", ANNA)

    again = desk.chat.send(text, ANNA, conversation=sent.conversation)

    assert (again.outcome, again.status) == (SendOutcome.ACCEPTED, RunStatus.COMPLETED)
    assert desk.model.requests[-1].messages[-1].text == text


@pytest.mark.parametrize("ending", ["approve", "deny", "supersede"])
def test_an_old_card_decides_nothing_about_an_equal_request(ending: str) -> None:
    """(P7) A later run waits with the very same call; neither the old card nor its bare digest approves it."""
    equal = call("publish", title="x")
    desk = Desk(equal, *([] if ending == "supersede" else ["Well."]), equal)
    sent = desk.waiting()
    old = desk.card(sent.conversation)
    if ending != "supersede":
        desk.decide(sent.conversation, ending, card=old)
    desk.published.clear()
    desk.chat.send("Publish it once more, please", ANNA, conversation=sent.conversation)
    assert desk.card(sent.conversation) is not None

    for card in (old, old.digest):
        assert desk.decide(sent.conversation, card=card).outcome is SendOutcome.REFUSED

    assert desk.published == []
    assert desk.card(sent.conversation) is not None


@pytest.mark.parametrize("digest", [None, "", "0" * 64, b"x", 7, ["d"], True])
def test_a_decision_that_lost_its_digest_is_stale(digest: object) -> None:
    """(A1) Missing, foreign or of another type: refused with a reason, the card stands."""
    desk = Desk()
    sent = desk.waiting()
    before = desk.card(sent.conversation)

    refused = desk.chat.decide(sent.conversation, "approve", card=digest, by=ANNA)  # type: ignore[arg-type]

    assert (refused.outcome, refused.code) == (SendOutcome.REFUSED, ReplyCode.STALE_DECISION)
    assert refused.text
    assert desk.card(sent.conversation) == before
    assert desk.published == []


def test_a_call_proposed_again_and_again_has_one_card() -> None:
    """(T12, O1) Twice in one answer under one id, and again in the next turn: there is one card at any time."""
    twice = round_of(call("publish", title="x"), call("publish", title="x"))
    twice = type(twice)(calls=tuple(type(one)(one.name, one.arguments, "id-1") for one in twice.calls))
    desk = Desk(twice, twice)
    sent = desk.waiting()
    assert len(desk.card(sent.conversation).calls) == 1

    desk.chat.send("Please propose that again", ANNA, conversation=sent.conversation)

    assert len(desk.chat.runtime.inbox("boss")) == 1
    assert len(desk.card(sent.conversation).calls) == 1


def test_equal_calls_under_two_ids_are_two_and_the_card_says_so() -> None:
    """(T12) Nobody approves two payments for one."""
    desk = Desk(round_of(call("publish", title="x"), call("publish", title="x")), "Twice.")
    sent = desk.waiting()

    card = desk.card(sent.conversation)

    assert [shown.copies for shown in card.calls] == [2, 2]
    assert any("2" in note for note in card.notes)


def test_what_a_person_declined_is_not_asked_again_by_itself() -> None:
    """(A6) The same call in the same run is refused without a card; another request of the person asks anew."""
    desk = Desk(call("publish", title="x"), call("publish", title="x"), "Then not.", call("publish", title="x"))
    sent = desk.waiting()

    denied = desk.decide(sent.conversation, "deny")

    assert denied.status is RunStatus.COMPLETED
    assert desk.card(sent.conversation) is None
    assert "declined" in desk.model.requests[-1].messages[-1].text
    desk.chat.send("I changed my mind: publish it after all", ANNA, conversation=sent.conversation)
    assert desk.card(sent.conversation) is not None
    assert desk.published == []


@pytest.mark.parametrize("way", ["unknown", "error"])
def test_the_card_of_a_second_attempt_says_what_became_of_the_first(way: str) -> None:
    """(A6) Who approves again knows that the first try failed, or that nobody knows."""

    def pay(arguments: object, context: object) -> object:
        if way == "unknown":
            raise RuntimeError("connection reset")

        return ToolResult.error("The account is locked.")

    desk = Desk(call("pay", title="40"), call("pay", title="40"), tools=[tool_of("pay", pay)])
    sent = desk.waiting()
    desk.decide(sent.conversation)

    card = desk.card(sent.conversation)

    assert card.calls[0].before is not None
    assert card.calls[0].before.value == way
    assert len(card.notes) > 1


def test_a_call_that_was_never_carried_out_is_no_second_attempt() -> None:
    """(A6) A reading call that waited in a denied round did not fail; its next card does not say so."""
    look = tool_of("look", lambda arguments, context: "found", READ_ONLY)
    first = round_of(call("look", title="q"), call("publish", title="a"))
    second = round_of(call("look", title="q"), call("publish", title="b"))
    desk = Desk(first, second, tools=[look])
    sent = desk.waiting()
    desk.decide(sent.conversation, "deny")

    assert [shown.before for shown in desk.card(sent.conversation).calls] == [None, None]


def test_a_denial_carries_nothing_out_and_announces_nothing(tmp_path: Path) -> None:
    """(A2, W1) No tool of the round runs, reading ones included; feed and bus stay silent."""
    heard: list[object] = []

    class Bus:
        def subscribe(self, listener: object) -> None:
            """Nobody does."""

        def announce(self, event: object) -> None:
            """Keep it."""
            heard.append(event)

    looked: list[int] = []
    look = tool_of("look", lambda arguments, context: looked.append(1) or "found", READ_ONLY)
    desk = Desk(round_of(call("look", title="q"), call("publish", title="a")), "Left as it is.",
                tools=[look], bus=Bus(), path=tmp_path / "chat.db")  # fmt: skip
    sent = desk.waiting()

    desk.decide(sent.conversation, "deny")

    assert (desk.published, looked, heard, desk.chat.runtime.writes()) == ([], [], [], ())


def test_the_model_is_told_of_what_was_replaced() -> None:
    """(M4) The next turn knows that the proposal was not carried out, and cannot build on it."""
    desk = Desk(call("publish", title="x"), "Open from nine to five.")
    sent = desk.waiting()

    desk.chat.send("Forget the note, tell me the opening hours", ANNA, conversation=sent.conversation)

    told = everything(desk.model.requests[-1])
    assert "superseded" in told
    assert "publish" in told


def test_an_administrator_who_may_not_send_changes_nothing() -> None:
    """(O4) Seeing a conversation gives no right to talk in it, whatever waits there."""
    desk = Desk()
    sent = desk.waiting()
    with pytest.raises(AccessDeniedError):
        desk.chat.send("ok", BOSS, conversation=sent.conversation)

    assert desk.card(sent.conversation) is not None
