"""
A write of a server's tool, from the model's call through approval to the verdict (T3, A1, V1, V6).
"""

import asyncio

import pytest

from nr_agent_core import AsyncChat, Configuration, RoleAccess
from nr_agent_core.adapters.mcp import McpServers, RemoteTool
from nr_agent_core.adapters.memory import MemoryStore
from nr_agent_core.domain.run_status import RunStatus
from nr_agent_core.domain.tool_result import Outcome
from nr_agent_core.testing.scripted_model import ScriptedModel, call
from tests.mcp.desk import ANNA, ROOT, Desk
from tests.mcp.world import READING, kill, outcome, tool_named, tool_of, until


@pytest.fixture
def servers(folder):
    """One raw server with a tool that writes, and one that tells its process."""
    folder.lists(tool_of("act"), tool_of("pid"))
    with McpServers([folder.raw(tools={"pid": READING})]) as servers:
        yield servers


def asked(servers, do):
    """A desk where a call of the writing tool waits."""
    return Desk(servers, "mcp_raw_act", {"do": do, "text": "one"})


def test_a_write_is_approved_carried_out_and_believed(servers, folder):
    """The run waits with the arguments on its card; approved, it wrote: the claim gets no notice (V1)."""
    desk = asked(servers, "note")

    assert desk.sent.status is RunStatus.WAITING_FOR_APPROVAL
    assert desk.card.calls[0].lines == ("do: note", "text: one")
    assert folder.effects == []
    desk.approve()
    assert folder.effects == ["one"]
    assert desk.outcomes == [Outcome.TEXT]
    assert desk.notices == []


@pytest.mark.parametrize(
    ("do", "outcome_", "notices", "effects"),
    [
        ("fail", Outcome.ERROR, ["nothingSaved"], []),
        ("die", Outcome.UNKNOWN, ["writeOutcomeUnknown"], []),
        ("note_and_die", Outcome.UNKNOWN, ["writeOutcomeUnknown"], ["one"]),
        ("garbage", Outcome.UNKNOWN, ["writeOutcomeUnknown"], ["garbage"]),
    ],
)
def test_the_verdict_says_what_is_known(servers, folder, do, outcome_, notices, effects):
    """The model claims success every time; the notice is what the server's end leaves (V1, V6)."""
    desk = asked(servers, do)
    desk.approve()

    assert desk.outcomes == [outcome_]
    assert desk.notices == notices
    assert folder.effects == effects


def test_a_server_that_died_while_the_card_stood_is_no_write(servers, folder):
    """Killed before the call, and not to be started again: nothing was saved, and that is certain (T4)."""
    desk = asked(servers, "note")
    folder.touch("broken")
    kill(int(outcome(tool_named(servers, "mcp_raw_pid")).content))
    desk.approve()

    assert desk.outcomes == [Outcome.ERROR]
    assert desk.notices == ["nothingSaved"]


def test_a_tool_that_changed_while_the_card_stood_is_not_called(servers, folder):
    """What was approved is not what the server has now (P7)."""
    desk = asked(servers, "note")
    kill(int(outcome(tool_named(servers, "mcp_raw_pid")).content))
    folder.lists(tool_of("act", inputSchema={"type": "object"}))
    desk.approve()

    assert (desk.outcomes, desk.notices, folder.effects) == ([Outcome.ERROR], ["nothingSaved"], [])


def test_a_call_past_its_deadline_is_unknown_and_known_later(folder):
    """The run goes on; what the server answers in the end is a late outcome of the same run (R7)."""
    folder.lists(tool_of("act"))
    with McpServers([folder.raw(tools={"act": RemoteTool(deadline=0.5)})]) as servers:
        desk = Desk(servers, "mcp_raw_act", {"do": "wait"})
        desk.approve()
        assert desk.outcomes == [Outcome.UNKNOWN]
        assert desk.notices == ["writeOutcomeUnknown"]

        folder.touch("go")
        until(lambda: desk.outcomes == [Outcome.UNKNOWN, Outcome.TEXT])
        assert folder.effects == ["began", "ended"]


def test_nobody_else_is_offered_the_tool_or_told_of_it(servers, folder):
    """Tools of servers are for administrators; others do not learn their names (G3, P9)."""
    desk = Desk(servers, "mcp_raw_act", {"do": "note"}, reader=ANNA)

    assert desk.sent.status is RunStatus.COMPLETED
    assert folder.effects == []
    assert "mcp_raw" not in str(desk.model.requests[0])


def test_a_huge_answer_is_bounded_for_the_model(folder):
    """The model reads at most 50,000 bytes of it (T9)."""
    folder.lists(tool_of("read"))
    with McpServers([folder.raw(tools={"read": READING})]) as servers:
        desk = Desk(servers, "mcp_raw_read", {"do": "huge", "size": 1_000_000})

        assert desk.sent.status is RunStatus.COMPLETED
        assert 40_000 < len(str(desk.model.requests[1])) < 70_000


def test_an_event_loop_host_uses_the_same_servers(servers, folder):
    """The loop of the host is not held up, and needs to know nothing of the adapter's."""

    async def told():
        model = ScriptedModel(call("mcp_raw_act", do="wait"), "Saved.")
        chat = AsyncChat(
            store=MemoryStore(),
            configuration=Configuration(model=model, tools_on=["mcp_raw_act"]),
            tools=servers.tools(),
            access=RoleAccess(administrators={"root"}),
        )
        sent = await chat.send("Please.", ROOT)
        view = await chat.view(sent.conversation, ROOT)
        deciding = asyncio.create_task(chat.decide(sent.conversation, "approve", card=view.card, by=ROOT))
        while "began" not in folder.effects:  # noqa: ASYNC110 - the server is another process
            await asyncio.sleep(0.005)
        folder.touch("go")
        await deciding
        return await chat.view(sent.conversation, ROOT)

    view = asyncio.run(told())

    assert view.messages[-1].text == "Saved."
    assert view.messages[-1].notices == ()
