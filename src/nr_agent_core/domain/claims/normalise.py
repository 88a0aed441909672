"""
A copy of an answer that is safe to match on, and the way back to the original (V4).

Letters are composed (NFC) and lower case, apostrophes straight, soft hyphens, emphasis inside a word and hyphenation
at a line end gone. What is no statement of the answer itself is blanked at the same length: fenced code, quoted
lines, quotations, inline code, addresses. Positions change only where something was deleted: a map is kept only then.
"""

import re
import unicodedata
from bisect import bisect_right
from typing import Final

QUOTE: Final = "\ue000"
"""Stands for each character of a quotation, of inline code or of an address."""

_CHANGED: Final = re.compile(
    "\\w[\u0300-\u036f]{1,8}"
    "|[\u00ad\u200b-\u200d\u2060\ufe0e\ufe0f\ufeff]"
    "|(?<=[^\\W\\d_])\\*{1,3}(?=[^\\W\\d_])"
    "|(?<=[^\\W\\d_])-[ ]?\\n[ \t]{0,8}(?=[^\\W\\d_])"
)
_STRAIGHT: Final = (
    ("\u2019", "'"),
    ("\u2018", "'"),
    ("\u02bc", "'"),
    ("\u00a0", " "),
    ("\u202f", " "),
    ("\u2028", "\n"),
    ("\u2029", "\n"),
    ("\u2011", "-"),
)
_FENCE: Final = re.compile(r"^[ \t]{0,8}(?:```|~~~)", re.MULTILINE)
_QUOTED_LINE: Final = re.compile(r"^[ \t]{0,8}>[^\n]*", re.MULTILINE)
_EMPHASIS: Final = re.compile(r"[*_](?:(?<![\w*].)(?<![-.~:/]_)(?=\w)|(?<=[\w.!?:].)(?![\w*]|[-.~]\w))")
_ADDRESS: Final = re.compile(r"://[^\s<>]*[\w/]")
_SUSPECT: Final = re.compile("[\u0300-\u036f\u00ad\u200b-\u200d\u2060\ufe0e\ufe0f\ufeff]")
_INSIDE: Final = re.compile("\\*(?<=[^\\W\\d_]\\*)\\*{0,2}(?=[^\\W\\d_])|-(?<=[^\\W\\d_]-)[ ]?\n")
_TAG: Final = re.compile(r"</?[a-z][^<>\n]{0,80}>")
_QUOTATION: Final = re.compile(
    '\u201e[^\u201e\u201c\u201d"\n]{0,400}[\u201c\u201d"]'
    "|\u201c[^\u201c\u201d\n]{0,400}\u201d"
    "|\u00ab[^\u00ab\u00bb\n]{0,400}\u00bb"
    "|\u00bb[^\u00ab\u00bb\n]{0,400}\u00ab"
    '|"[^"\n]{0,400}"'
    "|`[^`\n]{1,200}`"
)


_OPENING_QUOTES: Final = "\u201e\u201c\u00ab\u00bb"
_STRUCTURED: Final = re.compile(r"\s*[{\[]\s*[\"{\[]")
_STRUCTURE: Final = re.compile(r'"(?:[^"\\]|\\.)*(?:(?P<quote>")(?P<key>\s*:)?|\Z)|[{}\[\]]', re.DOTALL)
_HOLDING: Final = re.compile(r"\s*[{\[]\s*[\"{\[\d]")
_STATED: Final = 4
_SINGLE_QUOTED: Final = re.compile("'(?<!\\w')[^'\n]{1,60}'(?!\\w)")


class Reading:
    """
    The normalised copy of one text.

    Attributes:
        low: the copy, lower case; a character of it stands for one of the original or for a composed few.

        cased: the same before lower case.
    """

    __slots__ = ("_ends", "_shifts", "_text", "cased", "low")

    def __init__(self, original: str) -> None:
        self._ends: list[int] = []
        self._shifts: list[int] = []
        plain = original.replace("\r\n", " \n").replace("\r", "\n") if "\r" in original else original
        if not plain.isascii():
            for curly, straight in _STRAIGHT:
                plain = plain.replace(curly, straight)
        inside = ("*" in plain or "-\n" in plain or "- \n" in plain) and _INSIDE.search(plain)
        if inside or (not plain.isascii() and _SUSPECT.search(plain)):
            plain = self._changed(plain)
        self.cased = plain
        self.low = _lower(plain)
        self._text: str | None = None

    @property
    def text(self) -> str:
        """The copy in lower case, without what is no statement of its own; made when it is asked for."""
        if self._text is None:
            self._text = _blanked(self.low)
        return self._text

    def origin(self, position: int) -> int:
        """
        Where the character at *position* of the copy stands in the original.
        """
        known = bisect_right(self._ends, position)
        return position + (self._shifts[known - 1] if known else 0)

    def _changed(self, text: str) -> str:
        """
        *text* composed and without what is deleted; fills the map.
        """
        parts: list[str] = []
        done = length = 0
        for match in _CHANGED.finditer(text):
            old = match[0]
            new = unicodedata.normalize("NFC", old) if len(old) > 1 and old[0].isalnum() else ""
            parts += (text[done : match.start()], new)
            length += match.start() - done + len(new)
            done = match.end()
            self._ends.append(length)
            self._shifts.append(done - length)
        parts.append(text[done:])
        return "".join(parts)


def _lower(text: str) -> str:
    """
    *text* in lower case with every character in its place.
    """
    low = text.lower()
    if len(low) == len(text):
        return low
    return "".join(c if len(c.lower()) != 1 else c.lower() for c in text)


def _blanked(text: str) -> str:
    """
    *text* without what is no statement of its own, at the same length.
    """
    if _STRUCTURED.match(text):
        return _flattened(text)
    if "```" in text or "~~~" in text:
        text = _without_fences(text)
    if ">" in text:
        text = _QUOTED_LINE.sub(_spaces, text)
        text = _TAG.sub(_break, text)
    if "*" in text or "_" in text:
        text = text.replace("**", "  ").replace("__", "  ")
        if "*" in text or "_" in text:
            text = _EMPHASIS.sub(_spaces, text)
    if "://" in text:
        text = _ADDRESS.sub(_quote, text)
    if '"' in text or "`" in text or (not text.isascii() and any(mark in text for mark in _OPENING_QUOTES)):
        text = _QUOTATION.sub(_quote, text)
    if " '" in text or "('" in text:
        text = _SINGLE_QUOTED.sub(_quote, text)
    return text


def _flattened(text: str) -> str:
    """
    JSON as lines, at the same length: each value a line, keys blank but for those of the answer itself that lead into a
    list or an object that holds something. Short values deep inside are states of what is listed, not statements, and
    blank too.
    """
    depth = 0

    def line(match: re.Match[str]) -> str:
        nonlocal depth
        found = match[0]
        if found in "{[":
            depth += 1
        elif found in "}]":
            depth -= 1
        if match["key"] is not None and depth == 1 and _HOLDING.match(text, match.end()):
            return f"\n{found[1:].replace('_', ' ').replace(chr(34), ' ')}".ljust(len(found))
        if len(found) == 1 or match["key"] is not None:
            return " " * len(found)
        closed = match["quote"] is not None
        inner = found[1 : -1 if closed else None].replace("\\n", " \n").replace("_", " ").replace("\\", " ")
        if depth > 1 and len(inner.split()) < _STATED:
            return " " * len(found)
        return f"\n{inner}\n" if closed else f"\n{inner}"

    return _STRUCTURE.sub(line, text)


def _without_fences(text: str) -> str:
    """
    *text* with fenced blocks blank; a fence that is never closed runs to the end.
    """
    marks = [match.start() for match in _FENCE.finditer(text)]
    parts: list[str] = []
    done = 0
    for opening, closing in zip(marks[::2], [*marks[1::2], len(text)], strict=False):
        end = text.find("\n", closing)
        end = len(text) if end < 0 else end
        parts += (text[done:opening], "\n" * (end - opening))
        done = end
    return "".join([*parts, text[done:]])


def _spaces(match: re.Match[str]) -> str:
    return " " * len(match[0])


def _quote(match: re.Match[str]) -> str:
    return QUOTE * len(match[0])


def _break(match: re.Match[str]) -> str:
    return ";".ljust(len(match[0]))
