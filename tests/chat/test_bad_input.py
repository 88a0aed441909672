"""
Whatever comes in: a typed error or a defined outcome, nothing lost, nothing executed (E5, O4, P3).
"""

from collections.abc import Callable
from typing import Any

import attrs
import pytest

from nr_agent_core import (
    AgentCoreError,
    Card,
    Chat,
    InvalidValueError,
    MessageRejectedError,
    NotFoundError,
    Reader,
    RunStatus,
    SendOutcome,
)
from tests.chat.world import ANNA, EVE, World, digest_of, told

STRANGE: dict[str, Any] = {
    "none": None,
    "number": 5,
    "true": True,
    "bytes": b"run-0001",
    "list": ["run-0001"],
    "mapping": {"id": "run-0001"},
    "object": object(),
    "empty": "",
    "blank": " \n",
    "surrogate": "run-\ud800",
    "nul": "run-0001\0",
    "long": "x" * 1000,
    "other case": "RUN-0001",
    "unknown": "run-9999",
}

# Each call with one strange value in it, everything else being right.
Call = Callable[[Chat, str, str, str, Any], object]
CALLS: dict[str, Call] = {
    "send to": lambda chat, c, r, d, value: chat.send("Hallo", ANNA, conversation=value),
    "send by": lambda chat, c, r, d, value: chat.send("Hallo", value, conversation=c),
    "open": lambda chat, c, r, d, value: chat.open(value),
    "retry": lambda chat, c, r, d, value: chat.retry(value, ANNA),
    "retry by": lambda chat, c, r, d, value: chat.retry(c, value),
    "decide in": lambda chat, c, r, d, value: chat.decide(value, "approve", card=d, by=ANNA),
    "decide": lambda chat, c, r, d, value: chat.decide(c, value, card=d, by=ANNA),
    "decide by": lambda chat, c, r, d, value: chat.decide(c, "approve", card=d, by=value),
    "cancel": lambda chat, c, r, d, value: chat.cancel(value, ANNA),
    "cancel by": lambda chat, c, r, d, value: chat.cancel(c, value),
    "view": lambda chat, c, r, d, value: chat.view(value, ANNA),
    "view by": lambda chat, c, r, d, value: chat.view(c, value),
    "view limit": lambda chat, c, r, d, value: chat.view(c, ANNA, limit=value if value != 5 else -5),
    "view before": lambda chat, c, r, d, value: chat.view(c, ANNA, before=-5 if value in (None, 5) else value),
    "upkeep": lambda chat, c, r, d, value: chat.upkeep(limit=value if value != 5 else 0),
    "run decide": lambda chat, c, r, d, value: chat.runtime.decide(value, "approve", digest=d, by=ANNA),
    "run decision": lambda chat, c, r, d, value: chat.runtime.decide(r, value, digest=d, by=ANNA),
    "run digest": lambda chat, c, r, d, value: chat.runtime.decide(r, "approve", digest=value, by=ANNA),
    "run decide by": lambda chat, c, r, d, value: chat.runtime.decide(r, "approve", digest=d, by=value),
    "run cancel": lambda chat, c, r, d, value: chat.runtime.cancel(value, ANNA),
    "run cancel by": lambda chat, c, r, d, value: chat.runtime.cancel(r, value),
    "status": lambda chat, c, r, d, value: chat.runtime.status(value, ANNA),
    "status by": lambda chat, c, r, d, value: chat.runtime.status(r, value),
    "events": lambda chat, c, r, d, value: chat.runtime.events(value, ANNA),
    "events after": lambda chat, c, r, d, value: chat.runtime.events(r, ANNA, after=-5 if value == 5 else value),
    "recover": lambda chat, c, r, d, value: chat.runtime.recover(value),
}
# A new conversation is what "nowhere" means.
DEFINED = {("send to", "none")}


@pytest.mark.parametrize("name", CALLS)
def test_a_strange_argument_is_refused_in_words(world: World, name: str) -> None:
    """A typed error; nothing is stored or executed, the run waits on (E5, O4)."""
    chat, sent = world.waiting(model_options={"otherwise": "Gut."})
    assert sent.run_id is not None
    before, digest = world.snapshot(sent.conversation), digest_of(world, sent.run_id)
    for strange, value in STRANGE.items():
        if (name, strange) in DEFINED:
            continue
        with pytest.raises(AgentCoreError):
            print(name, strange, CALLS[name](chat, sent.conversation, sent.run_id, digest, value))
    assert world.snapshot(sent.conversation) == before
    assert world.host.executed == []


@pytest.mark.parametrize("part", ["owner", "instructions"])
def test_a_bare_run_of_nobody_does_not_start(world: World, part: str) -> None:
    """An owner is an id or a reader, instructions are a text (interface)."""
    chat = world.chat(model_options={"otherwise": "Gut."})
    for strange in ("number", "bytes", "list", "mapping", "object", *(("none", "empty", "long") * (part == "owner"))):
        given = {"owner": "anna", part: STRANGE[strange]}
        with pytest.raises(InvalidValueError):
            chat.runtime.start("Hallo", **given)
    assert world.runs() == []


def test_no_reader_is_told_what_others_own(world: World) -> None:
    """A foreign conversation and one that is not there look the same (E5, O4)."""
    chat, sent = world.waiting()
    for ask in (
        lambda conversation: chat.view(conversation, EVE),
        lambda conversation: chat.send("Hallo", EVE, conversation=conversation),
        lambda conversation: chat.cancel(conversation, EVE),
        lambda conversation: chat.retry(conversation, EVE),
        lambda conversation: chat.decide(conversation, "deny", card="x", by=EVE),
    ):
        texts = set()
        for conversation in (sent.conversation, "conversation-9999"):
            with pytest.raises(NotFoundError) as refused:
                ask(conversation)
            texts.add(str(refused.value).replace(conversation, "ID"))
        assert len(texts) == 1


@pytest.mark.parametrize(
    "card",
    [
        Card("run-9999", "x", (), 0.0, None, True, True),
        Card("", "x", (), 0.0, None, True, True),
        Card(5, "x", (), 0.0, None, True, True),  # type: ignore[arg-type]
        Card("run-0001", 5, (), 0.0, None, True, True),  # type: ignore[arg-type]
    ],
    ids=["unknown", "empty", "number", "number as digest"],
)
def test_a_made_up_card_decides_nothing(world: World, card: Card) -> None:
    """It is stale (A1)."""
    chat, sent = world.waiting()
    refused = chat.decide(sent.conversation, "approve", card=card, by=ANNA)
    assert refused.outcome is SendOutcome.REFUSED
    assert refused.code is not None
    assert refused.code.value == "staleDecision"
    assert world.host.executed == []


def test_a_copy_of_a_card_decides_on_what_is_stored(world: World) -> None:
    """What came with the decision is never executed (A2)."""
    chat, sent = world.waiting("Gut.")
    card = chat.view(sent.conversation, ANNA).card
    assert card is not None
    changed = attrs.evolve(card, calls=(attrs.evolve(card.calls[0], tool="delete_everything", lines=("x",)),))

    chat.decide(sent.conversation, "approve", card=changed, by=ANNA)

    assert world.host.pages == ["Team"]


@pytest.mark.parametrize("text", [None, 5, b"Hallo", "", "   ", "\n\t ", "\u2003", "x" * 1001, "ä" * 501, ["Hallo"]])
def test_a_message_that_is_none_is_rejected(world: World, text: Any) -> None:
    """Blank, too long in UTF-8 bytes, or no text: nothing stored, no run (interface)."""
    chat = world.chat("Gut.", message_limit=1000)
    conversation = chat.open(ANNA)
    for send in (
        lambda: chat.send(text, ANNA),
        lambda: chat.send(text, ANNA, conversation=conversation),
    ):
        with pytest.raises(MessageRejectedError):
            send()
    assert world.runs() == []
    assert world.messages(conversation) == ()


def test_a_message_of_just_the_limit_is_taken(world: World) -> None:
    """Bytes count, not characters (interface)."""
    chat = world.chat("Gut.", message_limit=1000)
    assert chat.send("ä" * 500, ANNA).status is RunStatus.COMPLETED


@pytest.mark.parametrize("text", ["a\0b", "\0", "a\ud800b", "\udfff", "a\x10b", "a\u202eb", "🙂", "e\u0301"])
def test_a_text_comes_back_as_it_was_given(world: World, text: str) -> None:
    """Lone surrogates become U+FFFD before anything else; everything else stays (P3)."""
    chat = world.chat(text)
    sent = chat.send(f"Hallo {text}", ANNA)
    expected = text.replace("\ud800", "\ufffd").replace("\udfff", "\ufffd")

    user, answer = chat.view(sent.conversation, ANNA).messages
    assert (user.text, answer.text) == (f"Hallo {expected}", expected)
    assert told(world)[-1] == ("user", f"Hallo {expected}")
    again = world.chat("Gut.")
    again.send("Und?", ANNA, conversation=sent.conversation)
    assert told(world)[0] == ("user", f"Hallo {expected}")


def test_half_a_surrogate_pair_in_a_prompt_reaches_no_model(world: World) -> None:
    """Whoever brought it: the host, the reader's context or the reader's own words (P3)."""
    reader = Reader("anna", context="c\ud800", instructions="i\udfff")
    chat = world.chat(model_options={"otherwise": "Gut."}, rules={"prompt": "p\ud800"})

    sent = chat.send("Hallo", reader)
    bare = chat.runtime.start("Hallo", reader)

    assert [sent.status, bare.status] == [RunStatus.COMPLETED] * 2
    for request in world.model.requests:
        assert request.system.encode("utf-8").count("\ufffd".encode()) == 3
