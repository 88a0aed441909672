"""
The how-to says what the command does: its commands are run, and its options are all of them.
"""

import re
import shlex
from pathlib import Path

import pytest

from nr_agent_core.cli.command import ExitCode
from nr_agent_core.cli.program import COMMANDS, program_parser
from tests.unit.cli.conftest import ROOT, Run

HOW_TO = (ROOT / "docs" / "how-to" / "audit-transcripts.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```console\n\$ nr-agent-core (.*)\n((?:.*\n)*?)^```$", HOW_TO, re.MULTILINE)
SAMPLE = re.findall(r"^```json\n((?:.*\n)*?)^```$", HOW_TO, re.MULTILINE)


@pytest.mark.parametrize(("words", "expected"), BLOCKS, ids=[words for words, _ in BLOCKS])
def test_a_shown_command_prints_what_is_shown(words: str, expected: str, run: Run, tmp_path: Path) -> None:
    """Whoever types what the how-to shows sees what it shows."""
    (tmp_path / "chat.json").write_text(SAMPLE[0], encoding="utf-8")
    ended = run(*shlex.split(words.partition(" > ")[0]))

    shown = f"[ends with {ended.code}]\n" if ended.code else ended.out
    assert [line.rstrip() for line in shown.splitlines()] == expected.splitlines()
    assert ended.err == ""


def test_every_option_and_code_is_explained() -> None:
    """An option that nobody explains is not found."""
    (audit,) = (command for command in COMMANDS if command.name == "audit")
    parser = program_parser()
    audit.declare(parser)
    options = {
        option for option in re.findall(r"--[a-z-]+", parser.format_help()) if option not in {"--help", "--version"}
    }

    assert len(BLOCKS) == 2
    assert options >= {"--write-tools", "--policy", "--format", "--fail"}
    assert [option for option in sorted(options) if option not in HOW_TO] == []
    assert [code for code in ExitCode if f"| {int(code)} |" not in HOW_TO] == []
