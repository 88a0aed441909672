"""
Servers that others publish, installed for these tests alone: a write through approval to the verdict,
and the server killed before, during and after the call. Run by ``make mcp``.
"""

import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from nr_agent_core.adapters.mcp import McpServers, ServerState, StdioServer
from nr_agent_core.domain.tool_result import Outcome, ToolEffect
from tests.mcp.desk import Desk
from tests.mcp.world import PATIENCE, kill, outcome, tool_named
from tests.npm import install, installed

pytestmark = pytest.mark.mcp_servers

FILES = "@modelcontextprotocol/server-filesystem"


@pytest.fixture(scope="module")
def files_program(tmp_path_factory):
    """The filesystem server from npm."""
    return installed(FILES, tmp_path_factory.mktemp("npm")) / "node_modules" / ".bin" / "mcp-server-filesystem"


@pytest.fixture(scope="module")
def git_program(tmp_path_factory):
    """The git server from PyPI, in an environment of its own."""
    if shutil.which("git") is None:
        pytest.skip("mcp-server-git is not tested: there is no git")
    home = tmp_path_factory.mktemp("pypi") / "venv"
    pip = [str(home / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "install", "-q", "mcp-server-git"]
    install("mcp-server-git", [sys.executable, "-m", "venv", str(home)], pip)
    return home / "bin" / "mcp-server-git"


def process_of(marker):
    """The child of this process whose command line holds *marker*."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])
                line = (entry / "cmdline").read_bytes().decode("utf-8", "replace")
            except OSError:
                continue
            if parent == os.getpid() and marker in line:
                return int(entry.name)
    raise LookupError(marker)


# -- files -----------------------------------------------------------------------------------------


@pytest.fixture
def shared(tmp_path):
    """The folder that the filesystem server may use."""
    (tmp_path / "shared").mkdir()
    return tmp_path / "shared"


@pytest.fixture
def files(files_program, shared):
    """The filesystem server over *shared*."""
    settings = StdioServer(name="files", command=str(files_program), arguments=[str(shared)], data_class="public")
    with McpServers([settings]) as servers:
        yield servers


def write(servers, path):
    """A desk where a write of one file waits."""
    return Desk(servers, "mcp_files_write_file", {"path": str(path), "content": "hello"})


def test_the_filesystem_server_is_understood_whole(files):
    """Every tool is registered; its honest hints are shown and decide nothing (T2)."""
    tools = {tool.name: tool for tool in files.tools()}
    (report,) = files.reports()
    hints = {tool.remote_name: tool.hints for tool in report.tools}

    assert report.state is ServerState.CONNECTED
    assert report.refused == {}
    assert hints["read_text_file"]["read_only"] is True
    assert tools["mcp_files_read_text_file"].effect is ToolEffect.NON_IDEMPOTENT_WRITE


def test_a_file_is_written_after_an_approval(files, shared):
    """Approved: the file is there, and the claim gets no notice (V1)."""
    desk = write(files, shared / "note.txt")
    assert not (shared / "note.txt").exists()
    desk.approve()

    assert (shared / "note.txt").read_text(encoding="utf-8") == "hello"
    assert (desk.outcomes, desk.notices) == ([Outcome.TEXT], [])


def test_a_file_elsewhere_is_refused_by_the_server(files, shared):
    """Its error is an error: nothing was saved, whatever the model claims (V1)."""
    desk = write(files, shared.parent / "outside.txt")
    desk.approve()

    assert not (shared.parent / "outside.txt").exists()
    assert (desk.outcomes, desk.notices) == ([Outcome.ERROR], ["nothingSaved"])


def test_the_filesystem_server_killed_before_the_call(files, shared):
    """It is started again, and the write is made once (T4)."""
    desk = write(files, shared / "note.txt")
    kill(process_of("mcp-server-filesystem"))
    desk.approve()

    assert (shared / "note.txt").exists()
    assert (desk.outcomes, desk.notices) == ([Outcome.TEXT], [])


def test_the_filesystem_server_killed_during_the_call(files, shared):
    """It hangs in the middle of an edit and dies there: unknown, and the chat says so (T4, V6)."""
    os.mkfifo(shared / "slow.txt")
    edits = [{"oldText": "a", "newText": "b"}]
    desk = Desk(files, "mcp_files_edit_file", {"path": str(shared / "slow.txt"), "edits": edits})
    thread = threading.Thread(target=desk.approve)
    thread.start()
    # The server has opened the pipe for reading once it can be opened for writing.
    writing = opened_for_writing(shared / "slow.txt")
    kill(process_of("mcp-server-filesystem"))
    thread.join(PATIENCE)
    os.close(writing)

    assert (desk.outcomes, desk.notices) == ([Outcome.UNKNOWN], ["writeOutcomeUnknown"])


def test_the_filesystem_server_killed_after_the_call(files, shared):
    """What is known stays known; the next write reaches a new process (T4)."""
    desk = write(files, shared / "one.txt")
    desk.approve()
    kill(process_of("mcp-server-filesystem"))
    assert (desk.outcomes, desk.notices) == ([Outcome.TEXT], [])

    again = write(files, shared / "two.txt")
    again.approve()
    assert (shared / "two.txt").exists()
    assert again.notices == []


def opened_for_writing(path):
    """A named pipe, as soon as somebody reads from it."""
    give_up = time.monotonic() + PATIENCE
    while True:
        try:
            return os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            assert time.monotonic() < give_up, "nobody reads from the pipe"
            time.sleep(0.005)


# -- git -------------------------------------------------------------------------------------------


@pytest.fixture
def repository(tmp_path):
    """A repository with one staged file."""
    home = tmp_path / "repository"
    home.mkdir()
    (home / "page.txt").write_text("hello", encoding="utf-8")
    git(home, "init", "--quiet")
    git(home, "config", "user.email", "nobody@example.org")
    git(home, "config", "user.name", "Nobody")
    git(home, "add", "page.txt")
    return home


def git(home, *arguments):
    """Git in *home*."""
    return subprocess.run(["git", "-C", str(home), *arguments], capture_output=True, text=True, check=False)


def commits(home):
    """The subjects of all commits."""
    return git(home, "log", "--format=%s").stdout.splitlines()


def hook(home, name, line):
    """A hook of the repository."""
    path = home / ".git" / "hooks" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{line}\n", encoding="utf-8")
    path.chmod(0o755)


@pytest.fixture
def gits(git_program):
    """The git server."""
    with McpServers([StdioServer(name="git", command=str(git_program), data_class="public")]) as servers:
        yield servers


def commit(servers, home):
    """A desk where a commit waits."""
    return Desk(servers, "mcp_git_git_commit", {"repo_path": str(home), "message": "A page"})


def test_a_commit_is_made_after_an_approval(gits, repository):
    """Approved: the commit is there, and the claim gets no notice (V1)."""
    desk = commit(gits, repository)
    assert commits(repository) == []
    desk.approve()

    assert commits(repository) == ["A page"]
    assert (desk.outcomes, desk.notices) == ([Outcome.TEXT], [])


def test_the_git_server_killed_before_the_call(gits, repository):
    """It is started again, and the commit is made once (T4)."""
    desk = commit(gits, repository)
    kill(process_of("mcp-server-git"))
    desk.approve()

    assert commits(repository) == ["A page"]
    assert (desk.outcomes, desk.notices) == ([Outcome.TEXT], [])


@pytest.mark.parametrize(("moment", "made"), [("pre-commit", []), ("post-commit", ["A page"])])
def test_the_git_server_killed_during_the_call(gits, repository, moment, made):
    """Before or after its effect: unknown either way, and never repeated (T4, P5)."""
    hook(repository, moment, "kill -9 $PPID")
    desk = commit(gits, repository)
    desk.approve()

    assert commits(repository) == made
    assert (desk.outcomes, desk.notices) == ([Outcome.UNKNOWN], ["writeOutcomeUnknown"])


def test_the_git_server_killed_after_the_call(gits, repository):
    """What is known stays known; a reading call reaches a new process (T4)."""
    desk = commit(gits, repository)
    desk.approve()
    kill(process_of("mcp-server-git"))

    assert (desk.outcomes, desk.notices) == ([Outcome.TEXT], [])
    assert "A page" in outcome(tool_named(gits, "mcp_git_git_log"), repo_path=str(repository)).content
