"""
What a document quotes from a file is there: such blocks are run where their file is.
"""

import re
import textwrap
from pathlib import Path

import pytest

from tests.docs.test_examples import DOCUMENTS, FENCE, ROOT, name_of

QUOTED = re.compile(r"python no-run: from (?P<path>\S+)")
BLOCKS = [
    pytest.param(ROOT / found["path"], match["body"], id=f"{name_of(document)}:{number}")
    for document in DOCUMENTS
    for number, match in enumerate(FENCE.finditer(document.read_text(encoding="utf-8")), 1)
    if (found := QUOTED.fullmatch(match["info"].strip()))
]


@pytest.mark.parametrize(("path", "body"), BLOCKS)
def test_a_quoted_block_is_in_its_file(path: Path, body: str) -> None:
    """Word for word, but for how far it is indented."""
    lines = textwrap.dedent(body).strip("\n")
    margins = ("", "    ", "        ")

    assert any(textwrap.indent(lines, margin) in path.read_text(encoding="utf-8") for margin in margins)


def test_there_are_quoted_blocks() -> None:
    """The documents of the example quote it."""
    assert {path.parts[-1] for path, *_ in (block.values for block in BLOCKS)} >= {"connections.py", "rights.py"}
