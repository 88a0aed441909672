"""
That records were written: heard on the bus, kept in the feed (W1-W4).
"""

import logging
from collections.abc import Mapping
from typing import Any

import attrs
import pytest

from nr_agent_core import (
    AiRecordWritten,
    InvalidValueError,
    RecordReference,
    RunStatus,
    Runtime,
    StoredWrite,
    Tool,
    ToolContext,
    ToolEffect,
    ToolResult,
    WriteKind,
)
from nr_agent_core.domain.run_events import ToolFinished
from nr_agent_core.testing.crashing import WorkerDied
from nr_agent_core.testing.scripted_model import ScriptedModel, call, round_of
from tests.chat.world import ANNA, CREATE, DORA, LEASE, World, digest_of, page_schema

UNATTENDED = {"unattended": ["create_page", "rename_page"]}
PAGE = RecordReference("pages", 42)


def test_a_write_is_told_by_three_values_and_nothing_else(world: World) -> None:
    """Which run, which record, what became of it (W1)."""
    chat = world.chat(CREATE, "Angelegt.", rules=UNATTENDED)
    sent = chat.send("Lege an.", ANNA)

    assert world.heard == [AiRecordWritten(sent.run_id, PAGE, WriteKind.CREATED)]  # type: ignore[arg-type]
    assert [field.name for field in attrs.fields(AiRecordWritten)] == ["correlation_id", "reference", "kind"]
    assert chat.runtime.writes() == (StoredWrite(1, world.heard[0]),)


@pytest.mark.parametrize("blank", ["", " ", "\n\t", None, 5])
def test_a_blank_correlation_id_is_refused(blank: Any) -> None:
    """A write belongs to a run (W1)."""
    with pytest.raises(InvalidValueError):
        AiRecordWritten(blank, PAGE, WriteKind.CREATED)


def test_a_write_is_heard_before_the_store_holds_it(world: World) -> None:
    """Neither the stream nor the feed has it yet; the intent is there (W1)."""
    stored: list[tuple[list[str], int]] = []

    def listener(event: AiRecordWritten) -> None:
        kinds = [each.kind for each in world.events(event.correlation_id)]
        stored.append((kinds, len(world.store.writes(after=0, limit=10))))

    world.bus.subscribe(listener)
    world.chat(CREATE, "Angelegt.", rules=UNATTENDED).send("Lege an.", ANNA)

    ((kinds, feed),) = stored
    assert kinds[-1] == "tool_started"
    assert feed == 0


def test_a_listener_that_raises_keeps_nothing_from_the_others(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """It is logged without secrets; the run goes on and the write stays recorded (W2)."""
    later: list[AiRecordWritten] = []

    def raises(_: AiRecordWritten) -> None:
        raise RuntimeError("could not label: Bearer abcdefghijklmnop123456") from ValueError("below")

    world.bus.subscribe(raises)
    world.bus.subscribe(later.append)
    chat = world.chat(CREATE, "Angelegt.", rules=UNATTENDED)
    with caplog.at_level(logging.ERROR):
        sent = chat.send("Lege an.", ANNA)

    assert sent.status is RunStatus.COMPLETED
    assert len(world.heard) == len(later) == len(chat.runtime.writes()) == 1
    assert "RuntimeError" in caplog.text
    assert "ValueError" in caplog.text
    assert "abcdefghijklmnop123456" not in caplog.text


def test_a_bus_that_raises_costs_no_outcome(world: World) -> None:
    """Whatever a host's own bus does, what was written is recorded and the run goes on (W2)."""

    class Broken:
        def subscribe(self, listener: object) -> None:
            """Nobody hears."""

        def announce(self, event: AiRecordWritten) -> None:
            raise ConnectionError("the broker is gone")

    chat = world.chat(CREATE, "Angelegt.", rules=UNATTENDED, bus=Broken())
    sent = chat.send("Lege an.", ANNA)

    assert sent.status is RunStatus.COMPLETED
    assert [str(stored.written.reference) for stored in chat.runtime.writes()] == ["pages:42"]


def test_a_listener_that_dies_is_a_crash(world: World) -> None:
    """What was written is unknown to the stream then, and never silently repeated (W2, P5)."""

    def dies(_: AiRecordWritten) -> None:
        raise WorkerDied

    world.bus.subscribe(dies)
    chat = world.chat(CREATE, rules=UNATTENDED)
    conversation = chat.open(ANNA)
    world.dies(lambda: chat.send("Lege an.", ANNA, conversation=conversation))
    world.clock.advance(LEASE)
    world.chat().upkeep()

    assert world.host.pages == ["Team"]
    assert world.row(world.runs()[0]).status is RunStatus.FAILED


def several(arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
    """Three records, one of them named twice."""
    result = ToolResult.text("Saved.")
    for number, kind in ((1, "created"), (2, "updated"), (1, "updated"), (3, "deleted")):
        result = result.with_write_target(("pages", number), kind)
    return result


def test_a_call_that_names_several_records_tells_each_once(world: World) -> None:
    """In the order in which they were named (W1, T5)."""
    chat = world.chat(CREATE, "Gut.", tools=world.host.tools(execute=several), rules=UNATTENDED)
    chat.send("Lege an.", ANNA)

    told = [(str(event.reference), event.kind.value) for event in world.heard]
    assert told == [("pages:1", "created"), ("pages:2", "updated"), ("pages:3", "deleted")]
    assert [stored.written for stored in chat.runtime.writes()] == world.heard


def test_a_repeat_of_an_interrupted_write_tells_again(world: World) -> None:
    """At least once; the feed has it once, whoever drops repeats is right (W3, R7)."""
    deaths = [WorkerDied()]

    def once(_: AiRecordWritten) -> None:
        if deaths:
            raise deaths.pop()

    world.bus.subscribe(once)
    chat = world.chat(call("rename_page", title="Wir"), rules=UNATTENDED)
    conversation = chat.open(ANNA)
    world.dies(lambda: chat.send("Benenne um.", ANNA, conversation=conversation))
    world.clock.advance(LEASE)
    world.chat("Umbenannt.", rules=UNATTENDED).upkeep()

    assert len(world.host.executed) == 2
    assert len({context.key for context in world.host.contexts}) == 1
    assert len(world.heard) == 2
    assert len(set(world.heard)) == 1
    assert [stored.written for stored in chat.runtime.writes()] == world.heard[:1]


@pytest.mark.parametrize("outcome", ["error", "unchanged", "unknown", "denied", "withheld"])
def test_what_wrote_nothing_tells_nothing(world: World, outcome: str) -> None:
    """Neither does an unknown outcome (W1, W3)."""

    def execute(*_: object) -> ToolResult:
        if outcome == "unknown":
            raise ConnectionError("gone")
        made = ToolResult.error("no") if outcome == "error" else ToolResult.unchanged("same")
        return made.with_write_target(PAGE, "created")

    rules: dict[str, Any] = {"tools_off": ["create_page"]} if outcome == "withheld" else {}
    chat = world.chat(CREATE, "Nichts.", tools=world.host.tools(execute=execute), rules=rules)
    sent = chat.send("Lege an.", ANNA)
    if sent.status is RunStatus.WAITING_FOR_APPROVAL:
        choice = "deny" if outcome == "denied" else "approve"
        chat.decide(sent.conversation, choice, card=digest_of(world, sent.run_id), by=ANNA)

    assert world.row(sent.run_id).status is RunStatus.COMPLETED
    assert world.heard == []
    assert chat.runtime.writes() == ()


def test_a_write_by_a_tool_declared_as_reading_is_told_all_the_same(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """It happened; that it was not declared is logged as the mistake it is (T7)."""

    def sneaks(*_: object) -> ToolResult:
        return ToolResult.text("Found, and tidied up.").with_write_target(PAGE, "updated")

    tool = Tool("search_pages", "Reads.", page_schema(), ToolEffect.READ_ONLY, sneaks)
    chat = world.chat(call("search_pages"), "Gut.", tools=[tool])
    with caplog.at_level(logging.ERROR):
        sent = chat.send("Suche.", ANNA)

    assert [event.reference for event in world.heard] == [PAGE]
    (finished,) = [event for event in world.events(sent.run_id) if isinstance(event, ToolFinished)]
    assert [write.reference for write in finished.writes] == [PAGE]
    assert "read_only" in caplog.text


def test_a_run_that_is_not_stored_announces_nothing(world: World) -> None:
    """Not even by a tool that is declared as reading (W1, R12)."""

    def sneaks(*_: object) -> ToolResult:
        return ToolResult.text("Found, and tidied up.").with_write_target(PAGE, "updated")

    tool = Tool("search_pages", "Reads.", page_schema(), ToolEffect.READ_ONLY, sneaks)
    model = ScriptedModel(call("search_pages"), "Gut.")
    result = Runtime(store=None, model=model, tools=[tool], bus=world.bus).start("Suche.", "anna")

    assert world.heard == []
    assert [write.reference for write in result.evidence.records] == [PAGE]


def test_the_feed_is_read_on_from_a_position(world: World) -> None:
    """In commit order, across runs and conversations, a page at a time (W4)."""
    for _ in range(3):
        world.chat(round_of(CREATE, call("rename_page", title="Wir")), "Gut.", rules=UNATTENDED).send("Los.", ANNA)
    chat = world.chat()

    everything = chat.runtime.writes()
    read: list[StoredWrite] = []
    while page := chat.runtime.writes(after=read[-1].position if read else 0, limit=4):
        read.extend(page)

    assert [stored.written for stored in everything] == world.heard
    assert tuple(read) == everything
    positions = [stored.position for stored in everything]
    assert positions == sorted(set(positions))


def test_a_run_leaves_its_writes_to_who_may_see_it(world: World) -> None:
    """By its id, under own rights (W1, O4)."""
    chat = world.chat(CREATE, "Gut.", rules=UNATTENDED)
    sent = chat.send("Lege an.", ANNA)
    run_id = world.heard[0].correlation_id

    assert run_id == sent.run_id
    assert [str(each.reference) for each in chat.runtime.status(run_id, ANNA).evidence.records] == ["pages:42"]
    with pytest.raises(Exception, match="not yours to see"):
        chat.runtime.status(run_id, DORA)


@pytest.mark.parametrize(
    "page",
    [{"after": -1}, {"after": "0"}, {"after": None}, {"limit": 0}, {"limit": True}, {"limit": 2.0}],
    ids=str,
)
def test_a_strange_page_of_the_feed_is_refused(world: World, page: dict[str, Any]) -> None:
    """A typed error (W4)."""
    with pytest.raises(InvalidValueError):
        world.chat().runtime.writes(**page)
