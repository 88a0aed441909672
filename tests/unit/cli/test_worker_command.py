"""
``nr-agent-core worker``: where it finds the host's wiring, and what it says when it does not.
"""

from pathlib import Path

import pytest

from tests.unit.cli.conftest import Run

pytestmark = pytest.mark.process

WIRING = """
from nr_agent_core import Chat
from nr_agent_core.adapters.sqlite import SqliteStore
from nr_agent_core.adapters.thread_run_queue import ThreadRunQueue
from nr_agent_core.testing import ScriptedModel

store = SqliteStore("chat.db")
queue = ThreadRunQueue(store)
chat = Chat(store=store, queue=queue, model=ScriptedModel())
runtime = chat.runtime
plain = Chat(store=store, model=ScriptedModel())
number = 1


class Parts:
    chat = chat


def make():
    return chat


def makes_nothing():
    return None
"""


@pytest.fixture
def wired(run: Run, tmp_path: Path) -> Run:
    """The command, in a directory with a host's module."""
    (tmp_path / "wired.py").write_text(WIRING)
    (tmp_path / "broken.py").write_text("import no_such_module_anywhere\n")
    return run


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("wired", "no path such as"),
        ("wired:", "no path such as"),
        (":chat", "no path such as"),
        ("nowhere:chat", "no module 'nowhere'"),
        ("nowhere.deeper:chat", "no module 'nowhere'"),
        ("wired:nothing", "has no 'nothing'"),
        ("wired:Parts.nothing", "has no 'Parts.nothing'"),
        ("wired:number", "is a int, not a Chat or a Runtime"),
        ("wired:Parts", "is a type, not a Chat or a Runtime"),
        ("wired:makes_nothing", "is a NoneType"),
        ("wired:plain", "needs a queue"),
    ],
)
def test_a_path_that_leads_elsewhere_is_told(wired: Run, path: str, said: str) -> None:
    """One line that says what was found instead, and the exit code of what cannot be used."""
    ended = wired("worker", path)

    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
    assert "Traceback" not in ended.err


def test_a_module_that_fails_itself_shows_where(wired: Run) -> None:
    """A host's own mistake is not hidden behind a wrong path."""
    ended = wired("worker", "broken:chat")

    assert ended.code != 0
    assert "no_such_module_anywhere" in ended.err
    assert "broken.py" in ended.err


@pytest.mark.parametrize("path", ["wired:chat", "wired:runtime", "wired:make", "wired:Parts.chat"])
def test_a_chat_a_runtime_and_what_makes_one_are_found(wired: Run, path: str) -> None:
    """A queue that needs no tables says so."""
    ended = wired("worker", path, "--install")

    assert ended.code == 0
    assert "no queue that needs tables" in ended.err


def test_installing_without_a_queue_is_an_error(wired: Run) -> None:
    """There is nothing to install for."""
    ended = wired("worker", "wired:plain", "--install")

    assert ended.code == 2
    assert "there is no queue" in ended.err


def test_settings_that_cannot_be_are_told(wired: Run) -> None:
    """Before anything is driven."""
    ended = wired("worker", "wired:chat", "--threads", "0")

    assert ended.code == 2
    assert "the threads of a worker" in ended.err
