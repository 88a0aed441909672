"""
Which schemas may declare parameters, and when arguments satisfy them (T1, T8).
"""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nr_agent_core.domain.parameters import check_schema, violation
from tests.unit.parameter_schemas import NAMES, TEXTS, VALUES, of, shown

TYPES = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool) and value == int(value),
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "string": lambda value: isinstance(value, str),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}


def wrong(schema, value):
    """What is wrong with *value* as the one property ``x`` of a checked schema."""
    parameters = of(x=schema)
    check_schema("tool", parameters)
    return violation(parameters, {"x": value})


# -- schemas together with values that satisfy them, made from the meaning of each keyword ----------


@st.composite
def satisfied(draw, depth=2):
    """A schema and a value that satisfies it, built side by side."""
    kind = draw(st.sampled_from(["text", "integer", "number", "const", "enum", "any", "list", "object", "anyOf"]))
    if kind == "text":
        value = draw(TEXTS)
        bounds = {"minLength": draw(st.integers(0, len(value))), "maxLength": draw(st.integers(len(value), 9))}
        return {"type": "string", **bounds, "format": "anything"}, value
    if kind in ("integer", "number"):
        value = draw(st.integers(-9, 9) if kind == "integer" else st.floats(-9, 9))
        bounds = {"minimum": value - draw(st.integers(0, 3)), "maximum": value + draw(st.integers(0, 3))}
        outer = {"exclusiveMinimum": value - 1, "exclusiveMaximum": value + 1}
        return {"type": kind, **bounds, **outer}, value
    if kind in ("const", "any"):
        value = draw(VALUES)
        return ({"const": value} if kind == "const" else draw(st.sampled_from([{}, True, {"title": "t"}]))), value
    if kind == "enum":
        values = draw(st.lists(VALUES, min_size=1, max_size=4))
        return {"enum": values}, draw(st.sampled_from(values))
    if depth == 0:
        return {}, draw(VALUES)
    if kind == "list":
        schema, value = draw(satisfied(depth=depth - 1))
        count = draw(st.integers(0, 3))
        return {"type": "array", "items": schema, "minItems": count, "maxItems": count}, [value] * count
    if kind == "anyOf":
        schema, value = draw(satisfied(depth=depth - 1))
        other, _ = draw(satisfied(depth=depth - 1))
        return {"anyOf": draw(st.permutations([schema, other]))}, value
    pairs = draw(st.dictionaries(NAMES, satisfied(depth=depth - 1), max_size=3))
    required = draw(st.lists(st.sampled_from(sorted(pairs)), unique=True)) if pairs else []
    missing = draw(st.sets(st.sampled_from(sorted(pairs)))) - set(required) if pairs else set()
    schema = {
        "type": "object",
        "properties": {name: schema for name, (schema, _) in pairs.items()},
        "required": required,
        "additionalProperties": draw(st.booleans()),
    }
    return schema, {name: value for name, (_, value) in pairs.items() if name not in missing}


@given(satisfied())
def test_what_was_made_to_satisfy_a_schema_does(made):
    """A value built from a schema's own meaning is accepted (T8)."""
    schema, value = made

    assert wrong(schema, value) is None


@given(satisfied(), VALUES)
def test_schema_checks_agree_with_a_plain_reading(made, value):
    """Any value under any schema: as an evaluation of the standard's words, written apart, says (T8)."""
    schema, _ = made

    assert (wrong(schema, value) is None) is plainly(schema, value)


def plainly(schema, value):
    """JSON Schema's words one by one, without messages, references or bounds on effort."""
    if schema is True:
        return True
    equal = {json.dumps(item, sort_keys=True) for item in map(canonical, schema.get("enum", []))}
    size = {"string": "Length", "array": "Items"}
    kind = "string" if isinstance(value, str) else "array" if isinstance(value, list) else None
    number = TYPES["number"](value)
    return all(
        [
            "type" not in schema or TYPES[schema["type"]](value),
            "const" not in schema or json.dumps(canonical(schema["const"]), sort_keys=True) == key(value),
            "enum" not in schema or key(value) in equal,
            not number or schema.get("minimum", value) <= value <= schema.get("maximum", value),
            not number or "exclusiveMinimum" not in schema or schema["exclusiveMinimum"] < value,
            not number or "exclusiveMaximum" not in schema or schema["exclusiveMaximum"] > value,
            kind is None or schema.get(f"min{size[kind]}", 0) <= len(value),
            kind is None or schema.get(f"max{size[kind]}", 99) >= len(value),
            kind != "array" or all(plainly(schema.get("items", True), item) for item in value),
            "anyOf" not in schema or any(plainly(form, value) for form in schema["anyOf"]),
            not isinstance(value, dict) or plainly_object(schema, value),
        ]
    )


def plainly_object(schema, value):
    """The keywords that speak about objects."""
    known = schema.get("properties", {})
    return (
        all(name in value for name in schema.get("required", []))
        and all(plainly(known[name], item) for name, item in value.items() if name in known)
        and (schema.get("additionalProperties", True) or set(value) <= set(known))
    )


def canonical(value):
    """*value* with whole floats as integers: equal JSON has equal text."""
    if isinstance(value, float) and value == int(value):
        return int(value)
    if isinstance(value, list):
        return [canonical(item) for item in value]
    return {name: canonical(item) for name, item in value.items()} if isinstance(value, dict) else value


def key(value):
    """A text that two values share exactly when they are equal as JSON."""
    return json.dumps(canonical(value), sort_keys=True)


# -- decisions -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "value", "fits"),
    [
        ({"type": "integer"}, True, False),
        ({"type": "number"}, False, False),
        ({"type": "boolean"}, 1, False),
        ({"type": "integer"}, 1.0, True),
        ({"type": "integer"}, 1.5, False),
        ({"type": "integer"}, 10**400, True),
        ({"type": "number"}, 10**400, True),
        ({"enum": [1]}, True, False),
        ({"enum": [True]}, 1, False),
        ({"enum": [1]}, 1.0, True),
        ({"const": [1, {"a": 0}]}, [1.0, {"a": 0.0}], True),
        ({"const": [1, {"a": 0}]}, [True, {"a": 0}], False),
        ({"const": None}, None, True),
        ({"const": None}, 0, False),
        ({"const": {"a": 1}}, {"a": 1, "b": 2}, False),
        ({"minimum": 3}, "two", True),
        ({"minimum": 1}, False, True),
        ({"minLength": 2}, "\U0001f600", False),
        ({"maxLength": 1}, "\U0001f600", True),
        ({"minProperties": 1}, {}, False),
        ({"maxProperties": 0}, {"a": 1}, False),
        ({"type": ["string", "null"]}, None, True),
        ({"type": ["string", "null"]}, 5, False),
        (False, 5, False),
        (True, 5, True),
        ({"anyOf": [True, False]}, 5, True),
        ({"items": False}, [], True),
        ({"items": False}, [1], False),
        ({"required": ["a"]}, {"b": 1}, False),
        ({"required": ["a"]}, [], True),
        ({"additionalProperties": {"type": "integer"}}, {"a": 1, "b": "x"}, False),
        ({"properties": {"a": {"type": "integer"}}}, {"b": "x"}, True),
    ],
    ids=shown,
)
def test_decided_cases(schema, value, fits):
    """Where JSON and Python differ, JSON Schema decides (T1)."""
    assert (wrong(schema, value) is None) is fits


@pytest.mark.parametrize("value", [None, [], "text", 5, True], ids=shown)
def test_arguments_are_an_object(value):
    """Anything but an object is a violation, in words."""
    assert "allowed is an object" in violation({"type": "object"}, value)


# -- words -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "value", "text"),
    [
        ({"type": "integer"}, "abc", "/x: found 'abc'; allowed is an integer"),
        ({"type": ["string", "null"]}, 5, "/x: found 5; allowed is a text or null"),
        ({"enum": ["a", "b"]}, "c", "/x: found 'c'; allowed is one of 'a', 'b'"),
        ({"const": 1}, 2, "/x: found 2; allowed is 1"),
        ({"minimum": 1}, 0, "/x: found 0; allowed is 1 or more"),
        ({"maximum": 1}, 2, "/x: found 2; allowed is 1 or less"),
        ({"exclusiveMinimum": 1}, 1, "/x: found 1; allowed is more than 1"),
        ({"exclusiveMaximum": 1}, 1, "/x: found 1; allowed is less than 1"),
        ({"minLength": 2}, "a", "/x: has 1 characters; allowed are at least 2"),
        ({"maxItems": 1}, [1, 2], "/x: has 2 items; allowed are at most 1"),
        ({"items": of(y={"type": "string"})}, [{"y": "a"}, {}], "/x/1/y: missing"),
        (of(y={}), {"y": 1, "z": 2}, "/x: has no property 'z'; allowed are 'y'"),
        (of(), {"z": 2}, "/x: has no property 'z'; none is allowed"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "a", "/x: found 'a'; allowed is an integer, or null"),
        ({"anyOf": [{"type": "integer"}, {"minLength": 2}]}, "a", "/x: found 'a'; it fits none of its 2 allowed forms"),
        ({"anyOf": [{"type": "integer"}]}, [], "/x: found a list of 0; allowed is an integer"),
        (False, {}, "/x: not allowed"),
        ({"type": "string"}, {}, "/x: found an object; allowed is a text"),
        ({"type": "string"}, None, "/x: found null; allowed is a text"),
        ({"enum": [True, False]}, None, "/x: found null; allowed is one of true, false"),
        ({"type": "string"}, 10**400, "/x: found a very large integer; allowed is a text"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_violation_names_the_place_and_what_is_allowed(schema, value, text):
    """The model can correct itself from the text alone (T8)."""
    assert wrong(schema, value) == text


def test_a_violation_of_the_root_is_named_too():
    """Missing and unknown arguments, named as such."""
    assert violation(of(title={}), {}) == "/title: missing"
    assert violation(of(title={}), {"title": 1, "uid": 2}) == (
        "the arguments: has no property 'uid'; allowed are 'title'"
    )


@given(st.text("x", min_size=79, max_size=400), st.sampled_from(["value", "name", "nested", "enum"]))
def test_no_more_than_80_characters_of_a_value_are_repeated(long, kind):
    """However long what the model gave: its text comes back shortened, as a value or as a name (T8)."""
    text = {
        "value": lambda: wrong({"type": "integer"}, long),
        "name": lambda: violation(of(), {long: 1}),
        "nested": lambda: violation({"type": "object", "additionalProperties": {"type": "null"}}, {long: 1}),
        "enum": lambda: wrong({"enum": ["a"]}, long),
    }[kind]()

    assert "x" in text
    assert text.count("x") <= 80
    assert len(text) < 200


@given(st.text(st.characters(), min_size=1))
@example("\ud800")
def test_a_violation_is_valid_text(text):
    """A value that no wire can hold is escaped, not repeated (P3)."""
    told = wrong({"type": "integer"}, text)

    assert told.encode("utf-8").decode("utf-8") == told
    assert all(f"\\u{ord(half):04x}" in told for half in text[:20] if "\ud800" <= half <= "\udfff")


def test_a_long_list_of_allowed_values_is_cut():
    """Twenty are named, the others counted."""
    text = wrong({"enum": list(range(100))}, "a")

    assert text.endswith("18, 19 and 80 more")
