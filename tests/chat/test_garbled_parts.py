"""
Models and tools of a host that answer with garbage: nothing of it is a success, and no turn is lost (R4, T4).
"""

from collections.abc import Mapping
from typing import Any

import attrs
import pytest

from nr_agent_core import (
    Configuration,
    DuplicateToolError,
    FailureCode,
    InvalidValueError,
    ModelAnswer,
    ModelCall,
    Outcome,
    Reader,
    RunStatus,
    ToolContext,
    ToolDeclarationError,
    ToolResult,
)
from nr_agent_core.domain.run_events import NotExecuted, ToolFinished
from nr_agent_core.testing.scripted_model import ScriptedModel, call
from tests.chat.world import ANNA, CREATE, DORA, World, told


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
