"""
Turns that are recorded over each protocol, and replayed once its server is gone.
"""

import asyncio
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

from nr_agent_core import (
    ApprovalNeeded,
    AsyncChat,
    Chat,
    FailureClass,
    ModelAnswer,
    ModelMessage,
    ModelRequest,
    TurnStarted,
)
from nr_agent_core.adapters.fallback_model import FallbackModel
from nr_agent_core.testing import ManualClock, NotRecordedError, RecordedModel, SequentialIds
from tests.providers.loopback import Loopback, loopback
from tests.providers.test_questions import thinking_events
from tests.providers.test_turns import ANNA, CALL, DONE, parts, says
from tests.providers.wires import KEY, WIRES, AnthropicWire, Wire

Told = list[Any]
Story = Callable[[Any], tuple[Told, list[Any]]]

SECRET = "tulip-4711"
"""A host's own secret, which looks like nothing."""


def chat_parts(model: Any) -> dict[str, Any]:
    """The same chat each time, to the ids and the times."""
    made = parts(model)
    return {**made, "store": type(made["store"])(clock=ManualClock()), "ids": SequentialIds()}


def stored(chat: Any, run_id: str) -> list[Any]:
    """The stored events of a run."""
    return list(chat["store"].events(run_id))


def at_once(model: Any) -> tuple[Told, list[Any]]:
    """A call, an approval, an answer."""
    made = chat_parts(model)
    chat = Chat(**made)
    sent = chat.send("Create a page 'Team'.", ANNA)
    decided = chat.decide(sent.conversation, "approve", card=chat.view(sent.conversation, ANNA).card, by=ANNA)
    told = [sent, decided, chat.view(sent.conversation, ANNA)]
    chat.close()
    return told, stored(made, sent.run_id)


def streamed(model: Any) -> tuple[Told, list[Any]]:
    """The same as streams."""
    made = chat_parts(model)
    chat = Chat(**made)
    before = list(chat.stream("Create a page 'Team'.", ANNA))
    started = next(event for event in before if isinstance(event, TurnStarted))
    needed = next(event for event in before if isinstance(event, ApprovalNeeded))
    behind = list(chat.stream_decide(started.conversation, "approve", card=needed.card, by=ANNA))
    chat.close()
    return [*before, *behind], stored(made, started.run_id)


def awaited(model: Any) -> tuple[Told, list[Any]]:
    """The same from an event loop."""
    made = chat_parts(model)

    async def turn() -> tuple[Told, str]:
        chat = AsyncChat(**made)
        sent = await chat.send("Create a page 'Team'.", ANNA)
        card = (await chat.view(sent.conversation, ANNA)).card
        decided = await chat.decide(sent.conversation, "approve", card=card, by=ANNA)
        told = [sent, decided, await chat.view(sent.conversation, ANNA)]
        await chat.close(wait=5)
        return told, sent.run_id

    told, run_id = asyncio.run(turn())
    return told, stored(made, run_id)


def streamed_in_a_loop(model: Any) -> tuple[Told, list[Any]]:
    """The same, streamed from an event loop."""
    made = chat_parts(model)

    async def turn() -> tuple[Told, str]:
        chat = AsyncChat(**made)
        before = [event async for event in chat.stream("Create a page 'Team'.", ANNA)]
        started = next(event for event in before if isinstance(event, TurnStarted))
        needed = next(event for event in before if isinstance(event, ApprovalNeeded))
        decided = chat.stream_decide(started.conversation, "approve", card=needed.card, by=ANNA)
        behind = [event async for event in decided]
        await chat.close(wait=5)
        return [*before, *behind], started.run_id

    told, run_id = asyncio.run(turn())
    return told, stored(made, run_id)


STORIES = pytest.mark.parametrize(
    "story", [at_once, streamed, awaited, streamed_in_a_loop], ids=lambda story: story.__name__.replace("_", " ")
)


@STORIES
def test_a_recorded_turn_is_replayed_without_its_server(story: Story, wire: Wire, tmp_path: Path) -> None:
    """What is told and what is stored are equal: pieces, calls, usage, facts. The file is not written again."""
    path = tmp_path / "cassettes" / "team.json"
    with loopback() as server:
        server.script(*says(wire, CALL, DONE))
        recorded = story(RecordedModel(path, wire.model(server), mode="record"))
    content = path.read_bytes()

    with RecordedModel(path) as model:
        replayed = story(model)

    assert replayed == recorded
    assert model.unplayed == 0
    assert len(recorded[1]) > 4
    # A model that is gone is not missed while everything is there.
    with RecordedModel(path, wire.model(server), mode="record") as model:
        assert story(model) == recorded
    assert path.read_bytes() == content


def test_the_same_turn_is_the_same_file(wire: Wire, tmp_path: Path) -> None:
    """Nothing in it is by chance or of the time, and it can be compared line by line."""
    for name in ("one", "two"):
        with loopback() as server:
            server.script(*says(wire, CALL, DONE))
            streamed(RecordedModel(tmp_path / name, wire.model(server), mode="record"))

    content = (tmp_path / "one").read_text(encoding="utf-8")
    assert content == (tmp_path / "two").read_text(encoding="utf-8")
    assert content.endswith("}\n")
    assert '            "text": "Create a page \'Team\'."\n' in content


@pytest.mark.parametrize("asked_as", [at_once, streamed])
def test_what_was_recorded_one_way_answers_the_other(asked_as: Story, wire: Wire, tmp_path: Path) -> None:
    """A question is the same however it is asked; the stored run differs in nothing."""
    other = streamed if asked_as is at_once else at_once
    with loopback() as server:
        server.script(*says(wire, CALL, DONE))
        _, events = asked_as(RecordedModel(tmp_path / "it.json", wire.model(server), mode="record"))

    with RecordedModel(tmp_path / "it.json") as model:
        assert other(model)[1] == events


@pytest.mark.parametrize("failure_class", sorted(set(FailureClass) - {FailureClass.UNKNOWN}, key=lambda it: it.value))
@pytest.mark.parametrize("as_stream", [False, True])
def test_a_failure_is_replayed_as_its_class(
    failure_class: FailureClass, as_stream: bool, wire: Wire, tmp_path: Path
) -> None:
    """With its text and what the server asked for; the run that fails on it is the same run."""

    def turn(model: Any) -> list[Any]:
        made = chat_parts(model)
        chat = Chat(**made)
        told = list(chat.stream("Hello?", ANNA)) if as_stream else [chat.send("Hello?", ANNA)]
        return [*told, *stored(made, told[0].run_id)]

    with loopback() as server:
        server.answering = lambda asked: attrs.evolve(wire.failure(failure_class, asked), headers={"retry-after": "7"})
        recorded = turn(RecordedModel(tmp_path / "it.json", wire.model(server), mode="record"))

    with RecordedModel(tmp_path / "it.json") as model:
        assert turn(model) == recorded
    found = json.loads((tmp_path / "it.json").read_text(encoding="utf-8"))["exchanges"]
    assert [exchange["failure"]["class"] for exchange in found] == [failure_class.value]


def test_tries_are_replayed_in_their_order(server: Loopback, tmp_path: Path) -> None:
    """A failure, then the answer of another model to the same question."""
    first = WIRES[0]

    def ask(*models: Any) -> ModelAnswer:
        return FallbackModel(*models).complete(ModelRequest("", (ModelMessage("user", "Hello?"),)))

    server.script(lambda asked: first.failure(FailureClass.SERVER_ERROR, asked), *says(first, DONE))
    recording = RecordedModel(tmp_path / "it.json", first.model(server), mode="record")
    recorded = ask(recording, recording)

    replaying = RecordedModel(tmp_path / "it.json")
    assert ask(replaying, replaying) == recorded
    assert replaying.unplayed == 0


def test_a_connection_that_is_lost_in_the_middle_is_replayed_from_there(wire: Wire, tmp_path: Path) -> None:
    """The pieces that came, then the failure."""

    def turn(model: Any) -> list[Any]:
        return list(Chat(**chat_parts(model)).stream("Hello?", ANNA))

    with loopback() as server:
        server.always(wire.broken_off("Once upon a time", cut=True))
        recorded = turn(RecordedModel(tmp_path / "it.json", wire.model(server), mode="record"))

    assert turn(RecordedModel(tmp_path / "it.json")) == recorded
    assert len(recorded) > 3


def test_thinking_is_recorded_and_given_back(tmp_path: Path) -> None:
    """What only the provider reads is in the file, and decides nothing when it is replayed."""
    wire = AnthropicWire()

    def turn(model: Any) -> list[Any]:
        made = chat_parts(model)
        told = list(Chat(**made).stream("Find page 7.", ANNA))
        return [*told, *stored(made, told[0].run_id)]

    with loopback() as server:
        server.script(lambda asked: wire.stream(thinking_events()), *says(wire, DONE))
        recorded = turn(RecordedModel(tmp_path / "it.json", wire.model(server), mode="record"))

    with RecordedModel(tmp_path / "it.json") as model:
        assert turn(model) == recorded
    assert "provider_data" in (tmp_path / "it.json").read_text(encoding="utf-8")


@STORIES
def test_no_secret_reaches_the_file(story: Story, wire: Wire, tmp_path: Path) -> None:
    """Neither the key, nor what the redactor knows, nor what the host names; the turn is replayed all the same."""
    leaking = attrs.evolve(DONE, text=f"Saved with Bearer {KEY} and {SECRET}, as pages:42.")
    with loopback() as server:
        server.script(*says(wire, CALL, leaking))
        story(RecordedModel(tmp_path / "it.json", wire.model(server), mode="record", secrets=[SECRET]))

    content = (tmp_path / "it.json").read_text(encoding="utf-8")
    assert KEY not in content
    assert SECRET not in content
    assert "".join(pieces_in(content)) == "A moment.Saved with Bearer [secret] and [secret], as pages:42."
    with RecordedModel(tmp_path / "it.json", secrets=[SECRET]) as model:
        story(model)
        assert model.unplayed == 0


def pieces_in(content: str) -> list[str]:
    """What the answers of a file say."""
    return [exchange["answer"]["text"] for exchange in json.loads(content)["exchanges"]]


def test_a_server_that_says_the_key_says_it_to_nobody(wire: Wire, tmp_path: Path) -> None:
    """The text of a failure is sanitised before it is written."""
    with loopback() as server:
        server.always(wire.error(400, None, f"No such thing for {KEY} at https://llm.example/?key=abc"))
        model = RecordedModel(tmp_path / "it.json", wire.model(server), mode="record")
        Chat(**chat_parts(model)).send("Hello?", ANNA)

    content = (tmp_path / "it.json").read_text(encoding="utf-8")
    assert not re.search(f"{KEY}|llm.example", content)


def test_what_was_not_recorded_is_asked_of_nobody(wire: Wire, server: Loopback, tmp_path: Path) -> None:
    """The turn fails, the server hears nothing, and the end of the block says where the question differs."""
    server.script(*says(wire, CALL, DONE))
    at_once(RecordedModel(tmp_path / "it.json", wire.model(server), mode="record"))
    before = len(server.asked)

    with (
        pytest.raises(NotRecordedError, match=r"exchange 1: message 1 \(user\) differs from character 16 on"),
        RecordedModel(tmp_path / "it.json", wire.model(server)) as model,
    ):
        Chat(**chat_parts(model)).send("Create a page 'Contact'.", ANNA)

    assert len(server.asked) == before


def test_what_the_file_lacks_is_added_to_it(wire: Wire, tmp_path: Path) -> None:
    """The exchanges that were there stand where they stood, and are not asked again."""
    path = tmp_path / "it.json"
    for texts in (["One?"], ["One?", "Two?"]):
        with loopback() as server:
            server.script(*says(wire, DONE))
            chat = Chat(**chat_parts(RecordedModel(path, wire.model(server), mode="record")))
            for text in texts:
                chat.send(text, ANNA)
            assert len(server.asked) == 1

    asked = [exchange["asked"]["messages"][-1]["text"] for exchange in json.loads(path.read_text())["exchanges"]]
    assert asked == ["One?", "Two?"]
