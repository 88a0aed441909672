"""
Stories about a file, each told by a fresh interpreter.
"""

import json
import sqlite3
import subprocess
import sys
import textwrap
from contextlib import closing
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]

PREAMBLE = f"""
import json, os, sqlite3, sys, threading, time
sys.path.insert(0, {str(ROOT / "src")!r})
from nr_agent_core.adapters.sqlite import SqliteStore
from nr_agent_core.domain.conversation import MessageRole, NewMessage
from nr_agent_core.domain.errors import *
from nr_agent_core.ports.unit_of_work import AddMessages, OpenConversation
from nr_agent_core.testing.contracts.run_script import RunScript, wrote
path = sys.argv[1]

def say(store, text, conversation="c1"):
    store.commit([AddMessages(conversation, (NewMessage(MessageRole.USER, text, None, 1),))])

def texts(store, conversation="c1"):
    return [message.text for message in store.messages(conversation, limit=1_000_000)]

def tell(**answer):
    print(json.dumps(answer), flush=True)

def wait_for(pid):
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
"""


def told(story: str, path: Path, *more: str) -> dict[str, Any]:
    """What a story prints, told by a process of its own."""
    program = PREAMBLE + textwrap.dedent(story)
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", program, str(path), *more],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    answers: dict[str, Any] = {}
    for line in result.stdout.splitlines():
        answers |= json.loads(line)
    return answers


def rows(path: Path, statement: str) -> list[Any]:
    """What somebody else finds in the file."""
    with closing(sqlite3.connect(path)) as db:
        return db.execute(statement).fetchall()
