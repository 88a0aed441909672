"""
Bodies of requests: read strictly, or refused with a typed error and nothing done.
"""

import json
from typing import Any

import pytest
from ag_ui.core import RunAgentInput
from hypothesis import given
from hypothesis import strategies as st

from nr_agent_core import Decision, InvalidValueError
from nr_agent_core.adapters.agui import AgUiRequest, decoded
from tests.agui.screen import Screen
from tests.chat.world import World

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
GOOD: dict[str, Any] = {"threadId": "t", "runId": "r", "messages": [{"id": "1", "role": "user", "content": "Hallo"}]}
ENTRY = {"interruptId": "run:digest", "status": "resolved", "payload": {"approved": True}}


def body(**changes: Any) -> str:
    """A good body, changed."""
    return json.dumps({**GOOD, **changes})


def test_the_newest_message_is_read() -> None:
    """A user's message at the end is what is said; no other one is."""
    older = {"id": "0", "role": "user", "content": "Davor"}

    assert decoded(body(messages=[older, *GOOD["messages"]])) == AgUiRequest("t", "r", "Hallo")
    assert decoded(body(messages=[*GOOD["messages"], {"role": "assistant"}])) == AgUiRequest("t", "r")
    assert decoded(body(messages=[])) == AgUiRequest("t", "r")
    assert decoded(body(threadId="")).thread == ""


def test_parts_of_a_message_are_joined_if_they_are_texts() -> None:
    """A picture is refused: an answer that left it out would be an answer to something else."""
    texts = [{"type": "text", "text": "Hallo"}, {"type": "text", "text": "Welt"}]
    picture = {"type": "image", "source": {"type": "url", "value": "https://example.org/a.png"}}

    assert decoded(body(messages=[{"id": "1", "role": "user", "content": texts}])).text == "Hallo\nWelt"
    with pytest.raises(InvalidValueError, match="'image'"):
        decoded(body(messages=[{"id": "1", "role": "user", "content": [*texts, picture]}]))


def test_an_answer_is_read_from_its_interrupt() -> None:
    """Run and digest are those of the interrupt that is answered; the run's id may hold anything."""
    answer = decoded(body(resume=[{**ENTRY, "interruptId": "a:b:c"}])).answer

    assert answer is not None
    assert (answer.run_id, answer.digest, answer.decision) == ("a:b", "c", Decision.APPROVE)
    assert decoded(body(resume=[])).text == "Hallo"
    assert decoded(body(resume=None)).text == "Hallo"


@pytest.mark.parametrize(
    "wrong",
    [
        b"",
        b"\xff\xfe",
        b"{",
        b"null",
        b"[]",
        b'"text"',
        b"[" * 200_000,
        b'{"a":' * 200_000,
        b"1" * 10_000,
        body(threadId=None),
        body(threadId=7),
        body(threadId="x" * 256),
        body(threadId="a\0b"),
        body(threadId="\ud800"),
        body(runId=""),
        body(runId=None),
        body(runId="\ud800"),
        body(messages=None),
        body(messages={}),
        body(messages=["Hallo"]),
        body(messages=[{"role": "user"}]),
        body(messages=[{"role": "user", "content": 7}]),
        body(messages=[{"role": "user", "content": [7]}]),
        body(messages=[{"role": "user", "content": [{"type": "text"}]}]),
        body(resume={}),
        body(resume="yes"),
        body(resume=["yes"]),
        body(resume=[{}]),
        body(resume=[{**ENTRY, "status": "approved"}]),
        body(resume=[{**ENTRY, "interruptId": 7}]),
        body(resume=[{**ENTRY, "interruptId": "run:\ud800"}]),
        body(resume=[{**ENTRY, "interruptId": "\ud800:digest"}]),
        body(resume=[{**ENTRY, "interruptId": "ru\0n:digest"}]),
        body(resume=[{**ENTRY, "interruptId": "x" * 1000 + ":digest"}]),
        body(resume=[ENTRY, ENTRY]),
        json.dumps({"threadId": "t", "runId": "r"}),
    ],
    ids=range(36),
)
def test_what_is_not_of_the_protocols_form_is_refused(world: World, wrong: bytes | str) -> None:
    """One error, in words of the reader's, with what is wrong beside it; nothing is stored."""
    screen = Screen(world.chat())

    assert screen.post(wrong) == "RUN_ERROR"
    assert screen.end["code"] == "invalidRequest"
    assert screen.end["message"] == "Diese Anfrage ließ sich nicht lesen. Es wurde nichts getan."
    assert screen.end["metadata"]["detail"]
    assert world.runs() == []


def test_a_body_of_ten_megabytes_is_not_read(world: World) -> None:
    """The limit is looked at before the JSON is; it counts bytes, and a host may set it."""
    large = body(state="x" * 10_000_000)
    screen = Screen(world.chat("Gut."))

    assert screen.post(large) == "RUN_ERROR"
    assert "up to 4194304 bytes" in screen.end["metadata"]["detail"]
    assert decoded(large, limit=11_000_000).text == "Hallo"
    short = body(messages=[{"id": "1", "role": "user", "content": "ä"}]).replace("\\u00e4", "ä")
    assert decoded(short, limit=len(short) + 1).text == "ä"
    with pytest.raises(InvalidValueError):
        decoded(short, limit=len(short))


@pytest.mark.parametrize("text", ["", "  \n", "x" * 100_001])
def test_a_message_that_no_chat_takes_is_told_so(world: World, text: str) -> None:
    """(C1) Blank or too long: nothing is stored."""
    screen = Screen(world.chat())

    assert screen.say(text) == "RUN_ERROR"
    assert screen.end["code"] == "messageRejected"
    assert world.runs() == []


@given(given_body=JSON | st.fixed_dictionaries({}, optional=dict.fromkeys([*GOOD, "resume"], JSON)))
def test_any_json_is_read_or_refused(given_body: Any) -> None:
    """No document raises anything else."""
    try:
        decoded(json.dumps(given_body))
    except InvalidValueError:
        return
    assert isinstance(given_body["threadId"], str)


@given(st.binary(max_size=50))
def test_any_bytes_are_read_or_refused(given_body: bytes) -> None:
    """No bytes raise anything else."""
    with pytest.raises(InvalidValueError):
        decoded(given_body)


def test_the_protocols_own_requests_are_read() -> None:
    """What the protocol's models write is understood."""
    asked = RunAgentInput.model_validate({**GOOD, "resume": [ENTRY]})

    read = decoded(asked.model_dump_json(by_alias=True))
    assert (read.thread, read.run, read.answer is None) == ("t", "r", False)
