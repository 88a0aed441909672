"""
Sentences of an answer, with their places; code blocks, quoted lines and quotations are blank in them.
"""

import bisect
import functools
import re
from collections.abc import Sequence
from typing import NamedTuple


class Sentence(NamedTuple):
    """
    A sentence, or a line that has no end of its own.
    """

    start: int
    end: int
    text: str
    """As it was written, but for what is no statement of the answer."""

    @property
    def question(self) -> bool:
        """Whether it asks."""
        return self.text.rstrip(" *_)\"'”“").endswith("?")


@functools.cache
def _patterns() -> tuple["re.Pattern[str]", ...]:
    return (
        re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1|\Z)", re.DOTALL | re.MULTILINE),
        re.compile(r"^[ \t]*>[^\n]*", re.MULTILINE),
        re.compile('„[^“”"\n]{0,400}[“”"]|“[^“”\n]{0,400}”|»[^«\n]{0,400}«|«[^»\n]{0,400}»|"[^"\n]{0,400}"'),
        # A full stop behind a letter, an abbreviation or an ordinal number ends nothing.
        re.compile(
            r"(?:(?<=\w{3})|(?<=[)\]\d*_\"'”“%€$`]))(?<!\s\d)(?<!\s\d\d)[.!?]+[\"'”“)\]*_]*(?=\s)|[!?]+(?=\s)|\n"
        ),
    )


def stated(text: str) -> str:
    """*text* without code blocks, quoted lines and quotations, at the same length."""
    fence, quoted, quotation, _ = _patterns()
    for mark, pattern in (("```", fence), ("~~~", fence), (">", quoted)):
        if mark in text:
            text = pattern.sub(_blank, text)
    if '"' in text or not text.isascii():
        text = quotation.sub(_hidden, text)
    return text


def place_in(parts: Sequence[Sentence], position: int) -> int:
    """The index of the sentence that holds *position*, or of the nearest before it."""
    return max(bisect.bisect_right(parts, position, key=lambda part: part.start) - 1, 0)


def sentences(text: str) -> list[Sentence]:
    """The sentences of a *text* that :func:`stated` gave, in order."""
    found: list[Sentence] = []
    start = 0
    for stop in _patterns()[-1].finditer(text):
        end = stop.end()
        if text[start:end].strip():
            found.append(Sentence(start, end, text[start:end]))
        start = end
    if text[start:].strip():
        found.append(Sentence(start, len(text), text[start:]))
    return found


def _blank(match: "re.Match[str]") -> str:
    return re.sub(r"[^\n]", " ", match[0])


def _hidden(match: "re.Match[str]") -> str:
    return "\ue000" * len(match[0])
