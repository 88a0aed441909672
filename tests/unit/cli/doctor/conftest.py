"""
Examines a store with ``nr-agent-core doctor``, in this process.
"""

import json
from collections.abc import Callable

import pytest

from nr_agent_core.cli import main


class Said:
    """What one examination said."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def findings(self) -> list[tuple[str, str, str]]:
        """Level, check and text of each finding."""
        return [(each["level"], each["check"], each["text"]) for each in json.loads(self.out)["findings"]]

    def bad(self) -> list[tuple[str, str]]:
        """Level and check of what wants attention."""
        return [(level, check) for level, check, _ in self.findings if level in {"warning", "error"}]

    def text(self, check: str) -> str:
        """All that was found out about one thing."""
        return "\n".join(text for _, name, text in self.findings if name == check)


Doctor = Callable[..., Said]


@pytest.fixture
def doctor(capsys: pytest.CaptureFixture[str]) -> Doctor:
    """Examines a store, in this process."""

    def examine(*words: object, form: str = "json") -> Said:
        code = main(["doctor", *map(str, words), "--format", form])
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err + captured.out
        return Said(code, captured.out, captured.err)

    return examine
