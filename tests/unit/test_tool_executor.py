"""
The thread executor: deadlines, late results, threads that are used again and hold nothing up (T4).
"""

import contextvars
import gc
import logging
import os
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from pathlib import Path

import pytest

from nr_agent_core.defaults import tool_executor
from nr_agent_core.defaults.tool_executor import ThreadToolExecutor
from nr_agent_core.domain.tool_result import ToolResult

SOURCE = str(Path(__file__).resolve().parents[2] / "src")
OK = ToolResult.text("ok")


class Died(BaseException):
    """
    Stands for the end of a process.
    """


@pytest.fixture(autouse=True)
def no_threads_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test begins with none of the threads that the ones before left."""
    monkeypatch.setattr(ThreadToolExecutor, "_threads", tool_executor._Threads())


def never(result: ToolResult) -> None:
    """A late callback that must not be called."""
    pytest.fail("nothing was late")


def run(executor: ThreadToolExecutor, work: Callable[[], ToolResult], deadline: float = 30.0) -> ToolResult | None:
    """Runs work of which nothing may be late."""
    return executor.run(work, deadline=deadline, late=never)


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


def wait_until(true: Callable[[], bool]) -> None:
    """Yields to the other threads until something is so."""
    patience = threading.Event()
    for _ in range(30_000):
        if true():
            return
        patience.wait(0.001)
    pytest.fail("it never became so")


def test_one_thread_serves_one_call_after_the_other() -> None:
    """Waiting threads are used again, so a call costs no start of a thread."""
    executor = ThreadToolExecutor()

    results = {run(executor, lambda: ToolResult.text(str(threading.get_ident()))) for _ in range(200)}

    assert len(results) == 1


def test_executors_share_the_threads_of_their_process() -> None:
    """A chat that is made anew for each request neither starts a thread each time nor leaves one behind."""
    results = {run(ThreadToolExecutor(), lambda: ToolResult.text(str(threading.get_ident()))) for _ in range(50)}

    assert len(results) == 1


def test_calls_at_the_same_time_have_threads_of_their_own() -> None:
    """A call never waits for another one's tool, nested ones included."""
    executor = ThreadToolExecutor()

    def nested(depth: int) -> ToolResult:
        return OK if depth == 0 else run(executor, lambda: nested(depth - 1)) or ToolResult.error("late")

    together = threading.Barrier(8)

    def work() -> ToolResult:
        together.wait(30)
        return OK

    callers = [threading.Thread(target=run, args=(executor, work)) for _ in range(8)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(30)

    assert run(executor, lambda: nested(5)) is OK
    assert not together.broken


def test_many_callers_get_their_own_results() -> None:
    """Threads are handed over without a mix-up."""
    executor, wrong = ThreadToolExecutor(), list[str]()

    def caller(number: int) -> None:
        for turn in range(200):
            text = f"{number}.{turn}"
            if run(executor, lambda text=text: ToolResult.text(text)) != ToolResult.text(text):
                wrong.append(text)

    callers = [threading.Thread(target=caller, args=(number,)) for number in range(8)]
    for thread in callers:
        thread.start()
    for thread in callers:
        thread.join(60)

    assert wrong == []


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


def test_a_waiting_thread_holds_nothing_of_the_last_call() -> None:
    """Results and closures of a finished call are freed at once."""

    class Big:
        """
        Something a tool used.
        """

    executor, big = ThreadToolExecutor(), Big()
    gone = weakref.ref(big)

    def work(used: Big = big) -> ToolResult:
        return OK

    run(executor, work)
    del work, big
    gc.collect()
    wait_until(lambda: gone() is None)

    assert gone() is None


def test_a_thread_without_work_ends_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads of a busy hour are not kept for ever."""
    monkeypatch.setattr(tool_executor, "IDLE_SECONDS", 0.01)
    executor, seen = ThreadToolExecutor(), list[threading.Thread]()

    def work() -> ToolResult:
        seen.append(threading.current_thread())
        return OK

    run(executor, work)
    seen[0].join(30)

    assert not seen[0].is_alive()
    assert executor._threads._idle == []
    assert run(executor, lambda: OK) is OK


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


def in_fresh_interpreter(program: str, *, timeout: float = 60.0) -> subprocess.CompletedProcess[str]:
    """Runs *program* with the package at hand."""
    return subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": SOURCE},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


@pytest.mark.process
def test_a_tool_that_hangs_does_not_hold_the_interpreters_exit() -> None:
    """A given-up tool and waiting threads end with the process, without a word."""
    result = in_fresh_interpreter(
        "import threading\n"
        "from nr_agent_core.defaults.tool_executor import ThreadToolExecutor\n"
        "from nr_agent_core.domain.tool_result import ToolResult\n"
        "executor = ThreadToolExecutor()\n"
        "executor.run(lambda: ToolResult.text('x'), deadline=30, late=print)\n"
        "hangs = lambda: threading.Event().wait()\n"
        "print(executor.run(hangs, deadline=0.01, late=print))\n"
    )

    assert (result.returncode, result.stdout, result.stderr) == (0, "None\n", "")


@pytest.mark.process
def test_a_forked_child_uses_threads_of_its_own() -> None:
    """Threads do not survive a fork, even one that happens while the pool's lock is held."""
    result = in_fresh_interpreter(
        "import os, warnings\n"
        "warnings.simplefilter('ignore')\n"
        "from nr_agent_core.defaults.tool_executor import ThreadToolExecutor\n"
        "from nr_agent_core.domain.tool_result import ToolResult\n"
        "executor = ThreadToolExecutor()\n"
        "call = lambda: executor.run(lambda: ToolResult.text(str(os.getpid())), deadline=20, late=print)\n"
        "assert call().content == str(os.getpid())\n"
        "executor._threads._lock.acquire()\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    os._exit(0 if call().content == str(os.getpid()) else 1)\n"
        "executor._threads._lock.release()\n"
        "assert os.waitpid(child, 0)[1] == 0\n"
        "assert call().content == str(os.getpid())\n"
    )

    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.process
def test_a_tool_that_forks_leaves_no_child_behind() -> None:
    """A child that comes back from the tool ends, instead of waiting for work for ever."""
    result = in_fresh_interpreter(
        "import os, warnings\n"
        "warnings.simplefilter('ignore')\n"
        "from nr_agent_core.defaults.tool_executor import ThreadToolExecutor\n"
        "from nr_agent_core.domain.tool_result import ToolResult\n"
        "children = []\n"
        "def forks():\n"
        "    child = os.fork()\n"
        "    if child: children.append(child)\n"
        "    return ToolResult.text('ok')\n"
        "assert ThreadToolExecutor().run(forks, deadline=20, late=print).content == 'ok'\n"
        "os.waitpid(children[0], 0)\n",
        timeout=60,
    )

    assert (result.returncode, result.stderr) == (0, "")
