"""
Tools that exist and may not be used: the run goes on and the model can say why (G1, G3, G4, P8).
"""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nr_agent_core import Configuration, Reader, RunStatus, Tool, ToolEffect
from nr_agent_core.adapters.sqlite import SqliteStore
from nr_agent_core.testing.scripted_model import ScriptedModel, call, round_of
from tests.cases.desk import ANNA, BOSS, Desk, tool_of

READ, WRITE = ToolEffect.READ_ONLY, ToolEffect.NON_IDEMPOTENT_WRITE
USED: list[str] = []


def used(name: str) -> Any:
    """An execution that is counted."""

    def execute(arguments: object, context: object) -> str:
        USED.append(name)
        return f"{name} was used"

    return execute


def tools() -> list[Tool]:
    """One tool of each kind: withheld for one reason each, and two that are offered."""
    public: dict[str, Any] = {"data_class": "public"}
    return [
        tool_of("search", used("search"), READ, **public),
        tool_of("shell", used("shell"), READ, **public),
        tool_of("mail", used("mail"), WRITE, **public),
        tool_of("blinds", used("blinds"), WRITE, enabled=False, **public),
        tool_of("audit", used("audit"), READ, admin_only=True, **public),
        tool_of("billing", used("billing"), READ, group="billing", **public),
        tool_of("secrets", used("secrets"), READ, data_class="secretAdjacent"),
        tool_of("elsewhere", used("elsewhere"), READ, remote=True, data_class="secretAdjacent"),
    ]


WITHHELD = {
    "mail": "it is switched off",
    "blinds": "it is switched off",
    "audit": "administrators",
    "billing": "not among the tools",
    "secrets": "may not leave",
}


def desk_of(*answers: Any, **changes: Any) -> Desk:
    """A desk whose configuration withholds."""
    USED.clear()
    model = ScriptedModel(*answers)
    settings: dict[str, Any] = {"tools_off": ["mail"], "tool_groups": ["default"], "trust_zone": "externalEu"} | changes
    configuration = Configuration(model=model, **settings)
    desk = Desk(configuration=configuration, tools=tools())
    desk.model = model
    return desk


@pytest.mark.parametrize("name", [*WITHHELD, "elsewhere", "never_heard_of"])
def test_a_call_of_a_withheld_tool_is_answered_and_the_run_goes_on(name: str) -> None:
    """(R4, G1) Neither executed nor fatal: the model reads that nothing was done, and answers."""
    desk = desk_of(call(name, title="x"), "That is not possible here.")

    sent = desk.chat.send("Please do it", ANNA)

    assert sent.status is RunStatus.COMPLETED
    assert desk.card(sent.conversation) is None
    assert USED == []
    assert "Nothing was executed" in desk.model.requests[-1].messages[-1].text


@pytest.mark.parametrize("asker", ["anna", "boss"])
def test_what_is_offered_and_what_is_withheld_agree_with_the_run(asker: str) -> None:
    """(G1, G4) Each tool is either offered or listed with its reason; remote ones are no topic for others."""
    desk = desk_of("Some of them.")
    desk.chat.send("Which tools do you have?", Reader(asker))
    request = desk.model.requests[-1]
    offered = {tool.name for tool in request.tools}
    listed = {
        line[2:].split(":")[0] for line in request.system.splitlines() if line.startswith("- ") and ": it " in line
    }

    assert offered.isdisjoint(listed)
    everything = {tool.name for tool in tools()} | {"publish"}
    assert offered | listed == (everything if asker == "boss" else everything - {"elsewhere"})
    assert ("audit" in offered) is (asker == "boss")
    for name, reason in WITHHELD.items():
        if name in listed:
            assert reason in next(line for line in request.system.splitlines() if line.startswith(f"- {name}:"))


def test_the_model_is_told_to_say_so_and_not_to_go_around() -> None:
    """(G4) Say that it exists, why not, and who can change that; no other tool in its place."""
    desk = desk_of("Mail is switched off; an administrator can change that.")
    desk.chat.send("Mail this to Kim", ANNA)
    told = desk.model.requests[-1].system

    assert "mail" in told
    assert "administrator" in told
    assert "Never work around" in told


def test_a_claim_after_a_withheld_call_is_marked() -> None:
    """(V6) A guess that reports success is told from a success."""
    desk = desk_of(call("blinds", title="up"), "Ich habe die Rollläden geöffnet und gespeichert.")

    sent = desk.chat.send("Rollläden auf", ANNA)

    assert desk.codes(sent.conversation) == ["nothingSaved"]


def test_a_tool_that_is_withdrawn_while_its_card_stands_is_not_executed() -> None:
    """(G1) The gate is asked again after the pause, whatever was approved and whatever the model was told."""
    model = ScriptedModel(call("mail", title="x"), "It could not be sent.")
    rules: dict[str, Any] = {"tools_off": []}

    class Resolver:
        def resolve(self, conversation: str | None, owner: str) -> Configuration:
            """What is in force now."""
            return Configuration(model=model, **rules)

    USED.clear()
    desk = Desk(configuration=Resolver(), tools=tools(), store=SqliteStore(":memory:"))
    desk.model = model
    sent = desk.waiting()
    rules["tools_off"] = ["mail"]

    end = desk.decide(sent.conversation)

    assert end.status is RunStatus.COMPLETED
    assert USED == []
    assert "switched off" in model.requests[-1].messages[-1].text
    # And the other way round: what was refused at the look stays refused.
    assert desk.codes(sent.conversation) == []


def test_a_resolver_that_lists_nothing_opens_nothing() -> None:
    """(P8) What the model is told never acts as a gate."""
    model = ScriptedModel(call("mail", title="x"), call("audit", title="x"), "No.")
    USED.clear()
    desk = Desk(
        configuration=Configuration(model=model, tools_off=["mail"]),
        tools=tools(),
        store=SqliteStore(":memory:"),
        unavailable_tools=None,
    )

    sent = desk.chat.send("Please do it", ANNA)

    assert sent.status is RunStatus.COMPLETED
    assert USED == []
    assert "withheld from this conversation" not in model.requests[-1].system


@given(st.lists(st.sampled_from([tool.name for tool in tools()]), min_size=1, max_size=6), st.booleans())
def test_a_round_of_mixed_calls_runs_exactly_what_is_allowed(names: list[str], administrator: bool) -> None:
    """(R4, G1) Withheld siblings neither stop nor pull along the others."""
    asked = round_of(*(call(name, title=str(number)) for number, name in enumerate(names)))
    desk = desk_of(asked, "Well.")

    sent = desk.chat.send("Please do it", BOSS if administrator else ANNA)

    assert sent.status is RunStatus.COMPLETED
    allowed = {"search", "shell"} | ({"audit"} if administrator else set())
    assert [name for name in names if name in allowed] == USED
