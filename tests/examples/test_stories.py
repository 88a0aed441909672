"""
The demo and the quickstart, run as a visitor runs them.
"""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import attrs
import pytest

from examples.site_chat.terminal import Terminal

ROOT = Path(__file__).resolve().parents[2]
MOST_SECONDS = 15.0
LONGEST_QUICKSTART = 25

pytestmark = pytest.mark.process


@attrs.frozen
class Played:
    """
    One performance: what was seen, how long it took, and which files it left.
    """

    returncode: int
    stdout: str
    stderr: str
    seconds: float
    left: list[Path]


def play(arguments: list[str], folder: Path, **environment: str) -> Played:
    """Runs Python in an empty directory, without input, warnings being errors."""
    began = time.monotonic()
    cwd, temporary = folder / "cwd", folder / "tmp"
    cwd.mkdir()
    temporary.mkdir()
    done = subprocess.run(
        [sys.executable, "-W", "error", *arguments],
        cwd=cwd,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]),
            "TMPDIR": str(temporary),
            **environment,
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    left = [*cwd.iterdir(), *temporary.iterdir()]
    return Played(done.returncode, done.stdout, done.stderr, time.monotonic() - began, left)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Played:
    """One performance of the demo, without a terminal."""
    return play(["-m", "examples.site_chat"], tmp_path_factory.mktemp("demo"))


def scene(demo: Played, letter: str) -> str:
    """The lines of one scene."""
    parts = re.split(r"^\((.)\) ", demo.stdout, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))[letter]


def test_every_scene_holds(demo: Played) -> None:
    """The demo ends well exactly when each of its six checked lines is true."""
    assert demo.returncode == 0, demo.stdout + demo.stderr
    assert demo.stdout.count("HOLDS: ") == 6
    assert "DOES NOT HOLD" not in demo.stdout
    assert "6 of 6 scenes hold" in demo.stdout


def test_the_demo_is_quiet_beside_its_story(demo: Played) -> None:
    """No traceback, warning or log line spoils the view."""
    assert demo.stderr == ""


def test_the_demo_is_plain_text_without_a_terminal(demo: Played) -> None:
    """In a pipe or a log there are no colour codes, and no line is broken in a word."""
    assert "\x1b" not in demo.stdout
    assert max(map(len, demo.stdout.splitlines())) <= 120


def test_a_false_claim_is_marked_and_told(demo: Played) -> None:
    """The reader sees the label in German, the model its own note."""
    assert "In diesem Schritt wurde nichts gespeichert" in scene(demo, "a")
    assert "[run note: nothingSaved]" in scene(demo, "a")


def test_the_two_setup_failures_are_shown_to_two_readers(demo: Played) -> None:
    """An editor gets a sentence, an administrator a link; the provider's text only the latter."""
    lines = scene(demo, "b").splitlines()
    of_editor = [line for line in lines if line.split()[:1] == ["editor"]]

    assert len(of_editor) == 2
    assert "chatNotConfigured" in scene(demo, "b")
    assert "providerNotConfigured" in scene(demo, "b")
    assert not any("API key" in line or "https" in line for line in of_editor)
    assert scene(demo, "b").count("-> https://site.example/admin/") == 2


def test_withheld_tools_are_in_the_prompt_and_in_the_answer(demo: Played) -> None:
    """The answer names what the prompt named."""
    assert scene(demo, "c").count("clear_page_cache") >= 2
    assert scene(demo, "c").count("publish_page") >= 2


def test_go_on_is_held_and_later_delivered(demo: Played) -> None:
    """Before the decision nothing moves; after it the record is named."""
    story = scene(demo, "d")

    assert story.index("held ") < story.index("other process") < story.index("delivered ")
    assert "pages:4" in story[story.index("delivered ") :]


def test_a_killed_write_is_unknown_and_single(demo: Played) -> None:
    """A real process was killed, another recovered the run, and there is one page."""
    assert "exit code -9" in scene(demo, "e")
    assert "write_outcome_unknown" in scene(demo, "e")
    assert "1 page(s) 'Preise'" in scene(demo, "e")


def test_labels_come_by_bus_and_feed(demo: Played) -> None:
    """What another process wrote is in the feed alone."""
    story = scene(demo, "f")

    assert len(re.findall(r"^ +bus ", story, re.MULTILINE)) == 2
    assert len(re.findall(r"^ +feed ", story, re.MULTILINE)) == 3


def test_the_demo_is_quick_and_leaves_nothing_behind(demo: Played) -> None:
    """Nobody waits for it, and it works in a temporary folder of its own."""
    assert demo.seconds < MOST_SECONDS
    assert demo.left == []


def test_a_terminal_without_umlauts_shows_the_story(tmp_path: Path) -> None:
    """What cannot be printed becomes a question mark and ends nothing."""
    tell = "from examples.site_chat.terminal import Terminal; Terminal().says('Anna', 'Über uns')"

    played = play(["-c", tell], tmp_path, PYTHONIOENCODING="ascii", TERM="dumb")

    assert played.returncode == 0, played.stderr
    assert played.stdout.split() == ["Anna", "?ber", "uns"]


def test_a_scene_that_does_not_hold_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    """The checked line is no decoration: one false fact is named and counted."""
    terminal = Terminal()

    terminal.holds("all is well", ("true", True), ("the moon is cheese", False))

    assert terminal.broken == ["all is well"]
    printed = " ".join(capsys.readouterr().out.split())
    assert printed == "DOES NOT HOLD: all is well (failed: the moon is cheese)"


def test_the_quickstart_tells_its_story(tmp_path: Path) -> None:
    """A false claim with its label, a held "go on", one write after the decision, the true answer."""
    played = play(["-m", "examples.quickstart"], tmp_path)

    assert played.returncode == 0, played.stderr
    claim, held, answer = played.stdout.splitlines()
    assert claim == "[0 pages] Done, the page is saved. <- Nothing was saved in this step"
    assert held.startswith("[0 pages] ")
    assert answer == "[1 pages] The draft pages:1 is saved."


def test_the_quickstart_is_short() -> None:
    """What a first embed needs fits into 25 lines of code."""
    source = (ROOT / "examples" / "quickstart.py").read_text(encoding="utf-8")
    without_docstrings = re.sub(r'""".*?"""', "", source, flags=re.DOTALL)
    code = [line for line in without_docstrings.splitlines() if line.strip() and not line.strip().startswith("#")]

    assert len(code) <= LONGEST_QUICKSTART
