"""
The parameters of a tool, read from the annotations of a Python function.

An annotation gives two things: the schema that the model sees, and how a JSON value that satisfies
it becomes what the function expects (an ``Enum`` member, an attrs object). Understood are ``str``,
``int``, ``float``, ``bool``, ``None``, ``Literal``, ``Enum``, ``date``, ``datetime``, ``time``,
``UUID``, ``list``, ``tuple[X, ...]``, ``Sequence``, ``dict[str, X]``, unions, attrs classes,
dataclasses, ``TypedDict``, and ``Annotated[X, "what it means"]``. Anything else is refused when the
tool is declared, not when it is called.
"""

import collections.abc
import enum
import inspect
import math
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from nr_agent_core.domain.conversions import WRITTEN, Form, MisfitError, at, made, written
from nr_agent_core.domain.errors import NothingWrittenError, ToolDeclarationError
from nr_agent_core.domain.parameters import plain_copy, violation
from nr_agent_core.domain.shown_values import misfit
from nr_agent_core.domain.tools import ToolContext

_UNDERSTOOD = (
    "str, int, float, bool, None, Literal, Enum, date, datetime, time, UUID, list, tuple[X, ...], "
    "dict[str, X], unions, attrs classes, dataclasses and TypedDict"
)
_LISTS = (list, tuple, collections.abc.Sequence, collections.abc.Collection, collections.abc.Iterable)
_OBJECTS = (dict, collections.abc.Mapping)
_NO_DEFAULT = inspect.Parameter.empty
_SCALARS = (str, bool, int, float, type(None))


class Parameters:
    """
    What a function takes: its schema, and how arguments become a call.

    ``returns`` is its return annotation, or ``inspect.Parameter.empty``.
    """

    def __init__(self, names: "list[str]", forms: dict[str, Form], contexts: tuple[str, ...]) -> None:
        self.names, self.forms, self.contexts = names, forms, contexts
        self.required: list[str] = []
        self.defaults: dict[str, Any] = {}
        self.returns: Any = _NO_DEFAULT

    @property
    def schema(self) -> dict[str, Any]:
        """JSON Schema of the arguments; parameters annotated ``ToolContext`` are not in it."""
        return _object({name: form.schema for name, form in self.forms.items()}, self.required)

    def converted(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """
        *arguments* as the function expects them; what was not given stays away.

        Raises:
            NothingWrittenError: one of them does not convert. The function was not called.
        """
        try:
            return {name: at(name, self.forms[name], value) for name, value in arguments.items()}
        except Exception as error:
            raise NothingWrittenError("an argument did not convert; the function was not called") from error

    def violation(self, arguments: Mapping[str, Any]) -> str | None:
        """
        What is wrong with *arguments*, or None when the function can be called with them (T8).

        They are held against the schema, and then made into what the function expects: a date that
        is none, or a class that refuses what it is given, is found before anybody is asked.
        """
        wrong = violation(self.schema, arguments)
        if wrong is not None:
            return wrong
        try:
            for name, value in arguments.items():
                at(name, self.forms[name], value)
        except MisfitError as error:
            return misfit(error.path, error.why)
        return None

    def in_context(self, context: ToolContext) -> dict[str, Any]:
        """The context under every name that asks for it."""
        return dict.fromkeys(self.contexts, context)


def parameters_of(function: Callable[..., Any], tool: str, namespace: Mapping[str, Any]) -> Parameters:
    """
    Read the parameters of *function*.

    Args:
        function: a function or bound method; each parameter is annotated and can be given by name.
        tool: the tool's name, for errors.
        namespace: local names that annotations written as text may use.

    Raises:
        ToolDeclarationError: a parameter is missing its annotation, or has one that is not understood.
    """
    hints = hints_of(function, tool, namespace)
    reader = _Reader(tool, namespace)
    read = Parameters([], {}, ())
    for name, parameter in named_parameters(function, tool).items():
        read.names.append(name)
        if name not in hints:
            raise ToolDeclarationError(tool, f"parameter {name!r} has no annotation")
        if hints[name] is ToolContext:
            read.contexts += (name,)
            continue
        form = reader.form(hints[name], f"parameter {name!r}")
        if parameter.default is _NO_DEFAULT:
            read.required.append(name)
        else:
            read.defaults[name] = parameter.default
            form = _with_default(form, parameter.default)
        read.forms[name] = form
    read.returns = hints.get("return", _NO_DEFAULT)
    return read


def named_parameters(function: Callable[..., Any], tool: str) -> dict[str, inspect.Parameter]:
    """
    The parameters of *function* by name.

    Raises:
        ToolDeclarationError: one cannot be given by name, or it takes any number of them.
    """
    try:
        parameters = dict(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        raise ToolDeclarationError(tool, "what it should call tells no parameters") from None
    for name, parameter in parameters.items():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise ToolDeclarationError(tool, f"parameter {name!r} cannot be given by its name alone")
    return parameters


def hints_of(owner: Any, tool: str, namespace: Mapping[str, Any]) -> dict[str, Any]:
    """
    The annotations of a function or class, those written as text resolved.

    Raises:
        ToolDeclarationError: one names something that is not known at run time.
    """
    try:
        return typing.get_type_hints(owner, localns=dict(namespace), include_extras=True)
    except NameError as error:
        raise ToolDeclarationError(
            tool, f"an annotation names {error.name!r}, which is not known at run time"
        ) from None
    except (TypeError, SyntaxError, AttributeError) as error:
        raise ToolDeclarationError(tool, f"an annotation cannot be read: {type(error).__name__}") from error


class _Reader:
    """
    Turns annotations into forms, and knows which class it is in.
    """

    def __init__(self, tool: str, namespace: Mapping[str, Any]) -> None:
        self.tool, self.namespace = tool, namespace
        self.within: list[type] = []

    def form(self, annotation: Any, where: str) -> Form:
        origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
        if origin is typing.Annotated:
            return _described(self.form(arguments[0], where), arguments[1:])
        if _wrapper_of_a_key(origin):
            return self.form(arguments[0], where)
        if hasattr(annotation, "__supertype__"):
            return self.form(annotation.__supertype__, where)
        if origin is None and hasattr(annotation, "__value__"):
            return self.form(annotation.__value__, where)
        if isinstance(annotation, collections.abc.Hashable) and annotation in _PLAIN:
            schema, convert = _PLAIN[annotation]
            return Form(dict(schema), convert)
        if origin is typing.Literal:
            return self._choice(arguments, where)
        if origin in (typing.Union, types.UnionType):
            return _union([self.form(item, where) for item in arguments])
        if annotation in _LISTS or origin in _LISTS:
            return self._list(origin or annotation, arguments, where)
        if annotation in _OBJECTS or origin in _OBJECTS:
            return self._mapping(arguments, where)
        if origin is None and isinstance(annotation, type):
            return self._class(annotation, where)
        raise self._not_understood(where, annotation)

    def _not_understood(self, where: str, annotation: Any) -> ToolDeclarationError:
        shown = getattr(annotation, "__name__", None) or str(annotation)
        return ToolDeclarationError(self.tool, f"{where} is annotated {shown}; understood are {_UNDERSTOOD}")

    def _choice(self, members: Any, where: str) -> Form:
        values = [member.value if isinstance(member, enum.Enum) else member for member in members]
        if not values or not all(isinstance(value, _SCALARS) for value in values):
            raise ToolDeclarationError(self.tool, f"{where} offers a choice of values that are no JSON scalars")
        kinds = {type(value) for value in values}
        schema: dict[str, Any] = {"enum": values}
        if len(kinds) == 1:
            schema = {**_PLAIN[kinds.pop()].schema, **schema}
        pairs = [({"const": value}, member) for value, member in zip(values, members, strict=True)]
        return Form(schema, lambda given: next(member for one, member in pairs if violation(one, given) is None))

    def _list(self, kind: Any, arguments: Any, where: str) -> Form:
        make = tuple if kind is tuple else list
        if kind is tuple and arguments and (len(arguments) != 2 or arguments[1] is not Ellipsis):
            raise ToolDeclarationError(self.tool, f"{where} is a tuple of fixed length; understood is tuple[X, ...]")
        if not arguments:
            return Form({"type": "array"}, make)
        item = self.form(arguments[0], where)
        return Form(
            {"type": "array", "items": item.schema},
            lambda given: make(at(index, item, value) for index, value in enumerate(given)),
        )

    def _mapping(self, arguments: Any, where: str) -> Form:
        if not arguments:
            return Form({"type": "object"}, dict)
        if arguments[0] is not str:
            raise ToolDeclarationError(self.tool, f"{where} is a dict whose keys are not str")
        item = self.form(arguments[1], where)
        return Form(
            {"type": "object", "additionalProperties": item.schema},
            lambda given: {key: at(key, item, value) for key, value in given.items()},
        )

    def _class(self, annotation: type, where: str) -> Form:
        if issubclass(annotation, enum.Enum):
            return self._choice(tuple(annotation), where)
        if (annotation.__module__, annotation.__qualname__) in WRITTEN:
            return written(annotation)
        fields = _fields(annotation)
        if fields is None:
            raise self._not_understood(where, annotation)
        if annotation in self.within:
            raise ToolDeclarationError(self.tool, f"{where} holds {annotation.__name__} inside itself")
        self.within.append(annotation)
        hints = hints_of(annotation, self.tool, self.namespace)
        if fields is _KEYS:
            fields = _keys(annotation, hints)
        forms: dict[str, Form] = {}
        for field, (argument, default) in fields.items():
            if field not in hints:
                raise ToolDeclarationError(self.tool, f"{where}: field {field!r} has no annotation")
            form = self.form(hints[field], f"{where}, field {field!r}")
            forms[argument] = form if default is _NO_DEFAULT or default is _MADE else _with_default(form, default)
        self.within.pop()
        required = [argument for argument, default in fields.values() if default is _NO_DEFAULT]
        schema = _object({name: form.schema for name, form in forms.items()}, required)
        return Form(_documented(schema, annotation), lambda given: made(annotation, forms, given))


def _wrapper_of_a_key(origin: Any) -> bool:
    """Whether it is ``Required``, ``NotRequired`` or ``ReadOnly``, of whichever module."""
    return getattr(origin, "_name", None) in ("Required", "NotRequired", "ReadOnly")


def _same(value: Any) -> Any:
    return value


_PLAIN: dict[Any, Form] = {
    str: Form({"type": "string"}, _same),
    bool: Form({"type": "boolean"}, _same),
    int: Form({"type": "integer"}, int),
    float: Form({"type": "number"}, float),
    None: Form({"type": "null"}, _same),
    type(None): Form({"type": "null"}, _same),
}
_MADE = object()
_KEYS: dict[str, tuple[str, Any]] = {}
"""Stands for the keys of a ``TypedDict``, which its annotations tell."""


def _fields(cls: type) -> dict[str, tuple[str, Any]] | None:
    """Field name to the name of its argument and its default; None for a class that tells no fields."""
    if attrs.has(cls):
        return {
            field.name: (field.alias or field.name, _default_of(field.default, attrs.NOTHING))
            for field in attrs.fields(cls)
            if field.init
        }
    if hasattr(cls, "__dataclass_fields__"):
        import dataclasses

        found = {}
        for field in dataclasses.fields(cls):
            made = field.default_factory is not dataclasses.MISSING
            if field.init:
                found[field.name] = (field.name, _MADE if made else _default_of(field.default, dataclasses.MISSING))
        return found
    if hasattr(cls, "__required_keys__") and issubclass(cls, dict):
        return _KEYS
    return None


def _keys(cls: Any, hints: Mapping[str, Any]) -> dict[str, tuple[str, Any]]:
    found = {}
    for key, hint in hints.items():
        wrapped = getattr(typing.get_origin(hint), "_name", None)
        # Annotations written as text hide their wrapper from the class, so it is asked first.
        needed = wrapped == "Required" or (wrapped != "NotRequired" and key in cls.__required_keys__)
        found[key] = (key, _NO_DEFAULT if needed else _MADE)
    return found


def _default_of(default: Any, missing: Any) -> Any:
    if default is missing:
        return _NO_DEFAULT
    return _MADE if isinstance(default, attrs.Factory) else default  # type: ignore[arg-type]


def _object(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    return {**schema, "additionalProperties": False}


def _union(forms: list[Form]) -> Form:
    def convert(given: Any) -> Any:
        misfits = []
        for form in forms:
            if violation(form.schema, given) is None:
                try:
                    return form.convert(given)
                except MisfitError as error:
                    misfits.append(error)
        raise misfits[0]

    return Form({"anyOf": [form.schema for form in forms]}, convert)


def _described(form: Form, metadata: tuple[Any, ...]) -> Form:
    texts = [item for item in metadata if isinstance(item, str)]
    return Form({**form.schema, "description": texts[0]}, form.convert) if texts else form


def _documented(schema: dict[str, Any], cls: type) -> dict[str, Any]:
    # A dataclass without a docstring is given its signature as one.
    text = first_paragraph(cls.__dict__.get("__doc__"))
    return {**schema, "description": text} if text and not text.startswith(f"{cls.__name__}(") else schema


def _with_default(form: Form, default: Any) -> Form:
    value = default.value if isinstance(default, enum.Enum) else plain_copy(default)
    if form.schema.get("format") and not isinstance(value, str) and value is not None:
        value = value.isoformat() if hasattr(value, "isoformat") else str(value)
    # "default" informs the model; one that its own schema refuses (x: str = None) would mislead it.
    if not _is_json(value) or violation(form.schema, value) is not None:
        return form
    return Form({**form.schema, "default": value}, form.convert)


def _is_json(value: Any) -> bool:
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_json(item) for key, item in value.items())
    if isinstance(value, list):
        return all(map(_is_json, value))
    return isinstance(value, _SCALARS) and not (isinstance(value, float) and not math.isfinite(value))


def first_paragraph(docstring: str | None) -> str:
    """The first paragraph of *docstring* on one line, ``""`` without one."""
    return " ".join(inspect.cleandoc(docstring or "").split("\n\n")[0].split())
