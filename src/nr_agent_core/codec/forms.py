"""
Stored forms: events and notices to and from JSON (E4, E6).

An event becomes two columns. *Facts* are kept at every privacy level; *content* may be forgotten.
Which field is which is said once, by the field's metadata; everything here follows from it.

A form is named by the event's kind, with a suffix once it changes (``tool.2``). Reading is strict:
nothing is coerced, nothing is filled in, a wrong type or an unknown key is damage. ``None``,
``False`` and ``()`` are left out when writing; there are no other defaults to rely on.

The converter is built once per process, on first use: importing this module costs nothing.
"""

import enum
import functools
import json
import os
import re
import threading
import types
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, TypeVar, Union, get_args, get_origin

import attrs

from nr_agent_core.domain.errors import CallerError, InvalidValueError, NewerFormError, StoredFormError
from nr_agent_core.domain.notices import Notice, NoticeCode
from nr_agent_core.domain.run_events import EVENT_TYPES, RunEvent
from nr_agent_core.domain.tool_result import RecordReference, RecordWrite, WriteKind

_E = TypeVar("_E", bound=enum.Enum)

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
_FORM = re.compile(r"([a-z][a-z_]*)(?:\.([2-9]|[1-9][0-9]+))?")
_NEWEST = {event_type.kind: 1 for event_type in EVENT_TYPES}

# What structuring raises for data of a wrong shape. StoredFormError says so to the caller.
_DAMAGE = (KeyError, TypeError, ValueError, AttributeError, RecursionError, CallerError)


def dump(event: RunEvent, *, content: bool = True) -> tuple[str, str, str | None]:
    """
    The stored form of *event*: its kind, its facts and its content; no content is None.

    Args:
        event: what is to be stored.
        content: whether content is stored at all; what is not stored is not looked at either.

    Raises:
        InvalidValueError: the event holds what no store can keep, such as half a surrogate pair
            or NaN. Nothing was stored.
    """
    form = _forms().by_type[type(event)]
    try:
        facts = _encode(form.facts(event))
        held = form.content(event) if content and form.content else None
        kept = _encode(held) if held else None
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidValueError(f"a {form.kind!r} event", type(error).__name__, "what JSON can hold") from error
    require_storable(f"a {form.kind!r} event", facts, kept)
    return form.kind, facts, kept


def load(kind: str, facts: str, content: str | None) -> RunEvent:
    """
    The event that was stored as *kind*, *facts* and *content*.

    Raises:
        NewerFormError: a newer release wrote this form.
        StoredFormError: the row is damaged. It was not read as a default, and nothing was coerced.
    """
    forms = _forms()
    form = forms.by_kind.get(kind)
    if form is None:
        _refuse_kind(kind)
    try:
        data = _decode(facts)
        if not form.fact_names.issuperset(data):
            raise ValueError(f"unknown facts {sorted(set(data) - form.fact_names)}")
        if content is not None:
            more = _decode(content)
            if not form.content_names.issuperset(more):
                raise ValueError(f"unknown content {sorted(set(more) - form.content_names)}")
            data.update(more)
        return form.structure(data, form.event_type)
    except forms.damage as error:
        raise StoredFormError(f"event {kind!r}", _why(error)) from None


def dump_notices(notices: tuple[Notice, ...]) -> str | None:
    """
    The stored form of a message's notices; None for none.

    Raises:
        InvalidValueError: an argument is no JSON value. Nothing was stored.
    """
    if not notices:
        return None
    try:
        text = _encode([{"code": notice.code.value, "arguments": dict(notice.arguments)} for notice in notices])
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidValueError("a notice", type(error).__name__, "a code with JSON arguments") from error
    require_storable("a notice", text)
    return text


def load_notices(text: str | None) -> tuple[Notice, ...]:
    """
    The notices that were stored as *text*.

    Raises:
        NewerFormError: a newer release wrote a notice that this one does not know.
        StoredFormError: the column is damaged.
    """
    if text is None:
        return ()
    try:
        stored = _decoder().decode(text)
        if type(stored) is not list or not stored:
            raise TypeError("no list of notices")
        return tuple(map(_notice, stored))
    except _DAMAGE as error:
        raise StoredFormError("notices of a message", _why(error)) from None


def member(enumeration: type[_E], value: object, subject: str) -> _E:
    """
    The member of *enumeration* that a column holds by its *value*.

    Raises:
        StoredFormError: there is no such member; *subject* says which column.
    """
    found = enumeration._value2member_map_.get(value) if isinstance(value, str) else None
    if found is None:
        raise StoredFormError(subject, f"no {enumeration.__name__} has that value")
    return found  # type: ignore[return-value]


def require_storable(subject: str, *texts: str | None) -> None:
    """
    Let pass only *texts* that UTF-8 can hold; a lone surrogate cannot be stored anywhere (P3).

    Raises:
        InvalidValueError: one of them cannot be encoded. Its characters are not shown.
    """
    for text in texts:
        if text is None or text.isascii():
            continue
        try:
            text.encode()
        except UnicodeEncodeError as error:
            found = f"half a surrogate pair at {error.start}"
            raise InvalidValueError(subject, found, "text that UTF-8 can hold") from None


def escape_nul(text: str) -> str:
    r"""
    *text* as a text column holds it: NUL, which not every store can hold, is written in two characters (P3).

    >>> escape_nul("a\0b") == "a\x10@b"
    True
    """
    if "\0" in text or "\x10" in text:
        return text.replace("\x10", "\x10P").replace("\0", "\x10@")
    return text


def restore_nul(text: str) -> str:
    """
    The text that :func:`escape_nul` was given.

    Raises:
        StoredFormError: the column holds an escape that was never written.
    """
    return _ESCAPE.sub(_restored, text) if "\x10" in text else text


_ESCAPE = re.compile("\x10(.?)", re.DOTALL)
_ESCAPED = {"P": "\x10", "@": "\0"}


def _restored(escape: re.Match[str]) -> str:
    try:
        return _ESCAPED[escape[1]]
    except KeyError:
        raise StoredFormError("text", "an escape that was never written") from None


# ------------------------------------------------------------------------------ forms of events


class _Form:
    """
    One form of one kind: how its two columns are made and read.
    """

    __slots__ = ("content", "content_names", "event_type", "fact_names", "facts", "kind", "structure")

    def __init__(self, event_type: type[RunEvent], converter: Any) -> None:
        from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn, override

        fields = attrs.fields(event_type)
        self.kind, self.event_type = event_type.kind, event_type
        self.content_names = frozenset(field.name for field in fields if field.metadata.get("content"))
        self.fact_names = frozenset(field.name for field in fields) - self.content_names

        def column(without: frozenset[str]) -> Callable[[RunEvent], dict[str, Any]]:
            options: dict[str, Any] = {name: override(omit=True) for name in without}
            return make_dict_unstructure_fn(event_type, converter, _cattrs_omit_if_default=True, **options)

        self.facts = column(self.content_names)
        self.content = column(self.fact_names) if self.content_names else None
        self.structure: Callable[[dict[str, Any], Any], RunEvent] = make_dict_structure_fn(event_type, converter)


class _Forms:
    """
    Every form that this release reads, and the one it writes for each event.
    """

    __slots__ = ("by_kind", "by_type", "damage")

    def __init__(self) -> None:
        from cattrs.errors import ForbiddenExtraKeysError

        self.damage = (*_DAMAGE, ForbiddenExtraKeysError)
        converter = _converter()
        self.by_type: dict[type, _Form] = {t: _Form(t, converter) for t in EVENT_TYPES}
        self.by_kind: dict[str, _Form] = {form.kind: form for form in self.by_type.values()}


_built: list[_Forms] = []
# By process: the lock of a parent may be held for ever by a thread that is not there.
_building: dict[int, threading.Lock] = {}


def _forms() -> _Forms:
    """The one of this process. Threads that come first at once wait for one of them to build it."""
    if not _built:
        with _building.setdefault(os.getpid(), threading.Lock()):
            if not _built:
                _built.append(_Forms())
    return _built[0]


def _converter() -> Any:
    """A converter that neither coerces nor overlooks: what it does not take as it is, it refuses."""
    from cattrs import Converter

    converter = Converter(omit_if_default=True, forbid_extra_keys=True, detailed_validation=False)
    for accepted in (str, int, bool):
        converter.register_structure_hook(accepted, _exactly(accepted))
    converter.register_structure_hook(float, _exactly(float, int))
    converter.register_structure_hook(RecordWrite, _structure_write)
    converter.register_unstructure_hook(RecordWrite, _unstructure_write)
    converter.register_structure_hook_factory(_is_enum, _enum_structure)
    converter.register_unstructure_hook_factory(_is_enum, lambda _: _enum_value)
    converter.register_structure_hook_factory(_is_tuple, lambda t: _tuple_structure(t, converter))
    converter.register_structure_hook_factory(_is_optional, lambda t: _optional_structure(t, converter))
    return converter


def _exactly(*accepted: type) -> Callable[[Any, Any], Any]:
    def structure(value: Any, _: Any) -> Any:
        if type(value) in accepted:
            return value
        raise TypeError(f"a {type(value).__name__} stands where a {accepted[0].__name__} belongs")

    return structure


def _is_enum(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, enum.Enum)


def _enum_structure(hint: type[enum.Enum]) -> Callable[[Any, Any], enum.Enum]:
    members = hint._value2member_map_

    def structure(value: Any, _: Any) -> enum.Enum:
        if type(value) is str and value in members:
            return members[value]
        raise ValueError(f"no {hint.__name__} has that value")

    return structure


def _enum_value(value: enum.Enum) -> Any:
    return value._value_


def _is_tuple(hint: Any) -> bool:
    return get_origin(hint) is tuple


def _tuple_structure(hint: Any, converter: Any) -> Callable[[Any, Any], tuple[Any, ...]]:
    of = get_args(hint)[0]
    one = converter.get_structure_hook(of)

    def structure(value: Any, _: Any) -> tuple[Any, ...]:
        if type(value) is list:
            return tuple([one(item, of) for item in value])
        raise TypeError(f"a {type(value).__name__} stands where a list belongs")

    return structure


def _is_optional(hint: Any) -> bool:
    return get_origin(hint) in (Union, types.UnionType) and type(None) in get_args(hint) and len(get_args(hint)) == 2


def _optional_structure(hint: Any, converter: Any) -> Callable[[Any, Any], Any]:
    of = next(argument for argument in get_args(hint) if argument is not type(None))
    one = converter.get_structure_hook(of)
    return lambda value, _: None if value is None else one(value, of)


def _unstructure_write(write: RecordWrite) -> dict[str, Any]:
    return {"table": write.reference.table, "uid": write.reference.uid, "kind": write.kind._value_}


_WRITE_NAMES = {"table", "uid", "kind"}
_write_kind = _enum_structure(WriteKind)


def _structure_write(value: Any, _: Any) -> RecordWrite:
    if type(value) is not dict or value.keys() != _WRITE_NAMES:
        raise ValueError("no write of a record")
    return RecordWrite(RecordReference(value["table"], value["uid"]), _write_kind(value["kind"], None))  # type: ignore[arg-type]


# -------------------------------------------------------------------------------------- reading


@functools.cache
def _decoder() -> json.JSONDecoder:
    return json.JSONDecoder(parse_constant=_refuse_constant)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")


def _decode(text: object) -> dict[str, Any]:
    if type(text) is not str:
        raise TypeError(f"a {type(text).__name__} stands where JSON text belongs")
    data = _decoder().decode(text)
    if type(data) is not dict:
        raise TypeError("no JSON object")
    return data


def _notice(stored: Any) -> Notice:
    if type(stored) is not dict or stored.keys() != {"code", "arguments"}:
        raise TypeError("no notice")
    code, arguments = stored["code"], stored["arguments"]
    if type(code) is not str or type(arguments) is not dict:
        raise TypeError("a notice has a code and arguments")
    known: Mapping[Any, Any] = NoticeCode._value2member_map_
    if code not in known:
        raise NewerFormError("notice", code[:80], next(reversed(known)))
    return Notice(NoticeCode(code), arguments)


def _refuse_kind(kind: object) -> NoReturn:
    form = _FORM.fullmatch(kind) if isinstance(kind, str) else None
    if form is None:
        raise StoredFormError("event", "its kind is no name of a form")
    raise NewerFormError(f"event {form[1]!r}", kind, _NEWEST.get(form[1], "other kinds"))


def _why(error: BaseException) -> str:
    """What was wrong, in words that name fields and types, never a stored text."""
    if isinstance(error, KeyError):
        return f"{error.args[0]!r} is missing"
    if isinstance(error, json.JSONDecodeError):
        return f"no JSON: {error.msg} at {error.pos}"
    if isinstance(error, CallerError):
        return "it names no record"
    return str(error) or type(error).__name__
