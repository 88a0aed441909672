"""
From the bytes of a file to JSON values, each with the line it stands on.

A file is JSON Lines, or one document over several lines, or several such documents one after the
other; which of these is seen from its content. A line that is no JSON costs that line alone.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, BinaryIO, Final

import attrs

from nr_agent_core.cli.audit.malformed import Malformed, MalformedError

_BOM: Final = b"\xef\xbb\xbf"
_UTF_16: Final = (b"\xff\xfe", b"\xfe\xff")
# How a document over several lines opens; nothing that was meant as a line of its own looks like it.
_OPENINGS: Final = frozenset({b"[", b"{", b"[{"})
_DECODER: Final = json.JSONDecoder()
_BLANKS: Final = re.compile(r"\s*")


@attrs.frozen
class Located:
    """
    A value and the line on which it begins, from 1.
    """

    value: Any
    line: int


def json_values(stream: BinaryIO, file: str, advance: Callable[[int], None]) -> Iterator[Located | Malformed]:
    """
    Every value of *stream* in its order, and every line that holds none.

    Args:
        stream: read once, line by line where the content allows it; it need not be seekable.
        file: name of the input for messages.
        advance: called with the number of bytes that were read.

    Raises:
        OSError: the stream could not be read to its end.
    """
    lines = enumerate(_read(stream, advance), 1)
    before = 1
    for number, line in lines:
        if not line.strip():
            continue
        try:
            first = _parsed(line)
        except MalformedError:
            before = number
            break
        yield Located(first, number)
        yield from _by_line(lines, file)
        return
    else:
        return
    # The first line is no value by itself: a document over several lines, or a broken line.
    data = line + b"".join(rest for _, rest in lines)
    yield from _document(data, before, file)


def _read(stream: BinaryIO, advance: Callable[[int], None]) -> Iterator[bytes]:
    for line in stream:
        advance(len(line))
        yield line.removeprefix(_BOM)


def _by_line(lines: Iterable[tuple[int, bytes]], file: str) -> Iterator[Located | Malformed]:
    for number, line in lines:
        if not line.strip():
            continue
        try:
            yield Located(_parsed(line), number)
        except MalformedError as error:
            yield Malformed(file, number, str(error))


def _document(data: bytes, start: int, file: str) -> Iterator[Located | Malformed]:
    """
    The values of *data*, which begins on line *start*: all of them, or else line by line, or else one complaint.
    """
    try:
        text = _text(data)
        values = list(_sequence(text, start))
    except MalformedError as error:
        lines = data.splitlines()
        if lines[0].strip() in _OPENINGS or not any(map(_is_container, lines[1:])):
            broken = error.__cause__
            line = start - 1 + broken.lineno if isinstance(broken, json.JSONDecodeError) else start
            yield Malformed(file, line, str(error))
            return
        yield from _by_line(enumerate(data.split(b"\n"), start), file)
        return
    yield from values


def _sequence(text: str, start: int) -> Iterator[Located]:
    place, line, counted = _after_blanks(text, 0), start, 0
    while place < len(text):
        line += text.count("\n", counted, place)
        counted = place
        value, place = _decoded(text, place)
        yield Located(value, line)
        place = _after_blanks(text, place)


def _after_blanks(text: str, place: int) -> int:
    blanks = _BLANKS.match(text, place)
    return blanks.end() if blanks else place


def _is_container(line: bytes) -> bool:
    if not line.strip().startswith((b"{", b"[")):
        return False
    try:
        return isinstance(_parsed(line), dict | list)
    except MalformedError:
        return False


def _parsed(line: bytes) -> Any:
    text = _text(line).strip()
    value, end = _decoded(text, 0)
    if end != len(text):
        raise MalformedError(f"not JSON: something follows the value at column {end + 1}")
    return value


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        if data.startswith(_UTF_16):
            raise MalformedError("UTF-16; UTF-8 is expected") from None
        raise MalformedError(f"not UTF-8 at byte {error.start + 1}") from None


def _decoded(text: str, place: int) -> tuple[Any, int]:
    """
    The JSON value at *place* and where it ends. NaN and Infinity are let through: nothing here reads numbers.
    """
    try:
        return _DECODER.raw_decode(text, place)
    except json.JSONDecodeError as error:
        raise MalformedError(f"not JSON: {error.msg} at column {error.colno}") from error
    except RecursionError:
        raise MalformedError("nested too deeply") from None
    except ValueError:
        # An integer with more digits than the interpreter converts.
        raise MalformedError("not JSON that can be read: a number is too long") from None
