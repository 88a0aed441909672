"""
Tools run in threads of their own, so that a deadline can be kept (T4).

A finished thread is kept for the next call for a while: handing work to a waiting thread costs a
small part of starting one. The threads are those of the process, whichever executor asks: a host
that makes its chat anew for each request neither starts nor leaves one each time. All are
daemons: a tool that hangs never holds the interpreter's exit.
"""

import contextvars
import logging
import os
import threading
from collections.abc import Callable
from typing import ClassVar

from nr_agent_core.domain.tool_result import ToolResult

IDLE_SECONDS = 20.0
"""How long a thread without work is kept."""

_log = logging.getLogger("nr_agent_core")


class ThreadToolExecutor:
    """
    Runs each call in a daemon thread, in a copy of the caller's context variables.

    It holds no threads of a parent process after a fork, and needs no closing.
    """

    __slots__ = ()

    _threads: ClassVar["_Threads"]

    def run(
        self, work: Callable[[], ToolResult], *, deadline: float, late: Callable[[ToolResult], None]
    ) -> ToolResult | None:
        """
        The result of *work*, or None when *deadline* seconds passed first (T4).

        What *work* raises is raised here. After a passed deadline *work* goes on and *late* gets
        its result, from the thread that ran it; what it raises then is dropped. When the caller
        itself is interrupted while it waits, *late* gets the result as well: what a tool did is
        never forgotten.
        """
        job = _Job(work, late)
        try:
            # Inside: the work may be over, or its caller interrupted, before this call returns.
            self._of_this_process().take().give(job)
            ended = job.ended.acquire(timeout=min(max(deadline, 0.0), threading.TIMEOUT_MAX))
        except BaseException:
            if not job.abandon():
                job.hand_over_late()
            raise
        if not ended:
            if job.abandon():
                return None
            job.ended.acquire()
        if job.error is not None:
            try:
                raise job.error
            finally:
                # The traceback holds this frame and this frame the job: no cycle for the collector.
                del job
        return job.result

    def start(self, work: Callable[[], None]) -> None:
        """
        Do *work* in such a thread, and wait for nothing. What it raises is dropped.
        """
        self._of_this_process().take().give(_Unwaited(work))

    def _of_this_process(self) -> "_Threads":
        if self._threads.process != os.getpid():
            # Threads do not survive a fork, and the parent's lock may be held for ever.
            ThreadToolExecutor._threads = _Threads()
        return self._threads


class _Job:
    """
    One piece of work. Whoever takes ``settled`` first says how it ended: the caller, who gives it
    up, or the thread, which has its result.
    """

    __slots__ = ("context", "ended", "error", "late", "result", "settled", "work")

    def __init__(self, work: Callable[[], ToolResult], late: Callable[[ToolResult], None]) -> None:
        self.work, self.late = work, late
        self.context = contextvars.copy_context()
        self.ended, self.settled = threading.Lock(), threading.Lock()
        self.ended.acquire()
        self.result: ToolResult | None = None
        self.error: BaseException | None = None

    def abandon(self) -> bool:
        """Whether the caller gave the work up before it ended."""
        return self.settled.acquire(blocking=False)

    def perform(self) -> bool:
        """Do the work; whether its caller still waits for it."""
        try:
            self.result = self.context.run(self.work)
        except BaseException as error:  # noqa: BLE001 - raised in the caller, who decides what it means
            self.error = error
        return self.settled.acquire(blocking=False)

    def hand_over_late(self) -> None:
        """Give a result that nobody waits for to ``late``."""
        if self.result is None:
            return
        try:
            self.context.run(self.late, self.result)
        except Exception as error:  # noqa: BLE001 - nobody is left who could be told
            from nr_agent_core.domain.sanitiser import sanitised_chain

            _log.error("a late outcome of a tool was not kept: %s", sanitised_chain(error))
        except BaseException:  # noqa: BLE001 - the end of this thread's work, and of nothing else
            return


class _Unwaited:
    """
    One piece of work that nobody waits for.
    """

    __slots__ = ("context", "work")

    def __init__(self, work: Callable[[], None]) -> None:
        self.work, self.context = work, contextvars.copy_context()

    def perform(self) -> bool:
        """Do the work; nobody waits for it."""
        try:
            self.context.run(self.work)
        except BaseException:  # noqa: BLE001 - the end of this thread's work, and of nothing else
            return False
        return False

    def hand_over_late(self) -> None:
        """There is nothing to hand over."""


class _Threads:
    """
    The threads of one process; those without work wait on a stack.
    """

    __slots__ = ("_idle", "_lock", "process")

    def __init__(self) -> None:
        self.process = os.getpid()
        self._lock = threading.Lock()
        self._idle: list[_ToolThread] = []

    def take(self) -> "_ToolThread":
        """A thread without work, the last used one first; a new one when there is none."""
        with self._lock:
            if self._idle:
                return self._idle.pop()
        return _ToolThread(self)

    def put_back(self, thread: "_ToolThread") -> None:
        """*thread* can be given work again."""
        with self._lock:
            self._idle.append(thread)

    def retire(self, thread: "_ToolThread") -> bool:
        """Whether *thread* may end; not when somebody took it just now."""
        with self._lock:
            if thread in self._idle:
                self._idle.remove(thread)
                return True
        return False


class _ToolThread:
    """
    A daemon thread that does one job after the other.
    """

    __slots__ = ("_job", "_threads", "_wake")

    def __init__(self, threads: _Threads) -> None:
        self._threads = threads
        self._wake = threading.Lock()
        self._wake.acquire()
        self._job: _Job | _Unwaited | None = None
        threading.Thread(target=self._loop, name="nr_agent_core-tool", daemon=True).start()

    def give(self, job: _Job | _Unwaited) -> None:
        """Have *job* done."""
        self._job = job
        self._wake.release()

    def _loop(self) -> None:
        while True:
            if not self._wake.acquire(timeout=IDLE_SECONDS):
                if self._threads.retire(self):
                    return
                continue
            job, self._job = self._job, None
            if job is None or not self._do(job):
                return
            # Nothing of a finished call stays alive in a waiting thread.
            del job

    def _do(self, job: _Job | _Unwaited) -> bool:
        """Do *job*; whether this thread can take another one."""
        waited_for = job.perform()
        if self._threads.process != os.getpid():
            return False  # the tool forked and came back in the child, where this is the only thread
        if waited_for and isinstance(job, _Job):
            # Waiting again before the caller wakes: its next call finds this thread.
            self._threads.put_back(self)
            job.ended.release()
        else:
            job.hand_over_late()
            self._threads.put_back(self)
        return True


ThreadToolExecutor._threads = _Threads()
