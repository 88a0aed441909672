"""
``nr-agent-core explain`` as people and scripts meet it: real processes, exit codes.
"""

import importlib.util
import json
import subprocess
import sys

import pytest

from nr_agent_core.cli import main
from tests.unit.cli.conftest import Run, environment

pytestmark = pytest.mark.process

TEXT = "The page is not published. I have renamed it."


def test_claims_and_other_places_are_marked_in_place(run: Run) -> None:
    """Double brackets are claims, single ones are none and say why."""
    ended = run("explain", "--format", "plain", TEXT)

    assert ended.code == 0
    assert ended.err == ""
    assert "The page is not [published]. I have [[renamed]] it." in ended.out
    assert "no claim: negated" in ended.out
    assert "claim: I have done" in ended.out


def test_the_terminal_shows_the_same_words(run: Run) -> None:
    """Without a terminal there are no colours, and nothing is lost."""
    ended = run("explain", TEXT)

    assert ended.code == 0
    assert TEXT in ended.out
    assert "negated" in ended.out


def test_a_program_gets_places(run: Run) -> None:
    """Spans are those of the text that was given."""
    places = json.loads(run("explain", "--format", "json", TEXT).out)

    assert [TEXT[place["start"] : place["end"]] for place in places] == ["published", "renamed"]
    assert [place["rejected_by"] for place in places] == ["negated", None]


def test_a_text_without_a_claiming_word_says_so(run: Run) -> None:
    """An empty answer would look like a failure."""
    assert "nothing here was looked at" in run("explain", "--format", "plain", "Good morning!").out
    assert "nothing here was looked at" in run("explain", "Good morning!").out
    assert json.loads(run("explain", "--format", "json", "Good morning!").out) == []


def test_standard_input_is_read() -> None:
    """A dash reads the text from a pipe."""
    command = [sys.executable, "-m", "nr_agent_core.cli", "explain", "--format", "plain", "-"]
    ended = subprocess.run(command, input=TEXT, capture_output=True, text=True, check=False, env=environment())

    assert ended.returncode == 0
    assert "[[renamed]]" in ended.stdout


@pytest.mark.parametrize("language", ["xx", ""])
def test_an_unknown_language_is_refused(run: Run, language: str) -> None:
    """What is allowed is named."""
    ended = run("explain", "--language", language, TEXT)

    assert ended.code == 2
    assert "allowed is" in ended.err
    assert ended.out == ""


def test_without_rich_another_format_is_advised(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The extra is named, and what needs none works."""
    find = importlib.util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "rich" else find(name))

    assert main(["explain", TEXT]) == 2
    assert "nr-agent-core[cli]" in capsys.readouterr().err
    assert main(["explain", "--format", "plain", "--policy", "seed_rule", TEXT]) == 0
