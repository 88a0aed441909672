"""
The file of a recording: what was asked, and what came of it, in JSON that people read and compare.

Prompts and lists of tools stand once each and are referred to, texts are kept line by line, and
exchanges stand in the order in which they were asked; so a changed prompt is a change of its lines.

A file that is damaged, or was written by a newer release, is refused as a whole. Nothing in it is
read as a default, and no such file is ever written over (E6).
"""

import enum
import hashlib
import json
import math
import os
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias

import attrs

from nr_agent_core.domain.errors import FailureClass, InvalidValueError, NewerFormError, StoredFormError
from nr_agent_core.domain.model_dialogue import ModelAnswer, ModelCall, ModelRequest
from nr_agent_core.domain.value import Value

FORM = "nr_agent_core recorded model"
VERSION = 1

Form: TypeAlias = dict[str, Any]


@attrs.frozen(repr=False, eq=False)
class Failed(Value):
    """
    The model failed: of which kind the failure is, its sanitised text, and how long the server wanted to be left alone.
    """

    failure_class: FailureClass
    text: str
    retry_after: float | None = None


class Broken(enum.Enum):
    """
    A stream that ended without an answer: it was cut, or its reader gave it up.
    """

    CUT = "cut"
    GIVEN_UP = "given up"


Outcome: TypeAlias = ModelAnswer | Failed | Broken


@attrs.frozen(repr=False, eq=False)
class Exchange(Value):
    """
    One question and what came of it.

    ``asked`` is the request as :func:`request_form` has it; ``pieces`` are those of a stream, None
    when it was asked at once.
    """

    asked: Form
    pieces: tuple[str, ...] | None
    outcome: Outcome


@attrs.frozen(repr=False, eq=False)
class Recording(Value):
    """
    All that a file holds: the limits of the model that was asked, and the exchanges in their order.
    """

    context_window: int | None = None
    output_limit: int | None = None
    exchanges: tuple[Exchange, ...] = ()


def request_form(request: ModelRequest) -> Form:
    """A request as JSON has it, its texts whole."""
    messages = []
    for message in request.messages:
        calls = [_without_none(name=call.name, arguments=call.arguments, id=call.id) for call in message.calls]
        messages.append(
            _without_none(
                role=message.role,
                text=message.text,
                calls=calls or None,
                call_id=message.call_id,
                provider_data=message.provider_data,
            )
        )
    # Through JSON: a mapping of any kind becomes the one that is read back.
    tools = [
        {
            "name": tool.name,
            "description": tool.description,
            "parameters": json.loads(json.dumps(dict(tool.parameters))),
        }
        for tool in request.tools
    ]
    return {"system": request.system, "tools": tools, "messages": messages}


def answer_form(answer: ModelAnswer) -> Form:
    """An answer as JSON has it, its text whole."""
    calls = [_without_none(name=call.name, arguments=call.arguments, id=call.id) for call in answer.calls]
    facts = {name: getattr(answer, name) for name in _FACTS}
    return {"text": answer.text, **_without_none(calls=calls or None, **facts)}


def answer_of(form: Form) -> ModelAnswer:
    """The answer of such a form."""
    calls = tuple(ModelCall(**call) for call in form.get("calls", ()))
    return ModelAnswer(**{**form, "calls": calls})


def load(path: Path) -> tuple[Recording, bytes | None]:
    """
    What the file holds, and its bytes; an empty recording and None when there is no file.

    Raises:
        NewerFormError: a newer release wrote it.
        StoredFormError: it is no recording, or a damaged one.
        OSError: it cannot be read.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return Recording(), None
    subject = f"recording {path.name}"
    try:
        found = _json(content)
    except (ValueError, RecursionError) as error:
        raise StoredFormError(subject, "it is no JSON of a recording") from error
    if not isinstance(found, dict) or found.get("form") != FORM:
        raise StoredFormError(subject, f"it does not say {FORM!r} as its form")
    version = found.get("version")
    if type(version) is int and version > VERSION:
        raise NewerFormError(subject, version, VERSION)
    try:
        return _recording(found), content
    except _DamagedError as error:
        raise StoredFormError(subject, str(error)) from None


def save(path: Path, recording: Recording) -> bytes:
    """
    Write the file anew, as a whole or not at all, and return its bytes.

    Raises:
        InvalidValueError: an answer or a request holds what this form cannot; nothing was written.
        OSError: it could not be written; what stood there stands there still.
    """
    content = _content(recording)
    place = Path(os.path.realpath(path))
    place.parent.mkdir(parents=True, exist_ok=True)
    beside = place.with_name(f".{place.name}.{os.getpid()}.{threading.get_ident()}.new")
    try:
        with beside.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(place)
    except BaseException:
        with suppress(OSError):
            beside.unlink()
        raise
    return content


_FACTS = ("provider", "model", "input_tokens", "output_tokens", "finish_reason", "provider_data")


# -- writing ----------------------------------------------------------------------------------


def _content(recording: Recording) -> bytes:
    """The bytes of a file that can be read back: a model may have answered what no answer should hold."""
    try:
        content = (json.dumps(_form(recording), indent=2, ensure_ascii=False) + "\n").encode("utf-8")
        _recording(_json(content))
    except (TypeError, ValueError, RecursionError, _DamagedError) as error:
        raise InvalidValueError("what is recorded", object(), f"texts, numbers and JSON ({error})") from None
    return content


def _form(recording: Recording) -> Form:
    prompts: Form = {}
    tools: Form = {}
    exchanges = []
    for exchange in recording.exchanges:
        asked = {
            "system": _shared(prompts, "prompt", _lines(exchange.asked["system"])),
            "tools": _shared(tools, "tools", exchange.asked["tools"]),
            "messages": [{**message, "text": _lines(message["text"])} for message in exchange.asked["messages"]],
        }
        streamed = {} if exchange.pieces is None else {"streamed": list(exchange.pieces)}
        exchanges.append({"asked": asked, **streamed, **_outcome_form(exchange.outcome)})
    limits = {"context_window": recording.context_window, "output_limit": recording.output_limit}
    return {"form": FORM, "version": VERSION, **limits, "prompts": prompts, "tools": tools, "exchanges": exchanges}


def _outcome_form(outcome: Outcome) -> Form:
    if isinstance(outcome, Broken):
        return {"ended": outcome.value}
    if isinstance(outcome, Failed):
        failed = _without_none(text=outcome.text, retry_after=outcome.retry_after)
        return {"failure": {"class": outcome.failure_class.value, **failed}}
    form = answer_form(outcome)
    return {"answer": {**form, "text": _lines(form["text"])}}


def _shared(known: Form, kind: str, value: Any) -> str:
    """The name of *value* among what is referred to: the same in every file."""
    digest = hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
    name = f"{kind}-{digest[:12]}"
    known[name] = value
    return name


def _lines(text: str) -> str | list[str]:
    return text.split("\n") if "\n" in text else text


def _without_none(**values: Any) -> Form:
    return {name: value for name, value in values.items() if value is not None}


# -- reading ----------------------------------------------------------------------------------


class _DamagedError(Exception):
    """What is wrong, and where."""


_Check: TypeAlias = Callable[[Any, str], Any]


def _recording(found: Form) -> Recording:
    names = ("form", "version", "context_window", "output_limit", "prompts", "tools", "exchanges")
    _fields(found, "it", dict.fromkeys(names, _unchecked))
    if type(found["version"]) is not int or found["version"] < 1:
        raise _DamagedError("its version is no number from 1 on")
    prompts = {name: _text(text, f"prompt {name!r}") for name, text in _mapping(found["prompts"], "prompts").items()}
    tools = {name: _tools(listed, f"{name!r}") for name, listed in _mapping(found["tools"], "tools").items()}
    exchanges = tuple(
        _exchange(exchange, f"exchange {number}", prompts, tools)
        for number, exchange in enumerate(_list(found["exchanges"], "exchanges"), 1)
    )
    return Recording(_limit(found["context_window"], "it"), _limit(found["output_limit"], "it"), exchanges)


def _exchange(found: Any, where: str, prompts: Form, tools: Form) -> Exchange:
    form = _fields(
        found,
        where,
        {"asked": _mapping},
        {"streamed": _texts, "answer": _answer, "failure": _failure, "ended": _broken},
    )
    outcomes = [form[name] for name in ("answer", "failure", "ended") if name in form]
    if len(outcomes) != 1:
        raise _DamagedError(f"{where} has not one of an answer, a failure and an end")
    pieces = form.get("streamed")
    if isinstance(outcomes[0], Broken) and pieces is None:
        raise _DamagedError(f"{where} ended as a stream, and has no pieces of one")
    asked = _fields(form["asked"], where, {"system": _string, "tools": _string, "messages": _list})
    return Exchange(
        {
            "system": _named(asked["system"], prompts, where),
            "tools": _named(asked["tools"], tools, where),
            "messages": [_message(message, f"a message of {where}") for message in asked["messages"]],
        },
        pieces,
        outcomes[0],
    )


def _message(found: Any, where: str) -> Form:
    more: dict[str, _Check] = {"calls": _calls, "call_id": _string, "provider_data": _string}
    return _fields(found, where, {"role": _string, "text": _text}, more)


def _calls(found: Any, where: str) -> list[Form]:
    return [
        _fields(call, where, {"name": _string, "arguments": _string}, {"id": _string}) for call in _list(found, where)
    ]


def _tools(found: Any, where: str) -> list[Form]:
    fields: dict[str, _Check] = {"name": _string, "description": _string, "parameters": _mapping}
    return [_fields(tool, where, fields) for tool in _list(found, where)]


def _answer(found: Any, where: str) -> ModelAnswer:
    more: dict[str, _Check] = {name: _tokens if name.endswith("_tokens") else _string for name in _FACTS}
    return answer_of(_fields(found, f"the answer of {where}", {"text": _text}, {"calls": _calls, **more}))


def _failure(found: Any, where: str) -> Failed:
    form = _fields(found, f"the failure of {where}", {"class": _string, "text": _string}, {"retry_after": _seconds})
    try:
        return Failed(FailureClass(form["class"]), form["text"], form.get("retry_after"))
    except ValueError:
        raise _DamagedError(f"{where} names a class of failures that is none") from None


def _broken(found: Any, where: str) -> Broken:
    try:
        return Broken(found)
    except ValueError:
        raise _DamagedError(f"{where} ended in a way that is none") from None


def _fields(found: Any, where: str, needed: Mapping[str, _Check], more: Mapping[str, _Check] | None = None) -> Form:
    """The checked fields of an object that has these and no others."""
    checks = {**needed, **(more or {})}
    lacking, strange = needed.keys() - _mapping(found, where).keys(), found.keys() - checks.keys()
    if lacking or strange:
        what = f"lacks {min(lacking)!r}" if lacking else "has a field that is not known"
        raise _DamagedError(f"{where} {what}")
    return {name: checks[name](value, where) for name, value in found.items()}


def _named(name: str, known: Form, where: str) -> Any:
    if name not in known:
        raise _DamagedError(f"{where} refers to something that is not there")
    return known[name]


def _unchecked(found: Any, _: str) -> Any:
    return found


def _of(kind: type, what: str) -> _Check:
    def check(found: Any, where: str) -> Any:
        if type(found) is not kind:
            raise _DamagedError(f"{where} holds a {type(found).__name__} where {what} belongs")
        return found

    return check


_string, _list, _mapping = _of(str, "a text"), _of(list, "a list"), _of(dict, "an object")


def _texts(found: Any, where: str) -> tuple[str, ...]:
    return tuple(_string(entry, where) for entry in _list(found, where))


def _text(found: Any, where: str) -> str:
    """A text, or its lines."""
    return "\n".join(_texts(found, where)) if isinstance(found, list) else str(_string(found, where))


def _tokens(found: Any, where: str) -> int:
    if type(found) is not int or found < 0:
        raise _DamagedError(f"{where} has a number of tokens that is none")
    return found


def _seconds(found: Any, where: str) -> float:
    if type(found) not in (int, float) or not 0 <= found < math.inf:
        raise _DamagedError(f"{where} has seconds that are none")
    return float(found)


def _limit(found: Any, where: str) -> int | None:
    return None if found is None else (_tokens(found, where) or None)


def _json(content: bytes) -> Any:
    return json.loads(content.decode("utf-8"), object_pairs_hook=_pairs, parse_constant=_refused)


def _pairs(pairs: Iterable[tuple[str, Any]]) -> Form:
    found: Form = {}
    for name, value in pairs:
        if name in found:
            raise ValueError("a name stands twice")
        found[name] = value
    return found


def _refused(constant: str) -> Any:
    raise ValueError(f"{constant} is no number")
