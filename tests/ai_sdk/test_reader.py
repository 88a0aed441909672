"""
The SDK's own schema and reader, under node. Run by ``make agui``.
"""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from nr_agent_core import FailureClass, ProviderError
from nr_agent_core.adapters.memory import MemoryStore
from nr_agent_core.testing import ManualClock
from tests.ai_sdk.streams import ANSWER, encoded, story
from tests.chat.world import ANNA, World
from tests.npm import installed

pytestmark = pytest.mark.agui_client

SDK = "ai@6.0.326"


@pytest.fixture(scope="module")
def sdk_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the SDK from npm; skipped, with the reason, where there is none."""
    return installed(SDK, tmp_path_factory.mktemp("npm"))


def read(home: Path, folder: Path, *streams: str) -> list[dict[str, Any]]:
    """The message that the SDK makes of each stream, and the errors that it heard."""
    given = folder / "streams.json"
    given.write_text(json.dumps(streams), encoding="utf-8")
    command = ["node", str(Path(__file__).with_name("read.mjs")), str(given), str(home)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    results: list[dict[str, Any]] = json.loads(done.stdout)
    return results


def parts(result: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    """The parts of a message that are of one kind."""
    return [part for part in result["message"]["parts"] if part["type"] == kind]


def test_the_sdk_reads_a_turn(sdk_home: Path, tmp_path: Path) -> None:
    """(V9, V10, W1) Every chunk passes its schema; the messages hold card, outcomes, record, answer and notice."""
    clock = ManualClock()
    told = story(World(MemoryStore(clock=clock), clock))
    asked, held, approved, again = read(sdk_home, tmp_path, *told.values())

    assert [result["errors"] for result in (asked, held, approved, again)] == [[], [], [], []]
    (waiting,) = parts(asked, "data-approval")
    assert [call["tool"] for call in waiting["data"]["card"]["calls"]] == ["search_pages", "create_page"]
    assert parts(asked, "text") == []
    assert [part["data"]["code"] for part in parts(held, "data-reply")] == ["approvalPending"]
    assert [part["output"] for part in parts(approved, "dynamic-tool")] == ["text", "text"]
    assert [part["data"]["uid"] for part in parts(approved, "data-record")] == [42]
    assert [part["text"] for part in parts(approved, "text")] == [ANSWER]
    assert [part["data"]["code"] for part in parts(approved, "data-notice")] == ["unknownReference"]
    assert approved["message"]["id"] == asked["message"]["id"]
    assert [part["data"]["code"] for part in parts(again, "data-reply")] == ["alreadyDecided"]


def test_the_sdk_hears_of_a_failure(sdk_home: Path, tmp_path: Path) -> None:
    """(F2) As an error, with this reader's sentence."""
    clock = ManualClock()
    chat = World(MemoryStore(clock=clock), clock).chat(ProviderError("secret", FailureClass.CONNECTION))
    (failed,) = read(sdk_home, tmp_path, encoded(chat.stream("Hallo", ANNA)))

    assert len(failed["errors"]) == 1
    assert "KI-Dienst" in failed["errors"][0]
