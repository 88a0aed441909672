"""
The guarantee under chaos, for as long as a slow test may take; the command line of :mod:`.chaos` runs longer.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.breaking.chaos import Chaos
from tests.breaking.chaos_world import PLACE
from tests.postgres_server import Server

KEY = "0" * 64


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_chaos_breaks_no_promise(tmp_path: Path, kind: str, request: pytest.FixtureRequest) -> None:
    """(P4, P5, R7, W3) At most once, nothing lost unseen, unknown said, no wrong notice, announced before stored."""
    if kind == "postgres":
        server: Server = request.getfixturevalue("postgres")
        (tmp_path / PLACE).write_text(json.dumps([server.dsn(), server.schema()]))
    chaos = Chaos(tmp_path, seconds=10.0, workers=4, seed=1)

    chaos.play()

    assert chaos.violations == []
    # It would prove nothing without deaths, overtaken calls and writes.
    assert min(chaos.figures[name] for name in ("kills", "stops", "recovered", "writes", "unknown said")) > 0


def effect(**facts: Any) -> dict[str, Any]:
    """A line of the host log: something really happened."""
    return {
        "what": "effect", "pid": 1, "tool": "pay", "effect": "non_idempotent_write", "key": KEY, "run": "r1",
        "call": "0.0", **facts,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("lines", "violation"),
    [
        ([effect(), effect()], "was executed 2 times"),
        ([effect()], "which no conversation knows"),
        ([{"what": "announced", "pid": 1, "run": "r1", "record": "pages:1", "kind": "created"}], "is not in the feed"),
        ([{"what": "raised", "pid": 1, "error": "OSError()"}], "raised: OSError()"),
    ],
)
def test_the_comparison_notices(tmp_path: Path, lines: list[dict[str, Any]], violation: str) -> None:
    """(P5, W3) What the host log tells and the streams do not is a violation."""
    chaos = Chaos(tmp_path, seconds=0.0, workers=0, seed=1)
    (tmp_path / "log").write_text("".join(json.dumps(line) + "\n" for line in lines))

    chaos.play()

    assert any(violation in found for found in chaos.violations)
