"""
Chats over one file, and processes forked from them.
"""

import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nr_agent_core import Chat
from nr_agent_core.adapters.sqlite import SqliteStore
from nr_agent_core.testing.scripted_model import ScriptedModel

PATIENCE = 60.0


def answering(path: Path | str, **settings: Any) -> Chat:
    """A chat that answers every message with one word."""
    return Chat(store=SqliteStore(path, **settings), model=ScriptedModel(otherwise="Noted."))


def in_a_fork(act: Callable[[], bool]) -> int:
    """The exit status of a forked process: 0 when *act* answered True within the patience."""
    with warnings.catch_warnings():
        # From 3.12 on a fork beside threads is warned of; that is the case here.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        status = 3
        try:
            status = 0 if act() else 4
        finally:
            os._exit(status)
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return -1
