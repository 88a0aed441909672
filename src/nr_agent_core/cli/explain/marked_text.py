"""
A text with its claims marked in place, for a terminal, for a file and for a program.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, TextIO

from nr_agent_core.cli.audit.visible_text import visible
from nr_agent_core.domain.claims import Claim

Write = Callable[[str, Sequence[Claim], TextIO], None]

_CLAIM: Final = "bold red"
_NO_CLAIM: Final = "dim yellow"


def pieces(text: str, found: Sequence[Claim]) -> Iterator[tuple[str, Claim | None]]:
    """
    *text* in order, cut into what was looked at and what stands between.
    """
    done = 0
    for claim in found:
        if claim.start < done:
            continue
        if claim.start > done:
            yield text[done : claim.start], None
        yield text[claim.start : claim.end], claim
        done = claim.end
    if done < len(text):
        yield text[done:], None


def line_of(claim: Claim, text: str) -> str:
    """
    One line about a place: what stands there, of which language, and what was made of it.
    """
    what = f"no claim: {claim.rejected_by}" if claim.rejected_by else f"claim: {claim.why}"
    return f"{claim.start}-{claim.end} {visible(text[claim.start : claim.end])!r} ({claim.language}) {what}"


def write_plain(text: str, found: Sequence[Claim], stream: TextIO) -> None:
    """
    Claims stand in ``[[ ]]``, other places in ``[ ]``; a line on each below.
    """
    for piece, claim in pieces(text, found):
        shown = visible(piece)
        stream.write(shown if claim is None else f"[{shown}]" if claim.rejected_by else f"[[{shown}]]")
    stream.write("\n\n")
    for claim in found:
        stream.write(line_of(claim, text) + "\n")
    if not found:
        stream.write("nothing here was looked at: no word of it claims\n")


def write_terminal(text: str, found: Sequence[Claim], stream: TextIO) -> None:
    """
    Claims are bold and red, other places dim and yellow; a line on each below.
    """
    from rich.console import Console
    from rich.text import Text

    console = Console(file=stream, highlight=False)
    marked = Text()
    for piece, claim in pieces(text, found):
        marked.append(visible(piece), "" if claim is None else _NO_CLAIM if claim.rejected_by else _CLAIM)
    console.print(marked, "", sep="\n")
    for claim in found:
        console.print(Text(line_of(claim, text), _NO_CLAIM if claim.rejected_by else _CLAIM))
    if not found:
        console.print("nothing here was looked at: no word of it claims")


def write_json(text: str, found: Sequence[Claim], stream: TextIO) -> None:
    """
    A list of places: ``start``, ``end``, ``text``, ``word``, ``language``, ``why`` and ``rejected_by``.
    """
    places = [
        {
            "start": claim.start,
            "end": claim.end,
            "text": text[claim.start : claim.end],
            "word": claim.word,
            "language": claim.language,
            "why": claim.why,
            "rejected_by": claim.rejected_by,
        }
        for claim in found
    ]
    json.dump(places, stream, ensure_ascii=False, indent=2)
    stream.write("\n")


WRITERS: Final[Mapping[str, Write]] = MappingProxyType(
    {"terminal": write_terminal, "plain": write_plain, "json": write_json}
)
"""By the name of the format."""
