"""
The parameters of a tool: which JSON Schema may declare them, and whether arguments satisfy it (T1).

Understood are ``type``, ``properties``, ``required``, ``enum``, ``const``, ``items``,
``additionalProperties``, ``anyOf``, local ``$ref`` (into ``$defs`` or ``definitions`` of the root,
or to the root itself) and bounds. ``title``, ``description``, ``default`` and ``format`` are
annotations. Any other keyword is refused at start-up: a keyword that is not checked would read as
if it were.

Decided here, as JSON Schema has it: 1.0 is an integer and equal to 1, a boolean is no number,
lengths count characters, and undeclared properties are allowed unless ``additionalProperties``
says otherwise.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, Final, NoReturn, TypeAlias

from nr_agent_core.domain.arguments import MAX_DEPTH, accepted_arguments, parse_arguments
from nr_agent_core.domain.errors import ToolDeclarationError
from nr_agent_core.domain.shown_values import SHOWN, child, escaped, listed, place, shown_value

__all__ = ["accepted_arguments", "check_schema", "parse_arguments", "plain_copy", "violation"]

Schema: TypeAlias = Mapping[str, Any]

_STEPS: Final = 50_000

_TYPES: Final = {
    "object": "an object",
    "array": "a list",
    "string": "a text",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
}
_NUMBER_BOUNDS: Final = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_COUNT_BOUNDS: Final = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
_TEXTS: Final = ("title", "description", "format")
_HOMES: Final = ("$defs", "definitions")


def check_schema(tool: str, schema: object) -> None:
    """
    Check that *schema* may declare the parameters of *tool* (T1).

    Raises:
        ToolDeclarationError: it uses an unknown keyword, has no object at the root, or means
            nothing. The text names the place.
    """
    if not isinstance(schema, Mapping) or schema.get("type") != "object":
        raise ToolDeclarationError(tool, 'its parameters are no schema with "type": "object" at the root')
    check = _SchemaCheck(tool, schema)
    check.node(schema, "", 0)
    for home in _HOMES:
        for name in schema.get(home, ()):
            check.ends(f"#/{home}/{escaped(name)}", ())
    check.ends("#", ())


def violation(schema: Schema, arguments: object) -> str | None:
    """
    What is wrong with *arguments* under a checked *schema*, or None (T8).

    Args:
        schema: one that :func:`check_schema` accepts.
        arguments: what the model gave.

    Returns:
        None, or one line for the model: the place as a JSON Pointer and what is allowed there,
        as in ``/items/2/price: found 'cheap'; allowed is a number``; at most 80 characters of a value.
    """
    try:
        return _ArgumentCheck(schema).at(schema, arguments, "", 0)
    except (_TooMuchError, RecursionError):
        return "the arguments nest too deep, or take too long to check; give simpler ones"


def plain_copy(value: Any) -> Any:
    """A deep copy of a JSON value as plain dicts and lists."""
    if isinstance(value, Mapping):
        return {key: plain_copy(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_copy(item) for item in value]
    return value


class _SchemaCheck:
    """
    Goes through one declaration and refuses what the argument check would not understand.
    """

    def __init__(self, tool: str, root: Schema) -> None:
        self.tool, self.root = tool, root
        self.ending: set[str] = set()
        self.keywords: dict[str, Callable[[Any, str, int], None]] = {
            "type": self._type,
            "properties": self._named,
            "required": self._required,
            "enum": self._enum,
            "const": self._json,
            "items": self.node,
            "additionalProperties": self.node,
            "anyOf": self._any_of,
            "$ref": self._ref,
            "default": self._json,
            **dict.fromkeys(_NUMBER_BOUNDS, self._number),
            **dict.fromkeys(_COUNT_BOUNDS, self._count),
            **dict.fromkeys(_TEXTS, self._text),
        }

    def node(self, schema: Any, where: str, depth: int) -> None:
        if isinstance(schema, bool) and depth:
            return
        if isinstance(schema, bool) or not isinstance(schema, Mapping):
            self._refuse(where, "a schema is an object, true or false")
        if depth > MAX_DEPTH:
            self._refuse(where, f"schemas nest at most {MAX_DEPTH} deep")
        for keyword, value in schema.items():
            place = f"{where}/{keyword}"
            if depth == 0 and keyword in _HOMES:
                self._named(value, place, depth + 1)
            elif keyword in self.keywords:
                self.keywords[keyword](value, place, depth + 1)
            else:
                self._refuse(where, f"the keyword {str(keyword)[:SHOWN]!r} is not understood")

    def ends(self, ref: str, trail: tuple[str, ...]) -> None:
        """Refuse a reference that comes back to itself without going into the arguments."""
        if ref in trail:
            self._refuse(ref[1:], "the reference leads back to itself")
        if ref in self.ending:
            return
        if len(trail) > MAX_DEPTH:
            self._refuse(ref[1:], f"references follow each other at most {MAX_DEPTH} times")
        for inner in _references(_target(self.root, ref)):
            self.ends(inner, (*trail, ref))
        self.ending.add(ref)

    def _refuse(self, where: str, why: str) -> NoReturn:
        raise ToolDeclarationError(self.tool, f"its parameters at '#{where}': {why}")

    def _type(self, value: Any, where: str, _depth: int) -> None:
        names = value if isinstance(value, (list, tuple)) else [value]
        if not names or not all(isinstance(name, str) and name in _TYPES for name in names):
            self._refuse(where, f"a type is one of {', '.join(_TYPES)}, or a list of them")
        if len(set(names)) != len(names):
            self._refuse(where, "a type stands twice")

    def _named(self, value: Any, where: str, depth: int) -> None:
        if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
            self._refuse(where, "is not an object of named schemas")
        for name, schema in value.items():
            self.node(schema, f"{where}/{name}", depth)

    def _required(self, value: Any, where: str, _depth: int) -> None:
        if not isinstance(value, (list, tuple)) or not all(isinstance(name, str) for name in value):
            self._refuse(where, "is not a list of property names")
        if len(set(value)) != len(value):
            self._refuse(where, "a name stands twice")

    def _enum(self, value: Any, where: str, depth: int) -> None:
        if not isinstance(value, (list, tuple)) or not value:
            self._refuse(where, "is not a list of at least one value")
        for item in value:
            self._json(item, where, depth)

    def _any_of(self, value: Any, where: str, depth: int) -> None:
        if not isinstance(value, (list, tuple)) or not value:
            self._refuse(where, "is not a list of at least one schema")
        for index, schema in enumerate(value):
            self.node(schema, f"{where}/{index}", depth)

    def _ref(self, value: Any, where: str, _depth: int) -> None:
        if not isinstance(value, str) or _target(self.root, value) is None:
            self._refuse(where, "does not lead to '#' or to an entry of the root's $defs or definitions")

    def _number(self, value: Any, where: str, _depth: int) -> None:
        if not _is_number(value) or (isinstance(value, float) and not math.isfinite(value)):
            self._refuse(where, "is not a finite number")

    def _count(self, value: Any, where: str, _depth: int) -> None:
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            self._refuse(where, "is not an integer from 0")

    def _text(self, value: Any, where: str, _depth: int) -> None:
        if not isinstance(value, str):
            self._refuse(where, "is no text")

    def _json(self, value: Any, where: str, depth: int) -> None:
        if depth > MAX_DEPTH:
            self._refuse(where, f"values nest at most {MAX_DEPTH} deep")
        if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
            for item in value.values():
                self._json(item, where, depth + 1)
        elif isinstance(value, (list, tuple)):
            for item in value:
                self._json(item, where, depth + 1)
        elif isinstance(value, float):
            self._number(value, where, depth)
        elif not (value is None or isinstance(value, (str, bool, int))):
            self._refuse(where, "holds something that is no JSON")


class _TooMuchError(Exception):
    """
    The check was given up: too deep or too many steps.
    """


class _ArgumentCheck:
    """
    Holds arguments against a schema, within a budget that ``anyOf`` cannot multiply away.
    """

    def __init__(self, root: Schema) -> None:
        self.root, self.steps = root, 0

    def at(self, schema: Any, value: object, where: str, depth: int) -> str | None:
        self.steps += 1
        if depth > MAX_DEPTH or self.steps > _STEPS:
            raise _TooMuchError
        if isinstance(schema, bool):
            return None if schema else f"{place(where)}: not allowed"
        if "$ref" in schema:
            wrong = self.at(_target(self.root, schema["$ref"]), value, where, depth)
            if wrong is not None:
                return wrong
        return (
            _wrong_value(schema, value, where)
            or _out_of_bounds(schema, value, where)
            or self._in_object(schema, value, where, depth)
            or self._in_list(schema, value, where, depth)
            or self._any_of(schema, value, where, depth)
        )

    def _in_object(self, schema: Schema, value: object, where: str, depth: int) -> str | None:
        if not isinstance(value, Mapping):
            return None
        for name in schema.get("required", ()):
            if name not in value:
                return f"{place(child(where, name))}: missing"
        known: Mapping[str, Any] = schema.get("properties", {})
        others = schema.get("additionalProperties", True)
        for name, item in value.items():
            if name not in known and others is False:
                allowed = f"allowed are {listed(known)}" if known else "none is allowed"
                return f"{place(where)}: has no property {shown_value(name)}; {allowed}"
            wrong = self.at(known.get(name, others), item, child(where, name), depth + 1)
            if wrong is not None:
                return wrong
        return None

    def _in_list(self, schema: Schema, value: object, where: str, depth: int) -> str | None:
        if not isinstance(value, list) or "items" not in schema:
            return None
        for index, item in enumerate(value):
            wrong = self.at(schema["items"], item, child(where, index), depth + 1)
            if wrong is not None:
                return wrong
        return None

    def _any_of(self, schema: Schema, value: object, where: str, depth: int) -> str | None:
        forms = schema.get("anyOf", ())
        wrongs = []
        for form in forms:
            wrong = self.at(form, value, where, depth)
            if wrong is None:
                return None
            # "null is not allowed here" helps nobody who gave a text that is too long.
            if form != {"type": "null"}:
                wrongs.append(wrong)
        if not forms:
            return None
        if len(wrongs) == 1:
            return f"{wrongs[0]}, or null" if len(forms) > 1 else wrongs[0]
        return f"{place(where)}: found {shown_value(value)}; it fits none of its {len(forms)} allowed forms"


def _wrong_value(schema: Schema, value: object, where: str) -> str | None:
    if "type" in schema:
        names = schema["type"] if isinstance(schema["type"], (list, tuple)) else [schema["type"]]
        if not any(_is_type(name, value) for name in names):
            return (
                f"{place(where)}: found {shown_value(value)}; allowed is {' or '.join(_TYPES[name] for name in names)}"
            )
    if "const" in schema and not _same(schema["const"], value):
        return f"{place(where)}: found {shown_value(value)}; allowed is {shown_value(schema['const'])}"
    if "enum" in schema and not any(_same(item, value) for item in schema["enum"]):
        return f"{place(where)}: found {shown_value(value)}; allowed is one of {listed(schema['enum'])}"
    return None


def _out_of_bounds(schema: Schema, value: object, where: str) -> str | None:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if value < schema.get("minimum", value):
            return f"{place(where)}: found {shown_value(value)}; allowed is {shown_value(schema['minimum'])} or more"
        if value > schema.get("maximum", value):
            return f"{place(where)}: found {shown_value(value)}; allowed is {shown_value(schema['maximum'])} or less"
        if "exclusiveMinimum" in schema and value <= schema["exclusiveMinimum"]:
            bound = shown_value(schema["exclusiveMinimum"])
            return f"{place(where)}: found {shown_value(value)}; allowed is more than {bound}"
        if "exclusiveMaximum" in schema and value >= schema["exclusiveMaximum"]:
            bound = shown_value(schema["exclusiveMaximum"])
            return f"{place(where)}: found {shown_value(value)}; allowed is less than {bound}"
    elif isinstance(value, str):
        return _miscounted(schema, "Length", len(value), "characters", where)
    elif isinstance(value, list):
        return _miscounted(schema, "Items", len(value), "items", where)
    elif isinstance(value, Mapping):
        return _miscounted(schema, "Properties", len(value), "properties", where)
    return None


def _miscounted(schema: Schema, suffix: str, count: int, unit: str, where: str) -> str | None:
    least, most = schema.get("min" + suffix, 0), schema.get("max" + suffix, count)
    if count < least:
        return f"{place(where)}: has {count} {unit}; allowed are at least {least}"
    if count > most:
        return f"{place(where)}: has {count} {unit}; allowed are at most {most}"
    return None


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_type(name: str, value: object) -> bool:
    if name == "integer":
        return _is_number(value) and (isinstance(value, int) or (isinstance(value, float) and value.is_integer()))
    if name == "number":
        return _is_number(value)
    if name == "object":
        return isinstance(value, Mapping)
    if name == "null":
        return value is None
    return isinstance(value, {"string": str, "boolean": bool, "array": list}[name])


def _same(one: object, other: object) -> bool:
    """Equal as JSON: 1 equals 1.0, but true is not 1."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(_same, one, other))
    return isinstance(one, bool) is isinstance(other, bool) and one == other


def _target(root: Schema, ref: str) -> Any:
    """Where a local reference leads, or None."""
    if ref == "#":
        return root
    start, _, name = ref.partition("/")
    home, _, name = name.partition("/")
    if start != "#" or home not in _HOMES or "/" in name or not isinstance(root.get(home), Mapping):
        return None
    return root[home].get(name.replace("~1", "/").replace("~0", "~"))


def _references(schema: Any) -> list[str]:
    """The references that *schema* applies to the same value."""
    if not isinstance(schema, Mapping):
        return []
    found = [schema["$ref"]] if "$ref" in schema else []
    for form in schema.get("anyOf", ()):
        found.extend(_references(form))
    return found
