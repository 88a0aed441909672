"""
Whatever comes in: a typed error or a defined outcome, nothing lost, nothing executed (E5, O4, P3, T4, R4).
"""

from collections.abc import Callable, Mapping
from typing import Any

import attrs
import pytest

from nr_agent_core import (
    AgentCoreError,
    Card,
    Chat,
    Configuration,
    DuplicateToolError,
    FailureCode,
    InvalidValueError,
    MessageRejectedError,
    ModelAnswer,
    ModelCall,
    NotFoundError,
    Outcome,
    Reader,
    RunStatus,
    SendOutcome,
    ToolContext,
    ToolDeclarationError,
    ToolResult,
)
from nr_agent_core.domain.run_events import NotExecuted, ToolFinished
from nr_agent_core.testing.scripted_model import ScriptedModel, call
from tests.chat.world import ANNA, CREATE, DORA, EVE, World, digest_of, told

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


# ---------------------------------------------------------------------------------------- messages


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


# -------------------------------------------------------------------------------------- the model


def answer(**parts: Any) -> ModelAnswer:
    """An answer with strange parts."""
    return ModelAnswer(**parts)


FAILING: dict[str, Any] = {
    "nothing": None,
    "a number": 5,
    "a text as bytes": answer(text=b"Gut."),
    "no text": answer(text=None),
    "calls that are none": answer(calls=("create_page",)),
    "a call without a name": answer(calls=(ModelCall(None, "{}"),)),  # type: ignore[arg-type]
    "arguments as a mapping": answer(calls=(ModelCall("create_page", {"title": "x"}),)),  # type: ignore[arg-type]
    "an id that is a number": answer(calls=(ModelCall("create_page", "{}", 7),)),  # type: ignore[arg-type]
    "calls as a number": answer(calls=5),
    "a provider that is a number": answer(text="Gut.", provider=5),
    "tokens as a text": answer(text="Gut.", input_tokens="many"),
    "data as a mapping": answer(text="Gut.", provider_data={"a": 1}),
}


@pytest.mark.parametrize("unattended", [False, True])
@pytest.mark.parametrize("garbage", FAILING)
def test_a_garbled_answer_fails_the_turn(world: World, garbage: str, *, unattended: bool) -> None:
    """Code internal, nothing executed; the message is kept and the turn can be tried again (F1, F5)."""
    rules = {"unattended": ["create_page"]} if unattended else {}
    chat = world.chat(lambda _: FAILING[garbage], "Gut.", rules=rules)

    sent = chat.send("Lege an.", ANNA)

    assert sent.status is RunStatus.FAILED
    assert world.row(sent.run_id).code is FailureCode.INTERNAL
    assert world.host.executed == []
    assert chat.retry(sent.conversation, ANNA).status is RunStatus.COMPLETED


REFUSED: dict[str, tuple[ModelCall, NotExecuted]] = {
    "unknown tool": (ModelCall("drop_tables", "{}"), NotExecuted.NOT_REGISTERED),
    "empty name": (ModelCall("", "{}"), NotExecuted.NOT_REGISTERED),
    "long name": (ModelCall("create_page" + "x" * 200, "{}"), NotExecuted.NOT_REGISTERED),
    "surrogate name": (ModelCall("create\ud800", "{}"), NotExecuted.NOT_REGISTERED),
    "other case": (ModelCall("Create_Page", '{"title": "x"}'), NotExecuted.NOT_REGISTERED),
    "no object": (ModelCall("create_page", "[]"), NotExecuted.INVALID_ARGUMENTS),
    "null": (ModelCall("create_page", "null"), NotExecuted.INVALID_ARGUMENTS),
    "no JSON": (ModelCall("create_page", "title=Team"), NotExecuted.INVALID_ARGUMENTS),
    "empty": (ModelCall("create_page", ""), NotExecuted.INVALID_ARGUMENTS),
    "missing": (ModelCall("create_page", "{}"), NotExecuted.INVALID_ARGUMENTS),
    "wrong type": (ModelCall("create_page", '{"title": 5}'), NotExecuted.INVALID_ARGUMENTS),
    "twice": (ModelCall("create_page", '{"title": "a", "title": "b"}'), NotExecuted.INVALID_ARGUMENTS),
    "NaN": (ModelCall("create_page", '{"title": NaN}'), NotExecuted.INVALID_ARGUMENTS),
    "surrogate": (ModelCall("create_page", '{"title": "\\ud800"}'), NotExecuted.INVALID_ARGUMENTS),
    "raw surrogate": (ModelCall("create_page", '{"title": "\ud800"}'), NotExecuted.INVALID_ARGUMENTS),
    "deep": (ModelCall("create_page", "[" * 5000 + "]" * 5000), NotExecuted.INVALID_ARGUMENTS),
    "huge number": (ModelCall("create_page", '{"title": ' + "9" * 5000 + "}"), NotExecuted.INVALID_ARGUMENTS),
}


@pytest.mark.parametrize("garbage", REFUSED)
def test_a_garbled_call_is_refused_and_the_run_goes_on(world: World, garbage: str) -> None:
    """No pause, no card; the model is told, and the answer stands (R4, T12)."""
    asked, reason = REFUSED[garbage]
    chat = world.chat(answer(calls=(asked,)), "Das ging nicht.")

    sent = chat.send("Lege an.", ANNA)

    assert sent.status is RunStatus.COMPLETED
    (finished,) = [event for event in world.events(sent.run_id) if isinstance(event, ToolFinished)]
    assert (finished.refusal, finished.executed) == (reason, False)
    assert world.host.executed == []
    assert world.messages(sent.conversation)[-1].text == "Das ging nicht."


def test_repeated_call_ids_are_told_apart(world: World) -> None:
    """Other calls under one id are calls of their own; each gets its own result (T12)."""
    calls = tuple(ModelCall("create_page", f'{{"title": "{title}"}}', "same") for title in ("A", "B", "A"))
    chat = world.chat(answer(calls=calls), "Gut.", rules={"unattended": ["create_page"]})
    chat.send("Lege an.", ANNA)

    assert world.host.pages == ["A", "B"]
    request = world.model.requests[1]
    (said,) = [message for message in request.messages if message.calls]
    ids = [each.id for each in said.calls]
    assert len(ids) == len(set(ids)) == 2
    assert [message.call_id for message in request.messages if message.role == "tool"] == ids


@pytest.mark.parametrize("said", ["", " ", "\n\t"])
def test_an_answer_of_nothing_is_asked_once_more(world: World, said: str) -> None:
    """Then it is a failure of its own (R4, F1)."""
    chat = world.chat(said, "Hallo.", said, said)
    sent = chat.send("Hallo", ANNA)
    assert sent.status is RunStatus.COMPLETED
    assert world.messages(sent.conversation)[-1].text == "Hallo."
    failed = chat.send("Und?", ANNA, conversation=sent.conversation)
    assert world.row(failed.run_id).code is FailureCode.EMPTY_ANSWER


def test_a_model_that_calls_for_ever_is_stopped(world: World) -> None:
    """At the cap one closing round without tools; its text alone answers (R4)."""
    chat = world.chat(
        *[call("search_pages")] * 5,
        attrs.evolve(CREATE, text="So weit."),
        rules={"max_rounds": 5, "unattended": ["create_page"]},
    )
    sent = chat.send("Los.", ANNA)

    assert world.row(sent.run_id).reason is not None
    assert world.row(sent.run_id).reason.value == "max_iterations"  # type: ignore[union-attr]
    assert world.messages(sent.conversation)[-1].text == "So weit."
    assert [bool(request.tools) for request in world.model.requests] == [True] * 5 + [False]
    assert len(world.host.executed) == 5
    assert world.host.pages == []


# --------------------------------------------------------------------------------------- the tools

RETURNED: dict[str, Any] = {
    "nothing": None,
    "a number": 5,
    "a mapping": {"ok": True},
    "bytes": b"done",
    "the class": ToolResult,
    "a result of bytes": "evolved",
}


@pytest.mark.parametrize("effect", ["write", "read"])
@pytest.mark.parametrize("garbage", RETURNED)
def test_a_garbled_result_is_no_success(world: World, garbage: str, effect: str) -> None:
    """Unknown from a writing tool, an error from a reading one; the run goes on (T4)."""
    value = RETURNED[garbage]
    if value == "evolved":
        value = attrs.evolve(ToolResult.text("x"))
        object.__setattr__(value, "content", b"x")

    def execute(arguments: Mapping[str, Any], context: ToolContext) -> Any:
        world.host.ran("create_page", context)
        return value

    options: dict[str, Any] = {"execute": execute} | ({"effect": "read_only"} if effect == "read" else {})
    chat = world.chat(
        CREATE, "Die Seite ist angelegt.", tools=world.host.tools(**options), rules={"unattended": ["create_page"]}
    )
    sent = chat.send("Lege an.", ANNA)

    (finished,) = [event for event in world.events(sent.run_id) if isinstance(event, ToolFinished)]
    assert finished.outcome is (Outcome.UNKNOWN if effect == "write" else Outcome.ERROR)
    assert len(world.host.executed) == 1
    notices = [each.code.value for each in chat.view(sent.conversation, ANNA).messages[-1].notices]
    assert notices == (["writeOutcomeUnknown"] if effect == "write" else ["nothingSaved"])


def test_a_tool_that_says_too_much_is_cut(world: World) -> None:
    """The model's text is at most 50,000 bytes, valid, with a marker; what was written stays (T9)."""

    def execute(*_: object) -> ToolResult:
        return ToolResult.text("ä\ud800" * 60_000).with_write_target(("pages", 1), "created")

    tools = world.host.tools(execute=execute)
    chat = world.chat(CREATE, "Gut.", tools=tools, rules={"unattended": ["create_page"]})
    chat.send("Lege an.", ANNA)

    result = told(world)[-1][1].encode("utf-8")
    assert len(result) <= 50_000
    assert len(world.heard) == 1


def test_duplicate_names_are_refused_at_the_start(world: World) -> None:
    """Nothing is registered (T1)."""
    with pytest.raises(DuplicateToolError):
        world.chat(tools=[*world.host.tools(), *world.host.tools()])


@pytest.mark.parametrize(
    "parts",
    [
        {"store": None},
        {"store": object()},
        {"store": "chat.db"},
        {"tools": 5},
        {"tools": ["create_page"]},
        {"tools": [lambda: None]},
        {"access": object()},
        {"bus": object()},
        {"configuration": object()},
        {"configuration": None},
        {"model": ScriptedModel(), "configuration": Configuration(model=None)},
        {"configuration": None, "model": object()},
        {"lease_margin": -1},
        {"lease_margin": "60"},
        {"lease_margin": float("nan")},
        {"lease_margin": None},
        {"lease_margin": float("inf")},
        {"message_limit": 0},
        {"message_limit": True},
        {"message_limit": "10"},
        {"links": {"somewhere": "https://x"}},
        {"links": 5},
        {"phrases": "weiter"},
        {"ids": object()},
        {"executor": object()},
        {"detector": object()},
        {"zones": object()},
        {"translator": object()},
        {"unavailable_tools": object()},
        {"around_tool": 5},
        {"colour": "red"},
    ],
    ids=lambda parts: " and ".join(parts) if isinstance(parts, dict) else str(parts),
)
def test_strange_parts_are_refused_at_the_start(world: World, parts: dict[str, Any]) -> None:
    """Not when they are first used (interface)."""
    with pytest.raises((InvalidValueError, ToolDeclarationError)):
        world.chat(**parts)


@pytest.mark.parametrize(
    "parts", [("",), ("x" * 256,), (5,), (None,), ("a\ud800",), ("anna", ""), ("anna", "d e"), ("anna", 5)], ids=ascii
)
def test_a_strange_reader_is_refused(parts: tuple[Any, ...]) -> None:
    """Ids are 1 to 255 characters; a language is a tag (interface)."""
    with pytest.raises(InvalidValueError):
        Reader(*parts)
    assert DORA.id == "dora"
