"""
References to records in an answer, and whether what the model was given holds them (V7).
"""

import functools
import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from nr_agent_core.domain.statements.sentences import Sentence
from nr_agent_core.domain.statements.wording import Wording, wording

_PART: Final = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+")
_LABEL: Final = re.compile("[iI][dD]")
_LONGEST_RANGE: Final = 10_000
_NEAR: Final = 400
"""So far around a reference its sentence is read."""


class Reference(NamedTuple):
    """
    A reference as an answer names it.

    ``form`` is one of record (``pages:42``), label ("uid 42"), uuid, file and formed ("#201", "INV-2024-7").
    """

    start: int
    end: int
    form: str
    key: str
    """The uid, or for a formed one the whole."""
    table: str = ""
    shown: str = ""


@functools.cache
def _patterns() -> "dict[str, re.Pattern[str]]":
    words = wording()
    joined, numbered = "|".join(sorted(words.joiners)), "|".join(sorted(words.numbered))
    number = r"#?\d{1,18}(?![\w-]|[.,:]\w)"
    return {
        "uuid": re.compile(r"(?<![\w-])[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}(?![\w-])"),
        "record": re.compile(
            r"(?<![\w:/@.#?&=-])([A-Za-z][A-Za-z0-9_]{1,63})"
            r":([A-Za-z0-9~_-]{0,127}\d[A-Za-z0-9~_-]{0,127}(?:\.[A-Za-z0-9~_-]{1,127}){0,8})(?![\w:/%-])"
        ),
        "label": re.compile(
            r"(?<![A-Za-z0-9_])(u?ids?)\b[ \t:=*_`(]{1,4}"
            rf"({number}(?:(?:[ \t]*[,/&][ \t]*|[ \t]*,?[ \t]+(?:{joined})[ \t]+){number})*)",
            re.IGNORECASE,
        ),
        "formed": re.compile(
            r"(?<![\w#/&?=.-])#\d{2,12}(?![\w-])|(?<![\w/-])([A-Z]{2,12})(?:-\d{2,14}){1,3}(?![\w-])"
            rf"|(?<![\w-])(?i:{numbered})s? \d{{3,14}}(?![\w-]|[.,:]\w)"
        ),
        "file": re.compile(
            r"(?<![\w/.@:-])(?:[\w-]+/){0,8}[\w-]+(?:\.[\w-]+){0,3}\.([A-Za-z][A-Za-z0-9]{0,5})(?![\w-]|\.\w)"
        ),
        "number": re.compile(r"\d{1,18}"),
        "table": re.compile(r"(?<![\w:/@.-])([A-Za-z][A-Za-z0-9_]{1,63}):\d"),
        "range": re.compile(
            r"(?<![\w.-])(\d{1,12})\W{0,3}\s?(?:-|–|\.\.\.?|bis|to|through)\W{0,3}\s?(?:\w{1,64}:)?(\d{1,12})(?![\d-]|\.\d)"
        ),
        "colour": re.compile(r"#[0-9a-fA-F]{0,8}[a-fA-F][0-9a-fA-F]{0,8}\b|colou?r|farb", re.IGNORECASE),
    }


def references(text: str, *, files: bool) -> list[Reference]:
    """
    The references in *text*, in order; those that overlap an earlier one are left out.

    Args:
        text: what :func:`~nr_agent_core.domain.statements.sentences.stated` gave.
        files: whether file names are references.
    """
    patterns, words = _patterns(), wording()
    found: list[Reference] = []
    if text.count("-") >= 4:
        found += (
            Reference(*match.span(), "uuid", match[0], shown=match[0]) for match in patterns["uuid"].finditer(text)
        )
    if ":" in text:
        found += (
            Reference(*match.span(), "record", match[2], match[1], match[0])
            for match in patterns["record"].finditer(text)
            if match[1].lower() not in words.no_table
        )
    if _LABEL.search(text) is not None:
        found += _labelled(text)
    found += (
        Reference(*match.span(), "formed", match[0], shown=match[0])
        for match in patterns["formed"].finditer(text)
        if match[1] not in words.no_prefix
    )
    if files:
        found += (
            Reference(*match.span(), "file", match[0], shown=match[0])
            for match in patterns["file"].finditer(text)
            if match[1].lower() not in words.no_file and match[0].lower() not in words.no_name
        )
    found.sort(key=lambda reference: (reference.start, -reference.end))
    kept: list[Reference] = []
    for reference in found:
        if not kept or reference.start >= kept[-1].end:
            kept.append(reference)
    return kept


def _labelled(text: str) -> Iterator[Reference]:
    """Two in "uid 12 und 57"; a number of an event log or a network is none of the host's."""
    patterns, foreign, no_id = _patterns(), wording().foreign, wording().no_id
    for match in patterns["label"].finditer(text):
        before = re.split(r"[^\w]+", text[max(0, match.start() - 24) : match.start()].rstrip(" -").lower())[-1]
        if before in foreign:
            continue
        label = match[1][:-1] if match[1][-1] in "sS" else match[1]
        for number in patterns["number"].finditer(match[2]):
            if number[0] in no_id:
                continue
            start, end = match.start(2) + number.start(), match.start(2) + number.end()
            yield Reference(start, end, "label", number[0], shown=f"{label} {number[0]}")


class Told:
    """
    All texts that the model was given in a run (V7); joined when the first reference is looked for.

    Args:
        texts: the texts.
        results: those of them that tools returned.
    """

    __slots__ = ("_all", "_colours", "_low", "_ranges", "_results", "_shapes", "_tables")

    def __init__(self, texts: Iterable[str], results: Iterable[str]) -> None:
        self._results = "\n".join(results)
        self._all = "\n".join((*texts, self._results))
        self._low = self._all.lower()
        self._shapes: frozenset[str] | None = None
        self._ranges: list[tuple[int, int]] | None = None
        self._tables: frozenset[str] | None = None
        self._colours: bool | None = None

    def holds(self, reference: Reference) -> bool:
        """Whether any of the texts holds *reference*, in whatever form."""
        key = reference.key.lower()
        if reference.form in ("label", "record") and key.isdigit():
            return self._holds_number(key)
        if reference.form == "formed":
            return key in self._low or any(map(self._holds_number, _telling(key)))
        if reference.form == "file":
            return key.rpartition("/")[2] in self._low
        return key in self._low or (reference.form == "uuid" and key.replace("-", "") in self._low)

    def _holds_number(self, digits: str) -> bool:
        bare = digits.lstrip("0") or "0"
        if bare in self._low and re.search(rf"(?<!\d)0*{bare}(?!\d)", self._low):
            return True
        if len(bare) > 3:
            # Written in groups: 4.711, 4,711, 4 711, or with hyphens; not a part of a longer one, as 11-30 of a date.
            grouped = r"[.,'’\s_/-]?".join(bare)
            if re.search(rf"(?<!\d)(?<!\d[./-])0*{grouped}(?![./-]?\d)", self._low):
                return True
        if self._ranges is None:
            found = ((int(match[1]), int(match[2])) for match in _patterns()["range"].finditer(self._low))
            self._ranges = [(first, last) for first, last in found if first < last <= first + _LONGEST_RANGE]
        number = int(bare)
        return any(first <= number <= last for first, last in self._ranges)

    def tables(self) -> frozenset[str]:
        """Tables of references that tools returned."""
        if self._tables is None:
            found = _patterns()["table"].finditer(self._results)
            self._tables = frozenset(match[1].lower() for match in found) - wording().no_table
        return self._tables

    def same_form(self, reference: Reference) -> bool:
        """Whether a tool returned something of the same form: equal but for its digits."""
        if self._shapes is None:
            found = _patterns()["formed"].finditer(self._results)
            self._shapes = frozenset(_shape(match[0]) for match in found)
        if reference.key.startswith("#") and self._has_colours():
            return False
        return _shape(reference.key) in self._shapes

    def _has_colours(self) -> bool:
        if self._colours is None:
            self._colours = _patterns()["colour"].search(self._all) is not None
        return self._colours


def _telling(formed: str) -> list[str]:
    """The numbers that tell one of a form from another: not the year in "INV-2026-7"."""
    numbers = re.findall(r"\d+", formed)
    return [each for each in numbers[:-1] if not re.fullmatch("(?:19|20)\\d\\d", each)] + numbers[-1:]


def _shape(formed: str) -> str:
    return re.sub(r"\d", "9", formed).lower()


def is_file_name(uid: int | str) -> bool:
    """Whether a record's uid is the name of a file."""
    return isinstance(uid, str) and re.search(r"[\w-]\.[A-Za-z][A-Za-z0-9]{0,7}\Z", uid) is not None


def uncertain(reference: Reference, sentence: Sentence, words: Wording) -> str | None:
    """
    Why nothing certain can be said of *reference* in its sentence; None when it can.
    """
    if sentence.question:
        return "it stands in a question"
    at, end = reference.start - sentence.start, reference.end - sentence.start
    before, after = sentence.text[max(0, at - _NEAR) : at], sentence.text[end : end + _NEAR]
    if words.examples.search(before) or words.examples.search(after):
        return "it may be an example or a plan"
    if _absent(before, after, words):
        return "it may be named as one that is not there"
    if re.search(r"\w\([^()\n]*\Z", before):
        return "it is an argument of a call"
    word = re.match(r"\W{0,3}\s?([^\W\d_]+)\s+(?:\w+[: ])?#?\d", after)
    if (word and word[1].lower() in words.ranges) or re.match(r"\s?[–-]\s?\d|\.\.", after):
        return "it begins a range"
    word = re.search(r"\d\W{0,3}\s+([^\W\d_]+)\s+(?:\w+[: ]\s?)?#?\Z", before[-80:])
    if (word and word[1].lower() in words.ranges) or re.search(r"\d\s?[–-]\s?\Z", before):
        return "it ends a range"
    return None


def _absent(before: str, after: str, words: Wording) -> bool:
    """Whether a negation stands right before it ("not pages:43") or it is said to be missing."""
    near = " ".join(before[-40:].split()[-3:])
    if words.missing.search(after[:60]):
        return True
    return any(len(near[match.end() :].split()) <= 1 for match in words.absent.finditer(near))


def unfamiliar(reference: Reference, told: Told, tables: frozenset[str], tools: Iterable[str]) -> str | None:
    """
    Why *reference* may be no reference to a record of the host; None when it must be one.

    Args:
        reference: a reference that no text holds.
        told: what the model was given.
        tables: tables that are known as such, in lower case.
        tools: the names of the tools offered: ``create_page`` tells of a table of pages.
    """
    if reference.form == "formed" and not told.same_form(reference):
        return "no tool returned a number of this form"
    table = reference.table.lower()
    if reference.form == "record" and table.rpartition("_")[2] in wording().no_table:
        return "its table is not known"
    if reference.form != "record" or "_" in table or table in tables or table in told.tables():
        return None
    parts = {singular(part.lower()) for name in tools for part in name_parts(name)}
    return None if singular(table) in parts else "its table is not known"


def name_parts(tool: str) -> list[str]:
    """The words in the name of a *tool*, in the cases in which they stand there."""
    return _PART.findall(tool)


def singular(word: str) -> str:
    """
    An English noun without its plural's ending; any other word as it is.

    >>> [singular(word) for word in ("pages", "categories", "addresses", "news")]
    ['page', 'category', 'address', 'news']
    """
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    return word if word in ("news", "series", "status") or word.endswith("ss") else word.removesuffix("s")
