"""
Every failure of a server has a class, a sentence for its reader, and no key in its text (R10, F1 to F3, P9).
"""

import asyncio
import json
import logging
import traceback
from typing import Any

import pytest

from nr_agent_core import (
    Chat,
    FailureClass,
    InvalidValueError,
    ModelAnswer,
    ModelMessage,
    ModelRequest,
    ProviderError,
    Reader,
)
from nr_agent_core.adapters.memory import MemoryStore
from nr_agent_core.domain.failures import code_of
from tests.providers.loopback import Answering, Asked, Loopback, Reply, loopback, said
from tests.providers.wires import KEY, AnthropicWire, OpenAIWire, Wire

QUESTION = ModelRequest("", (ModelMessage("user", "Hello?"),))
OPENAI, ANTHROPIC = OpenAIWire(), AnthropicWire()

AUTH, SETUP, QUOTA = FailureClass.AUTHENTICATION, FailureClass.CONFIGURATION, FailureClass.QUOTA
RATE, SERVER, LINE = FailureClass.RATE_LIMIT, FailureClass.SERVER_ERROR, FailureClass.CONNECTION
CLIENT, LONG, REFUSED = FailureClass.CLIENT_ERROR, FailureClass.CONTEXT_TOO_LONG, FailureClass.CONTENT_REFUSED

TOO_LONG = "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."

TABLE: list[tuple[Wire, Reply, FailureClass]] = [
    (OPENAI, OPENAI.error(401, "invalid_api_key"), AUTH),
    (OPENAI, OPENAI.error(401, None), AUTH),
    (OPENAI, OPENAI.error(402, None), QUOTA),
    (OPENAI, OPENAI.error(403, None), SETUP),
    (OPENAI, OPENAI.error(403, "unsupported_country_region_territory"), SETUP),
    (OPENAI, OPENAI.error(404, "model_not_found"), SETUP),
    (OPENAI, OPENAI.error(429, "rate_limit_exceeded", kind="requests"), RATE),
    (OPENAI, OPENAI.error(429, None), RATE),
    (OPENAI, OPENAI.error(429, "insufficient_quota", kind="insufficient_quota"), QUOTA),
    (OPENAI, OPENAI.error(400, "context_length_exceeded", TOO_LONG), LONG),
    (OPENAI, OPENAI.error(400, None, TOO_LONG, kind="BadRequestError"), LONG),
    (OPENAI, said({"error": {"code": 400, "message": "too big", "type": "exceed_context_size_error"}}, 400), LONG),
    (OPENAI, OPENAI.error(400, "content_filter"), REFUSED),
    (OPENAI, OPENAI.error(400, "content_policy_violation"), REFUSED),
    (OPENAI, OPENAI.error(400, "unknown_parameter", kind="invalid_request_error"), CLIENT),
    (OPENAI, OPENAI.error(409, None), SERVER),
    (OPENAI, OPENAI.error(408, None), LINE),
    (OPENAI, OPENAI.error(413, None), LONG),
    (OPENAI, OPENAI.error(422, None), CLIENT),
    (OPENAI, OPENAI.error(500, "server_error"), SERVER),
    (OPENAI, OPENAI.error(502, None), SERVER),
    (OPENAI, OPENAI.error(503, None, "The engine is currently overloaded"), SERVER),
    (OPENAI, OPENAI.error(504, None), SERVER),
    (OPENAI, said({"error": {"code": 429, "message": "upstream"}}), RATE),
    (OPENAI, said({"error": "out of order"}), SERVER),
    (OPENAI, said({"object": "error", "message": "no", "type": "BadRequestError", "code": 400}, 400), CLIENT),
    (ANTHROPIC, ANTHROPIC.error(401, "authentication_error"), AUTH),
    (ANTHROPIC, ANTHROPIC.error(402, "billing_error"), QUOTA),
    (ANTHROPIC, ANTHROPIC.error(400, "invalid_request_error", "Your credit balance is too low to use the API"), QUOTA),
    (ANTHROPIC, ANTHROPIC.error(403, "permission_error"), SETUP),
    (ANTHROPIC, ANTHROPIC.error(404, "not_found_error"), SETUP),
    (ANTHROPIC, ANTHROPIC.error(429, "rate_limit_error"), RATE),
    (ANTHROPIC, ANTHROPIC.error(400, "invalid_request_error", "prompt is too long: 9 tokens > 8 maximum"), LONG),
    (ANTHROPIC, ANTHROPIC.error(413, "request_too_large"), LONG),
    (ANTHROPIC, ANTHROPIC.error(400, "invalid_request_error", "Output blocked by content filtering policy"), REFUSED),
    (ANTHROPIC, ANTHROPIC.error(400, "invalid_request_error"), CLIENT),
    (ANTHROPIC, ANTHROPIC.error(409, "conflict_error"), SERVER),
    (ANTHROPIC, ANTHROPIC.error(422, "invalid_request_error"), CLIENT),
    (ANTHROPIC, ANTHROPIC.error(500, "api_error"), SERVER),
    (ANTHROPIC, ANTHROPIC.error(504, "timeout_error"), LINE),
    (ANTHROPIC, ANTHROPIC.error(529, "overloaded_error"), SERVER),
    (ANTHROPIC, ANTHROPIC.stream([{"type": "error", "error": {"type": "overloaded_error", "message": "x"}}]), SERVER),
    (ANTHROPIC, ANTHROPIC.stream([{"type": "error", "error": {"type": "rate_limit_error", "message": "x"}}]), RATE),
    (ANTHROPIC, said({"type": "error", "error": {"type": "overloaded_error", "message": "x"}}), SERVER),
    (ANTHROPIC, ANTHROPIC.stream([{"type": "error", "error": {"type": "invalid_request_error"}}]), CLIENT),
    (ANTHROPIC, ANTHROPIC.stream([*ANTHROPIC.events(ModelAnswer("Done.", finish_reason="stop"))][:-1]), LINE),
    (OPENAI, OPENAI.stream([OPENAI.delta({"content": "So"}), OPENAI.delta({}, "error")]), SERVER),
    (OPENAI, OPENAI.stream([{"error": {"code": None, "type": "invalid_request_error"}}]), CLIENT),
    (OPENAI, OPENAI.stream([{"error": {"code": "rate_limit_exceeded", "message": "x"}}]), RATE),
    (OPENAI, OPENAI.stream([{"error": {"code": None, "type": "server_error", "message": "x"}}]), SERVER),
]


@pytest.mark.parametrize("way", ["stream", "stream_async"])
@pytest.mark.parametrize("wire", [OPENAI, ANTHROPIC], ids=["openai", "anthropic"])
def test_a_document_in_place_of_a_stream_must_say_why_it_ended(wire: Wire, way: str, server: Loopback) -> None:
    """Without a reason it was cut, however whole it looks."""
    failure = failure_of(wire.model(server.always(said(wire.document(ModelAnswer("Done."))))), way)

    assert failure.failure_class is LINE


def test_a_failure_inside_a_stream_does_not_name_its_status(server: Loopback) -> None:
    """That was 200, and says nothing of it."""
    event = {"type": "error", "error": {"type": "overloaded_error", "message": "x"}}
    failure = failure_of(ANTHROPIC.model(server.always(ANTHROPIC.stream([event]))), "stream")

    assert "broke off its answer (overloaded_error): x" in str(failure)


def failure_of(model: Any, way: str) -> ProviderError:
    """What a question raises, asked in one of four ways."""

    async def read() -> None:
        async for _ in model.stream_async(QUESTION):
            pass

    ways = {
        "complete": lambda: model.complete(QUESTION),
        "stream": lambda: list(model.stream(QUESTION)),
        "complete_async": lambda: asyncio.run(model.complete_async(QUESTION)),
        "stream_async": lambda: asyncio.run(read()),
    }
    with pytest.raises(ProviderError) as raised:
        ways[way]()
    return raised.value


WAYS = ("complete", "stream", "complete_async", "stream_async")


def ways_of(reply: Reply) -> tuple[str, ...]:
    """A reply that is a stream is only for those who want one."""
    return ("stream", "stream_async") if reply.kind == "text/event-stream" else WAYS


@pytest.mark.parametrize(("wire", "reply", "expected"), TABLE)
def test_what_a_server_says_has_its_class(wire: Wire, reply: Reply, expected: FailureClass, server: Loopback) -> None:
    """The same class in all four ways to ask, a text without the key, and nothing chained that holds it."""
    model = wire.model(server.always(reply))

    for way in ways_of(reply):
        failure = failure_of(model, way)

        assert failure.failure_class is expected, (way, failure)
        assert failure.__cause__ is None
        assert failure.__context__ is None
        assert KEY not in str(failure)
    assert len(server.asked) == len(ways_of(reply)), "nothing is asked twice"


def garbage(wire: Wire) -> dict[str, tuple[Answering, FailureClass]]:
    """Servers that send something else than an answer."""
    huge = b'{"choices": "' + b"x" * 10_000_000 + b'"}'
    page = b"<!doctype html><html><body>Sign in</body></html>"
    strange = [b"[]", b"null", b"17", b"{}", b'{"choices": []}', b'{"choices": 5, "content": 5}', b"[" * 100_000]
    strange += [b'{"choices": [{"message": {"content": 5}}], "content": [{"type": "text", "text": 5}]}']
    strange += [b'{"choices": [{"message": {"content": "\xff"}}], "content": [{"type": "text", "text": "\xff"}]}']
    strange += [b'{"choices": [{"message": {"tool_calls": [{"id": 5}]}}], "content": [{"type": "tool_use"}]}']
    found: dict[str, tuple[Answering, FailureClass]] = {
        "a page": (lambda asked: Reply(200, page, "text/html"), SERVER),
        "a page as JSON": (lambda asked: Reply(200, page), SERVER),
        "a page with an error": (lambda asked: Reply(502, page, "text/html"), SERVER),
        "a page instead of a model": (lambda asked: Reply(404, page, "text/html"), SETUP),
        "nothing": (lambda asked: Reply(200, b""), SERVER),
        "no content": (lambda asked: Reply(204, b""), SERVER),
        "10 MB": (lambda asked: Reply(200, huge), SERVER),
        "half a document": (lambda asked: Reply(200, b'{"choices": [', cut=True), LINE),
        "a redirect": (lambda asked: Reply(307, b"", headers={"location": "http://127.0.0.1:9/elsewhere"}), SETUP),
        "no compression": (lambda asked: Reply(200, b"no gzip", headers={"content-encoding": "gzip"}), SERVER),
    }
    for number, body in enumerate(strange):
        found[f"strange {number}"] = (lambda asked, body=body: Reply(200, body), SERVER)  # type: ignore[misc]
    return found


@pytest.mark.parametrize("case", list(garbage(OPENAI)))
@pytest.mark.parametrize("way", WAYS)
def test_garbage_is_a_failure_and_no_crash(wire: Wire, case: str, way: str, server: Loopback) -> None:
    """Whatever comes instead of an answer is told as a failure."""
    server.answering, expected = garbage(wire)[case]

    failure = failure_of(wire.model(server), way)

    assert failure.failure_class is expected, failure
    assert "unexpected" not in str(failure), "it is known for what it is"
    assert len(str(failure)) < 500


@pytest.mark.parametrize("way", ["stream", "stream_async"])
@pytest.mark.parametrize(
    "data", [b"data: {\n\n", b"data: \xff\xfe\n\n", b"data: [1]\n\n", b"data: " + b"7" * 50 + b"\n\n"]
)
def test_garbled_events_are_a_failure(wire: Wire, data: bytes, way: str, server: Loopback) -> None:
    """An event that cannot be read ends the stream; what was told before it is no answer."""
    body = [b"event: message_start\n" + data] if wire.name == "anthropic" else [data]
    model = wire.model(server.always(Reply(body=body, kind="text/event-stream")))

    assert failure_of(model, way).failure_class is SERVER


@pytest.mark.parametrize("way", ["stream", "stream_async"])
@pytest.mark.parametrize("cut", [True, False], ids=["connection lost", "ended in order"])
def test_half_a_stream_is_a_lost_connection(wire: Wire, cut: bool, way: str, server: Loopback) -> None:
    """Without its end mark a stream is no answer, however its connection ended."""
    model = wire.model(server.always(wire.broken_off("Saved as pages:7.", cut=cut)))

    assert failure_of(model, way).failure_class is LINE


@pytest.mark.parametrize("way", WAYS)
def test_a_server_that_is_silent_is_left_at_the_deadline(wire: Wire, way: str, server: Loopback) -> None:
    """Nobody waits longer than the deadline says."""

    def silent(asked: Asked) -> Reply:
        server.over.wait(30)
        return Reply(500)

    server.answering = silent

    failure = failure_of(wire.model(server, deadline=0.3), way)

    assert failure.failure_class is LINE
    assert "within 0.3 s" in str(failure)


@pytest.mark.parametrize("way", WAYS)
def test_a_server_that_drips_is_left_at_the_deadline(wire: Wire, way: str, server: Loopback) -> None:
    """The deadline is that of the whole answer: bytes that come now and then do not prolong it."""

    def dripping(asked: Asked) -> Reply:
        drops = iter(lambda: b" " if not server.over.wait(0.02) else b"", b"")
        return Reply(body=drops, kind="text/event-stream" if asked.streaming else "application/json")

    server.answering = dripping

    assert failure_of(wire.model(server, deadline=0.4), way).failure_class is LINE


@pytest.mark.parametrize("way", WAYS)
def test_a_server_that_is_not_there_is_a_lost_connection(wire: Wire, way: str) -> None:
    """A refused connection is worth another try."""
    with loopback() as gone:
        model = wire.model(gone)

    assert failure_of(model, way).failure_class is LINE


@pytest.mark.parametrize("after", ["7", "7000"])
def test_a_server_may_say_when_it_wants_to_be_asked_again(wire: Wire, after: str, server: Loopback) -> None:
    """It is passed on with the failure, for whoever asks again."""
    reply = wire.error(429, "rate_limit_error")
    model = wire.model(server.always(Reply(429, reply.body, headers={"retry-after": after})))

    assert failure_of(model, "complete").retry_after == float(after)


# -- keys ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
def test_a_missing_key_is_found_without_a_request(wire: Wire, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The failure is one of set-up, and names what to set (F1)."""
    monkeypatch.delenv(f"{wire.name.upper()}_API_KEY", raising=False)

    failure = failure_of(wire.own(), way)

    assert failure.failure_class is SETUP
    assert f"{wire.name.upper()}_API_KEY" in str(failure)


@pytest.mark.parametrize("given", ["", "  \n", "sk with spaces", "sk-\nx", "schlüssel", None], ids=repr)
def test_a_key_that_can_be_none_is_found_without_a_request(wire: Wire, given: Any, server: Loopback) -> None:
    """A header could not hold it, and the error of a header would show it."""
    failure = failure_of(wire.model(server, api_key=lambda: given), "complete")

    assert failure.failure_class is SETUP
    assert server.asked == []
    assert given is None or not given.strip() or given not in str(failure)


def test_a_function_that_brings_no_key_is_a_failure_of_set_up(wire: Wire, server: Loopback) -> None:
    """What it says may hold a secret, so only its kind is told."""

    def broken() -> str:
        raise LookupError(f"vault said {KEY}")

    failure = failure_of(wire.model(server, api_key=broken), "complete")

    assert (failure.failure_class, server.asked) == (SETUP, [])
    assert KEY not in "".join(traceback.format_exception(failure))


def test_the_key_of_the_environment_stays_with_its_provider(
    wire: Wire, server: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another server does not get it; it gets a key when one is given for it (decision 0044)."""
    monkeypatch.setenv(f"{wire.name.upper()}_API_KEY", KEY)

    failure_of(wire.model(server, api_key=None), "complete")
    failure_of(wire.model(server, api_key=KEY), "complete")

    assert KEY not in json.dumps(dict(server.asked[0].headers))
    assert KEY in json.dumps(dict(server.asked[1].headers))


@pytest.mark.parametrize("way", WAYS)
def test_headers_of_the_environment_stay_with_their_provider(
    wire: Wire, way: str, server: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The SDKs add them to every request; another server gets none of them, and the key that is its own."""
    name = wire.name.upper()
    monkeypatch.setenv(f"{name}_CUSTOM_HEADERS", "X-Gateway: hidden\nAuthorization: Bearer hidden")
    monkeypatch.setenv(f"{name}_AUTH_TOKEN", "hidden")
    monkeypatch.setenv("OPENAI_ORG_ID", "hidden")
    monkeypatch.setenv("OPENAI_ADMIN_KEY", "hidden")

    failure_of(wire.model(server), way)

    assert "hidden" not in str(server.asked[0].headers)
    assert KEY in str(server.asked[0].headers)


@pytest.mark.parametrize("after", ["inf", "nan", "-1", "Thu, 01 Jan 2026 00:00:00 GMT", ""])
def test_a_pause_that_is_none_is_not_heard(wire: Wire, after: str, server: Loopback) -> None:
    """Only seconds that somebody can wait for (R8)."""
    reply = wire.error(429, "rate_limit_error")
    model = wire.model(server.always(Reply(429, reply.body, headers={"retry-after": after})))

    assert failure_of(model, "complete").retry_after is None


@pytest.mark.parametrize("way", WAYS)
def test_an_answer_that_is_too_large_is_given_up_however_it_is_cut(wire: Wire, way: str, server: Loopback) -> None:
    """Its pieces count together; a server that never ends fills no memory."""
    pieces = [b" " * 500_000] * 20
    server.answering = lambda asked: Reply(200, pieces)

    assert "more than 8000000 bytes" in str(failure_of(wire.model(server), way))


def test_a_key_may_change_between_questions_of_one_loop(wire: Wire, server: Loopback) -> None:
    """The connections of the loop stay, and the key is asked for all the same."""
    keys = iter(["first-key", "second-key"])
    model = wire.model(server.always(wire.error(500, None)), api_key=lambda: next(keys))

    async def ask() -> None:
        for _ in range(2):
            with pytest.raises(ProviderError):
                await model.complete_async(QUESTION)

    asyncio.run(ask())
    assert ["first-key" in str(server.asked[0].headers), "second-key" in str(server.asked[1].headers)] == [True, True]


def test_a_key_may_change_between_questions(wire: Wire, server: Loopback) -> None:
    """A function is called for each."""
    keys = iter(["first-key", "second-key"])
    model = wire.model(server, api_key=lambda: next(keys))

    failure_of(model, "complete")
    failure_of(model, "complete")

    assert ["first-key" in str(server.asked[0].headers), "second-key" in str(server.asked[1].headers)] == [True, True]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("masked", [KEY, f"{KEY[:8]}******{KEY[-4:]}"], ids=["whole", "masked"])
def test_a_key_that_a_server_repeats_is_not_repeated(
    wire: Wire, way: str, masked: str, server: Loopback, caplog: pytest.LogCaptureFixture
) -> None:
    """Not in the text, not in the traceback, not in the log, not in what the model says of itself (P9)."""
    caplog.set_level(logging.DEBUG)
    model = wire.model(server.always(wire.error(401, "authentication_error", f"Incorrect API key provided: {masked}.")))

    failure = failure_of(model, way)

    assert "[key]" in str(failure)
    for text in (
        str(failure),
        "".join(traceback.format_exception(failure)),
        caplog.text,
        repr(model),
        repr(vars(model)),
    ):
        assert masked not in text
        assert KEY[:8] not in text


@pytest.mark.parametrize(
    "address", ["ftp://x", "https://user:secret@host/v1", "http://host/?key=secret", "host", "", 5, "http://a b"]
)
def test_an_address_that_cannot_be_meant_is_refused_unseen(wire: Wire, address: Any) -> None:
    """It may hold a password."""
    with pytest.raises(InvalidValueError) as raised:
        wire.own(base_url=address)

    assert "secret" not in str(raised.value)


# -- readers -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "failure_class", sorted(set(FailureClass) - {FailureClass.UNKNOWN}, key=lambda found: found.value)
)
def test_a_reader_gets_a_sentence_and_an_administrator_the_text(
    wire: Wire, failure_class: FailureClass, server: Loopback
) -> None:
    """A turn that fails stores the code of its class; nobody sees the key, readers no text of a server (F1, F2)."""
    from nr_agent_core import RoleAccess

    server.answering = lambda asked: wire.failure(failure_class, asked)
    store, anna, root = MemoryStore(), Reader("anna"), Reader("root")
    chat = Chat(store=store, model=wire.model(server), tools=[], access=RoleAccess(administrators={"root"}))

    sent = chat.send("Hello?", anna)
    told = chat.view(sent.conversation, anna).error
    shown = chat.view(sent.conversation, root).error
    chat.close()

    assert told is not None
    assert shown is not None
    assert told.code is code_of(failure_class)
    assert wire.name not in told.text
    assert wire.name in shown.text
    assert KEY not in told.text + shown.text
