"""
Connections belong to a process or a loop, and end with it; an adapter says what it needs when it is imported.
"""

import asyncio
import gc
import multiprocessing
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import pytest

from nr_agent_core import ModelAnswer, ModelMessage, ModelRequest
from tests.providers.loopback import Loopback
from tests.providers.wires import Wire

QUESTION = ModelRequest("", (ModelMessage("user", "Hello?"),))
DONE = ModelAnswer("Done.", finish_reason="stop")
SOURCE = Path(__file__).resolve().parents[2] / "src"


def test_many_threads_share_one_model(wire: Wire, server: Loopback) -> None:
    """The first use is no race."""
    server.answering = lambda asked: wire.answer(DONE, asked)
    model, answers, begin = wire.model(server), [], threading.Barrier(8)

    def ask() -> None:
        begin.wait()
        answers.append(model.complete(QUESTION).text)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert answers == ["Done."] * 8


def test_many_tasks_share_one_model_and_its_loop_closes_what_it_opened(wire: Wire, server: Loopback) -> None:
    """A second loop opens connections of its own; nothing stays open behind either."""
    server.answering = lambda asked: wire.answer(DONE, asked)
    model = wire.model(server)

    async def ask() -> list[str]:
        return [answer.text for answer in await asyncio.gather(*(model.complete_async(QUESTION) for _ in range(8)))]

    with warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        for _ in range(2):
            assert asyncio.run(ask()) == ["Done."] * 8
            assert model._clients._keepers == {}
        wire.model(server).complete(QUESTION)
        gc.collect()


def test_connections_can_be_closed_and_are_opened_again(wire: Wire, server: Loopback) -> None:
    """By hand, in either world."""
    server.answering = lambda asked: wire.answer(DONE, asked)
    model = wire.model(server)
    for _ in range(2):
        assert model.complete(QUESTION).text == "Done."
        model.close()

    async def ask() -> None:
        for _ in range(2):
            assert (await model.complete_async(QUESTION)).text == "Done."
            await model.aclose()

    asyncio.run(ask())


def test_a_question_that_is_given_up_leaves_the_model_usable(wire: Wire, server: Loopback) -> None:
    """A cancelled task gives its question up; the next one is answered."""
    waits = threading.Event()

    def answering(asked: Any) -> Any:
        if len(server.asked) == 1:
            waits.set()
            server.over.wait(30)
        return wire.answer(DONE, asked)

    server.answering = answering
    model = wire.model(server)

    async def ask() -> str:
        task = asyncio.create_task(model.complete_async(QUESTION))
        await asyncio.to_thread(waits.wait, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return (await model.complete_async(QUESTION)).text

    assert asyncio.run(ask()) == "Done."


def _collect(model: Any, pipe: Any) -> None:
    connections = model._clients._connections[1]
    model.close()
    del model
    gc.collect()
    pipe.send(connections.is_closed)


@pytest.mark.process
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_closes_nothing_of_its_parent(wire: Wire, server: Loopback) -> None:
    """Closing says goodbye to the server, on a connection that the parent still uses."""
    server.answering = lambda asked: wire.answer(DONE, asked)
    model = wire.model(server)
    model.complete(QUESTION)
    fork = multiprocessing.get_context("fork")
    ours, theirs = fork.Pipe()
    child = fork.Process(target=_collect, args=(model, theirs))
    child.start()
    try:
        assert ours.poll(60)
        assert ours.recv() is False
    finally:
        child.join(30)
        for end in (ours, theirs):
            end.close()
    assert child.exitcode == 0
    assert model.complete(QUESTION).text == "Done."


def _ask(model: Any, pipe: Any) -> None:
    pipe.send((model.complete(QUESTION).text, len(model._clients._inherited)))


@pytest.mark.process
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_uses_connections_of_its_own(wire: Wire, server: Loopback) -> None:
    """Those of its parent are left alone there, and still work here."""
    server.answering = lambda asked: wire.answer(DONE, asked)
    model = wire.model(server)
    assert model.complete(QUESTION).text == "Done."
    here, there = multiprocessing.Pipe()

    child = multiprocessing.get_context("fork").Process(target=_ask, args=(model, there))
    child.start()

    assert here.poll(30)
    assert here.recv() == ("Done.", 1)
    child.join(30)
    assert child.exitcode == 0
    assert model.complete(QUESTION).text == "Done."
    for end in (here, there):
        end.close()


@pytest.mark.parametrize(
    ("module", "library", "extra"),
    [
        ("openai", "openai", "openai"),
        ("anthropic", "anthropic", "anthropic"),
        ("opentelemetry", "opentelemetry", "otel"),
        ("retrying_model", "stamina", "retry"),
    ],
)
def test_a_missing_library_is_named_with_its_extra(module: str, library: str, extra: str) -> None:
    """Whoever imports an adapter without its extra reads what to install."""
    program = f"import sys; sys.modules[{library!r}] = None\nimport nr_agent_core.adapters.{module}"
    found = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert found.returncode == 1
    assert f"install nr-agent-core[{extra}]" in found.stderr.splitlines()[-1]
