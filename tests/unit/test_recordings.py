"""
Recordings of models: what is in the file, which question is which, and what never happens to a file.
"""

import asyncio
import json
import os
import threading
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nr_agent_core import (
    Chat,
    FailureClass,
    InvalidValueError,
    ModelAnswer,
    ModelCall,
    ModelMessage,
    ModelRequest,
    NewerFormError,
    OfferedTool,
    ProviderError,
    Reader,
    RunStatus,
    StoredFormError,
)
from nr_agent_core.adapters.memory import MemoryStore
from nr_agent_core.testing import Cut, NotRecordedError, RecordedModel, ScriptedModel
from nr_agent_core.testing._recording.file import (
    Broken,
    Exchange,
    Failed,
    Recording,
    answer_form,
    answer_of,
    load,
    request_form,
    save,
)
from nr_agent_core.testing._recording.matching import PARTS, Matching, Secrets, differences
from nr_agent_core.testing.strategies import texts


def question(text: str = "Hello?", system: str = "Be brief.", *before: ModelMessage) -> ModelRequest:
    """A question."""
    return ModelRequest(system, (*before, ModelMessage("user", text)))


def recorded(path: Path, *said: Any, **options: Any) -> RecordedModel:
    """A model that records what a script says."""
    return RecordedModel(path, ScriptedModel(*said), mode="record", **options)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the recording lies."""
    return tmp_path / "it.json"


# ---------------------------------------------------------------------------------------- the file

numbers = st.none() | st.integers(0, 10**6)
names = st.none() | texts(max_size=10)
calls = st.lists(st.builds(ModelCall, texts(max_size=10), texts(max_size=10), names), max_size=3).map(tuple)
answers = st.builds(
    ModelAnswer,
    texts(),
    calls,
    provider=texts(max_size=10),
    model=texts(max_size=10),
    input_tokens=numbers,
    output_tokens=numbers,
    finish_reason=names,
    provider_data=names,
)
messages = st.builds(
    ModelMessage, st.sampled_from(["user", "assistant", "tool"]), texts(), calls, call_id=names, provider_data=names
)
tools = st.builds(
    OfferedTool, texts(max_size=10), texts(max_size=10), st.dictionaries(texts(max_size=5), st.integers(), max_size=3)
)
requests = st.builds(
    ModelRequest,
    texts(),
    st.lists(messages, max_size=3).map(tuple),
    st.lists(tools, max_size=2).map(tuple),
)
failures = st.builds(
    Failed, st.sampled_from(FailureClass), texts(max_size=20), st.none() | st.floats(0, 1e6, allow_nan=False)
)
exchanges = st.one_of(
    st.builds(
        Exchange,
        requests.map(request_form),
        st.none() | st.lists(texts(max_size=9)).map(tuple),
        st.one_of(answers, failures),
    ),
    st.builds(Exchange, requests.map(request_form), st.lists(texts(max_size=9)).map(tuple), st.sampled_from(Broken)),
)
limits = st.none() | st.integers(1, 10**6)
recordings = st.builds(Recording, limits, limits, st.lists(exchanges, max_size=4).map(tuple))


@given(recordings)
def test_what_is_written_is_read_back_and_written_alike(tmp_path_factory: Any, recording: Recording) -> None:
    """Every request, answer and failure; the same recording is the same bytes, of UTF-8."""
    path = tmp_path_factory.getbasetemp() / "any.json"
    content = save(path, recording)

    found, read = load(path)
    assert found == recording
    assert read == content == path.read_bytes()
    assert save(path, found) == content
    assert json.loads(content)["version"] == 1


@given(answers)
def test_an_answer_is_its_form(answer: ModelAnswer) -> None:
    """Nothing is lost on the way through JSON."""
    assert answer_of(json.loads(json.dumps(answer_form(answer)))) == answer


def test_a_changed_line_of_a_prompt_is_a_changed_line_of_the_file(path: Path) -> None:
    """Prompts and tools stand once, texts line by line, so that a difference can be read."""
    model = recorded(path, "One.", "Two.\nAnd more.")
    for text in ("First?", "Second?"):
        model.complete(question(text, "You are a clerk.\nBe brief."))
    found = json.loads(path.read_text(encoding="utf-8"))

    assert list(found["prompts"].values()) == [["You are a clerk.", "Be brief."]]
    assert [exchange["answer"]["text"] for exchange in found["exchanges"]] == ["One.", ["Two.", "And more."]]
    assert path.read_text(encoding="utf-8").count("You are a clerk.") == 1


DAMAGES: list[tuple[Any, Any]] = [
    (("form",), "another"),
    (("version",), 0),
    (("version",), "1"),
    (("version",), True),
    (("more",), 1),
    (("prompts",), []),
    (("tools",), {"tools-1": {}}),
    (("context_window",), "many"),
    (("context_window",), -1),
    (("exchanges",), {}),
    (("exchanges", 0, "asked", "system"), "prompt-1"),
    (("exchanges", 0, "asked", "tools"), "tools-1"),
    (("exchanges", 0, "asked", "messages"), None),
    (("exchanges", 0, "asked", "messages", 0, "text"), 7),
    (("exchanges", 0, "asked", "messages", 0, "text"), ["a", 7]),
    (("exchanges", 0, "asked", "messages", 0, "volume"), "loud"),
    (("exchanges", 0, "asked", "messages", 0, "calls"), [{"name": "find"}]),
    (("exchanges", 0, "streamed"), "Hello."),
    (("exchanges", 0, "ended"), "cut"),
    (("exchanges", 0, "answer", "input_tokens"), True),
    (("exchanges", 0, "answer", "input_tokens"), -1),
    (("exchanges", 0, "answer", "finish_reason"), None),
    (("exchanges", 0, "answer"), "Hello."),
    (("exchanges", 1, "failure", "class"), "tired"),
    (("exchanges", 1, "failure", "text"), None),
    (("exchanges", 1, "failure", "retry_after"), -1),
    (("exchanges", 1, "failure", "retry_after"), "soon"),
    (("exchanges", 2, "ended"), "somehow"),
    (("exchanges", 2, "streamed"), None),
]


def damaged(path: Path, *places: tuple[Any, Any], without: tuple[Any, ...] = ()) -> bytes:
    """A file with an answer, a failure and a cut stream, in which something is wrong."""
    asked = request_form(question())
    failure = Failed(FailureClass.RATE_LIMIT, "slow down", 2.0)
    known = (
        Exchange(asked, None, ModelAnswer("Hello.", input_tokens=3, finish_reason="stop")),
        Exchange(asked, None, failure),
        Exchange(asked, ("He",), Broken.CUT),
    )
    save(path, Recording(exchanges=known))
    found = json.loads(path.read_bytes())
    for (*way, last), value in places:
        at = found
        for step in way:
            at = at[step]
        at[last] = value
    if without:
        at = found
        for step in without[:-1]:
            at = at[step]
        del at[without[-1]]
    path.write_text(json.dumps(found), encoding="utf-8")
    return path.read_bytes()


@pytest.mark.parametrize(("place", "value"), DAMAGES, ids=lambda value: str(value)[:60])
@pytest.mark.parametrize("mode", ["replay", "record"])
def test_a_damaged_file_is_refused_and_left_as_it_is(path: Path, place: Any, value: Any, mode: str) -> None:
    """Nothing is read as a default or coerced, and a field that is not known is not lost by writing (E6)."""
    content = damaged(path, (place, value))

    with pytest.raises(StoredFormError, match=r"it\.json"):
        RecordedModel(path, ScriptedModel("x"), mode=mode)

    assert path.read_bytes() == content


@pytest.mark.parametrize(
    "without",
    [
        ("form",),
        ("version",),
        ("prompts",),
        ("exchanges",),
        ("output_limit",),
        ("exchanges", 0, "asked"),
        ("exchanges", 0, "answer"),
        ("exchanges", 0, "answer", "text"),
        ("exchanges", 0, "asked", "messages", 0, "role"),
        ("exchanges", 1, "failure", "class"),
        ("exchanges", 2, "streamed"),
    ],
    ids=str,
)
def test_a_file_that_lacks_something_is_refused(path: Path, without: tuple[Any, ...]) -> None:
    """What must be there is there (E6)."""
    damaged(path, without=without)

    with pytest.raises(StoredFormError):
        RecordedModel(path)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b'{"form": 1, "form": 1}', b"[" * 100_000, b"NaN"])
def test_something_else_is_no_recording(path: Path, content: bytes) -> None:
    """And is not written over."""
    path.write_bytes(content)

    with pytest.raises(StoredFormError):
        recorded(path, "x")

    assert path.read_bytes() == content


def test_a_name_that_stands_twice_is_damage(path: Path) -> None:
    """One of the two would be lost by writing."""
    damaged(path)
    path.write_bytes(path.read_bytes().replace(b'"version": 1', b'"version": 1, "version": 1'))

    with pytest.raises(StoredFormError):
        RecordedModel(path)


def test_a_newer_file_is_refused_and_left_as_it_is(path: Path) -> None:
    """It says that an upgrade is needed (E6)."""
    content = damaged(path, (("version",), 2), (("exchanges",), "in another way"))

    with pytest.raises(NewerFormError, match="upgrade"):
        recorded(path, "x")

    assert path.read_bytes() == content


def test_a_file_that_is_damaged_meanwhile_is_not_written_over(path: Path) -> None:
    """Another process, an editor, a merge: what stands there is somebody's."""
    model = recorded(path, "One.", "Two.")
    model.complete(question("First?"))
    path.write_bytes(b"<<<<<<<")

    with pytest.raises(StoredFormError):
        model.complete(question("Second?"))

    assert path.read_bytes() == b"<<<<<<<"


def test_a_write_that_fails_leaves_the_file_as_it_was(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file is there as a whole or not at all, and nothing lies beside it."""
    model = recorded(path, "One.", "Two.")
    model.complete(question("First?"))
    content = path.read_bytes()

    def full(_: int) -> None:
        raise OSError(28, "no space left")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space"):
        model.complete(question("Second?"))

    assert path.read_bytes() == content
    assert list(path.parent.iterdir()) == [path]


def test_what_others_added_meanwhile_is_kept(path: Path) -> None:
    """Two tests that record into one file lose nothing of each other."""
    one, other = recorded(path, "One.", "Three."), recorded(path, "Two.")
    one.complete(question("First?"))
    other.complete(question("Second?"))
    one.complete(question("Third?"))

    replaying = RecordedModel(path)
    answered = [replaying.complete(question(text)).text for text in ("First?", "Second?", "Third?")]
    assert answered == ["One.", "Two.", "Three."]
    assert replaying.unplayed == 0


def test_a_link_is_followed(tmp_path: Path, path: Path) -> None:
    """What is written is the file, not the link."""
    link = tmp_path / "link.json"
    link.symlink_to(path)
    recorded(link, "One.").complete(question())

    assert link.is_symlink()
    assert RecordedModel(path).complete(question()).text == "One."


def test_exchanges_stand_in_the_order_in_which_they_were_asked(path: Path) -> None:
    """Whichever answer comes first."""
    asked, late = threading.Event(), threading.Event()

    def slow(request: ModelRequest) -> str:
        asked.set()
        assert late.wait(60)
        return "One."

    model = recorded(path, slow, "Two.")
    first = threading.Thread(target=model.complete, args=[question("First?")])
    first.start()
    assert asked.wait(60)
    model.complete(question("Second?"))
    late.set()
    first.join()

    found, _ = load(path)
    assert [exchange.outcome.text for exchange in found.exchanges] == ["One.", "Two."]  # type: ignore[union-attr]


def test_limits_are_recorded_with_the_answers(path: Path) -> None:
    """What a question leaves out depends on them (R11)."""
    asked = ScriptedModel("One.", context_window=9000, output_limit=500)
    model = RecordedModel(path, asked, mode="record")
    assert (model.context_window, model.output_limit) == (9000, 500)
    model.complete(question())

    replaying = RecordedModel(path, ScriptedModel(context_window=1))
    assert (replaying.context_window, replaying.output_limit) == (9000, 500)
    assert RecordedModel(path.with_name("none.json")).context_window is None


# ---------------------------------------------------------------------------- which question is which


def test_a_repeated_question_gets_its_answers_in_their_order(path: Path) -> None:
    """As often as it was recorded; once more is a question that nobody answered."""
    model = recorded(path, ProviderError("busy", FailureClass.RATE_LIMIT, retry_after=3), "Here.")
    with pytest.raises(ProviderError):
        model.complete(question())
    model.complete(question())

    replaying = RecordedModel(path)
    with pytest.raises(ProviderError) as raised:
        replaying.complete(question())
    assert (str(raised.value), raised.value.failure_class) == ("busy", FailureClass.RATE_LIMIT)
    assert raised.value.retry_after == 3
    assert replaying.complete(question()).text == "Here."
    with pytest.raises(NotRecordedError, match="asked for again"):
        replaying.complete(question())


def test_a_failure_of_another_type_has_its_class(path: Path) -> None:
    """What a host's model raises, with what it says of itself sanitised (R10, F3)."""
    with pytest.raises(TimeoutError):
        recorded(path, TimeoutError("no answer from https://llm.example/?key=1")).complete(question())

    with pytest.raises(ProviderError, match=r"^TimeoutError: no answer from \[address\]$") as raised:
        RecordedModel(path).complete(question())
    assert raised.value.failure_class is FailureClass.CONNECTION


CALLED = ModelMessage("assistant", "", (ModelCall("find", '{"a": 1, "b": 2}', "id-1"),), provider_data="{1}")
RESULT = ModelMessage("tool", "Found.", call_id="id-1")


@pytest.mark.parametrize(
    ("called", "result"),
    [
        (attrs.evolve(CALLED, provider_data=None), RESULT),
        (attrs.evolve(CALLED, calls=(ModelCall("find", '{"a": 1, "b": 2}', "x"),)), attrs.evolve(RESULT, call_id="x")),
        (attrs.evolve(CALLED, calls=(ModelCall("find", '{"b":2,"a":1}', "id-1"),)), RESULT),
    ],
    ids=["provider data", "ids", "the order of arguments"],
)
def test_ids_and_what_only_providers_read_are_no_difference(
    path: Path, called: ModelMessage, result: ModelMessage
) -> None:
    """They are new with every recording."""
    recorded(path, "Here.").complete(question("And?", "", CALLED, RESULT))

    assert RecordedModel(path).complete(question("And?", "", called, result)).text == "Here."


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("It is 2026-11-30T10:00:00Z now.", "It is 2027-01-02 23:59:01.5+01:00 now."),
        ("On 2026-11-30.", "On 2027-01-02."),
        ("At 9:15.", "At 21:40:07."),
        ("Run 0b2d7f0e-90ab-4c11-8a51-1d2f3a4b5c6d.", "Run 1c3e8a1f-01bc-4d22-9b62-2e3a4b5c6d7e."),
        ("See pages:17.", "See pages:18."),
    ],
)
def test_identities_and_times_are_looked_away_from(path: Path, one: str, other: str) -> None:
    """The library's, and what the host names."""
    recorded(path, "Here.").complete(question(one, one))

    assert RecordedModel(path, volatile=[r"pages:\d+"]).complete(question(other, other)).text == "Here."


def test_an_equal_text_goes_before_a_similar_one(path: Path) -> None:
    """Two questions that differ in a date alone have each its own answer."""
    dates = ["2026-12-24", "2026-12-25"]
    model = recorded(path, "Closed.", "Closed too.")
    for date in dates:
        model.complete(question(f"Open on {date}?"))

    replaying = RecordedModel(path)
    answered = [replaying.complete(question(f"Open on {date}?")).text for date in reversed(dates)]
    assert answered == ["Closed too.", "Closed."]


@pytest.mark.parametrize("text", ["Version 1.2", "Ratio 3:1", "pages:17", "+49 30 1234-5678", "1234567"])
def test_other_numbers_are_differences(path: Path, text: str) -> None:
    """A number is what a question is about, unless the host says otherwise."""
    recorded(path, "Here.").complete(question(text))

    with pytest.raises(NotRecordedError):
        RecordedModel(path).complete(question(text.replace("1", "2", 1)))


@pytest.mark.parametrize("left_out", PARTS)
def test_only_the_parts_that_count_are_compared(path: Path, left_out: str) -> None:
    """A host that tests its pages may let the prompt change."""
    tool = OfferedTool("find", "Find.", {})
    one = ModelRequest("Be brief.", (ModelMessage("user", "Hello?"),), (tool,))
    other = {
        "system": attrs.evolve(one, system="Be long."),
        "tools": attrs.evolve(one, tools=()),
        "messages": question("Bye?", "Be brief."),
    }[left_out]
    if left_out == "messages":
        other = attrs.evolve(other, tools=(tool,))
    recorded(path, "Here.").complete(one)

    with pytest.raises(NotRecordedError):
        RecordedModel(path).complete(other)
    assert RecordedModel(path, match=set(PARTS) - {left_out}).complete(other).text == "Here."


@given(st.lists(requests, min_size=1, max_size=4), st.data())
def test_every_request_finds_its_own_exchange(asked: list[ModelRequest], data: st.DataObject) -> None:
    """In any order; two that cannot be told apart are one question."""
    matching, secrets = Matching(PARTS, ()), Secrets(())
    outlines = [matching.outline(secrets.without(request_form(request))) for request in asked]
    number = data.draw(st.integers(0, len(asked) - 1))
    again = matching.outline(secrets.without(request_form(asked[number])))

    assert outlines.index(again) <= number
    assert differences(again, outlines[number]) == ()
    assert matching.loosened(again) == matching.loosened(matching.loosened(again))


# ------------------------------------------------------------------------------- what is not recorded


@pytest.mark.parametrize(
    ("other", "told"),
    [
        (question("Hello!"), "message 1 (user) differs from character 6 on"),
        (question("Hello?", "Be brief.\nAnd kind."), "the system prompt differs in line 1 from character 10 on"),
        (question("Hello?", "Be brief.", ModelMessage("user", "x")), "message 1 (user) differs from character 1 on"),
        (ModelRequest("Be brief.", ()), "message 1 (user) is missing"),
        (attrs.evolve(question(), tools=(OfferedTool("find", "", {}),)), "tool 'find' was not there"),
        (attrs.evolve(question(), messages=(ModelMessage("tool", "Hello?"),)), "message 1 (tool) was not there"),
    ],
)
def test_an_error_says_where_a_question_differs(path: Path, other: ModelRequest, told: str) -> None:
    """From the exchange that is most like it, in places."""
    model = recorded(path, "One.", "Two.")
    model.complete(question("Something else\nthat is long", "For others."))
    model.complete(question())

    with pytest.raises(NotRecordedError) as raised:
        RecordedModel(path).complete(other)

    assert told in raised.value.differences
    assert (raised.value.recording, raised.value.nearest) == ("it.json", 2)
    assert (
        f"recording it.json: this question is not in it; nearest is exchange 2: {'; '.join(raised.value.differences)}"
        in str(raised.value)
    )


def test_many_differences_are_counted(path: Path) -> None:
    """An error stays short."""
    recorded(path, "One.").complete(question())
    long = attrs.evolve(question(), messages=tuple(ModelMessage("user", f"{n}") for n in range(9)))

    with pytest.raises(NotRecordedError, match=r"message 5 \(user\) was not there; and 4 more\. Record"):
        RecordedModel(path).complete(long)


@given(requests, requests)
def test_no_text_of_a_question_is_in_the_error(one: ModelRequest, other: ModelRequest) -> None:
    """What a user wrote, or a tool brought, stands in no log (P9)."""
    mark = "Geheimnis"
    marked = attrs.evolve(
        one,
        system=mark + one.system,
        messages=(*one.messages, ModelMessage("user", mark), ModelMessage("tool", f'{{"x": "{mark}"}}', call_id=mark)),
    )
    matching = Matching(PARTS, ())
    told = differences(matching.outline(request_form(marked)), matching.outline(request_form(other)))

    assert told
    assert mark not in str(NotRecordedError("it.json", "not in it", 1, told))


def test_without_a_file_every_question_is_missing(path: Path) -> None:
    """And says that there is none; nothing is written."""
    with pytest.raises(NotRecordedError, match=r"there is no such file\. Record it"):
        RecordedModel(path).complete(question())

    save(path, Recording())
    with pytest.raises(NotRecordedError, match="it holds no exchange"):
        RecordedModel(path).complete(question())


def test_a_missing_question_raises_at_the_end_of_the_block(path: Path) -> None:
    """A chat takes it for a failure of its provider; a test must not be green for that."""
    model = RecordedModel(path)
    model.__enter__()
    sent = Chat(store=MemoryStore(), model=model).send("Hello?", Reader("anna"))

    assert sent.status is RunStatus.FAILED
    assert len(model.missing) == 1
    with pytest.raises(NotRecordedError):
        model.__exit__(None, None, None)
    # What a test failed of goes before it.
    model.__exit__(KeyError, KeyError(), None)


# ---------------------------------------------------------------------------------------- streams


def test_a_reader_that_gave_up_is_replayed_up_to_there(path: Path) -> None:
    """The pieces that it had; whoever reads on is told why there is no more."""
    pieces = recorded(path, "One two three.").stream(question())
    assert pieces is not None
    assert [next(pieces), next(pieces)] == ["One", " two"]
    pieces.close()  # type: ignore[attr-defined]

    with RecordedModel(path) as model:
        again = model.stream(question())
        assert again is not None
        assert [next(again), next(again)] == ["One", " two"]
        again.close()  # type: ignore[attr-defined]
    with pytest.raises(NotRecordedError, match="given up"):
        list(RecordedModel(path).stream(question()) or ())
    with pytest.raises(NotRecordedError, match="given up"):
        RecordedModel(path).complete(question())


def test_a_stream_that_is_given_up_at_its_answer_is_whole(path: Path) -> None:
    """Behind the answer there is nothing to wait for."""
    pieces = recorded(path, "One two.").stream(question())
    assert pieces is not None
    while not isinstance(next(pieces), ModelAnswer):
        pass

    assert RecordedModel(path).complete(question()).text == "One two."


def test_a_task_that_is_cancelled_leaves_what_was_told(path: Path) -> None:
    """And nothing, where nothing was."""

    async def cancelled(most: int) -> None:
        async def read() -> None:
            stream = recorded(path, "One two three.").stream_async(question())
            assert stream is not None
            read_so_far = 0
            async for _ in stream:
                read_so_far += 1
                if read_so_far == most:
                    raise asyncio.CancelledError
            raise AssertionError

        task = asyncio.ensure_future(read())
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled(2))
    assert [exchange.outcome for exchange in load(path)[0].exchanges] == [Broken.GIVEN_UP]
    assert load(path)[0].exchanges[0].pieces == ("One", " two")


def test_a_model_that_does_not_stream_is_asked_at_once(path: Path) -> None:
    """While recording and when replaying; the question is the same one."""
    model = RecordedModel(path, ScriptedModel("Here.", streams=False), mode="record")
    assert model.stream(question()) is None
    assert model.stream_async(question()) is None
    model.complete(question())

    replaying = RecordedModel(path)
    assert replaying.stream(question()) is None
    assert replaying.stream_async(question()) is None
    assert replaying.unplayed == 1
    assert replaying.complete(question()).text == "Here."


class _Held:
    """A model whose streams hold something until they are closed."""

    context_window = output_limit = None

    def __init__(self) -> None:
        self.closed = 0

    def complete(self, request: ModelRequest) -> ModelAnswer:
        """Nothing."""
        raise AssertionError

    def stream(self, request: ModelRequest) -> Any:
        """A stream that counts its closing, and cannot be collected before."""
        held = self

        class Stream:
            def __iter__(self) -> Any:
                return self

            def __next__(self) -> str:
                return "more"

            def close(self) -> None:
                held.closed += 1

            __aiter__ = __iter__

            async def __anext__(self) -> str:
                return "more"

            async def aclose(self) -> None:
                self.close()

        return Stream()

    stream_async = stream


def test_a_stream_that_is_given_up_is_given_up_at_the_model(path: Path) -> None:
    """Its connection is not left open until somebody collects it."""
    held = _Held()
    model = RecordedModel(path, held, mode="record")
    pieces = model.stream(question())
    assert pieces is not None
    next(pieces)
    pieces.close()  # type: ignore[attr-defined]
    assert held.closed == 1

    async def read() -> None:
        pieces = model.stream_async(question())
        assert pieces is not None
        await anext(pieces)
        await pieces.aclose()  # type: ignore[attr-defined]

    asyncio.run(read())
    assert held.closed == 2


class _Refusing:
    """A model whose streams cannot even be begun."""

    context_window = output_limit = None

    def complete(self, request: ModelRequest) -> ModelAnswer:
        """Nothing."""
        raise AssertionError

    def stream(self, request: ModelRequest) -> Any:
        """Nothing either."""
        raise ProviderError("no key", FailureClass.AUTHENTICATION)

    stream_async = stream


@pytest.mark.parametrize("way", ["stream", "stream_async"])
def test_a_stream_that_cannot_be_begun_is_recorded(path: Path, way: str) -> None:
    """It fails again where it failed: asked at once, which is what comes next."""
    with pytest.raises(ProviderError):
        getattr(RecordedModel(path, _Refusing(), mode="record"), way)(question())

    with pytest.raises(ProviderError, match="no key") as raised:
        RecordedModel(path).complete(question())
    assert raised.value.failure_class is FailureClass.AUTHENTICATION


# ---------------------------------------------------------------------------------------- secrets

NAMED = 'tulip "4711"'


@given(st.lists(st.integers(1, 40), max_size=6), texts(max_size=20))
def test_a_named_secret_is_in_no_piece(cuts: list[int], around: str) -> None:
    """However a stream cuts it; and what is left reads as the whole text does."""
    secrets = Secrets([NAMED])
    text = f"{around}{NAMED}{around}"
    pieces, rest = [], text
    for cut in cuts:
        pieces.append(rest[:cut])
        rest = rest[cut:]
    kept = secrets.of_stream([*pieces, rest], whole=True)

    assert "".join(kept) == secrets.without(text)
    assert NAMED not in "".join(kept)
    assert secrets.without("".join(kept)) == "".join(kept)


@given(st.integers(3, len(NAMED) - 1))
def test_the_beginning_of_a_named_secret_goes_from_a_stream_that_broke_off(length: int) -> None:
    """What came of it tells too much."""
    kept = "".join(Secrets([NAMED]).of_stream(["It is ", NAMED[:length]], whole=False))

    assert kept == "It is [secret]"


def test_secrets_go_from_every_part(path: Path) -> None:
    """Prompt, messages, arguments, results, tools, answers and what providers give; plain or inside JSON."""
    inside = json.dumps({"value": NAMED, "password": "hunter2"})
    message = ModelMessage("assistant", NAMED, (ModelCall("find", inside, "c1"),), provider_data=inside)
    tool = OfferedTool("find", f"Find {NAMED}.", {"description": NAMED, "password": {"type": "string"}})
    asked = ModelRequest(NAMED, (message, ModelMessage("tool", inside, call_id="c1")), (tool,))
    answer = ModelAnswer(NAMED, (ModelCall("find", inside, "c2"),), finish_reason="stop", provider_data=inside)

    given_ = recorded(path, answer, secrets=[NAMED]).complete(asked)

    assert given_ == answer
    content = path.read_text(encoding="utf-8")
    assert "4711" not in content
    assert "hunter2" not in content
    replayed = RecordedModel(path, secrets=[NAMED]).complete(asked)
    assert (replayed.text, replayed.calls[0].arguments) == ("[secret]", '{"value":"[secret]","password":"[secret]"}')
    # A test that replays need not know the real ones.
    (exchange,) = load(path)[0].exchanges
    assert Secrets([NAMED]).without(request_form(asked)) == exchange.asked == Secrets(()).without(exchange.asked)


@pytest.mark.parametrize("before", [*range(400, 520, 7), 20_000])
def test_half_a_secret_is_in_no_failure(path: Path, before: int) -> None:
    """A long text is cut, and the cut goes through no secret."""
    secret = "tulip-rose-daffodil-and-lily"
    error = ProviderError("word " * (before // 5) + secret + " word" * 200)
    with pytest.raises(ProviderError):
        RecordedModel(path, ScriptedModel(error), mode="record", secrets=[secret]).complete(question())

    assert "tulip" not in path.read_text(encoding="utf-8")


@given(
    st.sampled_from(['tulip "4711"', "tulip\\\\4711", "tülip 4711", "tulip\n4711"]), st.integers(0, 3), st.booleans()
)
def test_a_secret_in_json_in_json_goes(secret: str, depth: int, ascii_: bool) -> None:
    """What a provider gives may be JSON that holds JSON; a quote is written in another way at each level."""
    text = secret
    for _ in range(depth):
        text = json.dumps(text, ensure_ascii=ascii_)[1:-1]

    assert "4711" not in Secrets([secret]).without(f"It is {text}.")


def test_a_secret_goes_from_the_names_of_parameters(path: Path) -> None:
    """They are a host's texts; the names of the form itself stay, whatever a secret is called."""
    tool = OfferedTool("find", "Find it.", {"properties": {NAMED: {"enum": [NAMED]}, "text": {"type": "string"}}})
    model = recorded(path, "Here.", secrets=[NAMED, "text", "role"])
    model.complete(attrs.evolve(question(), tools=(tool,)))

    assert "4711" not in path.read_text(encoding="utf-8")
    assert (
        RecordedModel(path, secrets=[NAMED, "text", "role"]).complete(attrs.evolve(question(), tools=(tool,))).text
        == "Here."
    )


def test_models_that_share_a_file_lose_nothing(path: Path) -> None:
    """Eight models in eight threads write the same file: all that was asked is in it."""
    start = threading.Barrier(8)
    errors: list[BaseException] = []

    def record(number: int) -> None:
        try:
            start.wait()
            model = recorded(path, *["Here."] * 5)
            for turn in range(5):
                model.complete(question(f"{number} asks for the {turn}th time"))
        except BaseException as error:  # noqa: BLE001 - looked at below
            errors.append(error)

    threads = [threading.Thread(target=record, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert errors == []
    assert len(load(path)[0].exchanges) == 40
    assert [file.name for file in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize(
    "options",
    [
        {"mode": "renew"},
        {"mode": None},
        {"mode": "record", "model": None},
        {"model": ScriptedModel},
        {"secrets": ["abc"]},
        {"secrets": [""]},
        {"secrets": [None]},
        {"secrets": ["secret"]},
        {"volatile": ["("]},
        {"volatile": [7]},
        {"match": []},
        {"match": "system"},
        {"match": ["system", "time"]},
    ],
    ids=str,
)
def test_what_cannot_be_meant_is_refused(path: Path, options: dict[str, Any]) -> None:
    """Before a file is looked at; the text names no secret."""
    with pytest.raises(InvalidValueError) as raised:
        RecordedModel(path, **options)

    assert "abc" not in str(raised.value)
    assert not path.exists()


@pytest.mark.parametrize(
    "said",
    [
        ModelAnswer("One.", input_tokens=-1),
        ModelAnswer(7),  # type: ignore[arg-type]
        ModelAnswer("One.", finish_reason=b"stop"),  # type: ignore[arg-type]
        ModelAnswer("One.", output_tokens=float("nan")),  # type: ignore[arg-type]
    ],
)
def test_what_could_not_be_read_back_is_not_written(path: Path, said: ModelAnswer) -> None:
    """A model may answer anything; the file that was there stays whole."""
    recorded(path, "Here.").complete(question())
    content = path.read_bytes()

    with pytest.raises(InvalidValueError):
        recorded(path, said).complete(question("And now?"))

    assert path.read_bytes() == content


@pytest.mark.parametrize("after", [float("inf"), float("nan"), -1, "soon"])
def test_a_pause_that_is_none_is_not_recorded(path: Path, after: Any) -> None:
    """The failure is, with its class."""
    with pytest.raises(ProviderError):
        recorded(path, ProviderError("busy", FailureClass.RATE_LIMIT, retry_after=after)).complete(question())

    with pytest.raises(ProviderError) as raised:
        RecordedModel(path).complete(question())
    assert (raised.value.retry_after, raised.value.failure_class) == (None, FailureClass.RATE_LIMIT)


def test_a_cut_stream_ends_as_it_ended(path: Path) -> None:
    """Without an answer and without a failure, which whoever reads it makes of that."""
    list(recorded(path, Cut("Once upon")).stream(question()) or ())

    assert list(RecordedModel(path).stream(question()) or ()) == ["Once", " upon"]


class _Interrupted:
    """A model whose stream is interrupted before it tells anything."""

    context_window = output_limit = None

    def complete(self, request: ModelRequest) -> ModelAnswer:
        """Nothing."""
        raise AssertionError

    def stream(self, request: ModelRequest) -> Any:
        """Nothing either."""
        raise KeyboardInterrupt
        yield


def test_a_stream_that_was_given_up_before_it_told_anything_is_not_recorded(path: Path) -> None:
    """It would be replayed as one that hangs; the question is asked again by the next recording."""
    with pytest.raises(KeyboardInterrupt):
        list(RecordedModel(path, _Interrupted(), mode="record").stream(question()) or ())

    assert not path.exists()


def test_a_failure_is_recorded_without_secrets_addresses_and_paths(path: Path) -> None:
    """As the failure of a run is stored, and without what the host names (F3)."""
    with pytest.raises(OSError, match="tulip"):
        recorded(path, OSError("tulip-4711 in /srv/app/settings.toml"), secrets=["tulip-4711"]).complete(question())

    (exchange,) = load(path)[0].exchanges
    assert isinstance(exchange.outcome, Failed)
    assert exchange.outcome.text == "OSError: [secret] in [path]"


def test_half_a_named_secret_does_not_reach_the_file(path: Path) -> None:
    """A reader that gives up in the middle of one leaves none of it."""
    pieces = recorded(path, "It is tulip forty-seven.", secrets=["tulip forty"]).stream(question())
    assert pieces is not None
    assert [next(pieces) for _ in range(3)] == ["It", " is", " tulip"]
    pieces.close()  # type: ignore[attr-defined]

    (exchange,) = load(path)[0].exchanges
    assert exchange.pieces == ("It is [secret]",)


def test_no_secret_stays_for_another_one_that_it_begins_with() -> None:
    """The longest is taken first; one inside JSON is found however it is written there."""
    assert Secrets(["tulip", "tulip-4711"]).without("It is tulip-4711, a tulip.") == "It is [secret], a [secret]."
    for ascii_ in (True, False):
        inside = json.dumps({"flower": "Blüten-4711"}, ensure_ascii=ascii_)
        assert json.loads(Secrets(["Blüten-4711"]).without(inside)) == {"flower": "[secret]"}


def test_the_order_of_tools_is_a_part_of_a_question(path: Path) -> None:
    """A model may choose by it."""
    tools = OfferedTool("find", "Find.", {}), OfferedTool("save", "Save.", {})
    recorded(path, "Here.").complete(attrs.evolve(question(), tools=tools))

    with pytest.raises(NotRecordedError) as raised:
        RecordedModel(path).complete(attrs.evolve(question(), tools=tools[::-1]))
    assert raised.value.differences == ("the order of the tools differs from character 1 on",)


def test_numbers_that_are_none_are_damage(path: Path) -> None:
    """JSON knows neither NaN nor Infinity (E6)."""
    tool = OfferedTool("find", "Find.", {"minimum": 1234})
    recorded(path, "Here.").complete(attrs.evolve(question(), tools=(tool,)))
    path.write_bytes(path.read_bytes().replace(b"1234", b"NaN"))

    with pytest.raises(StoredFormError):
        RecordedModel(path)
