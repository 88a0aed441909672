"""
From messages to completed answers: where a turn ends, and which calls belong to it.
"""

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nr_agent_core.cli.audit.answer import Answer, Call, CallOutcome
from nr_agent_core.cli.audit.evidence import WriteTools, evidence
from nr_agent_core.cli.audit.inputs import read_answers
from nr_agent_core.cli.audit.malformed import Malformed
from nr_agent_core.domain.write_evidence import Wrote

USER = {"role": "user", "content": "Please."}
DONE = {"role": "assistant", "content": "Done."}
OK, FAILED, UNKNOWN = CallOutcome.SUCCEEDED, CallOutcome.FAILED, CallOutcome.UNKNOWN


def calling(*calls: tuple[str | None, str], text: str | None = None) -> dict[str, Any]:
    """An assistant message that makes calls, each given as (id, tool)."""
    made = [{"id": id_, "type": "function", "function": {"name": name, "arguments": "{}"}} for id_, name in calls]
    return {"role": "assistant", "content": text, "tool_calls": made}


def result(call: str | None, content: object = "ok", **more: object) -> dict[str, Any]:
    """A tool message."""
    return {"role": "tool", "tool_call_id": call, "content": content, **more}


def read(data: bytes) -> list[Answer | Malformed]:
    """What an input of these bytes holds."""
    return list(read_answers(io.BytesIO(data), "f", lambda _: None))


def answers(*messages: object) -> list[Answer]:
    """The answers of one conversation without anything malformed."""
    found = read(json.dumps(messages).encode())
    assert not [entry for entry in found if isinstance(entry, Malformed)]
    return [entry for entry in found if isinstance(entry, Answer)]


def calls(*messages: object) -> tuple[Call, ...]:
    """The calls behind the only answer of a conversation."""
    (answer,) = answers(*messages)
    return answer.calls


# ------------------------------------------------------------------------------------ the turn


def test_only_the_text_that_ends_a_turn_is_an_answer() -> None:
    """Text beside calls, and text before later calls, is interim (V9)."""
    before = {"role": "assistant", "content": "One moment."}

    (answer,) = answers(USER, before, calling(("1", "save"), text="Saved."), result("1"), DONE)

    assert answer.text == "Done."


@pytest.mark.parametrize(
    "tail",
    [
        [calling(("1", "save"))],
        [DONE, calling(("1", "save")), result("1")],
        [{"role": "assistant", "content": " "}],
        [{"role": "assistant"}],
        [],
    ],
)
def test_a_turn_without_a_last_text_has_no_answer(tail: list[object]) -> None:
    """A call, an empty message or nothing at the end: nobody got an answer."""
    assert answers(USER, *tail) == []


def test_each_user_message_begins_a_turn_of_its_own() -> None:
    """Writes since the last user message count, earlier ones do not."""
    first, second = answers(USER, calling(("1", "save")), result("1"), DONE, USER, DONE)

    assert first.calls == (Call("save", OK),)
    assert second.calls == ()


def test_system_messages_belong_to_no_turn() -> None:
    """What the application says in between neither ends a turn nor answers it."""
    note = {"role": "developer", "content": "Saved."}

    (answer,) = answers(
        {"role": "system", "content": "Be kind."}, USER, calling(("1", "save")), note, result("1"), DONE
    )

    assert answer.calls == (Call("save", OK),)


def test_a_late_result_counts_where_it_arrives() -> None:
    """The user spoke while a tool ran: its write backs the answer that follows its result."""
    assert calls(USER, calling(("1", "save")), USER, result("1"), DONE) == (Call("save", OK),)


# ------------------------------------------------------------------------- calls and results


def test_parallel_results_are_matched_by_id_in_any_order() -> None:
    """Results of one round may come in any order."""
    made = calling(("1", "read"), ("2", "save"))

    assert calls(USER, made, result("2", "Error: no"), result("1"), DONE) == (Call("read", OK), Call("save", FAILED))


def test_ids_that_a_provider_uses_again_belong_to_the_latest_round() -> None:
    """Where every round has its "call_0", each result belongs to the round before it."""
    round_ = [calling(("0", "save"))]

    assert calls(USER, *round_, *round_, result("0"), DONE) == (Call("save", UNKNOWN), Call("save", OK))


def test_results_without_ids_follow_names_and_order() -> None:
    """Where ids are missing, the tool's name and then the order tell."""
    made = calling((None, "read"), (None, "save"))
    named = [result(None, "Error", name="save"), result(None, name="read")]

    assert calls(USER, made, *named, DONE) == (Call("read", OK), Call("save", FAILED))
    assert calls(USER, made, result(None), result(None, "error: x"), DONE) == (Call("read", OK), Call("save", FAILED))


def test_the_older_function_call_is_read() -> None:
    """function_call with a message of role function is a call with its result."""
    older = {"role": "assistant", "content": None, "function_call": {"name": "save", "arguments": "{}"}}
    told = {"role": "function", "name": "save", "content": "ok"}

    assert calls(USER, older, told, older, DONE) == (Call("save", OK), Call("save", UNKNOWN))


def test_calls_and_results_in_parts_are_read() -> None:
    """A result that comes in the user's place begins no turn."""
    made = {
        "role": "assistant",
        "content": [{"type": "text", "text": "Now."}, {"type": "tool_use", "id": "1", "name": "save"}],
    }
    told = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "is_error": True, "content": "no"}]}

    assert calls(USER, made, told, DONE) == (Call("save", FAILED),)


def test_parts_of_text_follow_each_other_and_no_word_is_glued() -> None:
    """An answer in parts is one text; what is no text is passed over."""
    content = [{"type": "text", "text": "Done"}, "now", {"type": "image_url", "image_url": {}}, {"text": "."}]

    (answer,) = answers(USER, {"role": "assistant", "content": content})

    assert answer.text == "Done now."


@pytest.mark.parametrize(
    ("message", "outcome"),
    [
        (result("1", "saved"), OK),
        (result("1", ""), OK),
        (result("1", "Errors found: none"), OK),
        (result("1", "There was an error earlier; saved now"), OK),
        (result("1", '{"error": null, "uid": 3}'), OK),
        (result("1", '{"broken'), OK),
        (result("1", [{"type": "text", "text": "saved"}]), OK),
        (result("1", "saved", is_error=False), OK),
        (result("1", "Error: the title is taken"), FAILED),
        (result("1", "ERROR"), FAILED),
        (result("1", ' {"error": {"code": 4}}'), FAILED),
        (result("1", {"error": "no"}), FAILED),
        (result("1", [{"type": "text", "text": "Error executing save"}]), FAILED),
        (result("1", "saved", is_error=True), FAILED),
        (result("1", "saved", isError=True), FAILED),
        (result("1", "saved", error="no"), FAILED),
        (result("1", None), UNKNOWN),
    ],
)
def test_a_failure_is_what_says_so_itself(message: dict[str, Any], outcome: CallOutcome) -> None:
    """Failed results are recognised narrowly: a mistaken failure would accuse a true answer."""
    assert calls(USER, calling(("1", "save")), message, DONE) == (Call("save", outcome),)


def test_results_that_contradict_each_other_tell_nothing() -> None:
    """Two results for one call, one an error: cannot tell (P4)."""
    assert calls(USER, calling(("1", "save")), result("1", "Error"), result("1"), DONE) == (Call("save", UNKNOWN),)


# ---------------------------------------------------------------------------------- the evidence


CALLS = st.lists(st.builds(Call, st.sampled_from(["save_a", "read", None]), st.sampled_from(CallOutcome)), max_size=4)


@given(CALLS, st.booleans())
def test_no_is_said_only_when_nothing_is_open(made: list[Call], gap: bool) -> None:
    """Yes needs a successful write; no needs that no call and no gap could hide one (P4, V1)."""
    answer = Answer("a", "f", 1, "text", tuple(made), gap=gap)

    wrote = evidence(answer, WriteTools(["save_*"])).wrote

    assert (wrote is Wrote.YES) is (Call("save_a", OK) in made)
    if wrote is Wrote.NO:
        assert not gap
        assert all(call.outcome is FAILED or call.name == "read" for call in made)


@given(CALLS)
def test_without_declared_tools_only_failed_calls_prove_that_nothing_was_written(made: list[Call]) -> None:
    """Undeclared tools are never taken for reading ones, nor for writing ones."""
    wrote = evidence(Answer("a", "f", 1, "text", tuple(made)), WriteTools()).wrote

    assert wrote is (Wrote.NO if all(call.outcome is FAILED for call in made) else Wrote.CANNOT_TELL)


def test_names_are_matched_exactly_in_their_case_and_whole() -> None:
    """A glob covers the whole name; patterns that match nothing are known."""
    tools = WriteTools(["save", "del_*", "Ghost"])

    assert [tools.writes(name) for name in ("save", "Save", "saved", "del_x", "ghost")] == [
        True,
        False,
        False,
        True,
        False,
    ]
    assert tools.unmatched == ("Ghost",)


# ------------------------------------------------------------------------------------ odd shapes


@pytest.mark.parametrize(
    "broken",
    [
        3,
        None,
        "text",
        [],
        {},
        {"role": 5},
        {"role": "narrator"},
        {"role": "assistant", "content": 5},
        {"role": "assistant", "content": [5]},
        {"role": "assistant", "content": [{"type": 5}]},
        {"role": "assistant", "content": [{"type": "text", "text": None}]},
        {"role": "assistant", "tool_calls": {}},
        {"role": "assistant", "tool_calls": [None]},
        {"role": "assistant", "function_call": "save"},
    ],
)
def test_a_broken_message_is_named_and_leaves_its_turn_open(broken: object) -> None:
    """What could not be read may have been a write, or a user's message: nobody is accused (P4)."""
    found = read(json.dumps([USER, broken, DONE, USER, DONE]).encode())

    assert [type(entry) for entry in found] == [Malformed, Answer, Answer]
    assert isinstance(found[0], Malformed)
    assert found[0].why.startswith("message 2: ")
    assert [entry.gap for entry in found if isinstance(entry, Answer)] == [True, False]


def test_an_answer_before_a_broken_message_is_kept_and_left_open() -> None:
    """It may have been the turn's last word, or one before a call that could not be read."""
    _, answer = sorted(read(json.dumps([USER, DONE, 5]).encode()), key=lambda entry: isinstance(entry, Answer))

    assert isinstance(answer, Answer)
    assert answer.gap


def test_a_broken_line_before_the_first_message_leaves_its_turn_open() -> None:
    """A conversation that begins with something unreadable may have begun with a call."""
    _, answer = read(b"{broken\n" + json.dumps(DONE).encode())

    assert isinstance(answer, Answer)
    assert answer.gap


@pytest.mark.parametrize(
    ("line", "wrote"),
    [
        ({}, Wrote.CANNOT_TELL),
        ({"calls": None}, Wrote.CANNOT_TELL),
        ({"calls": []}, Wrote.NO),
        ({"calls": [{"name": "save", "error": None}]}, Wrote.YES),
        ({"calls": [{"name": "save", "error": "no"}]}, Wrote.NO),
        ({"calls": [{"name": "save"}]}, Wrote.CANNOT_TELL),
        ({"calls": [{"error": False}]}, Wrote.CANNOT_TELL),
        ({"calls": [{"name": "save", "error": False}], "wrote": False}, Wrote.NO),
        ({"wrote": True}, Wrote.YES),
    ],
)
def test_an_answer_line_says_no_more_than_it_says(line: dict[str, object], wrote: Wrote) -> None:
    """A line without calls, or a call without its error, tells nothing (P4)."""
    (answer,) = read(json.dumps({"text": "Done.", **line}).encode())

    assert isinstance(answer, Answer)
    assert evidence(answer, WriteTools(["save"])).wrote is wrote


def test_a_broken_line_leaves_the_turn_open() -> None:
    """The same for one message a line: the broken line may have been a call, or its result."""
    lines = [USER, calling(("1", "save"))]

    found = read(b"\n".join([*(json.dumps(line).encode() for line in lines), b"{broken", json.dumps(DONE).encode()]))

    assert [entry.gap for entry in found if isinstance(entry, Answer)] == [True]


def test_every_container_of_conversations_is_read() -> None:
    """A list, an object, lists in lists, objects in a list, and documents over several lines."""
    conversation = [USER, DONE]
    whole = {"messages": conversation, "id": 7}
    cases: list[tuple[object, list[str]]] = [
        (conversation, ["f:1#2"]),
        (whole, ["7#2"]),
        ([whole, conversation], ["7#2", "f:1[2]#2"]),
        ([conversation, {"text": "Done.", "calls": []}], ["f:1[1]#2", "f:1[2]"]),
        ([], []),
    ]
    for value, ids in cases:
        for indent in (None, 2):
            found = read(json.dumps(value, indent=indent).encode())

            assert [entry.id for entry in found if isinstance(entry, Answer)] == ids, value
            assert len(found) == len(ids)


def test_documents_one_after_the_other_keep_their_lines() -> None:
    """What `jq` prints: several documents over several lines in one file."""
    text = json.dumps({"messages": [USER, DONE]}, indent=1)

    found = read(f"{text}\n\n{text}".encode())

    assert [entry.line for entry in found if isinstance(entry, Answer)] == [1, text.count("\n") + 3]


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b'[\n {"role": "user"},\n {"role": "assist\n]', 3),
        (b'[\n {"role": "user", "content": "x"}\n', 3),
        (b"\n\nhello\nworld", 3),
        ('{"text": "x"}'.encode("utf-16"), 1),
    ],
)
def test_a_broken_document_is_one_complaint(data: bytes, line: int) -> None:
    """A document that breaks is named once, where it breaks, and not once a line."""
    (only,) = read(data)

    assert isinstance(only, Malformed)
    assert only.line == line


def test_a_broken_first_line_costs_that_line_alone() -> None:
    """Lines after a broken first one are read."""
    first, second = read(b'{"text": "cut of\n{"text": "x", "calls": []}\n')

    assert isinstance(first, Malformed)
    assert isinstance(second, Answer)
    assert (first.line, second.line) == (1, 2)


FIELDS = st.sampled_from(
    ["role", "content", "text", "calls", "wrote", "id", "messages", "type", "name", "error", "tool_calls", "function"]
)
VALUES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["user", "assistant", "tool", "text", "tool_use", "tool_result"])
)
JSON = st.recursive(VALUES, lambda x: st.lists(x, max_size=4) | st.dictionaries(FIELDS, x, max_size=5), max_leaves=25)


@given(st.lists(JSON, max_size=5), st.sampled_from([None, 1]))
def test_any_json_is_read_or_named(values: list[object], indent: int | None) -> None:
    """Wrong types anywhere end in an answer or a named complaint, never in an exception."""
    found = read("\n".join(json.dumps(value, indent=indent) for value in values).encode())

    for entry in found:
        assert isinstance(entry, Answer | Malformed)
        if isinstance(entry, Answer):
            entry.text.encode("utf-8")


@given(st.lists(st.binary(max_size=20) | st.sampled_from([b'{"text": "x"}', b"[", b"{", b"\xef\xbb\xbf"]), max_size=6))
def test_any_bytes_are_read_or_named(lines: list[bytes]) -> None:
    """No bytes bring the reader down, and no good line is lost among bad ones after a good first line."""
    good = b'{"text": "x", "calls": []}'

    found = read(b"\n".join([good, *lines, good]))

    assert isinstance(found[0], Answer)
    assert isinstance(found[-1], Answer)
