"""
Which recorded exchange a request belongs to, what of it is secret, and how it differs from the nearest one.

Rule: what is compared is what was written, without secrets. The ids of calls and what only a
provider reads are left out of the comparison; identities and times in texts decide only between
exchanges that are otherwise alike.
"""

import json
import re
from collections.abc import Collection, Iterable
from typing import Any, TypeAlias

from nr_agent_core.domain.bounding import well_formed
from nr_agent_core.domain.errors import InvalidValueError
from nr_agent_core.domain.redaction import redact
from nr_agent_core.domain.sanitiser import SECRET
from nr_agent_core.testing._recording.file import Form

PARTS = ("system", "tools", "messages")
"""The parts of a request."""

SHORTEST_SECRET = 4
"""Characters. A shorter one would take texts away that are none."""

_JSON_IN_JSON = 3
"""Arguments of a call are JSON, in an answer that is JSON, in what a provider gives, which may be JSON of such."""

Outline: TypeAlias = dict[str, str]
"""What stands at each place of a request."""

# Identities and times, as hosts and their tools write them.
_VOLATILE = (
    r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b",
    r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?(?![\w-])",
    r"\b\d\d?:\d\d(?::\d\d(?:\.\d+)?)?(?![\w:])",
)


class Secrets:
    """
    Takes out of texts what the library's redactor knows for a secret, and what a host names.

    Args:
        named: secrets as they are.

    Raises:
        InvalidValueError: one is no text, or shorter than four characters.
    """

    def __init__(self, named: Iterable[str]) -> None:
        found = (named,) if isinstance(named, str) else tuple(named)
        if not all(
            isinstance(secret, str) and len(secret) >= SHORTEST_SECRET and secret not in SECRET for secret in found
        ):
            # What was given is no part of this text.
            raise InvalidValueError(
                "secrets of a RecordedModel",
                type(named),
                f"texts of four characters or more, none of them in {SECRET!r}",
            )
        written = set(found)
        for _ in range(_JSON_IN_JSON):
            # Inside JSON that is a text itself a secret may be written in other ways.
            written |= {json.dumps(secret, ensure_ascii=ascii_)[1:-1] for secret in written for ascii_ in (True, False)}
        self._named = sorted(written, key=lambda secret: (-len(secret), secret))

    def without(self, value: Any, *, names: bool = False) -> Any:
        """
        *value*, JSON, its texts without secrets. Applied again it changes nothing.

        Args:
            value: a form, whose own names stay, or a part of one.
            names: whether the names of its fields are texts too, as they are below ``parameters``.
        """
        if isinstance(value, str):
            text = well_formed(value)
            for secret in self._named:
                text = text.replace(secret, SECRET)
            return redact(text)
        if isinstance(value, list):
            return [self.without(entry, names=names) for entry in value]
        if isinstance(value, dict):
            return {
                self.without(name) if names else well_formed(name): self.without(
                    entry, names=names or name == "parameters"
                )
                for name, entry in value.items()
            }
        return value

    def of_stream(self, pieces: Iterable[str], *, whole: bool) -> tuple[str, ...]:
        """
        The pieces of a stream without secrets. A text that held one is one piece: a secret may go over several.

        Args:
            pieces: as they were told.
            whole: whether the stream told all of its text; if not, a named secret may have begun at its end.
        """
        told = tuple(pieces)
        text = "".join(told)
        kept = self.without(text)
        if not whole:
            kept = self._without_beginning(kept)
        return tuple(map(well_formed, told)) if kept == text else tuple(filter(None, (kept,)))

    def _without_beginning(self, text: str) -> str:
        for secret in self._named:
            for length in range(len(secret) - 1, 2, -1):
                if text.endswith(secret[:length]):
                    return f"{text[:-length]}{SECRET}"
        return text


class Matching:
    """
    What makes two requests the same question.

    Args:
        parts: the parts that are compared.
        volatile: patterns of what may differ from one time to the next, beside identities and times.

    Raises:
        InvalidValueError: a part that is none, or a pattern that is none.
    """

    def __init__(self, parts: Collection[str], volatile: Iterable[str]) -> None:
        if isinstance(parts, str) or not parts or not set(parts) <= set(PARTS):
            raise InvalidValueError("match of a RecordedModel", parts, f"parts of a request, of {PARTS}")
        self._parts = frozenset(parts)
        patterns = (volatile,) if isinstance(volatile, str) else tuple(volatile)
        try:
            for pattern in patterns:
                re.compile(pattern)
        except (re.error, TypeError) as error:
            raise InvalidValueError("volatile of a RecordedModel", patterns, "regular expressions") from error
        self._volatile = [re.compile(pattern) for pattern in (*patterns, *_VOLATILE)]

    def outline(self, asked: Form) -> Outline:
        """What is compared of a request, place by place."""
        found: Outline = {}
        if "system" in self._parts:
            found["the system prompt"] = asked["system"]
        if "tools" in self._parts:
            for tool in asked["tools"]:
                found[f"tool {tool['name']!r}"] = json.dumps(tool, sort_keys=True, ensure_ascii=False)
            found["the order of the tools"] = " ".join(tool["name"] for tool in asked["tools"])
        if "messages" in self._parts:
            # A provider's ids are new each time; what belongs together is told by their order.
            ids: dict[str, str] = {}
            for number, message in enumerate(asked["messages"], 1):
                found[f"message {number} ({message['role']})"] = _told(message, ids)
        return found

    def loosened(self, outline: Outline) -> Outline:
        """The same without identities and times."""
        return {place: self._loosened(text) for place, text in outline.items()}

    def _loosened(self, text: str) -> str:
        for pattern in self._volatile:
            text = pattern.sub("[volatile]", text)
        return text


def differences(asked: Outline, recorded: Outline) -> tuple[str, ...]:
    """
    Where two requests differ: places alone, never what stands there.

    >>> differences({"message 1 (user)": "Hello?"}, {"message 1 (user)": "Hello!"})
    ('message 1 (user) differs from character 6 on',)
    """
    found = []
    for place in dict.fromkeys((*recorded, *asked)):
        if place not in asked:
            found.append(f"{place} is missing")
        elif place not in recorded:
            found.append(f"{place} was not there")
        elif asked[place] != recorded[place]:
            found.append(f"{place} differs {_place(asked[place], recorded[place])}")
    return tuple(found)


def _place(asked: str, recorded: str) -> str:
    pairs = zip(asked, recorded, strict=False)
    at = next((at for at, (one, other) in enumerate(pairs) if one != other), min(len(asked), len(recorded)))
    before = asked[:at]
    line, character = before.count("\n") + 1, at - before.rfind("\n")
    return (
        f"from character {character} on"
        if "\n" not in asked + recorded
        else f"in line {line} from character {character} on"
    )


def _told(message: Form, ids: dict[str, str]) -> str:
    lines = [message["text"]]
    for call in message.get("calls", ()):
        number = ids.setdefault(call.get("id", ""), f"call {len(ids) + 1}")
        lines.append(f"{number}: {call['name']} {_arguments(call['arguments'])}")
    if "call_id" in message:
        lines.append(f"of {ids.get(message['call_id'], 'a call that was not made')}")
    return "\n".join(lines)


def _arguments(text: str) -> str:
    """The order of fields, and the spaces between them, are no difference."""
    try:
        return json.dumps(json.loads(text), sort_keys=True, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text
