"""
Threads of tools: used again, freed, given up when idle, and never in the way of an exit or a fork (T4).
"""

import gc
import os
import subprocess
import sys
import threading
import weakref
from pathlib import Path

import pytest

from nr_agent_core.defaults import tool_executor
from nr_agent_core.defaults.tool_executor import ThreadToolExecutor
from nr_agent_core.domain.tool_result import ToolResult
from tests.unit.tool_threads import OK, run, wait_until

SOURCE = str(Path(__file__).resolve().parents[2] / "src")


@pytest.fixture(autouse=True)
def no_threads_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test begins with none of the threads that the ones before left."""
    monkeypatch.setattr(ThreadToolExecutor, "_threads", tool_executor._Threads())


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
