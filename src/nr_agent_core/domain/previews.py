"""
What an approver sees of each waiting call: bounded, made once at the pause, never silent (T11).

A preview is a snapshot. One that is missing where it should be there is shown as missing; it is
never a reason to hide the call.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from nr_agent_core.domain.bounding import well_formed
from nr_agent_core.domain.canonical import canonical_json
from nr_agent_core.domain.errors import InvalidValueError
from nr_agent_core.domain.tools import Preview
from nr_agent_core.domain.value import Value

LINES = 20
LINE_LENGTH = 500
# Characters that reorder or hide what stands around them: an approver must see what is there.
_HIDING = dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A), *range(0x20), *range(0x7F, 0xA0)), "\ufffd")


@attrs.frozen(repr=False, eq=False)
class CallPreview(Value):
    """
    The preview of one waiting call, as it is stored with the pause.

    Args:
        call_id: the call's identity, ``"round.index"``.
        lines: at most 20 lines of at most 500 characters.
        more: how many further lines there were.
        generated: made from the arguments, because the tool declares no preview.
        failed: there is none: it raised, was of a wrong type, or was empty. The card says so.
    """

    call_id: str
    lines: tuple[str, ...] = ()
    more: int = 0
    generated: bool = False
    failed: bool = False

    @classmethod
    def missing(cls, call_id: str) -> "CallPreview":
        """The visible absence of a preview: its tool's preview raised or brought nothing."""
        return cls(call_id, failed=True)

    @classmethod
    def of_arguments(cls, call_id: str, arguments: Mapping[str, Any]) -> "CallPreview":
        """The preview of a tool that declares none: its arguments. Without arguments there is none to see."""
        lines, more = generated_preview(arguments)
        return cls(call_id, lines, more, generated=True, failed=not lines)

    @classmethod
    def of(cls, call_id: str, made: object) -> "tuple[CallPreview, str | None]":
        """
        What a tool's preview returned, bounded, and its precondition token.

        Args:
            call_id: the call's identity.
            made: a text, a list of lines or a :class:`Preview`; anything else, or nothing but
                blanks, becomes :meth:`missing`. A precondition token counts even then.
        """
        try:
            preview = made if isinstance(made, Preview) else Preview(made)
        except InvalidValueError:
            return cls.missing(call_id), None
        lines, more = bounded_preview(preview.lines)
        return cls(call_id, lines, more, failed=not lines), preview.precondition


def bounded_preview(lines: Iterable[str]) -> tuple[tuple[str, ...], int]:
    """
    At most 20 of *lines*, each at most 500 characters with whitespace collapsed, and how many more there are.

    Blank lines are left out. A line that was cut ends with an ellipsis. Characters that would
    reorder or hide text become U+FFFD.
    """
    given = lines.splitlines() if isinstance(lines, str) else lines
    shown = [line for line in map(_line, given) if any(map(str.isprintable, line.replace(" ", "")))]
    return tuple(shown[:LINES]), max(len(shown) - LINES, 0)


def generated_preview(arguments: Mapping[str, Any]) -> tuple[tuple[str, ...], int]:
    """*arguments* as preview lines, ``name: value`` each, within the same bounds."""
    return bounded_preview(f"{name}: {_shown(value)}" for name, value in arguments.items())


def _shown(value: object) -> str:
    return value if isinstance(value, str) else canonical_json(value)


def _line(text: str) -> str:
    line = " ".join(well_formed(text).split()).translate(_HIDING)
    return line if len(line) <= LINE_LENGTH else line[: LINE_LENGTH - 1] + "…"
