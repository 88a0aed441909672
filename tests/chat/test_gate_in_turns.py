"""
The gate over the life of a turn: what is withheld, what a reader hears of it, and work without a store (G1-G4, R12).
"""

import logging
from collections.abc import Mapping
from typing import Any

import pytest

from nr_agent_core import (
    Configuration,
    RoleAccess,
    RunReason,
    RunStatus,
    Runtime,
    Tool,
    ToolEffect,
    ToolMissingError,
    ToolResult,
    Wrote,
)
from nr_agent_core.domain.run_events import NotExecuted, ToolFinished
from nr_agent_core.domain.unavailable_tools import GateUnavailableTools
from nr_agent_core.testing.crashing import WorkerDied
from nr_agent_core.testing.scripted_model import ScriptedModel, call, round_of
from tests.chat.world import (
    ACCESS,
    ANNA,
    CREATE,
    DORA,
    LEASE,
    ROOT,
    World,
    digest_of,
    page_schema,
    told,
)

# ------------------------------------------------------------------------------------ G1: the gate

WITHHELD: dict[NotExecuted, tuple[dict[str, Any], dict[str, Any]]] = {
    NotExecuted.TOOL_DISABLED: ({}, {"tools_off": ["create_page"]}),
    NotExecuted.REQUIRES_ADMIN: ({"admin_only": True}, {}),
    NotExecuted.CONFIGURATION_GROUP: ({"group": "pages"}, {"tool_groups": ["default"]}),
    NotExecuted.TRUST_ZONE: ({"data_class": "sourceCode"}, {"trust_zone": "externalGlobal"}),
}
withheld = pytest.mark.parametrize("reason", WITHHELD, ids=lambda reason: reason.value)


def refusals(world: World, run_id: str | None) -> list[NotExecuted | None]:
    """Why the calls of a run were not executed."""
    return [event.refusal for event in world.events(run_id) if isinstance(event, ToolFinished)]


@withheld
def test_a_withheld_tool_is_neither_offered_nor_carried_out(world: World, reason: NotExecuted) -> None:
    """Not offered; called all the same, it is refused at the look, without a pause (G1, R4)."""
    options, rules = WITHHELD[reason]
    chat = world.chat(CREATE, "Das geht nicht.", tools=world.host.tools(**options), rules=rules)

    sent = chat.send("Lege eine Seite an.", ANNA)

    assert sent.status is RunStatus.COMPLETED
    assert "create_page" not in [tool.name for tool in world.model.requests[0].tools]
    assert refusals(world, sent.run_id) == [reason]
    assert world.host.executed == []


@withheld
def test_a_tool_withheld_since_the_pause_is_not_carried_out(world: World, reason: NotExecuted) -> None:
    """The gate is asked again after the pause; the run goes on and the model is told (G1)."""
    _, sent = world.waiting()
    options, rules = WITHHELD[reason]
    chat = world.chat("Das geht nicht mehr.", tools=world.host.tools(**options), rules=rules)

    # Who approves is an administrator; the run's owner is none.
    chat.runtime.decide(sent.run_id, "approve", digest=digest_of(world, sent.run_id), by=ROOT)

    assert world.row(sent.run_id).status is RunStatus.COMPLETED
    assert refusals(world, sent.run_id) == [reason]
    assert world.host.executed == []
    assert told(world)[-1][0] == "tool"
    assert "Nothing was executed" in told(world)[-1][1]


@withheld
def test_a_tool_withheld_since_a_crash_is_not_repeated(world: World, reason: NotExecuted) -> None:
    """Its first try may have happened: the outcome is unknown (G1, R7)."""

    def dies(*_: object) -> ToolResult:
        raise WorkerDied

    options, rules = WITHHELD[reason]
    repeatable = {"effect": ToolEffect.IDEMPOTENT_WRITE}
    chat = world.chat(CREATE, tools=world.host.tools(execute=dies, **repeatable), rules={"unattended": ["create_page"]})
    conversation = chat.open(ANNA)
    world.dies(lambda: chat.send("Lege an.", ANNA, conversation=conversation))
    world.clock.advance(LEASE)

    world.chat(tools=world.host.tools(**options, **repeatable), rules=rules).upkeep()

    row = world.row(world.runs()[-1])
    assert (row.status, row.reason) == (RunStatus.FAILED, RunReason.WRITE_OUTCOME_UNKNOWN)
    assert world.host.executed == []


def test_a_tool_that_is_gone_since_the_pause_is_missing(world: World) -> None:
    """This process does not know what it would have to execute: a typed error, and the run waits on (A1)."""
    _, sent = world.waiting()
    chat = world.chat(tools=world.host.tools()[1:])
    digest, before = digest_of(world, sent.run_id), world.snapshot(sent.conversation)

    for decide in (
        lambda: chat.decide(sent.conversation, "approve", card=digest, by=ANNA),
        lambda: chat.runtime.decide(sent.run_id, "approve", digest=digest, by=DORA),
    ):
        with pytest.raises(ToolMissingError) as missing:
            decide()
        assert missing.value.tool == "create_page"
    assert world.snapshot(sent.conversation) == before


def test_a_reading_sibling_that_is_gone_is_refused(world: World) -> None:
    """Only writes keep a decision back; the rest of the round goes on (A1, G1)."""
    chat = world.chat(round_of(call("search_pages"), CREATE), "Gut.")
    sent = chat.send("Lege an.", ANNA)
    chat = world.chat("Gut.", tools=[tool for tool in world.host.tools() if tool.name != "search_pages"])

    chat.decide(sent.conversation, "approve", card=digest_of(world, sent.run_id), by=ANNA)

    assert refusals(world, sent.run_id) == [NotExecuted.NOT_REGISTERED, None]
    assert world.host.pages == ["Team"]


def test_a_tool_whose_effect_grew_since_the_look_was_never_released(world: World) -> None:
    """The card showed a reading tool; it writes by now, so it is not executed (P7, G1)."""
    chat = world.chat(round_of(call("search_pages"), CREATE), "Gut.")
    sent = chat.send("Lege an.", ANNA)
    grown = Tool(
        "search_pages", "Finds, and tidies up.", page_schema(), ToolEffect.NON_IDEMPOTENT_WRITE, world.host.create
    )
    chat = world.chat("Gut.", tools=[world.host.tools()[0], grown])

    chat.decide(sent.conversation, "approve", card=digest_of(world, sent.run_id), by=ANNA)

    assert refusals(world, sent.run_id) == [NotExecuted.APPROVAL_MISSING, None]
    assert world.host.pages == ["Team"]


def test_an_administrator_may_use_what_asks_for_one(world: World) -> None:
    """Who counts is the run's owner (G1, O4)."""
    chat = world.chat(CREATE, "Done.", tools=world.host.tools(admin_only=True))
    sent = chat.send("Create a page.", ROOT)
    chat.decide(sent.conversation, "approve", card=digest_of(world, sent.run_id), by=ROOT)

    assert world.host.executed == [("create_page", "root")]


# ------------------------------------------------------------------------------ G3: what is withheld


def remote(name: str, **options: Any) -> Tool:
    """A reading tool behind somebody else's server."""
    return Tool(
        name,
        "Far away.",
        page_schema(),
        ToolEffect.READ_ONLY,
        lambda *_: "far",
        remote=True,
        data_class="public",
        **options,
    )


def prompt(world: World, **parts: Any) -> str:
    """The system prompt of one request."""
    reader = parts.pop("reader", ANNA)
    world.chat("Gut.", **parts).send("Hallo", reader)
    return world.model.requests[-1].system


def line(world: World, tool: str, **parts: Any) -> str | None:
    """What the system prompt says of one withheld tool."""
    found = [each for each in prompt(world, **parts).splitlines() if each.startswith(f"- {tool}: ")]
    return found[0].partition(": ")[2] if found else None


IN_WORDS = {
    NotExecuted.TOOL_DISABLED: "it is switched off",
    NotExecuted.REQUIRES_ADMIN: "it is for administrators only",
    NotExecuted.CONFIGURATION_GROUP: "it is not among the tools set up for this chat",
    NotExecuted.TRUST_ZONE: "it handles data that may not leave for where this model runs",
}


@withheld
def test_the_prompt_names_a_withheld_tool_and_why(world: World, reason: NotExecuted) -> None:
    """One line each, in plain words, admin-only ones too (G3, G4)."""
    options, rules = WITHHELD[reason]

    assert line(world, "create_page", tools=world.host.tools(**options), rules=rules) == IN_WORDS[reason]
    assert "point the user to an administrator" in world.model.requests[-1].system


def test_an_observed_tool_is_offered_and_not_listed(world: World) -> None:
    """Only the literal setting observes (G2, G3)."""
    parts = {"tools": world.host.tools(data_class="sourceCode")}
    for enforcement, listed in (("observe", False), ("Observe", True), ("enforce", True)):
        rules = {"trust_zone": "externalGlobal", "enforcement": enforcement}
        assert (line(world, "create_page", rules=rules, **parts) is not None) is listed
        assert ("create_page" not in [tool.name for tool in world.model.requests[-1].tools]) is listed


def test_an_empty_list_makes_no_section(world: World) -> None:
    """Nothing is said of withheld tools where none is (G4)."""
    assert "withheld" not in prompt(world)


def test_remote_tools_are_named_to_administrators_only(world: World) -> None:
    """By the run's owner, not by whoever caused this segment (G3, P9)."""
    parts: dict[str, Any] = {
        "tools": [*world.host.tools(), remote("far_search")],
        "rules": {"tools_off": ["far_search"]},
    }

    assert line(world, "far_search", **parts) is None
    assert line(world, "far_search", reader=ROOT, **parts) == "it is switched off"
    sent = world.chat(CREATE, **parts).send("Lege an.", ANNA)
    chat = world.chat("Gut.", **parts)
    chat.runtime.decide(sent.run_id, "approve", digest=digest_of(world, sent.run_id), by=ROOT)
    assert "far_search" not in world.model.requests[-1].system


@pytest.mark.parametrize("resolver", ["missing", "raising", "garbage", "default"])
def test_the_chat_works_without_a_list(world: World, resolver: str, caplog: pytest.LogCaptureFixture) -> None:
    """A missing resolver, or one that fails, lists nothing; the gate stays as it is (G3, P8)."""

    class Raising:
        def unavailable(self, *_: object, **__: object) -> Any:
            raise ConnectionError("nobody there")

    class Garbage:
        def unavailable(self, *_: object, **__: object) -> Any:
            return ["create_page"]

    resolvers: Mapping[str, Any] = {
        "missing": None,
        "raising": Raising(),
        "garbage": Garbage(),
        "default": GateUnavailableTools(),
    }
    with caplog.at_level(logging.ERROR):
        parts = {"rules": {"tools_off": ["create_page"]}, "unavailable_tools": resolvers[resolver]}
        listed = line(world, "create_page", **parts)

    assert (listed is not None) is (resolver == "default")
    assert "create_page" not in [tool.name for tool in world.model.requests[-1].tools]
    assert bool(caplog.records) is (resolver in ("raising", "garbage"))


# ---------------------------------------------------------------------------- R12: without a store


def bare(world: World, *answers: Any, **rules: Any) -> tuple[Runtime, ScriptedModel]:
    """A runtime without a store."""
    model = ScriptedModel(*answers)
    asking = Tool("ask_first", "Reads.", page_schema(), ToolEffect.READ_ONLY, world.host.search, approval=True)
    configuration = Configuration(model=model, **rules)
    tools = [*world.host.tools(), asking]
    return Runtime(store=None, configuration=configuration, tools=tools, access=ACCESS, bus=world.bus), model


def test_without_a_store_only_reading_is_offered(world: World) -> None:
    """Reading tools run, the rest is refused; nothing is announced; the answer is judged all the same (R12)."""
    calls = round_of(call("search_pages"), CREATE, call("ask_first"))
    runtime, model = bare(world, calls, "Die Seite ist angelegt.", unattended=["create_page"])

    result = runtime.start("Lege an.", "anna")

    assert [tool.name for tool in model.requests[0].tools] == ["search_pages"]
    assert (result.status, result.answer) == (RunStatus.COMPLETED, "Die Seite ist angelegt.")
    assert [notice.code.value for notice in result.notices] == ["nothingSaved"]
    assert result.evidence.wrote is Wrote.NO
    assert world.host.executed == [("search_pages", "anna")]
    assert world.heard == []
    said = [message.text for message in model.requests[1].messages if message.role == "tool"]
    assert ["not stored" in text for text in said] == [False, True, True]
    assert "this run is not stored" in model.requests[0].system


def test_without_a_store_nothing_outlives_a_call(world: World) -> None:
    """What needs a store says so (R12)."""
    runtime, _ = bare(world)
    for ask in (
        lambda: runtime.status("r", "anna"),
        lambda: runtime.inbox("anna"),
        runtime.upkeep,
        runtime.writes,
        lambda: runtime.decide("r", "approve", digest="d", by="anna"),
        lambda: runtime.cancel("r", "anna"),
        lambda: runtime.recover("r"),
        lambda: runtime.events("r", "anna"),
    ):
        with pytest.raises(ValueError, match="store"):
            ask()
    runtime.close()


def test_nobody_decides_is_said_at_the_start(caplog: pytest.LogCaptureFixture) -> None:
    """A chat whose approvals nobody can give is a mistake worth a warning (O4)."""
    tool = Tool("w", "Writes.", page_schema(), ToolEffect.NON_IDEMPOTENT_WRITE, lambda *_: ToolResult.text("x"))
    with caplog.at_level(logging.WARNING):
        Runtime(store=None, model=ScriptedModel(), tools=[tool])
        assert len(caplog.records) == 1
        Runtime(store=None, model=ScriptedModel(), tools=[tool], access=RoleAccess(owner_decides=True))
        assert len(caplog.records) == 1
