"""
Whatever a model or its provider hands over, the run is readable afterwards and goes on (P3, R4, E6).
"""

from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nr_agent_core import FailureCode, ModelAnswer, ModelCall, RunStatus, ToolEffect
from tests.cases.desk import ANNA, BOSS, Desk, tool_of

PROPOSAL = ModelCall("publish", '{"title": "x"}')


def look() -> Any:
    """A reading tool."""
    return tool_of("look", lambda arguments, context: "found", ToolEffect.READ_ONLY)


WRONG: dict[str, list[Any]] = {
    "text": [None, 5, b"x"],
    "calls": [None, 5, "publish", (PROPOSAL, None), ("publish",)],
    "provider": [None, 3],
    "model": [None, b"m"],
    "input_tokens": [1.5, "7", True],
    "output_tokens": [1.5, "7", False],
    "finish_reason": [3, ["stop"]],
    "provider_data": [{"a": 1}, b"{}"],
}


@pytest.mark.parametrize(("field", "value"), [(name, value) for name, values in WRONG.items() for value in values])
@pytest.mark.parametrize("proposes", [False, True], ids=["answer", "proposal"])
def test_what_could_not_be_read_again_is_not_stored(field: str, value: object, proposes: bool) -> None:
    """(E6) A fact of a wrong type ends the turn as failed, at once; it never makes a run that nobody can decide on."""
    answer = attrs.evolve(ModelAnswer("Hello.", calls=(PROPOSAL,) if proposes else ()), **{field: value})
    desk = Desk(answer, "Hello again.")

    sent = desk.chat.send("Hello there", ANNA)

    status = desk.chat.runtime.status(sent.run_id, "anna")
    assert (status.status, status.code) == (RunStatus.FAILED, FailureCode.INTERNAL)
    assert "the model provider returned" in desk.chat.view(sent.conversation, BOSS).error.text
    assert desk.chat.retry(sent.conversation, ANNA).status is RunStatus.COMPLETED


SURROGATE = st.text(st.characters(codec=None), max_size=8).map(lambda text: f"{text}\ud800{text}")


@given(SURROGATE, st.sampled_from(["text", "provider", "model", "finish_reason", "provider_data"]), st.booleans())
def test_half_characters_are_replaced_wherever_they_stand(text: str, field: str, proposes: bool) -> None:
    """(P3) What no store can hold becomes U+FFFD before anything else; the run waits or completes as ever."""
    answer = attrs.evolve(ModelAnswer("Hello.", calls=(PROPOSAL,) if proposes else ()), **{field: text})
    desk = Desk(answer, "Done.")

    sent = desk.chat.send("Hello there", ANNA)
    if proposes:
        sent = desk.decide(sent.conversation)

    assert sent.status is RunStatus.COMPLETED
    assert desk.chat.runtime.status(sent.run_id, "anna").status is RunStatus.COMPLETED
    assert len(desk.published) == proposes


NAMES = st.one_of(
    st.text(st.characters(codec=None), max_size=90), st.sampled_from(["publish", "look", "Publish", "publish ", ""])
)
ARGUMENTS = st.one_of(
    st.text(st.characters(codec=None), max_size=30),
    st.sampled_from(
        ["", "{}", "[]", "null", '{"title": NaN}', '{"title": "a", "title": "b"}', '{"title": 1e999}', "{" * 2000]
    ),
    st.sampled_from(['{"title": "x"}', '{"title": "x", "more": 1}', '{"title": "\\ud800"}', '{"title": "\\u0000"}']),
)
IDS = st.one_of(st.none(), st.text(st.characters(codec=None), max_size=4))


@given(st.lists(st.builds(ModelCall, NAMES, ARGUMENTS, IDS), min_size=1, max_size=4))
def test_no_call_ends_the_run(calls: list[ModelCall]) -> None:
    """(R4, T12) Unknown names, broken arguments, strange ids: refused one by one and told; the run goes on."""
    desk = Desk(ModelAnswer("", calls=tuple(calls)), "So be it.", tools=[look()])

    sent = desk.chat.send("Hello there", ANNA)
    if sent.status is RunStatus.WAITING_FOR_APPROVAL:
        assert any(call.name == "publish" for call in calls)
        assert desk.published == []
        sent = desk.decide(sent.conversation)

    assert sent.status is RunStatus.COMPLETED
    said = desk.model.requests[-1].messages
    told = [message.call_id for message in said if message.role == "tool"]
    asked = [call.id for message in said for call in message.calls]
    # One result for each call, in order: no provider takes anything else.
    assert told == asked
    assert len(desk.published) <= sum(call.name == "publish" for call in calls)
