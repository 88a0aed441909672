"""
``nr-agent-core audit`` as people and scripts meet it: real processes, real files, exit codes.
"""

import json
import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from nr_agent_core.cli import main
from nr_agent_core.cli.program import COMMANDS
from tests.unit.cli.conftest import DATA, Run, environment

pytestmark = pytest.mark.process

CLOSING = "close_*"
CREATING = "create_page"


def version() -> str:
    """The version of the installed distribution; the source tree may be run without being installed."""
    try:
        return metadata.version("nr-agent-core")
    except metadata.PackageNotFoundError:
        return "unknown version (not installed)"


# ---------------------------------------------------------------------------------- the program


def test_help_names_every_command(run: Run) -> None:
    """Whoever asks for help sees which commands there are."""
    ended = run("--help")

    assert ended.code == 0
    assert ended.err == ""
    for command in COMMANDS:
        assert f"{command.name} " in ended.out
        assert command.summary.split()[0] in ended.out


def test_version_is_that_of_the_package(run: Run) -> None:
    """--version prints the version of the installed package."""
    ended = run("--version")

    assert (ended.code, ended.out, ended.err) == (0, f"nr-agent-core {version()}\n", "")


def test_the_module_is_the_script() -> None:
    """`python -m nr_agent_core.cli` does what the script does."""
    ended = subprocess.run(
        [sys.executable, "-m", "nr_agent_core.cli", "audit", "--help"],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert ended.returncode == 0
    assert "usage: nr-agent-core audit" in ended.stdout


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["unheard-of"],
        ["audit"],
        ["audit", "pages.json", "--policy", "other"],
        ["audit", "pages.json", "--format", "yaml"],
        ["audit", "pages.json", "--write-tools", ""],
        ["audit", "pages.json", "--write-tools", "a,,b"],
    ],
)
def test_wrong_arguments_end_with_two(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Usage errors are told on standard error, nothing is audited, and the code is 2."""
    with pytest.raises(SystemExit) as ended:
        main(words)

    out, err = capsys.readouterr()
    assert ended.value.code == 2
    assert out == ""
    assert "usage: nr-agent-core" in err


# ------------------------------------------------------------------------------- what it finds


def test_answers_are_held_against_the_writes_of_their_turn(run: Run) -> None:
    """A failed write leaves the claim unbacked; the next turn's write backs the same words (V6)."""
    ended = run("audit", "pages.json", "--format", "json", "--write-tools", CREATING)

    assert ended.notices == {"pages.json:1#6": "nothingSaved", "pages.json:1#10": None}
    first, second = ended.report["answers"]
    assert (first["wrote"], second["wrote"]) == (False, True)
    assert [claim["word"] for claim in first["claims"]] == [claim["word"] for claim in second["claims"]] != []
    for claim in first["claims"]:
        assert set(claim) == {"start", "end", "word", "language", "why"}
        assert "I have created the page."[claim["start"] : claim["end"]].lower() == claim["word"]
    assert ended.err == ""


def test_undeclared_tools_cannot_tell_and_are_named(run: Run) -> None:
    """Without --write-tools a turn with calls is not accused, and one line says which names to give (P4)."""
    ended = run("audit", "pages.json", "conversations.jsonl", "--format", "json")

    wrote = {entry["id"]: entry["wrote"] for entry in ended.report["answers"]}
    assert wrote == {"pages.json:1#6": None, "pages.json:1#10": None, "ticket-1#2": False, "ticket-2#4": None} | {
        "ticket-3#3": None
    }
    assert [id_ for id_, notice in ended.notices.items() if notice] == ["ticket-1#2"]
    assert ended.report["summary"]["undeclared"] == 4
    (line,) = ended.err.splitlines()
    assert "--write-tools" in line
    assert "find_pages, create_page, close_ticket" in line


def test_a_write_without_a_result_has_an_unknown_outcome(run: Run) -> None:
    """A writing call whose result is missing: neither saved nor not saved, and the reader is told (P4, V6)."""
    ended = run("audit", "conversations.jsonl", "--format", "json", "--write-tools", CLOSING)

    wrote = {entry["id"]: entry["wrote"] for entry in ended.report["answers"]}
    assert wrote == {"ticket-1#2": False, "ticket-2#4": True, "ticket-3#3": None}
    assert ended.notices == {
        "ticket-1#2": "nothingSaved",
        "ticket-2#4": None,
        "ticket-3#3": "writeOutcomeUnknown",
    }


def test_messages_on_lines_of_their_own_are_one_conversation(run: Run) -> None:
    """One message a line: the file is the conversation, and an answer is known by its line."""
    ended = run("audit", "messages.jsonl", "--format", "json", "--write-tools", "delete_page")

    assert ended.notices == {"messages.jsonl:2": None, "messages.jsonl:4": "nothingSaved"}
    assert "matches no tool" in ended.err
    assert "no turn shows a call" in ended.err


def test_lines_of_answers_state_or_show_their_writes(run: Run) -> None:
    """Where a line says whether its turn wrote, that is the truth; otherwise its calls tell."""
    ended = run("audit", "answers.jsonl", "--format", "json", "--write-tools", "save_*")

    assert [entry["wrote"] for entry in ended.report["answers"]] == [False, True, True, False, None]
    assert ended.notices == {"a-1": "nothingSaved", "a-2": None, "a-3": None, "a-4": "nothingSaved", "a-5": None}


@pytest.mark.parametrize("policy", ["asserted", "seed_rule"])
def test_the_policy_is_the_chosen_one(run: Run, policy: str) -> None:
    """The report says by which rule it was made, and the rule decides (V5)."""
    line = {"id": "q", "calls": [], "text": "Shall I have the page created?"}

    ended = run("audit", "-", "--format", "json", "--policy", policy, stdin=json.dumps(line).encode())

    assert ended.report["summary"]["policy"] == policy
    assert (ended.notices["q"] == "nothingSaved") is (policy == "seed_rule")


def test_the_summary_adds_up(run: Run) -> None:
    """Every answer is counted once as wrote, did not, or cannot tell, and flags are counted by code."""
    ended = run("audit", *sorted(path.name for path in DATA.iterdir()), "--format", "json", "--write-tools", CLOSING)

    summary, answers = ended.report["summary"], ended.report["answers"]
    assert summary["files"] == 4
    assert summary["answers"] == len(answers) == sum(summary["wrote"].values())
    assert summary["flagged"] == sum(summary["notices"].values()) == sum(1 for entry in answers if entry["notice"])
    assert summary["malformed"] == summary["unreadable"] == []


# ----------------------------------------------------------------------------------- exit codes


def test_flagged_answers_end_with_one_only_when_asked(run: Run) -> None:
    """--fail is for pipelines: 1 when something is flagged; without it a made audit is a success."""
    accused = ("audit", "answers.jsonl", "--format", "json")
    clean = ("audit", "-", "--format", "json", "--fail")

    assert run(*accused).code == 0
    assert run(*accused, "--fail").code == 1
    assert run(*clean, stdin=b'{"calls": [], "text": "Which page do you mean?"}').code == 0


def test_a_file_that_cannot_be_read_ends_with_two_and_the_others_are_audited(run: Run, tmp_path: Path) -> None:
    """An unreadable input is named on both ways and outranks --fail; what could be read is reported."""
    (tmp_path / "folder").mkdir()

    ended = run("audit", "missing.json", "folder", "answers.jsonl", "--format", "json", "--fail")

    assert ended.code == 2
    assert [entry["file"] for entry in ended.report["summary"]["unreadable"]] == ["missing.json", "folder"]
    assert ended.report["summary"]["answers"] == 5
    assert "missing.json: cannot be read: No such file" in ended.err
    assert "folder: cannot be read: " in ended.err


def test_standard_input_is_read(run: Run) -> None:
    """A dash is standard input, in any format."""
    ended = run("audit", "-", "--format", "json", stdin=(DATA / "messages.jsonl").read_bytes())

    assert list(ended.notices) == ["stdin:2", "stdin:4"]


def test_a_reader_who_leaves_early_gets_no_traceback(run: Run, tmp_path: Path) -> None:
    """`nr-agent-core audit ... | head` ends quietly."""
    line = b'{"calls": [], "wrote": false, "text": "x"}\n'
    (tmp_path / "long.jsonl").write_bytes(line * 20_000)

    with subprocess.Popen(
        [sys.executable, "-m", "nr_agent_core.cli", "audit", "long.jsonl", "--format", "json"],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        told = process.stderr.read()

    assert process.returncode == 141
    assert told == b""


# -------------------------------------------------------------------------------- broken input


def test_malformed_lines_are_named_and_cost_nothing_else(run: Run) -> None:
    """Every line that cannot be used is named with file, line and reason; the others are audited."""
    good = b'{"id": "%d", "calls": [], "text": "I have saved the page."}'
    lines = [
        b"\xef\xbb\xbf" + good % 1 + b"\r",
        b"",
        b"{broken",
        b'{"text": "caf\xe9"}',
        b"[" * 200_000,
        b'{"text": 5}',
        b'{"text": "x", "wrote": "false"}',
        b'{"text": "x", "calls": [3]}',
        b'"just a text"',
        b"NaN",
        b'{"n": ' + b"9" * 5000 + b"}",
        b'{"text": "x"} {"text": "y"}',
        b'{"neither": true}',
        good % 2,
    ]

    ended = run("audit", "-", "--format", "json", stdin=b"\n".join(lines))

    assert ended.code == 0
    assert ended.notices == {"1": "nothingSaved", "2": "nothingSaved"}
    summary = ended.report["summary"]
    assert [entry["line"] for entry in summary["malformed"]] == list(range(3, 14))
    assert summary["malformed_count"] == 11
    told = [line for line in ended.err.splitlines() if "left out" in line]
    assert [line.split(": ")[1] for line in told] == [f"stdin:{number}" for number in range(3, 14)]
    for entry in summary["malformed"]:
        assert entry["file"] == "stdin"
        assert entry["why"]


def test_an_input_without_answers_is_not_passed_over_in_silence(run: Run, tmp_path: Path) -> None:
    """An empty file is no error, and is named."""
    (tmp_path / "empty.jsonl").write_bytes(b"\xef\xbb\xbf\r\n")

    ended = run("audit", "empty.jsonl", "--format", "json", "--fail")

    assert ended.code == 0
    assert ended.report["answers"] == []
    assert ended.err == "nr-agent-core audit: empty.jsonl: holds no completed answer\n"


def test_a_huge_line_is_read(run: Run) -> None:
    """A line of some megabytes is an ordinary line."""
    line = {"id": "huge", "calls": [], "wrote": False, "text": "I have saved the page.", "more": "x" * 8_000_000}

    ended = run("audit", "-", "--format", "json", stdin=json.dumps(line).encode())

    assert ended.notices == {"huge": "nothingSaved"}


# ------------------------------------------------------------------------- reports for people


def test_the_table_marks_the_claimed_words_in_place(run: Run) -> None:
    """The table shows the figures and every flagged answer, its claimed words marked where they stand."""
    ended = run("audit", "pages.json", "--write-tools", CREATING)

    assert ended.code == 0
    assert re.search(r"completed answers\s+│\s+2 ", ended.out)
    assert "pages.json:1#6" in ended.out
    assert "pages.json:1#10" not in ended.out
    assert re.search(r"I .*>>.*created.*<<.* the page\.", ended.out)


def test_without_rich_the_table_says_how_to_get_it_in_one_line(run: Run) -> None:
    """Only the table needs the extra; nothing is half printed."""
    ended = run("audit", "pages.json", without="rich")

    assert (ended.code, ended.out) == (2, "")
    assert len(ended.err.splitlines()) == 1
    assert "pip install 'nr-agent-core[cli]'" in ended.err


@pytest.mark.parametrize("chosen", ["json", "markdown"])
def test_the_other_formats_work_without_rich(run: Run, chosen: str) -> None:
    """JSON and Markdown need nothing beside the core."""
    words = ("audit", "answers.jsonl", "--format", chosen, "--fail")

    assert run(*words, without="rich") == run(*words)
    assert run(*words).code == 1


@pytest.mark.parametrize("chosen", ["table", "markdown"])
def test_an_answer_cannot_steer_the_terminal(run: Run, chosen: str) -> None:
    """Control characters of answers, ids and reasons arrive as visible signs."""
    hostile = "\x1b]0;owned\x07 \x9b31m \u202e I have saved the page. [bold]:smile: \x08\r\x00"
    line = {"id": "\x1b[2Jid\nnext", "calls": [], "wrote": False, "text": hostile}

    ended = run("audit", "-", "--format", chosen, stdin=json.dumps(line).encode())

    assert set(re.findall(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", ended.out + ended.err)) == set()
    assert "\u241b]0;owned\u2407" in ended.out
    assert "[bold]:smile:" in ended.out
    assert "\u241b[2Jid\u240anext" in ended.out


def test_markdown_shows_an_answer_and_runs_nothing_of_it(run: Run) -> None:
    """An answer stands in a fence that it cannot close."""
    text = "I have saved the page.\n````\n# Heading\n![x](https://example.invalid/x.png)"
    line = {"id": "a`b|c", "calls": [], "wrote": False, "text": text}

    ended = run("audit", "-", "--format", "markdown", stdin=json.dumps(line).encode())

    lines = ended.out.splitlines()
    opening, closing = lines.index("`````text"), lines.index("`````")
    assert opening < lines.index("# Heading") < closing
    assert "## `` a`b|c ``" in lines


def test_any_encoding_of_the_output_will_do(tmp_path: Path) -> None:
    """A letter that the output cannot hold costs that letter, not the report."""
    line = {"id": "ü", "calls": [], "wrote": False, "text": "日本 I have saved the page. \ud800"}

    for chosen in ("json", "markdown", "table"):
        ended = subprocess.run(
            [sys.executable, "-m", "nr_agent_core.cli", "audit", "-", "--format", chosen],
            env=environment(PYTHONUTF8="0", PYTHONIOENCODING="ascii"),
            input=json.dumps(line).encode(),
            capture_output=True,
            timeout=60,
            check=False,
        )

        assert ended.returncode == 0, ended.stderr
        assert ended.stdout.isascii()


def test_a_file_name_of_another_encoding_is_shown(run: Run, tmp_path: Path) -> None:
    """A name that is no UTF-8 is a name all the same."""
    name = os.fsdecode(b"caf\xe9.jsonl")
    (tmp_path / name).write_bytes((DATA / "answers.jsonl").read_bytes() + b"{broken")

    assert run("audit", name, "--format", "markdown").code == 0
    ended = run("audit", name, "--format", "json")

    assert [entry["file"] for entry in ended.report["answers"]] == ["caf\ufffd.jsonl"] * 5
    assert "caf\\udce9.jsonl:6: left out" in ended.err
