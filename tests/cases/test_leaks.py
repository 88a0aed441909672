"""
Every way that the text of a failure could take, followed to its end: file and log (P9, T10, F1-F3).
"""

import logging
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs
import pytest

from nr_agent_core import (
    Chat,
    Configuration,
    FailureClass,
    InvalidValueError,
    NothingWrittenError,
    ProviderError,
    StoreUnavailableError,
    ToolResult,
)
from nr_agent_core.adapters.blinker_event_bus import BlinkerEventBus
from nr_agent_core.adapters.sqlite import SqliteStore
from nr_agent_core.testing.scripted_model import call
from tests.cases.desk import ANNA, ANNA_EN, BOSS, CHEF, Desk, everything, tool_of
from tests.cases.leaking_texts import READ, TOLD, WORD


def failing(shape: str) -> Exception:
    """A failure that carries the text: by itself, or in what hangs on it."""
    inner = ConnectionError(TOLD)
    match shape:
        case "itself":
            return inner
        case "cause":
            outer: Exception = RuntimeError("the call failed")
            outer.__cause__ = inner
        case "context":
            outer = RuntimeError("the call failed")
            outer.__context__ = inner
        case "group":
            outer = ExceptionGroup(f"two at {WORD}.internal", [ValueError("a"), ExceptionGroup("b", [inner])])
        case _:
            outer = RuntimeError("the call failed")
            outer.add_note(TOLD)
    return outer


SHAPES = pytest.mark.parametrize("shape", ["itself", "cause", "context", "group", "note"])


def raising(shape: str) -> Callable[..., Any]:
    """A function of anything that fails so."""

    def fail(*_: object, **__: object) -> Any:
        raise failing(shape)

    return fail


class Everywhere:
    """
    All places where a text of a conversation can arrive.
    """

    def __init__(self, desk: Desk, path: Path, log: pytest.LogCaptureFixture) -> None:
        self.desk, self.path, self.log = desk, path, log

    def texts(self, conversation: str) -> Iterator[tuple[str, str]]:
        """Each place with all that stands there."""
        for record in self.log.records:
            shown = logging.Formatter().format(record)
            yield "log", f"{shown} {record.args!r} {record.exc_info!r} {record.exc_text!r} {record.stack_info!r}"
            assert record.exc_info is None, "a handler would print the exception as it is"
            assert not any(isinstance(value, BaseException) for value in record.args or ()), "or keep it"
        for request in self.desk.model.requests:
            yield "model", everything(request)
        for reader in (ANNA, ANNA_EN, BOSS, CHEF):
            yield f"view of {reader.id} in {reader.language}", repr(self.desk.chat.view(conversation, reader))
        run_ids = {message.run_id for message in self.desk.chat.view(conversation, BOSS).messages}
        for run_id in filter(None, run_ids):
            yield "stream", repr(self.desk.chat.runtime.events(run_id, "anna"))
            yield "status", repr(self.desk.chat.runtime.status(run_id, "anna"))
        yield "inbox", repr(self.desk.chat.runtime.inbox("boss"))
        for file in self.path.parent.glob(self.path.name + "*"):
            yield file.name, file.read_bytes().decode("latin-1")


def assert_nothing_leaked(desk: Desk, path: Path, log: pytest.LogCaptureFixture, conversation: str) -> None:
    """The word is nowhere, and neither is the name of the place's code."""
    for place, text in Everywhere(desk, path, log).texts(conversation):
        assert WORD not in text, f"{place}: {text[max(text.find(WORD) - 100, 0) :][:300]}"
        assert "Traceback" not in text


@attrs.frozen
class Way:
    """
    How a failure comes about: what is built into the desk, and whether it lasts beyond the approval.
    """

    build: Callable[[str], dict[str, Any]]
    logged: bool = True


def _around(shape: str) -> Any:
    @contextmanager
    def around(context: object) -> Iterator[None]:
        raise failing(shape)
        yield

    return around


class _Unavailable:
    def __init__(self, shape: str) -> None:
        self.unavailable = raising(shape)


class _Detector:
    def __init__(self, shape: str) -> None:
        self.claims_change = raising(shape)


def _bus(shape: str) -> BlinkerEventBus:
    bus = BlinkerEventBus()
    bus.subscribe(raising(shape))
    return bus


def _nothing_written(shape: str) -> Any:
    def fail(*_: object) -> Any:
        raise NothingWrittenError(TOLD) from failing(shape)

    return fail


def _async(shape: str) -> Any:
    async def fail(*_: object) -> Any:
        raise failing(shape)

    return fail


WAYS: Mapping[str, Way] = {
    "a reading tool": Way(lambda shape: {"tools": [tool_of("publish", raising(shape), READ)]}),
    "a writing tool": Way(lambda shape: {"tools": [tool_of("publish", raising(shape))]}),
    "an asynchronous tool": Way(lambda shape: {"tools": [tool_of("publish", _async(shape))]}),
    "a tool that promises": Way(lambda shape: {"tools": [tool_of("publish", _nothing_written(shape))]}),
    "a preview": Way(lambda shape: {"tools": [tool_of("publish", lambda a, c: "Done.", preview=raising(shape))]}),
    "around a tool": Way(lambda shape: {"around_tool": _around(shape)}),
    "a list of withheld tools": Way(lambda shape: {"unavailable_tools": _Unavailable(shape)}),
    "a detector": Way(lambda shape: {"detector": _Detector(shape), "tools": []}),
    "a listener": Way(lambda shape: {"bus": _bus(shape)}),
    "a translator": Way(lambda shape: {"translator": type("T", (), {"translate": raising(shape)})()}, logged=False),
}


@SHAPES
@pytest.mark.parametrize("way", WAYS)
def test_a_failure_of_a_part_stays_inside(
    way: str, shape: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """(P9, T10, F3) Whatever part fails: the run goes on, and its text is nowhere but, cleaned, in the log."""
    caplog.set_level(logging.DEBUG)
    path = tmp_path / "chat.db"
    built = WAYS[way].build(shape)
    desk = Desk(path=path, **built)
    if "tools" in built and not built["tools"]:
        desk.model._otherwise = "I have saved everything."  # type: ignore[attr-defined]

    sent = desk.chat.send("Publish the note, please.", ANNA)
    if desk.card(sent.conversation) is not None:
        sent = desk.decide(sent.conversation)
    desk.chat.send("And what became of it?", ANNA, conversation=sent.conversation)

    assert sent.status is not None
    assert sent.status.value == "completed"
    assert bool(caplog.records) is WAYS[way].logged
    assert_nothing_leaked(desk, path, caplog, sent.conversation)


PROVIDER = {
    "unknown": lambda error: error,
    "authentication": lambda error: _classed(error, FailureClass.AUTHENTICATION),
    "configuration": lambda error: _classed(error, FailureClass.CONFIGURATION),
    "quota": lambda error: _classed(error, FailureClass.QUOTA),
    "server": lambda error: _classed(error, FailureClass.SERVER_ERROR),
    "refused": lambda error: _classed(error, FailureClass.CONTENT_REFUSED),
}


def _classed(error: Exception, failure_class: FailureClass) -> Exception:
    outer = ProviderError(TOLD, failure_class)
    outer.__cause__ = error
    return outer


@SHAPES
@pytest.mark.parametrize("kind", PROVIDER)
@pytest.mark.parametrize("when", ["first", "after a tool", "after an approval", "again"])
def test_what_a_provider_raises_is_a_code(
    kind: str, shape: str, when: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """(F1, F2, F3) On every path it is a failure, has a code, and its text is clean even for administrators."""
    caplog.set_level(logging.DEBUG)
    path = tmp_path / "chat.db"
    error = PROVIDER[kind](failing(shape))
    look = tool_of("look", lambda arguments, context: "found", READ)
    script = {
        "first": [error],
        "after a tool": [call("look", title="q"), error],
        "after an approval": [call("publish", title="q"), error],
        "again": [error, error],
    }[when]
    desk = Desk(*script, path=path, tools=[look], links={"providers": "/admin/providers"})

    sent = desk.chat.send("Publish the note, please.", ANNA)
    if when == "after an approval":
        sent = desk.decide(sent.conversation)
    if when == "again":
        sent = desk.chat.retry(sent.conversation, ANNA)

    # A failure for monitors too: status, code and a log line, not a friendly answer.
    assert sent.status is not None
    assert sent.status.value == "failed"
    assert desk.chat.view(sent.conversation, ANNA).status.value == "failed"
    assert any(record.levelno >= logging.WARNING for record in caplog.records)
    seen = [desk.chat.view(sent.conversation, reader).error for reader in (ANNA, ANNA_EN, BOSS)]
    assert len({error.code for error in seen if error}) == 1
    assert "Error" not in f"{seen[0]} {seen[1]}".replace("ErrorView", "")
    assert seen[0] is not None
    assert seen[1] is not None
    assert seen[0].text != seen[1].text
    assert_nothing_leaked(desk, path, caplog, sent.conversation)


@SHAPES
def test_a_resolver_that_fails_costs_the_turn_and_tells_nothing(
    shape: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """(G0, F3) No configuration could be read: failed, internal, the text cleaned."""
    caplog.set_level(logging.DEBUG)
    path = tmp_path / "chat.db"
    desk = Desk(path=path, configuration=type("R", (), {"resolve": raising(shape)})())

    sent = desk.chat.send("Hello there", ANNA)

    assert sent.status is not None
    assert sent.status.value == "failed"
    assert_nothing_leaked(desk, path, caplog, sent.conversation)


@SHAPES
def test_a_host_that_cannot_tell_what_became_of_a_call(
    shape: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """(R7, T10) ``reconcile`` fails while a run is recovered: unknown, and nothing of its text."""
    caplog.set_level(logging.DEBUG)
    path = tmp_path / "chat.db"

    class Gone(BaseException):
        """The process ends here."""

    def dies(*_: object) -> Any:
        raise Gone

    dying = Desk(path=path, tools=[tool_of("publish", dies, reconcile=raising(shape))])
    sent = dying.waiting()
    with pytest.raises(Gone):
        dying.decide(sent.conversation)

    class Later:
        def now(self) -> float:
            """An hour later."""
            return time.time() + 3600

    desk = Desk(store=SqliteStore(path, clock=Later()), tools=[tool_of("publish", dies, reconcile=raising(shape))])
    desk.chat.upkeep()

    assert desk.codes(sent.conversation) == ["runEnded", "writeOutcomeUnknown"]
    assert_nothing_leaked(desk, path, caplog, sent.conversation)


def test_a_store_that_is_locked_names_no_path_in_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """(F3) The host gets the error with its file; the log, read by others, does not."""
    caplog.set_level(logging.DEBUG)
    path = tmp_path / WORD / "chat.db"
    path.parent.mkdir()
    lock = sqlite3.connect(path, isolation_level=None, check_same_thread=False)

    class Executor:
        def run(self, work: object, *, deadline: float, late: object) -> ToolResult:
            """A host's own part that breaks while nothing can be stored."""
            lock.execute("BEGIN IMMEDIATE")
            raise RuntimeError(TOLD)

    desk = Desk(store=SqliteStore(path, busy_timeout=0.05), executor=Executor())
    sent = desk.waiting()
    with pytest.raises(RuntimeError):
        desk.decide(sent.conversation)
    with pytest.raises(StoreUnavailableError) as caught:
        desk.chat.send("Hello there", ANNA)
    lock.execute("ROLLBACK")
    lock.close()
    desk.chat.close()

    assert WORD in str(caught.value)
    assert caplog.records
    assert WORD not in caplog.text


@pytest.mark.parametrize(
    "wrong",
    [
        lambda part: {"model": part},
        lambda part: {"access": part},
        lambda part: {"bus": part},
        lambda part: {"model": part, "configuration": part},
        lambda part: {"configuration": Configuration(model=None), "tools": part},
    ],
)
def test_a_part_that_does_not_fit_is_refused_without_what_it_says_of_itself(wrong: Callable[[Any], Any]) -> None:
    """(P9) A provider that was wired wrongly shows its key in its own repr; the error does not repeat it."""

    class Part:
        def __repr__(self) -> str:
            return f"Part(api_key={WORD!r})"

    with pytest.raises(InvalidValueError) as caught:
        Chat(store=SqliteStore(":memory:"), **wrong(Part()))

    assert WORD not in str(caught.value)
