"""
What is sent: the dialogue in the words of each protocol, and what of an answer is given back (E1, T12).
"""

import json
from typing import Any

import attrs
import pytest

from nr_agent_core import ModelAnswer, ModelCall, ModelMessage, ModelRequest
from nr_agent_core.domain.model_dialogue import OfferedTool
from tests.providers.loopback import Answering, Loopback, Reply, said
from tests.providers.wires import AnthropicWire, OpenAIWire, Wire

OPENAI, ANTHROPIC = OpenAIWire(), AnthropicWire()
SCHEMA = {"type": "object", "properties": {"uid": {"type": "integer"}}}
FIND = OfferedTool("find", "Find a page.", SCHEMA)
ROUND = (
    ModelMessage("user", "Find 7 and 8."),
    ModelMessage("assistant", "A moment.", calls=(ModelCall("find", '{"uid": 7}', "c1"), ModelCall("find", "{", "c2"))),
    ModelMessage("tool", "Page 7", call_id="c1"),
    ModelMessage("tool", "", call_id="c2"),
)
DONE = ModelAnswer("Done.", finish_reason="stop")


def answering(wire: Wire, answer: ModelAnswer = DONE) -> Answering:
    """Always this answer."""
    return lambda asked: wire.answer(answer, asked)


def asked(wire: Wire, server: Loopback, request: ModelRequest, **options: Any) -> dict[str, Any]:
    """The body of the request that a question becomes."""
    server.answering = answering(wire)
    wire.model(server, **options).complete(request)
    return server.asked[-1].body


def test_a_dialogue_in_chat_completions(server: Loopback) -> None:
    """System prompt first, calls with their ids, each result by its id; broken arguments as a value of an object."""
    body = asked(OPENAI, server, ModelRequest("Be brief.", ROUND, (FIND,)), output_limit=99, options={"temperature": 0})

    broken = '{"arguments_as_given": "{"}'
    calls = [
        {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"uid": 7}'}},
        {"id": "c2", "type": "function", "function": {"name": "find", "arguments": broken}},
    ]
    assert server.asked[-1].path == "/v1/chat/completions"
    assert body == {
        "model": "gpt-x",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Find 7 and 8."},
            {"role": "assistant", "content": "A moment.", "tool_calls": calls},
            {"role": "tool", "tool_call_id": "c1", "content": "Page 7"},
            {"role": "tool", "tool_call_id": "c2", "content": ""},
        ],
        "tools": [
            {"type": "function", "function": {"name": "find", "description": "Find a page.", "parameters": SCHEMA}}
        ],
        "max_tokens": 99,
        "temperature": 0,
    }


def test_a_dialogue_in_messages(server: Loopback) -> None:
    """The system prompt beside the dialogue, results as one message of the user, no blank text."""
    body = asked(ANTHROPIC, server, ModelRequest("Be brief.", ROUND, (FIND,)), options={"top_k": 5})

    assert server.asked[-1].path == "/v1/messages"
    assert body == {
        "model": "model-x",
        "max_tokens": 4096,
        "system": "Be brief.",
        "top_k": 5,
        "tools": [{"name": "find", "description": "Find a page.", "input_schema": SCHEMA}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Find 7 and 8."}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "A moment."},
                    {"type": "tool_use", "id": "c1", "name": "find", "input": {"uid": 7}},
                    {"type": "tool_use", "id": "c2", "name": "find", "input": {"arguments_as_given": "{"}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "c1", "content": "Page 7"},
                    {"type": "tool_result", "tool_use_id": "c2"},
                ],
            },
        ],
    }


def test_messages_declare_the_tools_of_the_dialogue_and_allow_none(server: Loopback) -> None:
    """The closing round offers no tool; a server that sees calls still wants to know their names (R4)."""
    body = asked(ANTHROPIC, server, ModelRequest("", ROUND))

    assert [tool["name"] for tool in body["tools"]] == ["find"]
    assert body["tool_choice"] == {"type": "none"}
    assert "system" not in body


def test_messages_take_ids_of_any_server(server: Loopback) -> None:
    """Ids that this protocol refuses, or that came twice, are replaced, in the call and in its result."""
    strange = ("c1", "c1", "functions.find:0", "functions.find:0", "x" * 99)
    rounds = [
        message
        for given in strange
        for message in (
            ModelMessage("assistant", "", calls=(ModelCall("find", "{}", given),)),
            ModelMessage("tool", "Page", call_id=given),
        )
    ]
    body = asked(ANTHROPIC, server, ModelRequest("", (ModelMessage("user", "Find."), *rounds), (FIND,)))

    called = [block["id"] for m in body["messages"] for block in m["content"] if block["type"] == "tool_use"]
    brought = [
        block["tool_use_id"] for m in body["messages"] for block in m["content"] if block["type"] == "tool_result"
    ]
    assert called == brought
    assert len(set(called)) == 5


def test_messages_begin_with_a_user_and_alternate(server: Loopback) -> None:
    """A greeting before the first question, blank texts and two questions in a row are no errors."""
    messages = [("assistant", "Welcome."), ("user", "One."), ("user", " "), ("assistant", ""), ("user", "Two.")]
    body = asked(ANTHROPIC, server, ModelRequest("", tuple(ModelMessage(*message) for message in messages)))

    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "user"]
    assert all(block["text"].strip() for message in body["messages"] for block in message["content"])


def test_a_stream_asks_for_its_usage_unless_told_otherwise(server: Loopback) -> None:
    """Some servers refuse the field; an option of None takes it away."""
    server.answering = answering(OPENAI)
    request = ModelRequest("", (ModelMessage("user", "Hello?"),))
    list(OPENAI.model(server).stream(request))
    list(OPENAI.model(server, options={"stream_options": None}).stream(request))

    assert [asked.body.get("stream_options") for asked in server.asked] == [{"include_usage": True}, None]


@pytest.mark.parametrize("streaming", [False, True])
def test_facts_of_an_answer(wire: Wire, streaming: bool, server: Loopback) -> None:
    """Provider, the model that answered, tokens, and why the answer ended."""
    server.answering = answering(wire)
    model, request = wire.model(server), ModelRequest("", (ModelMessage("user", "Hello?"),))
    answer = list(model.stream(request))[-1] if streaming else model.complete(request)

    assert isinstance(answer, ModelAnswer)
    assert (answer.provider, answer.input_tokens, answer.output_tokens) == (wire.name, 12, 5)
    assert answer.model.endswith("-2026")
    assert answer.finish_reason in {"stop", "end_turn"}
    assert answer.provider_data is None


# -- what is given back --------------------------------------------------------------------------

THINKING = [
    {"type": "thinking", "thinking": "Page 7 it is.", "signature": "c2ln"},
    {"type": "text", "text": "Wait. "},
    {"type": "redacted_thinking", "data": "b3BhcXVl"},
    {"type": "text", "text": "Now."},
    {"type": "tool_use", "id": "t1", "name": "find", "input": {"uid": 7}},
]


def thinking_events() -> list[dict[str, Any]]:
    """The same as a stream."""
    events: list[dict[str, Any]] = [ANTHROPIC.start()]
    for index, block in enumerate(THINKING):
        match block["type"]:
            case "thinking":
                begun, deltas = (
                    {**block, "thinking": "", "signature": ""},
                    [
                        {"type": "thinking_delta", "thinking": "Page 7 "},
                        {"type": "thinking_delta", "thinking": "it is."},
                        {"type": "signature_delta", "signature": "c2ln"},
                    ],
                )
            case "text":
                begun, deltas = {**block, "text": ""}, [{"type": "text_delta", "text": block["text"]}]
            case "tool_use":
                begun, deltas = {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": '{"uid": 7}'}]
            case _:
                begun, deltas = block, []
        events.append({"type": "content_block_start", "index": index, "content_block": begun})
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    return [*events, *ANTHROPIC.end("tool_use")]


def echoed(answer: ModelAnswer) -> ModelRequest:
    """The next question of the run."""
    (call,) = answer.calls
    said_before = ModelMessage("assistant", answer.text, answer.calls, provider_data=answer.provider_data)
    return ModelRequest(
        "", (ModelMessage("user", "Find."), said_before, ModelMessage("tool", "Page", call_id=call.id)), (FIND,)
    )


@pytest.mark.parametrize("streaming", [False, True])
def test_thinking_goes_back_in_its_place(streaming: bool, server: Loopback) -> None:
    """The blocks as they came, around the text and the calls as the run has them; to this model alone."""
    whole = {**ANTHROPIC.document(DONE), "content": THINKING, "stop_reason": "tool_use"}
    server.always(ANTHROPIC.stream(thinking_events()) if streaming else said(whole))
    model, request = ANTHROPIC.model(server), ModelRequest("", (ModelMessage("user", "Find."),), (FIND,))
    answer = list(model.stream(request))[-1] if streaming else model.complete(request)
    assert isinstance(answer, ModelAnswer)
    assert answer.text == "Wait. Now."
    assert answer.provider_data is not None
    assert "Wait" not in answer.provider_data, "texts are not kept twice"

    body = asked(ANTHROPIC, server, echoed(answer))
    assert body["messages"][1]["content"] == THINKING

    elsewhere = asked(ANTHROPIC, server, echoed(answer), provider="another")
    assert [block["type"] for block in elsewhere["messages"][1]["content"]] == ["text", "tool_use"]


@pytest.mark.parametrize(
    "data", ["", "{", "7", '{"of": ["anthropic", "model-x"], "blocks": [{"type": "text", "length": 99}]}']
)
def test_provider_data_that_does_not_fit_is_left_out(data: str, server: Loopback) -> None:
    """Whoever wrote it: the answer goes back as text and calls."""
    answer = ModelAnswer("Now.", (ModelCall("find", "{}", "t1"),), provider_data=data)

    for wire in (ANTHROPIC, OPENAI):
        body = asked(wire, server, echoed(answer))
        assert "Now." in json.dumps(body)


@pytest.mark.parametrize("streaming", [False, True])
def test_what_compatible_servers_want_back_goes_back(streaming: bool, server: Loopback) -> None:
    """Reasoning beside the message and signatures on calls, to the same provider and model only."""
    call = {
        "id": "t1",
        "type": "function",
        "function": {"name": "find", "arguments": "{}"},
        "extra_content": {"s": "x"},
    }
    message = {"role": "assistant", "content": "Now.", "reasoning_content": "Hm. So.", "tool_calls": [call]}
    deltas = [
        OPENAI.delta({"reasoning_content": "Hm. "}),
        OPENAI.delta({"reasoning_content": "So.", "content": "Now."}),
        OPENAI.delta({"tool_calls": [{**call, "index": 0}]}, "tool_calls"),
    ]
    whole = {**OPENAI.document(DONE), "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}
    server.always(OPENAI.stream(deltas) if streaming else said(whole))
    model, request = OPENAI.model(server), ModelRequest("", (ModelMessage("user", "Find."),), (FIND,))
    answer = list(model.stream(request))[-1] if streaming else model.complete(request)
    assert isinstance(answer, ModelAnswer)

    assert asked(OPENAI, server, echoed(answer))["messages"][1] == message
    assert "reasoning" not in json.dumps(asked(OPENAI, server, echoed(answer), provider="another"))


# -- calls as servers make them ------------------------------------------------------------------


def calls_of(
    server: Loopback, deltas: list[dict[str, Any]], reason: str = "tool_calls"
) -> list[tuple[str, str, str | None]]:
    """The calls of a stream of chat completions."""
    server.always(OPENAI.stream([*map(OPENAI.delta, deltas), OPENAI.delta({}, reason)]))
    answer = list(OPENAI.model(server).stream(ModelRequest("", (ModelMessage("user", "Find."),), (FIND,))))[-1]
    assert isinstance(answer, ModelAnswer)
    return [(call.name, call.arguments, call.id) for call in answer.calls]


def piece(**fields: Any) -> dict[str, Any]:
    """A delta with a piece of a call."""
    function = {name: fields.pop(name) for name in ("name", "arguments") if name in fields}
    return {"tool_calls": [{**fields, "function": function}]}


def test_calls_that_a_server_numbers_alike_stay_apart(server: Loopback) -> None:
    """Another id with a name begins another call; a call that comes twice comes twice (T12)."""
    same = piece(index=0, id="a", name="find", arguments="{}")

    assert calls_of(server, [same, piece(index=0, id="b", name="find", arguments='{"uid":8}')]) == [
        ("find", "{}", "a"),
        ("find", '{"uid":8}', "b"),
    ]
    assert calls_of(
        server, [piece(id="a", name="find", arguments="{}"), piece(id="a", name="find", arguments="{}")]
    ) == [
        ("find", "{}", "a"),
        ("find", "{}", "a"),
    ]


def test_an_id_that_comes_later_belongs_to_its_call(server: Loopback) -> None:
    """By itself, or beside the name once more; it begins no other call, and the first one counts (T12)."""
    begun = piece(index=0, name="find", arguments='{"uid"')

    for more in (piece(index=0, id="a", arguments=":7}"), piece(index=0, id="a", name="find", arguments=":7}")):
        assert calls_of(server, [begun, more]) == [("find", '{"uid":7}', "a")]
    assert calls_of(server, [piece(index=0, id="a", name="find"), piece(index=0, id="b", arguments="{}")]) == [
        ("find", "{}", "a")
    ]


def test_only_the_first_of_several_answers_is_read(server: Loopback) -> None:
    """Options may ask for more; what they tell in between is none of the answer."""
    wire = OpenAIWire()
    other = wire.delta({"content": "Or not. "}, "length")
    other["choices"][0]["index"] = 1
    chunks = [wire.delta({"content": "It "}), other, wire.delta({"content": "is."}), other, wire.delta({}, "stop")]
    server.always(wire.stream(chunks))

    *told, answer = wire.model(server).stream(ModelRequest("", (ModelMessage("user", "Is it?"),)))

    assert told == ["It ", "is."]
    assert isinstance(answer, ModelAnswer)
    assert (answer.text, answer.finish_reason) == ("It is.", "stop")


def test_calls_without_ids_or_arguments_are_calls(server: Loopback) -> None:
    """A missing id is none, a strange one too; no arguments are no arguments; an object is written down."""
    assert calls_of(server, [piece(index=0, name="find"), piece(index=1, id=5, name="find", arguments={"uid": 7})]) == [
        ("find", "{}", None),
        ("find", '{"uid": 7}', None),
    ]


def test_a_call_that_the_output_limit_cut_is_no_call_of_nothing(server: Loopback) -> None:
    """What is missing of it is not known, so its arguments are no object, and the run refuses it (R4)."""
    assert calls_of(server, [piece(index=0, id="a", name="delete")], "length") == [("delete", "", "a")]

    block = {"type": "tool_use", "id": "a", "name": "delete", "input": {}}
    server.always(said({**ANTHROPIC.document(DONE), "content": [block], "stop_reason": "max_tokens"}))
    answer = ANTHROPIC.model(server).complete(ModelRequest("", (ModelMessage("user", "Delete."),), (FIND,)))
    assert [call.arguments for call in answer.calls] == [""]

    # Only what stood last can have been cut.
    before = {**block, "id": "b"}
    server.always(said({**ANTHROPIC.document(DONE), "content": [before, block], "stop_reason": "max_tokens"}))
    answer = ANTHROPIC.model(server).complete(ModelRequest("", (ModelMessage("user", "Delete."),), (FIND,)))
    assert [call.arguments for call in answer.calls] == ["{}", ""]


USAGE = {"input_tokens": 10, "cache_read_input_tokens": 200, "cache_creation_input_tokens": 3000, "output_tokens": 1}


@pytest.mark.parametrize("later", [{}, {"input_tokens": None, "cache_read_input_tokens": None, "output_tokens": 7}])
def test_tokens_of_a_cached_question_are_tokens_of_it(later: dict[str, Any], server: Loopback) -> None:
    """Read from a cache or written into one, they fill the window; what an event leaves open stays as it was (R11)."""
    start, *rest, end, stop = ANTHROPIC.events(DONE)
    events = [
        {**start, "message": {**start["message"], "usage": USAGE}},
        *rest,
        {**end, "usage": later},
        stop,
    ]
    server.always(ANTHROPIC.stream(events))
    *_, answer = ANTHROPIC.model(server).stream(ModelRequest("", (ModelMessage("user", "?"),)))

    assert isinstance(answer, ModelAnswer)
    assert (answer.input_tokens, answer.output_tokens) == (3210, 7 if later else 1)


@pytest.mark.parametrize("count", [True, -5, "7", 7.0, None])
def test_a_count_that_is_none_is_not_known(wire: Wire, count: object, server: Loopback) -> None:
    """It becomes no fact of a run (E1)."""
    usage = dict.fromkeys(("prompt_tokens", "completion_tokens", "input_tokens", "output_tokens"), count)
    server.always(said({**wire.document(DONE), "usage": usage}))
    answer = wire.model(server).complete(ModelRequest("", (ModelMessage("user", "?"),)))

    assert (answer.input_tokens, answer.output_tokens) == (None, None)


def test_what_hangs_on_a_call_may_come_later(server: Loopback) -> None:
    """It is given back with the call all the same (E1)."""
    pieces = [piece(index=0, id="a", name="find"), piece(index=0, arguments="{}", extra_content={"s": "x"})]
    server.always(OPENAI.stream([*map(OPENAI.delta, pieces), OPENAI.delta({}, "tool_calls")]))
    *_, answer = OPENAI.model(server).stream(ModelRequest("", (ModelMessage("user", "Find."),), (FIND,)))
    assert isinstance(answer, ModelAnswer)

    (call,) = asked(OPENAI, server, echoed(answer))["messages"][1]["tool_calls"]
    assert call["extra_content"] == {"s": "x"}


def test_what_hangs_on_other_calls_is_given_to_none(server: Loopback) -> None:
    """Provider data of an answer with another number of calls is not of this one; the question is asked (E1)."""
    data = json.dumps({"of": ["openai", "gpt-x"], "message": {}, "calls": [{"extra_content": 1}, {"extra_content": 2}]})
    answer = ModelAnswer("", (ModelCall("find", "{}", "a"),), provider_data=data)

    (call,) = asked(OPENAI, server, echoed(answer))["messages"][1]["tool_calls"]
    assert "extra_content" not in call


def blocks_sent(server: Loopback, answer: ModelAnswer) -> list[str]:
    """The kinds of the blocks that an answer goes back as."""
    request = ModelRequest(
        "", (ModelMessage("user", "?"), ModelMessage("assistant", answer.text, provider_data=answer.provider_data))
    )
    return [block["type"] for block in asked(ANTHROPIC, server, request)["messages"][1]["content"]]


def test_thinking_goes_back_beside_a_text_that_ends_in_half_a_character(server: Loopback) -> None:
    """What was told of it is what its place counts; where text and places differ, the text alone goes back (E1)."""
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
    start, *_ = ANTHROPIC.events(DONE)
    events = [
        start,
        {"type": "content_block_start", "index": 0, "content_block": thought},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Done\ud83d"}},
        *ANTHROPIC.end("end_turn"),
    ]
    server.always(ANTHROPIC.stream(events))
    *_, answer = ANTHROPIC.model(server).stream(ModelRequest("", (ModelMessage("user", "?"),)))
    assert isinstance(answer, ModelAnswer)
    assert answer.text == "Done\ufffd"

    assert blocks_sent(server, answer) == ["thinking", "text"]
    assert blocks_sent(server, attrs.evolve(answer, text="Done\ufffd and more")) == ["text"]
    assert blocks_sent(server, attrs.evolve(answer, text="Do")) == ["text"]


def test_an_answer_of_calls_alone_goes_back_without_a_text(server: Loopback) -> None:
    """Servers refuse an empty text beside calls; an answer of nothing at all is not sent."""
    alone = ModelAnswer("", (ModelCall("find", "{}", "a"),))
    assert asked(OPENAI, server, echoed(alone))["messages"][1]["content"] is None

    blank = ModelRequest(
        "", (ModelMessage("user", "One?"), ModelMessage("assistant", ""), ModelMessage("user", "Two?"))
    )
    assert [message["role"] for message in asked(OPENAI, server, blank)["messages"]] == ["user", "user"]


@pytest.mark.parametrize("streaming", [False, True])
def test_a_model_that_declines_in_words_has_answered(streaming: bool, server: Loopback) -> None:
    """Some servers put them under another name; a reader sees them like any answer."""
    message = {"role": "assistant", "content": None, "refusal": "I would rather not."}
    whole = {**OPENAI.document(DONE), "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    pieces = [OPENAI.delta({"refusal": "I would "}), OPENAI.delta({"refusal": "rather not."}), OPENAI.delta({}, "stop")]
    model = OPENAI.model(server.always(OPENAI.stream(pieces) if streaming else said(whole)))
    request = ModelRequest("", (ModelMessage("user", "?"),))
    answer = list(model.stream(request))[-1] if streaming else model.complete(request)

    assert isinstance(answer, ModelAnswer)
    assert answer.text == "I would rather not."


def test_an_answer_that_filled_the_window_is_one(server: Loopback) -> None:
    """What it said until then counts; only without a text was the question too long (F1)."""
    server.always(said({**ANTHROPIC.document(DONE), "stop_reason": "model_context_window_exceeded"}))

    assert ANTHROPIC.model(server).complete(ModelRequest("", (ModelMessage("user", "?"),))).text == "Done."


def test_a_character_that_was_cut_in_two_is_one(server: Loopback) -> None:
    """Two escapes in two pieces are one character; half of one alone becomes U+FFFD (P3)."""
    deltas = [{"content": "a\ud83d"}, {"content": "\ude00b\ud83d"}, {"content": "c\ud800"}]
    server.always(OPENAI.stream([*map(OPENAI.delta, deltas), OPENAI.delta({}, "stop")]))

    *told, answer = OPENAI.model(server).stream(ModelRequest("", (ModelMessage("user", "?"),)))

    assert isinstance(answer, ModelAnswer)
    assert "".join(str(part) for part in told) == answer.text == "a😀b\ufffdc\ufffd"


@pytest.mark.parametrize("kind", ["application/json", "text/plain"])
def test_a_server_that_does_not_stream_is_heard(wire: Wire, kind: str, server: Loopback) -> None:
    """A whole document instead of a stream is an answer with one piece; a wrong type changes no document."""
    whole = said(wire.document(ModelAnswer("All of it.", finish_reason="stop")))
    model, request = wire.model(server.always(whole)), ModelRequest("", (ModelMessage("user", "?"),))
    *told, answer = model.stream(request)

    assert isinstance(answer, ModelAnswer)
    assert (told, answer.text) == (["All of it."], "All of it.")

    server.always(Reply(200, whole.body, kind))
    assert model.complete(request).text == "All of it."
