"""
What the README and the how-tos say that their code prints is what it prints.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)

PROMISED = {
    "README.md": ["The draft is saved as pages:42.", "It is saved."],
    "docs/how-to/embed-a-chat.md": [
        "SendOutcome.ACCEPTED RunStatus.WAITING_FOR_APPROVAL",
        "awaiting_approval None",
        r"A decision is still needed, and somebody else has to take it\. A message does not decide\.",
        "held .+",
        "create_page New draft 'Team'",
        "Team completed",
        "chatNotConfigured .*Administration.*",
        "providerNotConfigured",
        r"\(\)",
        r"\(\) \(\) \(\) \(\)",
    ],
    "docs/how-to/label-ai-written-records.md": [
        r"\{'pages:7 updated'\}",
        "1 1",
        r'\{"record": "pages:7", "what": "updated", "run": "\w+", "for": "root", "approved by": \["root"\]\}',
    ],
}


@pytest.mark.parametrize("document", PROMISED)
def test_a_document_prints_what_it_says(document: str, tmp_path: Path) -> None:
    """A comment behind a print is a promise; each line of the output is held against it."""
    program = "\n".join(BLOCK.findall((ROOT / document).read_text(encoding="utf-8")))

    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONUTF8": "1"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    for line, promised in zip(done.stdout.splitlines(), PROMISED[document], strict=True):
        assert re.fullmatch(promised, line), (line, promised)
