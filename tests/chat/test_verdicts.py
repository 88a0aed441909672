"""
What is said about an answer, on every path that completes a turn (V1, V2, V6, V9, C7, P1, P3).
"""

import logging
from collections.abc import Callable

import pytest

from nr_agent_core import ClaimDetector, NothingWrittenError, RunStatus, ToolResult
from nr_agent_core.testing.scripted_model import call, round_of
from tests.chat import standings as made
from tests.chat.world import ANNA, CREATE, DORA, World, codes, digest_of

CLAIM = "Die Seite **Team** ist angelegt.\n\nIch habe alles gespeichert."
HONEST = "Dazu bräuchte ich noch den Titel."


def first(world: World, text: str) -> str:
    """The first answer."""
    return world.chat(text).send("Lege an.", ANNA).conversation


def denied(world: World, text: str) -> str:
    """The answer after a denial in the chat."""
    chat, sent = world.waiting(text)
    chat.decide(sent.conversation, "deny", card=digest_of(world, sent.run_id), by=ANNA)
    return sent.conversation


def denied_outside(world: World, text: str) -> str:
    """The answer after a denial elsewhere."""
    chat, sent = world.waiting(text)
    chat.runtime.decide(sent.run_id, "deny", digest=digest_of(world, sent.run_id), by=DORA)  # type: ignore[arg-type]
    return sent.conversation


def recovered(world: World, text: str) -> str:
    """The answer of a run that upkeep took over."""
    _, conversation = made.running_expired(world)
    world.chat(text).upkeep()
    return conversation


def recovered_by_a_message(world: World, text: str) -> str:
    """The answer of a run that somebody's next message took over, whose own turn dies."""
    _, conversation = made.running_expired(world)
    chat = world.chat(text, made.WorkerDied())
    world.dies(lambda: chat.send("Und?", ANNA, conversation=conversation))
    return conversation


def queued(world: World, text: str) -> str:
    """The answer of a run that a worker took."""
    _, conversation = made.queued(world)
    world.chat(text).runtime.recover(world.runs()[-1])
    return conversation


def failed_tool(world: World, text: str) -> str:
    """The answer after an approved call that failed and wrote nothing."""

    def fails(*_: object) -> ToolResult:
        raise NothingWrittenError("no")

    chat, sent = world.waiting(text, tools=world.host.tools(execute=fails))
    chat.decide(sent.conversation, "approve", card=digest_of(world, sent.run_id), by=ANNA)
    return sent.conversation


def reading(world: World, text: str) -> str:
    """The answer after calls that only read."""
    return world.chat(call("search_pages"), text).send("Lege an.", ANNA).conversation


def retried(world: World, text: str) -> str:
    """The answer of a retry."""
    _, conversation = made.failed(world)
    world.chat(text).retry(conversation, ANNA)
    return conversation


def closing(world: World, text: str) -> str:
    """The answer of the closing round at the cap."""
    chat = world.chat(call("search_pages"), text, rules={"max_rounds": 1})
    return chat.send("Lege an.", ANNA).conversation


Path = Callable[[World, str], str]
PATHS: list[Path] = [
    first,
    denied,
    denied_outside,
    recovered,
    recovered_by_a_message,
    queued,
    failed_tool,
    reading,
    retried,
    closing,
]
OUTSIDE = (denied_outside,)


@pytest.mark.parametrize("text", [CLAIM, HONEST], ids=["claim", "honest"])
@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.__name__)
def test_a_claim_without_a_write_is_marked_on_every_path(world: World, path: Path, text: str) -> None:
    """Once, beside an answer that is stored as it was given (V6, V9, P3)."""
    conversation = path(world, text)

    (message,) = [each for each in world.messages(conversation) if each.text == text]
    expected = ["nothingSaved"] if text == CLAIM else []
    assert codes(message) == [*expected, *(["runFinishedOutside"] if path in OUTSIDE else [])]


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.__name__)
def test_a_reference_that_nothing_named_is_marked_on_every_path(world: World, path: Path) -> None:
    """Whoever completes the turn, and in which segment (V7, V9)."""
    text = "Dazu gehört pages:990011."
    conversation = path(world, text)

    (message,) = [each for each in world.messages(conversation) if each.text == text]
    assert codes(message) == ["unknownReference", *(["runFinishedOutside"] if path in OUTSIDE else [])]
    assert message.notices[0].arguments == {"references": ["pages:990011"]}


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.__name__)
def test_a_call_written_as_text_is_marked_on_every_path(world: World, path: Path) -> None:
    """It was not made, whoever completes the turn (V12, V9)."""
    text = 'create_page(title="Jobs")'
    conversation = path(world, text)

    (message,) = [each for each in world.messages(conversation) if each.text == text]
    assert codes(message) == ["callNotMade", *(["runFinishedOutside"] if path in OUTSIDE else [])]


@pytest.mark.parametrize("named", [True, False], ids=["a record", "no record"])
def test_what_an_approved_call_did_is_told_to_whom_it_is_denied(world: World, named: bool) -> None:
    """With the record, or with the tool that named none (V8, V1)."""
    parts = {} if named else {"tools": world.host.tools(execute=lambda *_: ToolResult.text("Sent."))}
    chat, sent = world.waiting("Es wurde nichts gespeichert.", **parts)
    chat.decide(sent.conversation, "approve", card=digest_of(world, sent.run_id), by=ANNA)

    (notice,) = world.messages(sent.conversation)[-1].notices
    assert notice.code.value == "savedNonetheless"
    records = [{"reference": "pages:42", "kind": "created"}]
    assert notice.arguments == ({"records": records} if named else {"tools": ["create_page"]})


def test_the_model_is_told_on_the_next_turn(world: World) -> None:
    """A note behind its own answer (M1, V12)."""
    chat = world.chat('create_page(title="Jobs")', "Gut.")
    sent = chat.send("Lege an.", ANNA)
    chat.send("Und?", ANNA, conversation=sent.conversation)

    (told,) = [line.text for line in world.model.requests[-1].messages if line.role == "assistant"]
    assert "[run note: callNotMade]" in told


def test_a_bare_run_has_no_chat_to_be_outside_of(world: World) -> None:
    """Its answer is returned with its notices, and that is all (C7)."""
    chat = world.chat(CREATE, CLAIM)
    asked = chat.runtime.start("Lege an.", "anna")
    assert asked.digest is not None

    result = chat.runtime.decide(asked.run_id, "deny", digest=asked.digest, by=DORA)

    assert (result.answer, [notice.code.value for notice in result.notices]) == (CLAIM, ["nothingSaved"])


def test_a_claim_beside_a_write_stands_alone(world: World) -> None:
    """The run decides, the text only triggers (P1, V1)."""
    chat, sent = world.waiting(CLAIM)
    chat.decide(sent.conversation, "approve", card=digest_of(world, sent.run_id), by=ANNA)

    message = world.messages(sent.conversation)[-1]
    assert (message.text, codes(message)) == (CLAIM, [])


@pytest.mark.parametrize("text", [CLAIM, HONEST], ids=["claim", "honest"])
def test_an_unknown_call_is_named_whatever_the_text_says(world: World, text: str) -> None:
    """It never becomes "nothing was saved" (V6, P4)."""

    def fails(*_: object) -> ToolResult:
        raise ConnectionError("gone")

    chat, sent = world.waiting(text, tools=world.host.tools(execute=fails))
    chat.decide(sent.conversation, "approve", card=digest_of(world, sent.run_id), by=ANNA)

    message = world.messages(sent.conversation)[-1]
    assert codes(message) == ["writeOutcomeUnknown"]
    assert message.notices[0].arguments["tools"] == ["create_page"]


def test_a_detector_that_raises_costs_the_notice_not_the_answer(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """It is logged (V2)."""

    class Broken(ClaimDetector):
        def claims_change(self, text: str) -> bool:
            raise RuntimeError("no rules")

    with caplog.at_level(logging.ERROR):
        sent = world.chat(CLAIM, detector=Broken()).send("Lege an.", ANNA)

    assert sent.status is RunStatus.COMPLETED
    message = world.messages(sent.conversation)[-1]
    assert (message.text, codes(message)) == (CLAIM, [])
    assert "no rules" in caplog.text


def test_text_beside_calls_is_no_message(world: World) -> None:
    """While a card stands, the card speaks; the answer is the last round's text (V9)."""
    chat = world.chat(round_of(CREATE, text="Ich habe die Seite schon angelegt."), HONEST)
    sent = chat.send("Lege an.", ANNA)
    assert [each.text for each in world.messages(sent.conversation)] == ["Lege an."]
    chat.decide(sent.conversation, "deny", card=digest_of(world, sent.run_id), by=ANNA)
    assert [each.text for each in world.messages(sent.conversation)] == ["Lege an.", HONEST]
