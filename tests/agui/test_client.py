"""
The client that the protocol's authors publish, under node, against a real server. Run by ``make agui``.
"""

import contextlib
import json
import subprocess
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

from nr_agent_core import AsyncChat, FailureClass, ProviderError, Reader
from nr_agent_core.adapters.agui import MEDIA_TYPE, AsyncAgUiEndpoint
from nr_agent_core.adapters.agui.encoder import BEAT
from nr_agent_core.adapters.memory import MemoryStore
from nr_agent_core.testing import ManualClock, round_of
from tests.chat.world import CREATE, World
from tests.npm import installed

pytestmark = pytest.mark.agui_client

CLIENT = "@ag-ui/client@1.0.0"
PATIENCE = 60


@pytest.fixture(scope="module")
def client_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the client from npm; skipped, with the reason, where there is none."""
    return installed(CLIENT, tmp_path_factory.mktemp("npm"))


@contextlib.contextmanager
def served(chat: AsyncChat) -> Iterator[str]:
    """The address of a server that answers AG-UI requests by *chat*, with a comment before every event."""
    endpoint = AsyncAgUiEndpoint(chat)

    async def beaten(frames: AsyncIterator[str]) -> AsyncIterator[str]:
        async for frame in frames:
            yield BEAT
            yield frame

    async def answer(request: Request) -> StreamingResponse:
        reader = Reader(request.headers["x-reader"])
        return StreamingResponse(beaten(endpoint.frames(await request.body(), reader)), media_type=MEDIA_TYPE)

    app = Starlette(routes=[Route("/agui", answer, methods=["POST"])])
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error", lifespan="off"))
    ready = threading.Event()
    startup = server.startup

    async def started(*arguments: Any, **options: Any) -> None:
        await startup(*arguments, **options)
        ready.set()

    server.startup = started  # type: ignore[method-assign]
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        assert ready.wait(PATIENCE)
        (listening,) = server.servers
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/agui"
    finally:
        server.should_exit = True
        thread.join(PATIENCE)


@pytest.fixture(scope="module")
def met(client_home: Path) -> dict[str, Any]:
    """What the client met; the world is beside it."""
    clock = ManualClock()
    world = World(MemoryStore(clock=clock), clock)
    world.facade = AsyncChat
    failing = ProviderError("no route to host", FailureClass.CONNECTION)
    interim = round_of(CREATE, text="It is saved already.")
    chat: Any = world.chat(interim, "The page is there: pages:42, like pages:77.", failing, "All is well.")
    script = Path(__file__).with_name("client.mjs")
    with served(chat) as url:
        command = ["node", str(script), url, str(client_home)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    return {**json.loads(done.stdout), "world": world}


def customs(part: dict[str, Any], name: str) -> list[Any]:
    """The values of the custom events that the client heard in one run."""
    return [custom["value"] for custom in part["customs"] if custom["name"] == name]


def test_a_write_is_asked_for_by_an_interrupt(met: dict[str, Any]) -> None:
    """(P6, V9) The client holds one interrupt with the card; what the model said beside its call is gone."""
    asked = met["asked"]

    assert asked["thrown"] is None
    assert asked["thread"]
    assert [interrupt["reason"] for interrupt in asked["interrupts"]] == ["nr_agent_core:approval"]
    assert asked["interrupts"][0]["metadata"]["card"]["calls"][0]["lines"] == ["New page: Team"]
    assert asked["messages"] == [["user", "Create a page 'Team'."]]
    assert "TEXT_MESSAGE_CONTENT" in asked["kinds"]


def test_the_client_itself_refuses_a_plain_run(met: dict[str, Any]) -> None:
    """Its own rule; other clients are held by the chat."""
    assert "pending interrupt" in met["refusedByClient"]["thrown"]
    assert met["refusedByClient"]["kinds"] == []


def test_go_on_past_the_client_is_held(met: dict[str, Any]) -> None:
    """(C2) Posted without the client: nothing starts, and the interrupt is asked again."""
    assert met["raw"]["status"] == 200
    assert met["raw"]["type"].startswith("text/event-stream")
    events = [json.loads(line[6:]) for line in met["raw"]["body"].splitlines() if line.startswith("data: ")]
    assert [event["value"]["code"] for event in events if event["type"] == "CUSTOM"] == ["approvalPending"]
    assert events[-1]["outcome"]["type"] == "interrupt"
    assert events[-1]["outcome"]["interrupts"][0]["id"] == met["asked"]["interrupts"][0]["id"]


def test_a_second_window_is_asked_too(met: dict[str, Any]) -> None:
    """(O3) A run without a message shows what is stored, and the interrupt that is open."""
    assert met["looked"]["thrown"] is None
    assert met["looked"]["interrupts"][0]["id"] == met["asked"]["interrupts"][0]["id"]
    assert met["looked"]["messages"] == [["user", "Create a page 'Team'."]]


def test_a_resumed_run_writes_answers_and_is_judged(met: dict[str, Any]) -> None:
    """(A2, V7, W1) Result, record, answer, notice; the interrupt is closed, and the page was made once."""
    resumed = met["resumed"]

    assert resumed["thrown"] is None
    assert (resumed["interrupts"], resumed["result"]) == ([], {"status": "completed"})
    assert ["assistant", "The page is there: pages:42, like pages:77."] in resumed["messages"]
    assert [written["uid"] for written in customs(resumed, "recordWritten")] == [42]
    assert [notice["code"] for notice in customs(resumed, "notice")] == ["unknownReference"]
    assert [name for name, _ in met["world"].host.executed] == ["create_page"]


def test_the_same_answer_again_is_safe(met: dict[str, Any]) -> None:
    """(P7) From the second window: told so, its interrupt closed, its list brought up to date."""
    again = met["resumedAgain"]

    assert again["thrown"] is None
    assert again["interrupts"] == []
    assert [reply["code"] for reply in customs(again, "reply")] == ["alreadyDecided"]
    assert again["messages"][-1] == ["assistant", "The page is there: pages:42, like pages:77."]


def test_a_failed_run_is_an_error_with_a_sentence(met: dict[str, Any]) -> None:
    """(F2) And the next message is an ordinary one."""
    (error,) = met["failed"]["errors"]
    assert error == {
        "code": "providerUnavailable",
        "message": "The AI service cannot be reached. Please try again later.",
    }
    assert met["afterFailure"]["thrown"] is None
    assert met["afterFailure"]["messages"][-1] == ["assistant", "All is well."]


def test_a_foreign_thread_is_an_error(met: dict[str, Any]) -> None:
    """(E5) The same one as for a thread that does not exist."""
    (error,) = met["foreign"]["errors"]
    assert error["code"] == "notFound"
