"""
The redactor: what the content of a settled run loses at the level ``redacted`` (E4).

It finds what the sanitiser finds (:mod:`.sanitiser_rules`), secrets alone: hosts, paths and SQL are
what a chat is about. Beyond texts it knows names: what stands under a name like that of a secret,
in arguments or in a result that is JSON, goes whatever it looks like.

It is a heuristic: a secret that looks like nothing and stands under no telling name stays.
"""

import functools
import json
import re
from typing import Any, TypeVar

import attrs

from nr_agent_core.domain.bounding import well_formed
from nr_agent_core.domain.previews import CallPreview
from nr_agent_core.domain.run_events import RunEvent
from nr_agent_core.domain.sanitiser import SECRET, WITHHELD, without_secrets

_E = TypeVar("_E", bound=RunEvent)

# Objects such as {"name": "password", "value": "..."}.
_NAMING, _NAMED = ("name", "key", "field", "header"), ("value", "values")


def redacted_event(event: _E) -> _E:
    """
    *event* with its facts as they are, and its content without secrets.

    Counts stay: a list of content has as many entries as before.
    """
    changed = {
        field.name: _content(getattr(event, field.name))
        for field in attrs.fields(type(event))
        if field.metadata.get("content")
    }
    return attrs.evolve(event, **changed) if changed else event


def redact(text: str) -> str:
    """
    *text* without secrets; JSON stays JSON. It never raises on what a text holds.

    >>> redact('{"title": "Team", "api_key": 12}')
    '{"title":"Team","api_key":"[secret]"}'
    >>> redact("Saved https://site.example/team with Bearer abc.def.ghi")
    'Saved https://site.example/team with Bearer [secret]'

    Returns:
        A fixed point: redacting it again changes nothing. A text without a secret is as it was.
    """
    if text.lstrip()[:1] in ("{", "["):
        try:
            found = json.loads(text)
            kept = _value(found)
            return text if kept == found else well_formed(_encode(kept))
        except RecursionError:
            return WITHHELD
        except ValueError:
            pass
    return without_secrets(text)


def is_secret_name(name: str) -> bool:
    """
    Whether what stands under *name* is a secret.

    >>> is_secret_name("X-Api-Key"), is_secret_name("title")
    (True, False)
    """
    return _secret_name().search(name) is not None


def _content(value: Any) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, tuple):
        return tuple([_content(entry) for entry in value])
    if isinstance(value, CallPreview):
        # Together: a secret may go over several lines.
        lines = redact("\n".join(value.lines)).split("\n") if value.lines else ()
        return attrs.evolve(value, lines=tuple(lines))
    return value


def _value(value: Any) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, list):
        return [_value(entry) for entry in value]
    if isinstance(value, dict):
        named = any(isinstance(value.get(name), str) and is_secret_name(value[name]) for name in _NAMING)
        return {redact(name): _entry(name, entry, named=named) for name, entry in value.items()}
    return value


def _entry(name: str, value: Any, *, named: bool) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if is_secret_name(name) and not _is_count(name, value):
        return SECRET
    if named and name in _NAMED:
        return SECRET
    return _value(value)


def _is_count(name: str, value: Any) -> bool:
    """A number of tokens is no token."""
    return isinstance(value, int) and "tokens" in name.lower()


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


@functools.cache
def _secret_name() -> re.Pattern[str]:
    from nr_agent_core.domain.sanitiser_rules import SECRET_NAME

    return re.compile(SECRET_NAME)
