"""
Calls of tools of real servers over stdio: what their end means (T4).
"""

import os
import signal
import threading

import pytest

from nr_agent_core.adapters.mcp import McpServers
from nr_agent_core.domain.tool_result import Outcome
from tests.mcp.world import READING, Calling, gone, kill, outcome, tool_named, tool_of, until


@pytest.fixture
def servers(folder):
    """One raw server: a tool that writes, one that its operator declares reading, and one that tells its process."""
    folder.lists(tool_of("act"), tool_of("read"), tool_of("pid"))
    with McpServers([folder.raw(tools={"read": READING, "pid": READING})]) as servers:
        yield servers


@pytest.fixture
def act(servers):
    """The tool that writes."""
    return tool_named(servers, "mcp_raw_act")


@pytest.fixture
def read(servers):
    """The tool that its operator declares reading."""
    return tool_named(servers, "mcp_raw_read")


def pid_of(servers):
    """The server's process."""
    return int(outcome(tool_named(servers, "mcp_raw_pid")).content)


def test_a_call_brings_the_text_of_the_answer(act, folder):
    """A success is a text (T4)."""
    result = outcome(act, do="note", text="one")

    assert (result.outcome, result.content) == (Outcome.TEXT, "noted")
    assert folder.effects == ["one"]


def test_what_the_server_calls_an_error_is_one(act):
    """``isError`` is an error result with the server's text (T4)."""
    result = outcome(act, do="fail")

    assert (result.outcome, result.content) == (Outcome.ERROR, "the disk is full")


def test_a_server_killed_before_the_call_is_started_again(servers, act, folder):
    """A death that is noticed costs nothing: the call goes to a new process (T4)."""
    first = pid_of(servers)
    kill(first)

    assert outcome(act, do="note", text="one").outcome is Outcome.TEXT
    assert folder.effects == ["one"]
    assert pid_of(servers) != first


def test_a_server_that_cannot_be_started_again_was_sent_nothing(servers, act, folder):
    """Before the call is sent, every failure is an error: nothing was written (T4)."""
    folder.touch("broken")
    kill(pid_of(servers))

    result = outcome(act, do="note", text="one")

    assert result.outcome is Outcome.ERROR
    assert "not sent" in result.content
    assert folder.effects == []


@pytest.mark.parametrize("written", [True, False])
def test_a_server_that_dies_during_a_write_leaves_it_unknown(servers, act, folder, written):
    """Whether or not it wrote: nobody here can tell (T4). The next call reaches a new process."""
    result = outcome(act, do="note_and_die" if written else "die", text="one")

    assert result.outcome is Outcome.UNKNOWN
    assert folder.effects == (["one"] if written else [])
    assert outcome(act, do="note", text="two").outcome is Outcome.TEXT


def test_a_server_killed_from_outside_during_a_write_leaves_it_unknown(servers, act, folder):
    """As above; what came before the call stays known (T4)."""
    pid = pid_of(servers)
    calling = Calling(act, do="wait")
    folder.until("began")
    kill(pid)

    assert calling.ended().outcome is Outcome.UNKNOWN


def test_a_server_killed_after_its_answer_changes_nothing(servers, act, folder):
    """What is known stays known (T4)."""
    pid = pid_of(servers)
    result = outcome(act, do="note", text="one")
    kill(pid)

    assert result.outcome is Outcome.TEXT
    assert folder.effects == ["one"]


def test_a_reading_tool_that_is_lost_is_an_error(read):
    """It only reads, says its operator: nothing can have been written (T4)."""
    assert outcome(read, do="die").outcome is Outcome.ERROR


def test_an_answer_behind_the_deadline_is_still_brought(act, folder):
    """The call is not given up at its deadline: the run says unknown then, and gets the outcome late (R7)."""
    calling = Calling(act, deadline=0.3, do="wait")
    folder.until("began")
    threading.Event().wait(0.5)  # past the deadline
    assert calling.result is None
    folder.touch("go")

    assert calling.ended().outcome is Outcome.TEXT


def test_a_deadline_that_passes_before_the_call_is_sent_is_an_error(folder):
    """Connecting is part of the one deadline; nothing was sent (T4)."""
    with McpServers([folder.raw()]) as servers:
        act = tool_named(servers, "mcp_raw_act")
        kill(int(outcome(act, do="pid").content))
        folder.touch("slow_list")

        result = outcome(act, deadline=0.5, do="note", text="one")

        assert result.outcome is Outcome.ERROR
        assert folder.effects == []
        folder.touch("go")
        assert outcome(act, do="note", text="two").outcome is Outcome.TEXT


@pytest.mark.parametrize(("reads", "expected"), [(False, Outcome.UNKNOWN), (True, Outcome.ERROR)])
def test_an_answer_that_is_none_is_no_success(act, read, folder, reads, expected):
    """Lines that are no message are passed over, a result of no known form leaves a write unknown (T4)."""
    assert outcome(read if reads else act, do="garbage").outcome is expected
    assert outcome(act, do="garbage_first").content == "fine after all"


def test_a_huge_answer_comes_whole_and_a_boundless_one_ends_the_connection(act, folder):
    """The run bounds what the model reads (T9); the adapter bounds what a server can make it hold."""
    assert len(outcome(act, do="huge", size=2_000_000).content) == 2_000_000
    assert outcome(act, do="huge", size=6_000_000).outcome is Outcome.UNKNOWN
    assert outcome(act, do="note", text="on").outcome is Outcome.TEXT


def test_what_is_no_text_is_named_at_the_start(act):
    """Counted, and named from our own list; what the server calls it is not repeated (T4)."""
    result = outcome(act, do="pictures")

    assert result.content == "[Not shown here, because it is no text: 2 images, 1 link to a resource.]\nsee"
    assert outcome(act, do="structured").content == '{"answer": 42}'


def test_calls_at_the_same_time_share_the_session(folder):
    """One waits, another is answered: by a server that can, over one connection."""
    with McpServers([folder.notes()]) as servers:
        calling = Calling(tool_named(servers, "mcp_notes_wait"))
        folder.until("began")

        assert outcome(tool_named(servers, "mcp_notes_note"), text="one").content == "noted: one"
        folder.touch("go")
        assert calling.ended().content == "at last"


def test_an_exception_of_an_sdk_server_is_an_error(folder):
    """The SDK tells nothing but that it failed (T4)."""
    with McpServers([folder.notes()]) as servers:
        assert outcome(tool_named(servers, "mcp_notes_fail")).outcome is Outcome.ERROR
        assert "1 image" in outcome(tool_named(servers, "mcp_notes_picture")).content


# -- changed lists ---------------------------------------------------------------------------------


def test_a_tool_that_is_gone_is_not_called(servers, act, folder):
    """After a restart the server lists something else: the call that was approved is not sent (P7)."""
    kill(pid_of(servers))
    folder.lists(tool_of("another"))

    result = outcome(act, do="note", text="one")

    assert (result.outcome, folder.effects) == (Outcome.ERROR, [])
    assert "administrator" in result.content


def test_a_tool_that_takes_something_else_now_is_not_called(servers, act, folder):
    """The same name with another schema is another tool than the one that was registered (P7)."""
    kill(pid_of(servers))
    folder.lists(tool_of("act", inputSchema={"type": "object", "properties": {"amount": {"type": "number"}}}))

    assert outcome(act, do="note", text="one").outcome is Outcome.ERROR
    assert folder.effects == []


# -- the end ---------------------------------------------------------------------------------------


def test_closing_ends_the_processes_and_the_thread(folder):
    """Nothing is left behind, and a call afterwards is an error."""
    servers = McpServers([folder.raw()])
    act = tool_named(servers, "mcp_raw_act")
    pid = int(outcome(act, do="pid").content)
    servers.close()
    servers.close()

    assert gone(pid)
    assert not [thread for thread in threading.enumerate() if thread.name == "nr_agent_core-mcp"]
    assert outcome(act, do="note", text="one").outcome is Outcome.ERROR
    assert folder.effects == []


def test_closing_leaves_a_call_at_work_unknown(folder):
    """It was sent, and nobody waits for its answer any more (T4)."""
    servers = McpServers([folder.raw()])
    calling = Calling(tool_named(servers, "mcp_raw_act"), do="wait")
    folder.until("began")
    servers.close()

    assert calling.ended().outcome is Outcome.UNKNOWN


def test_a_child_of_a_fork_has_sessions_of_its_own(servers, act, folder):
    """The child starts a server for itself; the parent's goes on as it was."""
    of_parent = pid_of(servers)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.write(writing, outcome(act, do="pid").content.encode())
            servers.close()
            status = 0
        finally:
            os._exit(status)
    os.close(writing)
    _, status = os.waitpid(child, 0)
    with os.fdopen(reading) as told:
        of_child = int(told.read())

    assert os.waitstatus_to_exitcode(status) == 0
    assert of_child not in {of_parent, os.getpid()}
    until(lambda: gone(of_child))
    assert pid_of(servers) == of_parent


def test_a_server_that_ignores_its_end_is_killed(folder):
    """First its input is closed, then it is told, then it is killed."""
    servers = McpServers([folder.raw()])
    act = tool_named(servers, "mcp_raw_act")
    pid = int(outcome(act, do="pid").content)
    os.kill(pid, signal.SIGSTOP)
    assert not gone(pid)
    servers.close()

    until(lambda: gone(pid))
    assert gone(pid)
