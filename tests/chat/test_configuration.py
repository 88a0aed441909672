"""
Configuration at every moment of a turn: without one, nothing is done and the reason is told (G0).
"""

from collections.abc import Callable

import pytest

from nr_agent_core import (
    Configuration,
    FailureCode,
    ReplyCode,
    RunReason,
    RunStatus,
    SendOutcome,
)
from tests.chat import standings as made
from tests.chat.world import (
    ANNA,
    DORA,
    Between,
    World,
    codes,
    digest_of,
)

OTHER = "Lege noch eine Seite an."
Resolved = Callable[[], Configuration | None]


class Resolver:
    """Answers what a test says, and remembers for whom it was asked."""

    def __init__(self, answer: Resolved) -> None:
        self.answer, self.asked = answer, list[tuple[str | None, str]]()

    def resolve(self, conversation: str | None, owner: str) -> Configuration | None:
        """What the test says."""
        self.asked.append((conversation, owner))
        return self.answer()


def _raises() -> Configuration:
    raise ConnectionError("the settings are not to be reached at 10.0.0.1")


BROKEN: dict[str, Resolved] = {
    "none": lambda: None,
    "no model": lambda: Configuration(model=None),
    "raising": _raises,
    "garbage": lambda: "a configuration",  # type: ignore[dict-item,return-value]
    "garbage for a model": lambda: Configuration(model=object()),  # type: ignore[arg-type]
}
FAILING = ("raising", "garbage", "garbage for a model")
broken = pytest.mark.parametrize("how", BROKEN)


# ----------------------------------------------------------------------------------- G0: a new turn


@broken
def test_a_turn_without_a_configuration_fails_in_one_transaction(world: World, how: str) -> None:
    """User message, beginning and end together, no model asked; None and no model have a code of their own (G0)."""
    gaps = Between(world.store)
    resolver = Resolver(BROKEN[how])
    chat = world.chat(configuration=resolver, store=gaps)

    sent = chat.send("Hallo", ANNA)

    assert (sent.outcome, sent.status) == (SendOutcome.ACCEPTED, RunStatus.FAILED)
    assert len(gaps.commits) == 1
    assert [(each.text, codes(each)) for each in world.messages(sent.conversation)] == [
        ("Hallo", []),
        ("", ["runEnded"]),
    ]
    row = world.row(sent.run_id)
    assert row.code is (FailureCode.INTERNAL if how in FAILING else FailureCode.CHAT_NOT_CONFIGURED)
    assert row.reason is (RunReason.INTERNAL if how in FAILING else RunReason.NOT_CONFIGURED)
    assert resolver.asked == [(sent.conversation, "anna")]
    assert "10.0.0.1" not in (row.error or "")
    chat = world.chat("Hallo.")
    assert chat.retry(sent.conversation, ANNA).status is RunStatus.COMPLETED


@broken
def test_a_bare_run_without_a_configuration_fails(world: World, how: str) -> None:
    """Likewise (G0)."""
    resolver = Resolver(BROKEN[how])
    result = world.chat(configuration=resolver).runtime.start("Hallo", "anna")

    assert result.status is RunStatus.FAILED
    assert resolver.asked == [(None, "anna")]


# -------------------------------------------------------------------------------- G0: a waiting run


@broken
@pytest.mark.parametrize("text", ["weiter", OTHER])
def test_a_message_to_a_waiting_run_is_held_without_a_configuration(world: World, how: str, text: str) -> None:
    """Nothing is stored and it waits on, whatever is wrong (G0)."""
    _, sent = world.waiting()
    before = world.snapshot(sent.conversation)

    held = world.chat(configuration=Resolver(BROKEN[how])).send(text, ANNA, conversation=sent.conversation)

    assert (held.outcome, held.code) == (SendOutcome.HELD, ReplyCode.CHAT_NOT_CONFIGURED)
    assert world.snapshot(sent.conversation) == before


@broken
@pytest.mark.parametrize("choice", ["approve", "deny"])
def test_a_decision_is_refused_without_a_configuration(world: World, how: str, choice: str) -> None:
    """Either way; the run waits on and can be decided once all is well (G0)."""
    _, sent = world.waiting()
    digest, before = digest_of(world, sent.run_id), world.snapshot(sent.conversation)
    chat = world.chat(configuration=Resolver(BROKEN[how]))

    refused = chat.decide(sent.conversation, choice, card=digest, by=ANNA)

    assert (refused.outcome, refused.code) == (SendOutcome.REFUSED, ReplyCode.CHAT_NOT_CONFIGURED)
    assert world.snapshot(sent.conversation) == before
    assert chat.view(sent.conversation, ANNA).card is not None
    assert len(chat.runtime.inbox(DORA)) == 1
    chat = world.chat("Gut.")
    assert chat.decide(sent.conversation, choice, card=digest, by=ANNA).status is RunStatus.COMPLETED


# ---------------------------------------------------------------------------- G0: a run taken over


@pytest.mark.parametrize("how", ["none", "no model"])
def test_a_run_that_is_taken_over_ends_without_a_configuration(world: World, how: str) -> None:
    """It ends failed with that code (G0)."""
    _, conversation = made.running_expired(world)
    chat = world.chat(configuration=Resolver(BROKEN[how]))

    chat.upkeep()

    row = world.row(world.runs()[-1])
    assert (row.status, row.code) == (RunStatus.FAILED, FailureCode.CHAT_NOT_CONFIGURED)
    assert codes(world.messages(conversation)[-1])[0] == "runEnded"


@pytest.mark.parametrize("how", FAILING)
def test_a_run_is_left_where_it_is_while_the_resolver_fails(world: World, how: str) -> None:
    """Upkeep leaves it, a message is busy and stores nothing; later it is recovered (G0, R8)."""
    _, conversation = made.running_expired(world)
    before = world.snapshot(conversation)
    chat = world.chat(configuration=Resolver(BROKEN[how]))

    report = chat.upkeep()
    busy = chat.send(OTHER, ANNA, conversation=conversation)
    retried = chat.retry(conversation, ANNA)

    assert report.left == tuple(world.runs())
    assert [each.outcome for each in (busy, retried)] == [SendOutcome.BUSY, SendOutcome.BUSY]
    assert world.snapshot(conversation) == before
    assert world.chat("Fertig.").upkeep().recovered == tuple(world.runs())
