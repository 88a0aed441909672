"""
Every reply code, reached through the facades, with its sentence for two readers (V11).
"""

from collections.abc import Callable

import pytest

from nr_agent_core import DecisionRefusedError, Reader, ReplyCode, RoleAccess, SendOutcome, Sent
from nr_agent_core.domain.texts import reply_sentence
from tests.chat import standings as made
from tests.chat.world import DORA, ELSEWHERE, World, digest_of

Reached = Callable[[World, Reader], Sent]
GO_ON, OTHER = "weiter", "Lege noch eine Seite an."


def approval_pending(world: World, anna: Reader) -> Sent:
    """She has the card before her."""
    chat, conversation = made.waiting(world)
    return chat.send(GO_ON, anna, conversation=conversation)


def approval_pending_elsewhere(world: World, anna: Reader) -> Sent:
    """Others decide."""
    chat, conversation = made.waiting_elsewhere(world)
    return chat.send(GO_ON, anna, conversation=conversation)


def busy(world: World, anna: Reader) -> Sent:
    """Another process is at work."""
    chat, conversation = made.running(world)
    return chat.send(OTHER, anna, conversation=conversation)


def busy_retry(world: World, anna: Reader) -> Sent:
    """Another process is at work."""
    chat, conversation = made.running(world)
    return chat.retry(conversation, anna)


def stale(world: World, anna: Reader) -> Sent:
    """A digest that no round has."""
    chat, sent = world.waiting()
    return chat.decide(sent.conversation, "approve", card="0" * 64, by=anna)


def already_decided(world: World, anna: Reader) -> Sent:
    """The same card twice."""
    chat, sent = world.waiting("Angelegt.")
    digest = digest_of(world, sent.run_id)
    chat.decide(sent.conversation, "approve", card=digest, by=anna)
    return chat.decide(sent.conversation, "approve", card=digest, by=anna)


def superseded(world: World, anna: Reader) -> Sent:
    """A newer message came first."""
    chat, sent = world.waiting("Gut.")
    card = chat.view(sent.conversation, anna).card
    chat.send(OTHER, anna, conversation=sent.conversation)
    return chat.decide(sent.conversation, "approve", card=card, by=anna)


def approval_expired(world: World, anna: Reader) -> Sent:
    """The decision itself sees that the time is over."""
    (chat, conversation), run_id = made.expiring(world)
    return chat.decide(conversation, "approve", card=digest_of(world, run_id), by=anna)


def may_not_decide(world: World, anna: Reader) -> Sent:
    """She sees the conversation, and decides on nothing in it."""
    chat, sent = world.waiting(access=ELSEWHERE)
    return chat.decide(sent.conversation, "deny", card=digest_of(world, sent.run_id), by=anna)


def may_not_decide_stale(world: World, anna: Reader) -> Sent:
    """Whoever may not decide learns nothing about cards (A1)."""
    chat, sent = world.waiting(access=ELSEWHERE)
    return chat.decide(sent.conversation, "deny", card="0" * 64, by=anna)


def second_person(world: World, anna: Reader) -> Sent:
    """Four eyes; she is the first two."""
    chat, sent = world.waiting(rules={"four_eyes": True})
    return chat.decide(sent.conversation, "approve", card=digest_of(world, sent.run_id), by=anna)


def tool_not_allowed(world: World, anna: Reader) -> Sent:
    """The tool asks for an administrator by now; she is none (A1)."""
    _, sent = world.waiting()
    chat = world.chat(tools=world.host.tools(admin_only=True))
    return chat.decide(sent.conversation, "approve", card=digest_of(world, sent.run_id), by=anna)


def run_cancelled(world: World, anna: Reader) -> Sent:
    """What she asked for."""
    chat, conversation = made.waiting(world)
    return chat.cancel(conversation, anna)


def cancelled_before(world: World, anna: Reader) -> Sent:
    """A decision on a cancelled run."""
    chat, sent = world.waiting()
    chat.cancel(sent.conversation, anna)
    return chat.decide(sent.conversation, "approve", card=digest_of(world, sent.run_id), by=anna)


def nothing_to_retry(world: World, anna: Reader) -> Sent:
    """It was answered."""
    chat, conversation = made.completed(world)
    return chat.retry(conversation, anna)


def retry_refused(world: World, anna: Reader) -> Sent:
    """It wrote a page before it failed."""
    chat, conversation = made.failed_outside(world)
    return chat.retry(conversation, anna)


def not_configured(world: World, anna: Reader) -> Sent:
    """A message while it waits and nothing is in force."""
    chat, conversation = made.waiting_unconfigured(world)
    return chat.send(OTHER, anna, conversation=conversation)


def decision_not_configured(world: World, anna: Reader) -> Sent:
    """A denial while nothing is in force."""
    chat, conversation = made.waiting_unconfigured(world)
    return chat.decide(conversation, "deny", card=digest_of(world, world.runs()[-1]), by=anna)


HELD, BUSY, REFUSED = SendOutcome.HELD, SendOutcome.BUSY, SendOutcome.REFUSED
TABLE: list[tuple[Reached, SendOutcome, ReplyCode]] = [
    (approval_pending, HELD, ReplyCode.APPROVAL_PENDING),
    (approval_pending_elsewhere, HELD, ReplyCode.APPROVAL_PENDING_ELSEWHERE),
    (busy, BUSY, ReplyCode.CONVERSATION_BUSY),
    (busy_retry, BUSY, ReplyCode.CONVERSATION_BUSY),
    (stale, REFUSED, ReplyCode.STALE_DECISION),
    (already_decided, REFUSED, ReplyCode.ALREADY_DECIDED),
    (superseded, REFUSED, ReplyCode.SUPERSEDED),
    (approval_expired, REFUSED, ReplyCode.APPROVAL_EXPIRED),
    (may_not_decide, REFUSED, ReplyCode.MAY_NOT_DECIDE),
    (may_not_decide_stale, REFUSED, ReplyCode.MAY_NOT_DECIDE),
    (second_person, REFUSED, ReplyCode.SECOND_PERSON_NEEDED),
    (tool_not_allowed, REFUSED, ReplyCode.TOOL_NOT_ALLOWED_FOR_APPROVER),
    (run_cancelled, SendOutcome.ACCEPTED, ReplyCode.RUN_CANCELLED),
    (cancelled_before, REFUSED, ReplyCode.RUN_CANCELLED),
    (nothing_to_retry, REFUSED, ReplyCode.NOTHING_TO_RETRY),
    (retry_refused, REFUSED, ReplyCode.RETRY_REFUSED),
    (not_configured, HELD, ReplyCode.CHAT_NOT_CONFIGURED),
    (decision_not_configured, REFUSED, ReplyCode.CHAT_NOT_CONFIGURED),
]


def test_every_reply_is_reached() -> None:
    """No code is there for nothing (V11)."""
    assert {code for _, _, code in TABLE} == set(ReplyCode)


@pytest.mark.parametrize("language", ["de", "en"])
@pytest.mark.parametrize(("reach", "outcome", "code"), TABLE, ids=[reach.__name__ for reach, _, _ in TABLE])
def test_a_reply_comes_with_its_sentence(
    world: World, reach: Reached, outcome: SendOutcome, code: ReplyCode, language: str
) -> None:
    """In the reader's language, never stored, and nothing is executed twice (V11, P2)."""
    executed_before = 1 if reach in (already_decided, retry_refused) else 0

    sent = reach(world, Reader("anna", language=language))

    assert (sent.outcome, sent.code) == (outcome, code)
    assert sent.text == reply_sentence(code, language)
    assert sent.text not in [message.text for message in world.messages(sent.conversation)]
    assert len(world.host.executed) == executed_before


@pytest.mark.parametrize(
    ("reach", "code"),
    [
        (lambda world: made.waiting(world)[0], ReplyCode.STALE_DECISION),
        (lambda world: made.approved_here(world)[0], ReplyCode.ALREADY_DECIDED),
        (lambda world: made.cancelled_outside(world)[0], ReplyCode.RUN_CANCELLED),
        (lambda world: made.expired(world)[0], ReplyCode.APPROVAL_EXPIRED),
        (lambda world: made.waiting_unconfigured(world)[0], ReplyCode.CHAT_NOT_CONFIGURED),
        (lambda world: made.completed(world)[0], ReplyCode.STALE_DECISION),
        (lambda world: made.failed(world)[0], ReplyCode.STALE_DECISION),
        (lambda world: made.running(world)[0], ReplyCode.STALE_DECISION),
        (lambda world: made.queued(world)[0], ReplyCode.STALE_DECISION),
    ],
)
def test_a_decision_outside_is_refused_with_the_same_codes(
    world: World, reach: Callable[[World], object], code: ReplyCode
) -> None:
    """As an error that carries the code (A1)."""
    chat = reach(world)
    (run_id,) = world.runs()
    row = world.row(run_id)
    digest = "0" * 64 if code is ReplyCode.STALE_DECISION else digest_of(world, run_id)

    with pytest.raises(DecisionRefusedError) as refused:
        chat.runtime.decide(run_id, "approve", digest=digest, by=DORA)  # type: ignore[attr-defined]

    assert refused.value.code is code
    if code is not ReplyCode.APPROVAL_EXPIRED:
        assert world.row(run_id) == row


def test_who_may_neither_see_nor_decide_learns_nothing(world: World) -> None:
    """Knowing an id authorises nothing, and an unreadable run looks like none (O4, E5)."""
    chat, sent = world.waiting(access=RoleAccess(owner_decides=True))
    digest = digest_of(world, sent.run_id)
    texts = []
    for damaged in (False, True):
        if damaged:
            world.damage(world.runs()[-1])
        for run_id in (sent.run_id, "run-9999"):
            with pytest.raises(Exception, match="not yours to see") as refused:
                chat.runtime.decide(run_id, "approve", digest=digest, by=DORA)  # type: ignore[arg-type]
            texts.append((type(refused.value), str(refused.value).replace(str(run_id), "ID")))

    assert len(set(texts)) == 1
