"""
Where the sentence around a place begins and ends, and what line it stands in.

Nothing is cut in advance: an answer is segmented around hits only. Hits come in the order of the text, so the line at
hand is kept and every character is looked at a bounded number of times.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from nr_agent_core.domain.claims.normalise import Reading

_CLOSING: Final = "[\"'\u201c\u201d\u300d\uff09)\\]*_]*"
_STOP: Final = re.compile(
    "[.!?\u2026\u3002\uff01\uff1f\U0001f300-\U0001faff](?:"
    f"(?<=[.!?\u2026])[.!?\u2026]*{_CLOSING}(?=\\s|$)"
    f"|(?<=[\u3002\uff01\uff1f])[\u3002\uff01\uff1f]*{_CLOSING}"
    '|(?<=[\\w.!?)"] [\U0001f300-\U0001faff])(?=\\s))'
)
"""Begins with one set of signs, so that the rest is tried at those only."""
BULLET: Final = re.compile("[ \t]*(?:[-*+\u2022\u2013\u2014\u00b7\u25aa\u25cf]|\\d{1,3}[.)]|#{1,6})[ \t]+")
_ASKS: Final = frozenset("?\uff1f")
_PICTURES: Final = "\U0001f300"
"""From here on signs are pictures; one between a sentence and a capital letter stands for a full stop."""
_LONGEST_ABBREVIATION: Final = 8
_NOUN: Final = 4
"""A word before a number that is this long is no article or preposition."""
_LONGEST: Final = 20_000
"""What is longer is no sentence: it is read in parts, so that time and memory stay bounded."""


class Line(NamedTuple):
    """
    A line of the text, or several that are wrapped parts of one.
    """

    start: int
    end: int
    body: int
    """Where the text begins behind a bullet, a number or a heading's marks."""

    @property
    def listed(self) -> bool:
        """Whether it is an item of a list or a heading."""
        return self.body > self.start


class Span(NamedTuple):
    """
    A sentence, or a cell of a table row.
    """

    start: int
    end: int
    question: bool
    line: Line
    cell: int
    """Number of the cell in its row, or -1 outside a table."""


class Segments:
    """
    Finds sentences of one normalised text.
    """

    __slots__ = ("_abbreviations", "_cased", "_line", "_next", "_spans", "text")

    def __init__(self, reading: Reading, abbreviations: frozenset[str]) -> None:
        self.text = reading.text
        self._cased = reading.cased
        self._abbreviations = abbreviations
        self._line = Line(0, -1, 0)
        self._spans: list[Span] = []
        self._next = 0

    def around(self, position: int) -> Span:
        """
        The sentence that holds *position*. Ask in rising order.
        """
        if position >= self._line.end or position < self._line.start:
            self._line = self._line_around(position)
            self._spans = self.sentences(self._line)
            self._next = 0
        while self._next < len(self._spans) - 1 and self._spans[self._next].end <= position:
            self._next += 1
        return self._spans[self._next]

    def before(self, back: int) -> Span | None:
        """
        The sentence *back* sentences before the last one asked for, in its line.
        """
        return self._spans[self._next - back] if self._next >= back else None

    def beside(self, reach: int) -> tuple[list[Span], list[Span]]:
        """
        Up to *reach* sentences before and behind the last one asked for, in its line.
        """
        at = self._next
        return self._spans[max(at - reach, 0) : at], self._spans[at + 1 : at + 1 + reach]

    def line_above(self, line: Line) -> Line | None:
        """
        The nearest line above that is not empty.
        """
        end = _stripped(self.text, line.start)
        return self._single(end - 1) if end > 0 else None

    def heads(self, row: Line) -> bool:
        """
        Whether *row* is the head of a table: a rule of dashes follows.
        """
        end = self.text.find("\n", row.end + 1)
        below = self.text[row.end + 1 : len(self.text) if end < 0 else end]
        return "-" in below and below.startswith("|") and not below.strip("|-: \t")

    def sentences(self, line: Line) -> list[Span]:
        """
        The sentences of *line*, or its cells if it is a row of a table.
        """
        text = self.text
        if text.startswith("|", line.body):
            return self._cells(line)
        spans: list[Span] = []
        start = line.body
        for stop in _STOP.finditer(text, line.body, line.end):
            at, end = stop.span()
            if end - at == 1 and text[at] == "." and self._goes_on(at, line.end):
                continue
            if text[at] >= _PICTURES and not self._cased[end + 1 : end + 2].isupper():
                continue
            spans.append(Span(start, end, not _ASKS.isdisjoint(stop[0]), line, -1))
            start = end
        if start < line.end or not spans:
            spans.append(Span(start, line.end, False, line, -1))
        if line.end - line.body > _LONGEST:
            return [part for span in spans for part in self._parts(span)]
        return spans

    def _parts(self, span: Span) -> Iterator[Span]:
        """
        *span*, cut behind a semicolon, a comma or at least a blank if it is too long for a sentence.
        """
        start = span.start
        while span.end - start > _LONGEST:
            near = start + _LONGEST // 2, start + _LONGEST
            end = next((at for at in (self.text.rfind(sign, *near) + 1 for sign in ";, ") if at), near[1])
            yield span._replace(start=start, end=end)
            start = end
        yield span._replace(start=start)

    def _cells(self, line: Line) -> list[Span]:
        spans: list[Span] = []
        start = line.body + 1
        while start < line.end:
            end = self.text.find("|", start, line.end)
            end = line.end if end < 0 else end
            spans.append(Span(start, end, False, line, len(spans)))
            start = end + 1
        return spans or [Span(line.body, line.end, False, line, 0)]

    def _goes_on(self, stop: int, end: int) -> bool:
        """
        Whether the full stop at *stop* closes an abbreviation or an ordinal number instead of a sentence.
        """
        head = self.text[max(0, stop - _LONGEST_ABBREVIATION - 1) : stop]
        word = head.rpartition(" ")[2]
        if not word.isalnum():
            # Something else than a blank stands before the word.
            start = len(head)
            while start > 0 and head[start - 1].isalnum():
                start -= 1
            word = head[start:]
        if word.isdigit() and len(word) <= 2:
            return stop + 2 < end and self.text[stop + 2].isalpha() and not self._closes(stop, head, word)
        return (len(word) == 1 and word.isalpha()) or word in self._abbreviations

    def _closes(self, stop: int, head: str, number: str) -> bool:
        """
        Whether *number* ends a sentence as the number of a thing: "on line 3. The ..."; articles stand before ordinals.
        """
        before = head[: -len(number)]
        return (
            before.endswith(" ")
            and before[-_NOUN - 1 : -1].isalpha()
            and len(before) > _NOUN
            and self._cased[stop + 2].isupper()
        )

    def _line_around(self, position: int) -> Line:
        """
        The line of *position* together with the lines wrapped onto it.
        """
        text = self.text
        line = self._single(position)
        start, end = line.start, line.end
        while start > 0 and start > position - 2000 and self._wrapped(start - 1):
            start = text.rfind("\n", 0, start - 1) + 1
        while end < len(text) and end < position + 20000 and self._wrapped(end):
            following = text.find("\n", end + 1)
            end = len(text) if following < 0 else following
        return self._made(start, end)

    def _wrapped(self, newline: int) -> bool:
        """
        Whether the line behind *newline* goes on with the sentence of the one before.
        """
        before, after = self.text[newline - 1 : newline], self._cased[newline + 1 : newline + 2]
        written = self._cased[newline] == "\n"
        return written and after.islower() and (before.isalnum() or before in (",", " "))

    def _single(self, position: int) -> Line:
        start = self.text.rfind("\n", 0, position) + 1
        end = self.text.find("\n", position)
        return self._made(start, len(self.text) if end < 0 else end)

    def _made(self, start: int, end: int) -> Line:
        bullet = BULLET.match(self.text, start, end)
        return Line(start, end, bullet.end() if bullet else start)


def _stripped(text: str, end: int) -> int:
    """
    The end of the text before *end* without white space.
    """
    while end > 0 and text[end - 1].isspace():
        end -= 1
    return end
