"""
Which tools of which servers are registered, and as what (T1, T2, T3, G1).
"""

import gc
import json
import subprocess
import sys

import attrs
import pytest

from nr_agent_core.adapters.mcp import HttpServer, McpServers, RemoteTool, ServerState, StdioServer
from nr_agent_core.adapters.mcp.catalogue import SCHEMA_BYTES, SCHEMA_DEPTH, catalogue
from nr_agent_core.domain.errors import InvalidValueError
from nr_agent_core.domain.tool_result import Outcome, ToolEffect
from nr_agent_core.domain.tools import ToolRegistry, needs_approval
from tests.mcp.world import Calling, gone, kill, outcome, tool_named, tool_of, until

SERVER = StdioServer(name="s", command="none", data_class="public")


@attrs.frozen
class Hints:
    """What a server claims."""

    title: str | None = None
    read_only_hint: bool | None = None
    destructive_hint: bool | None = None
    idempotent_hint: bool | None = None
    open_world_hint: bool | None = None


@attrs.frozen
class Listed:
    """A tool as a server lists it."""

    name: str = "act"
    input_schema: object = attrs.field(factory=lambda: {"type": "object"})
    title: str | None = None
    description: str | None = "Acts."
    annotations: Hints | None = None


def registered(*listed, server=SERVER):
    """What becomes of a list of tools."""
    return catalogue(server, listed, lambda name, writes: lambda arguments, context: f"{name} {writes}")


def nested(depth):
    """A schema that nests this deep."""
    schema = {"type": "string"}
    for _ in range(depth - 1):
        schema = {"type": "object", "properties": {"in": schema}}
    return schema


def test_a_tool_is_a_write_for_administrators_that_is_off_and_needs_approval():
    """Whatever its server claims (T2, T3); its origin stands before its description."""
    hints = Hints(read_only_hint=True, idempotent_hint=True, destructive_hint=False)
    (tool,) = registered(Listed(annotations=hints)).tools

    assert (tool.name, tool.group, tool.description) == ("mcp_s_act", "mcp_s", "[s] Acts.")
    assert tool.effect is ToolEffect.NON_IDEMPOTENT_WRITE
    assert (tool.remote, tool.admin_only, tool.enabled, tool.data_class) == (True, True, False, "public")
    assert needs_approval(tool, ())
    assert needs_approval(tool, ("mcp_s_act",))
    assert tool.deadline == 20.0


def test_hints_are_shown_to_administrators():
    """They are in the report, and nowhere else."""
    known = registered(Listed(annotations=Hints(title="An act\x1b[0m", read_only_hint=True, open_world_hint=False)))

    (report,) = known.reports
    assert (report.name, report.remote_name, report.title) == ("mcp_s_act", "act", "An act[0m")
    assert report.hints == {"read_only": True, "open_world": False}


def test_the_operator_decides_what_a_tool_is():
    """Reading, unattended, on, its class of data and its deadline (T2, T3, G2)."""
    tools = {
        "read": RemoteTool(reads=True, enabled=True, data_class="editorContent", deadline=5),
        "write": RemoteTool(approval="no"),
        "asked": RemoteTool(reads=True, approval=True),
        "dotted.name": RemoteTool(called="renamed"),
    }
    server = attrs.evolve(SERVER, tools=tools, others=None)
    known = registered(*(Listed(name) for name in (*tools, "another")), server=server)
    by_name = {tool.name: tool for tool in known.tools}

    assert list(by_name) == ["mcp_s_read", "mcp_s_write", "mcp_s_asked", "renamed"]
    assert by_name["mcp_s_read"].effect is ToolEffect.READ_ONLY
    assert [needs_approval(tool, ()) for tool in by_name.values()] == [False, False, True, True]
    assert (by_name["mcp_s_read"].deadline, by_name["mcp_s_read"].data_class) == (5, "editorContent")
    assert by_name["mcp_s_read"].enabled
    assert by_name["mcp_s_read"].execute({}, None) == "read False"
    assert by_name["renamed"].execute({}, None) == "dotted.name True"


@pytest.mark.parametrize(
    ("listed", "why"),
    [
        (Listed("dotted.name"), "allowed is 1 to 64 of"),
        (Listed("a" * 60), "allowed is 1 to 64 of"),
        (Listed("name\n"), "allowed is 1 to 64 of"),
        (Listed(input_schema={"type": "array"}), "at the root"),
        (Listed(input_schema=nested(SCHEMA_DEPTH + 1)), "more than 12 deep"),
        (Listed(input_schema={"type": "object", "description": "x" * SCHEMA_BYTES}), "longer than 16384 bytes"),
        (Listed(input_schema={"type": "object", "properties": {"a": {"$ref": "http://x.example"}}}), "does not lead"),
        (Listed(input_schema={"type": "object", "$dynamicRef": "#a"}), "cannot be followed"),
        (Listed(input_schema={"type": "object", "required": True}), "not a list"),
        (Listed(description="x" * 5000), "longer than 4000"),
    ],
)
def test_a_tool_that_does_not_fit_is_refused_and_costs_itself_alone(listed, why):
    """Nothing is cut or renamed to make it fit; the reason is for administrators (T1)."""
    known = registered(listed, Listed("other"))

    assert [tool.name for tool in known.tools] == ["mcp_s_other"]
    assert list(known.refused) == [listed.name]
    assert why in known.refused[listed.name]


@pytest.mark.parametrize(
    "listed",
    [Listed(input_schema=nested(SCHEMA_DEPTH)), Listed(description="x" * 4000), Listed("a" * (64 - len("mcp_s_")))],
    ids=["depth", "description", "name"],
)
def test_a_tool_that_just_fits_is_taken(listed):
    """The limits themselves are allowed (T1)."""
    known = registered(listed)

    assert (len(known.tools), known.refused) == (1, {})


def test_a_name_that_stands_twice_is_refused_both_times():
    """Which of the two a call would mean, nobody can tell (T1)."""
    server = attrs.evolve(SERVER, tools={"one": RemoteTool(called="mcp_s_two")})
    known = registered(Listed("one"), Listed("two"), Listed("three"), Listed("three"), Listed("four"), server=server)

    assert [tool.name for tool in known.tools] == ["mcp_s_four"]
    assert set(known.refused) == {"one", "two", "three"}
    assert all("declared twice" in why for why in known.refused.values())


def test_names_of_two_servers_never_meet():
    """A server's name holds no underscore, so the name of a tool tells whose it is."""
    one = registered(Listed("b_c"), server=attrs.evolve(SERVER, name="a")).tools
    other = registered(Listed("c"), server=attrs.evolve(SERVER, name="a-b")).tools

    assert len(ToolRegistry([*one, *other])) == 2


def test_arguments_are_held_against_what_is_understood_of_the_schema():
    """The rest is the server's to check; the model sees the whole (T8)."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "path": {"type": "string", "pattern": "^/", "minLength": 1},
            "mode": {"oneOf": [{"const": "a"}, {"const": "b"}]},
            "lines": {"type": "array", "items": {"$ref": "#/$defs/Line"}},
            "old": {"type": "number", "minimum": 0, "exclusiveMinimum": True},
        },
        "required": ["path"],
        "additionalProperties": False,
        "$defs": {"Line": {"type": "object", "properties": {"n": {"type": "integer"}}, "if": True}},
    }
    (tool,) = registered(Listed(input_schema=schema)).tools

    assert tool.parameters == schema
    assert tool.violation({"path": "relative", "mode": 3}) is None
    assert tool.violation({}) == "/path: missing"
    assert tool.violation({"path": "/", "lines": [{"n": "1"}]}) == "/lines/0/n: found '1'; allowed is an integer"


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "a_b"},
        {"name": ""},
        {"name": "a" * 25},
        {"deadline": 0},
        {"deadline": float("inf")},
        {"tools": {"a": "reads"}},
        {"tools": ["a"]},
        {"others": RemoteTool(called="x")},
        {"handshake": "firm"},
        {"message_limit": 0},
    ],
    ids=str,
)
def test_settings_that_mean_nothing_are_refused(wrong):
    """Where they are made, in words."""
    with pytest.raises(InvalidValueError):
        StdioServer(**{"name": "s", "command": "none", **wrong})


@pytest.mark.parametrize(
    "wrong", [{"approval": "No"}, {"approval": False}, {"reads": "yes"}, {"deadline": -1}], ids=str
)
def test_a_word_on_a_tool_that_means_nothing_is_refused(wrong):
    """Where it is said: a mistake must not end as a tool that is quietly left out."""
    with pytest.raises(InvalidValueError):
        RemoteTool(**wrong)


@pytest.mark.parametrize("url", ["ftp://x.example", "x.example", "http://", None])
def test_an_address_that_is_none_is_refused_without_being_shown(url):
    """It may hold a secret."""
    with pytest.raises(InvalidValueError):
        HttpServer(name="s", url=url)


def test_servers_differ_by_name():
    """Two of one name are refused."""
    with pytest.raises(InvalidValueError, match="names that differ"):
        McpServers([SERVER, SERVER])
    with pytest.raises(InvalidValueError):
        McpServers(["npx server"])


@pytest.mark.parametrize("called", [("x", "x"), ("mcp_other_act", "y")])
def test_names_that_an_operator_gives_are_unique(called):
    """Across all servers; and none looks like that of another server's tool."""
    one, other = (
        attrs.evolve(SERVER, name=f"s{number}", tools={"act": RemoteTool(called=name)})
        for number, name in enumerate(called)
    )
    with pytest.raises(InvalidValueError, match="names given to tools"):
        McpServers([one, other])


# -- several servers -------------------------------------------------------------------------------


def test_a_broken_server_costs_its_own_tools_alone(folder, other, caplog):
    """The others work on; an administrator sees why; the next listing tries it again (T1)."""
    other.touch("broken")
    missing = StdioServer(name="missing", command="/no/such/program")
    with McpServers([missing, other.raw("broken"), folder.raw("fine")]) as servers:
        assert {report.state for report in servers.reports()} == {ServerState.NOT_ASKED}
        assert [tool.name for tool in servers.tools()] == ["mcp_fine_act"]
        assert outcome(tool_named(servers, "mcp_fine_act"), do="note").outcome is Outcome.TEXT
        states = {report.server: report for report in servers.reports()}

        assert [report.state.value for report in states.values()] == ["failed", "failed", "connected"]
        assert states["missing"].why == "No such file or directory"
        assert "no module named 'needed'" in states["broken"].why
        assert "exit status 4" in states["broken"].why
        assert "broken brings no tools" in caplog.text

        (other.path / "broken").unlink()
        assert [tool.name for tool in servers.tools()] == ["mcp_broken_act", "mcp_fine_act"]


def test_a_server_that_never_answers_is_given_up_at_its_deadline(folder, other):
    """Others are listed meanwhile."""
    other.touch("slow_list")
    with McpServers([other.raw("slow", deadline=1.0), folder.raw("fine")]) as servers:
        assert [tool.name for tool in servers.tools()] == ["mcp_fine_act"]
        assert "not ready within 1 s" in servers.reports()[0].why


def test_a_server_that_never_stops_talking_stops_no_other(folder, other):
    """Its lines are read in turn with everything else."""
    with McpServers([other.raw("loud"), folder.raw("fine")]) as servers:
        loud, fine = servers.tools()
        calling = Calling(loud, do="flood")
        other.until("flood")

        assert outcome(fine, do="note", text="one").outcome is Outcome.TEXT
        servers.close()
        assert calling.ended().outcome is Outcome.UNKNOWN


def test_a_server_that_died_is_reported_before_anybody_calls_it(folder):
    """And it stands again once a call has reached a new process."""
    with McpServers([folder.raw()]) as servers:
        act = tool_named(servers, "mcp_raw_act")
        kill(int(outcome(act, do="pid").content))
        until(lambda: servers.reports()[0].state is ServerState.FAILED)
        assert "it ended" in servers.reports()[0].why
        assert servers.reports()[0].tools

        outcome(act, do="note")
        assert servers.reports()[0].state is ServerState.CONNECTED
        folder.touch("broken")
        kill(int(outcome(act, do="pid").content))
        outcome(act, do="note")
        assert "exit status 4" in servers.reports()[0].why


def test_servers_that_nobody_holds_any_more_end(folder):
    """Collected, in whatever thread, without making it wait."""
    servers = McpServers([folder.raw()])
    pid = int(outcome(tool_named(servers, "mcp_raw_act"), do="pid").content)
    assert not gone(pid)
    del servers
    gc.collect()

    until(lambda: gone(pid))
    assert gone(pid)


def test_the_end_of_a_process_ends_its_servers(folder, tmp_path):
    """Without a word of the host, and without noise."""
    program = """
import sys
sys.path[:0] = sys.argv[2:]
from pathlib import Path
from tests.mcp.world import Folder, outcome, tool_named
from nr_agent_core.adapters.mcp import McpServers
servers = McpServers([Folder(Path(sys.argv[1])).raw()])
print(outcome(tool_named(servers, "mcp_raw_act"), do="pid").content)
"""
    command = [sys.executable, "-W", "error", "-c", program, str(folder.path), *sys.path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)

    assert done.stderr == ""
    until(lambda: gone(int(done.stdout)))


def test_too_many_tools_are_refused_not_cut(folder):
    """Of a server that lists more than 500 tools nothing is taken."""
    folder.lists(*(tool_of(f"tool_{number}") for number in range(501)))
    with McpServers([folder.raw()]) as servers:
        assert servers.tools() == ()
        assert "more than 500 tools" in servers.reports()[0].why


def test_what_no_list_is_fails_the_server(folder):
    """A list that is no list is the server's failure, told in few words."""
    (folder.path / "listed.json").write_text(json.dumps({"tools": 1}), encoding="utf-8")
    with McpServers([folder.raw()]) as servers:
        assert servers.tools() == ()
        assert len(servers.reports()[0].why) <= 200


def test_a_server_that_failed_once_is_connected_once_it_works(folder):
    """It is asked again by the next call, and its report says so."""
    (folder.path / "listed.json").write_text(json.dumps({"tools": 1}), encoding="utf-8")
    with McpServers([folder.raw()]) as servers:
        assert servers.tools() == ()
        assert servers.reports()[0].state is ServerState.FAILED
        folder.lists(tool_of("act"))

        assert [tool.name for tool in servers.tools()] == ["mcp_raw_act"]
        assert (servers.reports()[0].state, servers.reports()[0].why) == (ServerState.CONNECTED, "")


def test_registered_tools_stay_what_they_were(folder):
    """The same tools come from every call, so a chat may be made anew for each request."""
    with McpServers([folder.raw()]) as servers:
        first = servers.tools()
        folder.lists(tool_of("another"))

        assert servers.tools() == first
