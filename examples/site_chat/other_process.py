"""
What other processes of the host do. Each opens the same files and knows nothing else.
"""

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from examples.site_chat.host import ADMINISTRATOR, APPROVER, chat_of
from nr_agent_core import RunStatus, ToolContext

_SPAWN = multiprocessing.get_context("spawn")
_PATIENCE = 30.0


def run_elsewhere(work: Callable[..., None], *arguments: Any) -> int | None:
    """
    Do *work* in a process of its own and wait for its end.

    Returns:
        Its exit code, -9 when it was killed; None when it had to be given up.
    """
    process = _SPAWN.Process(target=work, args=arguments)
    process.start()
    process.join(_PATIENCE)
    code = process.exitcode
    if code is None:
        process.kill()
        process.join()
    process.close()
    return code


def approve_in_inbox(folder: Path, run_id: str) -> None:
    """An approver, in the host's inbox page, approves what the card of *run_id* shows."""
    with chat_of(folder) as chat:
        _approve(chat.runtime, run_id)


def approve_and_die(folder: Path, run_id: str) -> None:
    """The same, but the process is killed when the tool has written and nothing says so yet."""
    with chat_of(folder, around_tool=_killed_behind_it) as chat:
        _approve(chat.runtime, run_id)


def keep_up(folder: Path, run_id: str) -> None:
    """What cron does every minute, here until *run_id* is over."""
    end = time.monotonic() + _PATIENCE
    with chat_of(folder) as chat:
        while chat.runtime.status(run_id, ADMINISTRATOR).status is RunStatus.RUNNING:
            chat.upkeep()
            if time.monotonic() > end:
                raise TimeoutError(f"run {run_id} was never recovered")
            time.sleep(0.02)


def _approve(runtime: Any, run_id: str) -> None:
    (item,) = [item for item in runtime.inbox(APPROVER) if item.run_id == run_id]
    runtime.decide(run_id, "approve", digest=item.card.digest, by=APPROVER)


@contextmanager
def _killed_behind_it(_: ToolContext) -> Iterator[None]:
    yield
    os.kill(os.getpid(), signal.SIGKILL)
