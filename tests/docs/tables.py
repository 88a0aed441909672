"""
Tables of the documents that are held against the code.

A page marks a block with ``<!-- table: name -->`` and ``<!-- end -->``. What the code knows is computed;
what only a person can say (a cell of None) is kept as it stands in the page, row by row. A row that
nobody has described yet gets the cell ``TODO``, which the test refuses.
"""

import re
from collections.abc import Callable, Mapping, Sequence

BLOCK = re.compile(
    r"(?P<head><!-- table: (?P<name>[\w:.-]+) -->\n)(?P<body>.*?)(?P<end><!-- end -->)", re.DOTALL | re.ASCII
)
CELL = re.compile(r"(?<!\\)\|")
TODO = "TODO"

Row = Sequence[str | None]
Block = Callable[[str], str]


def table(head: Sequence[str], rows: Sequence[Row]) -> Block:
    """
    A block that is a table, as a function of what the page holds now.

    The first cell of a row is its key. A cell of None is written by hand: it is taken from the row
    with this key.
    """

    def render(now: str) -> str:
        known = {row[0]: row for row in cells(now) if len(row) == len(head)}
        lines = [line_of(head), line_of(["---"] * len(head))]
        for row in rows:
            key = str(row[0])
            by_hand = known.get(key, [TODO] * len(head))
            lines.append(line_of([by_hand[at] if cell is None else cell for at, cell in enumerate(row)]))
        return "\n".join(lines) + "\n"

    return render


def fixed(text: str) -> Block:
    """A block that is computed as a whole."""
    return lambda _: text if text.endswith("\n") else text + "\n"


def cells(body: str) -> list[list[str]]:
    """The rows of a table that stands in a page, without its head."""
    rows = [line for line in body.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in CELL.split(line.strip().strip("|"))] for line in rows[2:]]


def line_of(row: Sequence[str]) -> str:
    """One row as it is written."""
    return f"| {' | '.join(row)} |"


def code(text: str) -> str:
    """*text* as code inside a cell."""
    return f"`{text}`".replace("|", "\\|")


def names_in(page: str) -> list[str]:
    """The names of the blocks of a page."""
    return [match["name"] for match in BLOCK.finditer(page)]


def rewritten(page: str, blocks: Mapping[str, Block]) -> str:
    """
    *page* with each of its blocks as the code has it now.

    Raises:
        KeyError: the page marks a block that nobody computes.
    """

    def block(match: re.Match[str]) -> str:
        return match["head"] + blocks[match["name"]](match["body"]) + match["end"]

    return BLOCK.sub(block, page)
