"""
The thread executor: deadlines, late results, failures and interrupts (T4).
"""

import contextvars
import logging
import signal
import threading

import pytest

from nr_agent_core.defaults import tool_executor
from nr_agent_core.defaults.tool_executor import ThreadToolExecutor
from nr_agent_core.domain.tool_result import ToolResult
from tests.unit.tool_threads import OK, never, run, wait_until


class Died(BaseException):
    """
    Stands for the end of a process.
    """


@pytest.fixture(autouse=True)
def no_threads_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test begins with none of the threads that the ones before left."""
    monkeypatch.setattr(ThreadToolExecutor, "_threads", tool_executor._Threads())


def test_work_runs_in_another_thread_and_its_result_comes_back() -> None:
    """A tool has a thread of its own, a daemon (T4)."""
    seen: list[threading.Thread] = []

    def work() -> ToolResult:
        seen.append(threading.current_thread())
        return OK

    assert run(ThreadToolExecutor(), work) is OK
    assert seen[0] is not threading.current_thread()
    assert seen[0].daemon


def test_work_sees_the_callers_context_and_changes_only_a_copy() -> None:
    """Context variables come along; what a tool sets stays with the tool."""
    language = contextvars.ContextVar("language", default="en")
    language.set("de")

    def work() -> ToolResult:
        before = language.get()
        language.set("fr")
        return ToolResult.text(before)

    result = run(ThreadToolExecutor(), work)

    assert result == ToolResult.text("de")
    assert language.get() == "de"


def test_a_passed_deadline_gives_none_and_the_result_comes_late_from_the_tools_thread() -> None:
    """The work goes on; its result is handed over, in the thread that ran it and its context (T4, R7)."""
    executor, go_on, came = ThreadToolExecutor(), threading.Event(), threading.Event()
    who = contextvars.ContextVar("who", default="")
    who.set("caller")
    worked: list[int] = []
    late: list[tuple[ToolResult, int, str]] = []

    def work() -> ToolResult:
        worked.append(threading.get_ident())
        assert go_on.wait(30)
        return OK

    def keep(result: ToolResult) -> None:
        late.append((result, threading.get_ident(), who.get()))
        came.set()

    assert executor.run(work, deadline=0.01, late=keep) is None
    assert late == []
    go_on.set()
    assert came.wait(30)
    assert late == [(OK, worked[0], "caller")]


@pytest.mark.parametrize("deadline", [0.0, -1.0])
def test_a_deadline_that_is_over_already_waits_for_nothing(deadline: float) -> None:
    """No time left is no time, not for ever."""
    go_on, came = threading.Event(), threading.Event()

    def work() -> ToolResult:
        assert go_on.wait(30)
        return OK

    assert ThreadToolExecutor().run(work, deadline=deadline, late=lambda result: came.set()) is None
    go_on.set()
    assert came.wait(30)


def test_a_very_long_deadline_is_no_overflow() -> None:
    """Any finite number of seconds is a deadline."""
    assert run(ThreadToolExecutor(), lambda: OK, deadline=1e15) is OK


@pytest.mark.parametrize("error", [Died(), KeyboardInterrupt(), ValueError("wrong")])
def test_what_work_raises_is_raised_in_the_caller(error: BaseException) -> None:
    """The end of a process in a tool's thread is the end of the driver (T4)."""

    def work() -> ToolResult:
        raise error

    with pytest.raises(type(error)) as caught:
        run(ThreadToolExecutor(), work)
    assert caught.value is error


def test_what_work_raises_after_the_deadline_is_dropped_and_the_thread_lives_on() -> None:
    """Nobody waits for it any more; the next call is served by the same thread."""
    executor, go_on = ThreadToolExecutor(), threading.Event()
    threads: list[int] = []

    def dies() -> ToolResult:
        threads.append(threading.get_ident())
        assert go_on.wait(30)
        raise Died

    assert executor.run(dies, deadline=0.01, late=never) is None
    go_on.set()
    wait_until(lambda: len(executor._threads._idle) == 1)

    assert run(executor, lambda: ToolResult.text(str(threading.get_ident()))) == ToolResult.text(str(threads[0]))


def test_a_late_callback_that_fails_is_logged_without_secrets(caplog: pytest.LogCaptureFixture) -> None:
    """Its failure reaches the log through the sanitiser and ends nothing (T10)."""
    executor, go_on = ThreadToolExecutor(), threading.Event()

    def work() -> ToolResult:
        assert go_on.wait(30)
        return OK

    def fails(result: ToolResult) -> None:
        raise OSError("https://user:hunter2secret@db.internal/ is away")

    with caplog.at_level(logging.ERROR, "nr_agent_core"):
        assert executor.run(work, deadline=0.01, late=fails) is None
        go_on.set()
        wait_until(lambda: len(executor._threads._idle) == 1)

    assert "OSError" in caplog.text
    assert "hunter2secret" not in caplog.text


def test_a_late_callback_that_dies_ends_nothing_else() -> None:
    """A simulated end of the process in a late callback leaves the thread usable."""
    executor, go_on = ThreadToolExecutor(), threading.Event()

    def work() -> ToolResult:
        assert go_on.wait(30)
        return OK

    def dies(result: ToolResult) -> None:
        raise Died

    assert executor.run(work, deadline=0.01, late=dies) is None
    go_on.set()
    wait_until(lambda: len(executor._threads._idle) == 1)
    assert run(executor, lambda: OK) is OK


def test_every_result_arrives_exactly_once_at_a_deadline_in_the_same_moment() -> None:
    """Either the caller or the late callback gets it, never both and never neither (R7)."""
    executor = ThreadToolExecutor()
    late: list[ToolResult] = []
    returned = 0
    for number in range(400):
        result = executor.run(lambda n=number: ToolResult.text(str(n)), deadline=0.00002, late=late.append)
        returned += result is not None
    wait_until(lambda: returned + len(late) >= 400)

    assert returned + len(late) == 400


def test_an_interrupted_caller_forgets_no_outcome() -> None:
    """Ctrl-C while a tool is at work: the outcome of a write that goes on is handed over late (R7)."""
    go_on, came, interrupted = threading.Event(), threading.Event(), threading.Event()
    late: list[ToolResult] = []

    def interrupt(*_: object) -> None:
        if not interrupted.is_set():
            interrupted.set()
            raise KeyboardInterrupt

    def work() -> ToolResult:
        # Again and again: a signal that comes just before the caller begins to wait does not wake it.
        while not interrupted.wait(0.01):
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        assert go_on.wait(30)
        return OK

    def keep(result: ToolResult) -> None:
        late.append(result)
        came.set()

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            ThreadToolExecutor().run(work, deadline=30.0, late=keep)
    finally:
        signal.signal(signal.SIGINT, before)
    go_on.set()

    assert came.wait(30)
    assert late == [OK]
