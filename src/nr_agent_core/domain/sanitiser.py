"""
The sanitiser: what an exception's text loses before it is stored, logged or shown (F3, T10, P9).

Rule 1: removing too much is a nuisance, removing too little is a leak. Where a shape is unclear
it goes.
Rule 2: every pass is linear in the text, whatever the text is. A pattern starts at the start of a
run only (look-behind), takes the run as a whole (possessive), or looks a fixed distance ahead.
Rule 3: the result of :func:`sanitise` is a fixed point: sanitising it again changes nothing.

What went is replaced by a word in square brackets: secret, address, path, sql, withheld.
"""

import functools
import re
from collections.abc import Callable, Iterator
from types import TracebackType

from nr_agent_core.domain.errors import InvalidValueError
from nr_agent_core.domain.failures import chain

STORED_LIMIT = 500
"""How many characters of a failure's text are stored (F3)."""

HEAD = 20_000
"""How many characters of a text are looked at when its result is cut."""

CUT = "[...]"
"""Stands at the end of a text that was cut."""

WITHHELD = "[withheld]"
"""Stands for a text that could not be read or does not come to rest."""

SECRET = "[secret]"  # noqa: S105 - what stands where one was
"""Stands for a secret."""

_ROUNDS = 12
_STORED_LEVELS = 40
_FRAMES_AT_EACH_END = 20

_Rule = tuple[re.Pattern[str], "str | Callable[[re.Match[str]], str]"]


def sanitise(text: str, *, limit: int | None = STORED_LIMIT) -> str:
    """
    *text* without secrets, addresses, paths and SQL (F3). It never raises on what a text holds.

    >>> sanitise("401 for https://llm.example/v1?key=abc (api key abc)")
    '401 for [address] (api key [secret]'

    Args:
        text: what an exception or an outside system said.
        limit: the most characters the result may have, its mark of the cut included; None is uncut.

    Returns:
        A fixed point: sanitising it again, with the same limit, returns it unchanged. One that was
        cut is a beginning of the uncut one with :data:`CUT` behind it, or as much of that as fits.

    Raises:
        InvalidValueError: *limit* is negative or no integer. Nothing was sanitised.
    """
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 0):
        raise InvalidValueError("the limit of a sanitised text", limit, "an integer from 0, or None")
    head = text if limit is None else _head(text, max(HEAD, 4 * limit))
    whole = _at_rest(head)
    if limit is None or (len(whole) <= limit and (head == text or whole.endswith((CUT, WITHHELD)))):
        return whole
    return _cut(whole, limit)


def without_secrets(text: str) -> str:
    """
    *text* without secrets, accounts, and addresses that hold such: all else stays (E4).

    Returns:
        A fixed point; *text* itself when no secret is found in it.
    """
    cleaned = _at_rest(text, "SECRET_RULES")
    return text if cleaned == text or cleaned == _at_rest(text, "PREPARING_RULES") else cleaned


def failure_text(error: BaseException) -> str:
    """
    What is stored of a failure: types and sanitised texts of its chain, cut at 500 characters (F1, F3).
    """
    parts: list[str] = []
    for level in chain(error):
        parts.append(_described(level, limit=STORED_LIMIT))
        if len(parts) == _STORED_LEVELS or sum(map(len, parts)) > 2 * STORED_LIMIT:
            break
    return sanitise(" <- ".join(parts), limit=STORED_LIMIT)


def sanitised_chain(error: BaseException, *, limit: int | None = None) -> str:
    """
    A failure for the log: for each exception of the chain its type, sanitised text and frames (F3, T10).

    Frames are written ``module.function:line``, innermost last; no file path is among them.

    Args:
        error: the outermost exception.
        limit: the most characters of each exception's text; None is uncut.
    """
    lines: list[str] = []
    for level in chain(error):
        lines.append(("from " if lines else "") + _described(level, limit=limit))
        lines.extend(f"  at {frame}" for frame in _frames(level.__traceback__))
    return "\n".join(lines)


def _described(error: BaseException, *, limit: int | None) -> str:
    name = _plain_name(type(error).__name__)
    try:
        text = sanitise(str(error), limit=limit).strip()
    except Exception:  # noqa: BLE001 - a text that cannot be made must not replace the failure it describes
        text = WITHHELD
    return f"{name}: {text}" if text else name


def _plain_name(name: str) -> str:
    return name if name.isidentifier() and len(name) <= 100 else "Exception"


def _frames(traceback: TracebackType | None) -> Iterator[str]:
    frames = []
    while traceback is not None:
        module = str(traceback.tb_frame.f_globals.get("__name__", "?"))
        dotted = all(part.isidentifier() for part in module.split("."))
        frames.append(f"{module if dotted else '?'}.{traceback.tb_frame.f_code.co_qualname}:{traceback.tb_lineno}")
        traceback = traceback.tb_next
    if len(frames) > 2 * _FRAMES_AT_EACH_END:
        left_out = len(frames) - 2 * _FRAMES_AT_EACH_END
        frames[_FRAMES_AT_EACH_END:-_FRAMES_AT_EACH_END] = [f"({left_out} more frames)"]
    yield from frames


def _at_rest(text: str, rules: str = "RULES") -> str:
    """What is left of *text* when the rules find nothing more in it."""
    for _ in range(_ROUNDS):
        redacted = _redacted(text, rules)
        if redacted == text:
            return text
        text = redacted
    return WITHHELD


def _cut(text: str, limit: int) -> str:
    """
    A beginning of *text*, which is at rest, with the mark of the cut behind it: at rest too.

    What is cut short may look like something else (half a version like an address); such a thing
    goes as a whole, and after some tries everything.
    """
    place = min(len(text), limit - len(CUT))
    for _ in range(_ROUNDS):
        place = _outside_a_mark(text, place)
        if place <= 0:
            break
        cut = text[:place] + CUT
        redacted = _redacted(cut)
        if redacted == cut:
            return cut
        same = next((at for at, (old, new) in enumerate(zip(cut, redacted, strict=False)) if old != new), place)
        place = min(place - 1, same)
    return CUT[:limit]


def _outside_a_mark(text: str, place: int) -> int:
    """*place*, or the start of the word in square brackets that it would part."""
    start = text.rfind("[", max(0, place - len(WITHHELD)), max(0, place))
    mark = _mark().match(text, start) if start >= 0 else None
    return start if mark and mark.end() > place else place


def _head(text: str, length: int) -> str:
    """The beginning of a very long text, up to a blank: half a secret has lost the shape it is known by."""
    if len(text) <= length:
        return text
    place = length
    while place and not text[place].isspace():
        place -= 1
    return text[:place] + CUT if place else WITHHELD


def _redacted(text: str, rules: str = "RULES") -> str:
    for pattern, replacement in _rules(rules):
        text = pattern.sub(replacement, text)
    return text


@functools.cache
def _rules(name: str) -> tuple[_Rule, ...]:
    from nr_agent_core.domain import sanitiser_rules

    return tuple((re.compile(pattern), replacement) for pattern, replacement in getattr(sanitiser_rules, name))


@functools.cache
def _mark() -> re.Pattern[str]:
    return re.compile(r"\[(?:secret|address|path|sql|withheld|\.{3})\]")
