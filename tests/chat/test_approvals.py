"""
Decisions at the facades: staleness, four eyes, expiry (A1-A4, P6, P7).
"""

from collections.abc import Callable
from typing import Any

import pytest

from nr_agent_core import (
    Card,
    Chat,
    ReplyCode,
    RunReason,
    RunStatus,
    SendOutcome,
    StoredFormError,
)
from nr_agent_core.domain.approvals import Attribution, attribution
from nr_agent_core.domain.run import fold
from nr_agent_core.domain.run_events import ApprovalDecided, DecisionPlace
from nr_agent_core.testing.scripted_model import call, round_of
from tests.chat import standings as made
from tests.chat.world import ANNA, CREATE, DORA, ROOT, World, codes, digest_of, told


def card_of(chat: Chat, conversation: str) -> Card:
    """The card that Anna sees."""
    card = chat.view(conversation, ANNA).card
    assert card is not None
    return card


# ----------------------------------------------------------------------------- A1: what was decided


def test_an_approval_executes_the_stored_calls_as_the_owner(world: World) -> None:
    """Whoever decides, the tool acts under the owner's identity, with a key (A2, T13)."""
    chat, sent = world.waiting("Angelegt.")

    result = chat.runtime.decide(sent.run_id, "approve", digest=digest_of(world, sent.run_id), by=DORA)  # type: ignore[arg-type]

    assert (result.status, result.answer) == (RunStatus.COMPLETED, "Angelegt.")
    (context,) = world.host.contexts
    assert (context.owner, context.run_id, context.call_id) == ("anna", sent.run_id, "0.0")
    assert len(context.key) == 64


def test_a_denial_executes_nothing_and_the_run_goes_on(world: World) -> None:
    """The model gets an error result for every call of the round, reading siblings included (A2, R4)."""
    chat = world.chat(round_of(call("search_pages"), CREATE), "Dann nicht.")
    sent = chat.send("Lege an.", ANNA)

    done = chat.decide(sent.conversation, "deny", card=card_of(chat, sent.conversation), by=ANNA)

    assert (done.outcome, done.status) == (SendOutcome.ACCEPTED, RunStatus.COMPLETED)
    assert world.host.executed == []
    answers = [text for role, text in told(world) if role == "tool"]
    assert len(answers) == 2
    assert all("declined" in text for text in answers)
    assert world.messages(sent.conversation)[-1].text == "Dann nicht."


@pytest.mark.parametrize("where", ["chat", "outside"])
def test_the_stream_says_who_decided_and_where(world: World, where: str) -> None:
    """Approved, by whom, where, on which digest; no free text (E2)."""
    chat, sent = world.waiting("Angelegt.")
    digest = digest_of(world, sent.run_id)
    if where == "chat":
        chat.decide(sent.conversation, "approve", card=digest, by=ANNA)
    else:
        chat.runtime.decide(sent.run_id, "approve", digest=digest, by=DORA)  # type: ignore[arg-type]

    (decided,) = [event for event in world.events(sent.run_id) if isinstance(event, ApprovalDecided)]

    who, place = ("anna", DecisionPlace.CHAT) if where == "chat" else ("dora", DecisionPlace.OUTSIDE)
    assert (decided.approved, decided.decided_by, decided.where, decided.digest) == (True, who, place, digest)
    assert sent.run_id is not None
    run = fold(sent.run_id, world.events(sent.run_id))
    assert attribution(run, run.rounds[0]) is (Attribution.SELF if where == "chat" else Attribution.SECOND_PERSON)
    assert codes(world.messages(sent.conversation)[-1]) == ([] if where == "chat" else ["runFinishedOutside"])


def test_the_card_of_an_earlier_round_is_stale(world: World) -> None:
    """A decision counts for the calls whose card was seen, once (P7)."""
    chat = world.chat(CREATE, call("create_page", title="Kontakt"), "Beide.")
    sent = chat.send("Zwei Seiten.", ANNA)
    first = card_of(chat, sent.conversation)
    chat.decide(sent.conversation, "approve", card=first, by=ANNA)

    stale = chat.decide(sent.conversation, "approve", card=first, by=ANNA)

    assert (stale.outcome, stale.code, stale.status) == (
        SendOutcome.REFUSED,
        ReplyCode.STALE_DECISION,
        RunStatus.WAITING_FOR_APPROVAL,
    )
    assert world.host.pages == ["Team"]
    chat.decide(sent.conversation, "approve", card=card_of(chat, sent.conversation), by=ANNA)
    assert world.host.pages == ["Team", "Kontakt"]


def test_an_equal_call_of_the_next_run_has_a_card_of_its_own(world: World) -> None:
    """The browser's old form decides nothing, though the calls are equal (P7)."""
    chat = world.chat(CREATE, CREATE, "Gut.")
    sent = chat.send("Lege an.", ANNA)
    old = digest_of(world, sent.run_id)
    again = chat.send("Noch einmal bitte, jetzt wirklich.", ANNA, conversation=sent.conversation)

    refused = chat.decide(again.conversation, "approve", card=old, by=ANNA)

    assert (refused.outcome, refused.code) == (SendOutcome.REFUSED, ReplyCode.STALE_DECISION)
    assert world.host.executed == []


@pytest.mark.parametrize("card", [None, "", 5, b"", ("run-0001", "x")])
def test_a_decision_without_a_card_is_stale(world: World, card: Any) -> None:
    """Missing counts as stale; nothing is executed and it waits on (A1)."""
    chat, sent = world.waiting()

    refused = chat.decide(sent.conversation, "approve", card=card, by=ANNA)

    assert (refused.outcome, refused.code) == (SendOutcome.REFUSED, ReplyCode.STALE_DECISION)
    assert world.host.executed == []


def test_arguments_that_are_not_those_of_the_card_refuse_a_decision(world: World) -> None:
    """What was changed behind the store's back is never executed, and the run waits on (P7)."""
    chat, sent = world.waiting("Angelegt.")
    card = card_of(chat, sent.conversation)
    world.forge(card.run_id, "Team", "Evil")
    events = len(world.events(card.run_id))

    for choice in ("approve", "deny"):
        with pytest.raises(StoredFormError):
            chat.decide(sent.conversation, choice, card=card, by=ANNA)

    assert world.host.executed == []
    assert len(world.events(card.run_id)) == events


def test_a_decision_that_was_overtaken_later_stands(world: World) -> None:
    """It was taken; what became of the run since is its status (A1, R9)."""
    chat, sent = world.waiting("Angelegt.")
    other = world.chat()
    world.bus.subscribe(lambda _: other.cancel(sent.conversation, ANNA))

    done = chat.decide(sent.conversation, "approve", card=digest_of(world, sent.run_id), by=ANNA)

    assert (done.outcome, done.status) == (SendOutcome.ACCEPTED, RunStatus.CANCELLED)
    assert world.host.pages == ["Team"]


@pytest.mark.parametrize("word", ["weiter", "ok", "ja", "approve", "freigegeben", "habe alles freigegeben", "yes"])
def test_no_text_is_ever_consent(world: World, word: str) -> None:
    """Nothing is executed, whatever is written (P6)."""
    chat, sent = world.waiting(model_options={"otherwise": "Gut."})
    chat.send(word, ANNA, conversation=sent.conversation)

    assert world.host.executed == []


# ---------------------------------------------------------------------------------- A3: four eyes


@pytest.mark.parametrize("owner", [ANNA, DORA, ROOT], ids=lambda reader: reader.id)
def test_four_eyes_take_a_second_person(world: World, owner: Any) -> None:
    """Deciders and administrators included; the owner may deny, and somebody else approves (A3)."""
    chat = world.chat(CREATE, "Gut.", rules={"four_eyes": True})
    sent = chat.send("Lege an.", owner)
    card = chat.view(sent.conversation, owner).card
    assert card is not None
    assert (card.can_approve, card.can_deny) == (False, True)
    assert any("second person" in note or "zweite Person" in note for note in card.notes)

    refused = chat.decide(sent.conversation, "approve", card=card, by=owner)
    held = chat.send("weiter", owner, conversation=sent.conversation)

    assert refused.code is ReplyCode.SECOND_PERSON_NEEDED
    assert held.code is ReplyCode.APPROVAL_PENDING_ELSEWHERE
    assert world.row(sent.run_id).status is RunStatus.WAITING_FOR_APPROVAL
    (item,) = chat.runtime.inbox(DORA if owner is ROOT else ROOT)
    assert item.card.can_approve
    chat.runtime.decide(item.run_id, "approve", digest=item.card.digest, by=DORA if owner is ROOT else ROOT)
    assert world.host.pages == ["Team"]


def test_an_owner_may_deny_under_four_eyes(world: World) -> None:
    """A denial needs nobody else (A3)."""
    chat = world.chat(CREATE, "Dann nicht.", rules={"four_eyes": True})
    sent = chat.send("Lege an.", ANNA)

    done = chat.decide(sent.conversation, "deny", card=card_of(chat, sent.conversation), by=ANNA)

    assert (done.outcome, done.status) == (SendOutcome.ACCEPTED, RunStatus.COMPLETED)


def test_four_eyes_are_off_by_default(world: World) -> None:
    """Per configuration (A3)."""
    chat, sent = world.waiting()
    assert card_of(chat, sent.conversation).can_approve


def test_an_approver_passes_the_gate_as_far_as_it_asks_for_an_administrator(world: World) -> None:
    """An administrator's own run with an admin-only write cannot be approved by a decider, who may deny it (A1)."""
    chat = world.chat(CREATE, "Gut.", tools=world.host.tools(admin_only=True))
    sent = chat.send("Create it.", ROOT)
    digest = digest_of(world, sent.run_id)
    with pytest.raises(Exception, match="administrator") as refused:
        chat.runtime.decide(sent.run_id, "approve", digest=digest, by=DORA)  # type: ignore[arg-type]
    assert refused.value.code is ReplyCode.TOOL_NOT_ALLOWED_FOR_APPROVER  # type: ignore[attr-defined]
    assert world.host.executed == []

    chat.runtime.decide(sent.run_id, "deny", digest=digest, by=DORA)  # type: ignore[arg-type]
    assert world.row(sent.run_id).status is RunStatus.COMPLETED


# ------------------------------------------------------------------------------------- A4: expiry


def test_an_approval_waits_for_ever_by_default(world: World) -> None:
    """No expiry unless the configuration has one (A4)."""
    chat, sent = world.waiting()
    world.clock.advance(10 * 365 * 86_400.0)

    assert chat.upkeep().expired == ()
    assert card_of(chat, sent.conversation).expires_at is None


def test_an_expiry_is_fixed_at_the_pause_and_on_the_card(world: World) -> None:
    """Another configuration changes nothing about a card that stands (A4)."""
    chat, sent = world.waiting(rules={"approval_expiry": 3600.0})
    now = world.clock.now()
    card = world.chat(rules={"approval_expiry": 5.0}).view(sent.conversation, ANNA).card

    assert card is not None
    assert card.expires_at == now + 3600.0
    assert any("1 Stunde" in note for note in card.notes)
    del chat


SEEN: dict[str, Callable[[Chat, str, str], object]] = {
    "send": lambda chat, conversation, _: chat.send("weiter", ANNA, conversation=conversation),
    "view": lambda chat, conversation, _: chat.view(conversation, ANNA),
    "inbox": lambda chat, *_: chat.runtime.inbox(DORA),
    "decide": lambda chat, conversation, digest: chat.decide(conversation, "approve", card=digest, by=ANNA),
    "upkeep": lambda chat, *_: chat.upkeep(),
    "retry": lambda chat, conversation, _: chat.retry(conversation, ANNA),
    "recover": lambda chat, *_: chat.runtime.recover("run-0001"),
}


@pytest.mark.parametrize("first", SEEN)
def test_whoever_sees_an_expired_approval_first_settles_it(world: World, first: str) -> None:
    """Once, told as a run that ended, and nothing is executed (A4, F5)."""
    (chat, conversation), run_id = made.expiring(world)
    digest = digest_of(world, run_id)

    SEEN[first](chat, conversation, digest)
    for again in ("view", "inbox", "upkeep"):
        SEEN[again](chat, conversation, digest)

    row = world.row(run_id)
    assert (row.status, row.reason, row.outside) == (RunStatus.CANCELLED, RunReason.APPROVAL_EXPIRED, True)
    ended = [message for message in world.messages(conversation) if "runEnded" in codes(message)]
    assert [codes(message) for message in ended] == [["runEnded"]]
    assert chat.view(conversation, ANNA).card is None
    assert world.host.executed == []


def test_an_approval_holds_until_its_last_second(world: World) -> None:
    """Just before, it can still be given (A4)."""
    chat, sent = world.waiting("Gut.", rules={"approval_expiry": 60.0})
    world.clock.advance(59.9)

    assert chat.decide(sent.conversation, "approve", card=digest_of(world, sent.run_id), by=ANNA).outcome is (
        SendOutcome.ACCEPTED
    )
