"""
Schemas of parameters: which are refused at the start, and what a reference in them means.
"""

import pytest
from hypothesis import assume, given

from nr_agent_core.domain.errors import ToolDeclarationError
from nr_agent_core.domain.parameters import check_schema, plain_copy, violation
from tests.unit.parameter_schemas import VALUES, of, shown


def _nested(depth):
    """A list in a list, and so on."""
    value = []
    for _ in range(depth):
        value = [value]
    return value


# -- declarations ----------------------------------------------------------------------------------

UNKNOWN = [
    "oneOf", "allOf", "not", "if", "then", "else", "pattern", "patternProperties", "propertyNames", "uniqueItems",
    "contains", "prefixItems", "additionalItems", "multipleOf", "dependencies", "dependentRequired", "$id", "$anchor",
    "$schema", "$dynamicRef", "unevaluatedProperties", "contentEncoding", "nullable", "examples", "x-own", "Type",
]  # fmt: skip


@pytest.mark.parametrize("keyword", UNKNOWN)
@pytest.mark.parametrize("where", ["root", "property", "item", "form", "definition", "additional"])
def test_a_keyword_that_is_not_checked_is_refused_everywhere(keyword, where):
    """A keyword nobody reads would read as if it were enforced (T1)."""
    bad = {keyword: {}}
    schema = {
        "root": {"type": "object", **bad},
        "property": of(x=bad),
        "item": of(x={"items": bad}),
        "form": of(x={"anyOf": [{}, bad]}),
        "definition": {"type": "object", "$defs": {"unused": bad}},
        "additional": {"type": "object", "additionalProperties": bad},
    }[where]

    with pytest.raises(ToolDeclarationError, match="not understood") as caught:
        check_schema("a_tool", schema)
    assert repr(keyword) in str(caught.value)
    assert caught.value.tool == "a_tool"


@pytest.mark.parametrize(
    "part",
    [
        {"type": "text"},
        {"type": []},
        {"type": ["string", "string"]},
        {"type": 5},
        {"type": None},
        {"type": [["string"]]},
        {"properties": []},
        {"properties": {"a": 5}},
        {"properties": {5: {}}},
        {"required": "a"},
        {"required": [1]},
        {"required": ["a", "a"]},
        {"enum": []},
        {"enum": "ab"},
        {"enum": [{1, 2}]},
        {"enum": [float("nan")]},
        {"const": object()},
        {"const": {1: "a"}},
        {"const": float("inf")},
        {"default": b"x"},
        {"default": _nested(40)},
        {"items": []},
        {"items": [{}]},
        {"items": None},
        {"additionalProperties": None},
        {"additionalProperties": "no"},
        {"anyOf": []},
        {"anyOf": {}},
        {"anyOf": [5]},
        {"minimum": "1"},
        {"minimum": True},
        {"maximum": float("nan")},
        {"exclusiveMinimum": False},
        {"exclusiveMaximum": None},
        {"minLength": -1},
        {"maxLength": 1.5},
        {"minItems": True},
        {"maxProperties": "1"},
        {"title": 5},
        {"description": None},
        {"format": {}},
        {"$defs": {}},
        {"$ref": "#/$defs/missing"},
        {"$ref": "#/properties/x"},
        {"$ref": "#/$defs/a/properties/b"},
        {"$ref": "other.json"},
        {"$ref": "https://example.org/schema"},
        {"$ref": "#a"},
        {"$ref": ""},
        {"$ref": None},
        5,
        None,
        [],
    ],
    ids=lambda part: shown(part)[:40],
)
def test_malformed_schemas_are_refused(part):
    """What means nothing is refused at start-up, not met in a run (T1)."""
    with pytest.raises(ToolDeclarationError):
        check_schema("tool", of(x=part))


@pytest.mark.parametrize(
    "schema",
    [None, [], "object", True, {}, {"type": "array"}, {"type": ["object", "null"]}, {"properties": {}}],
    ids=shown,
)
def test_the_root_is_an_object(schema):
    """Arguments are an object, so the schema says so (T1)."""
    with pytest.raises(ToolDeclarationError, match="at the root"):
        check_schema("tool", schema)


def test_annotations_may_stand_anywhere():
    """Title, description, default and format inform and check nothing (T1)."""
    notes = {"title": "T", "description": "D", "default": {"a": [1, None]}, "format": "date"}
    schema = {**of(x={"type": "string", **notes}), **notes}
    check_schema("tool", schema)

    assert violation(schema, {"x": "not a date"}) is None


# -- references ------------------------------------------------------------------------------------

TREE = {
    "type": "object",
    "properties": {"tree": {"$ref": "#/$defs/node"}},
    "$defs": {"node": of(name={"type": "string"}, children={"type": "array", "items": {"$ref": "#/$defs/node"}})},
}


def test_references_may_recurse_through_the_arguments():
    """A tree is declared once and checked at every depth."""
    check_schema("tool", TREE)
    leaf = {"name": "leaf", "children": []}

    assert violation(TREE, {"tree": {"name": "root", "children": [leaf, leaf]}}) is None
    assert violation(TREE, {"tree": {"name": "root", "children": [leaf, {"name": 1, "children": []}]}}) == (
        "/tree/children/1/name: found 1; allowed is a text"
    )


@pytest.mark.parametrize(
    ("definition", "fits"), [(True, True), (False, False), ({"anyOf": [False, True]}, True)], ids=shown
)
def test_a_definition_may_be_true_or_false(definition, fits):
    """Everything, or nothing."""
    schema = {**of(x={"$ref": "#/$defs/a"}), "$defs": {"a": definition}}
    check_schema("tool", schema)

    assert (violation(schema, {"x": 1}) is None) is fits


def test_the_root_may_refer_to_itself():
    """``#`` is the whole schema."""
    schema = {"type": "object", "properties": {"inner": {"$ref": "#"}}, "additionalProperties": False}
    check_schema("tool", schema)

    assert violation(schema, {"inner": {"inner": {}}}) is None
    assert violation(schema, {"inner": {"outer": {}}}) is not None


def test_keywords_beside_a_reference_count():
    """A reference and its siblings both apply, as in the current drafts."""
    schema = {**of(x={"$ref": "#/definitions/short", "minLength": 2}), "definitions": {"short": {"maxLength": 3}}}
    check_schema("tool", schema)

    assert [violation(schema, {"x": "a" * length}) is None for length in range(6)] == [
        False, False, True, True, False, False,
    ]  # fmt: skip


def test_names_of_definitions_are_escaped_as_pointers_are():
    """``~1`` is a slash, ``~0`` a tilde."""
    schema = {**of(x={"$ref": "#/$defs/a~1b~0c"}), "$defs": {"a/b~c": {"type": "string"}}}
    check_schema("tool", schema)

    assert violation(schema, {"x": 1}) is not None
    with pytest.raises(ToolDeclarationError):
        check_schema("tool", {**schema, "properties": {"x": {"$ref": "#/$defs/a/b~0c"}}})


@pytest.mark.parametrize(
    "definitions",
    [
        {"a": {"$ref": "#/$defs/a"}},
        {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}},
        {"a": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/a"}]}},
        {"a": {"anyOf": [{"anyOf": [{"$ref": "#/$defs/b"}]}]}, "b": {"$ref": "#/$defs/a"}},
    ],
    ids=shown,
)
def test_a_reference_that_only_leads_to_itself_is_refused(definitions):
    """It would never come to a value (T1)."""
    with pytest.raises(ToolDeclarationError, match="itself"):
        check_schema("tool", {**of(), "$defs": definitions})


def test_a_root_that_refers_to_itself_in_place_is_refused():
    """The same for the root."""
    with pytest.raises(ToolDeclarationError, match="itself"):
        check_schema("tool", {"type": "object", "anyOf": [{"$ref": "#"}]})


def test_a_schema_that_nests_without_end_is_refused():
    """A dict that holds itself is refused in words, not by a crash."""
    schema = {"type": "object"}
    schema["properties"] = {"x": schema}

    with pytest.raises(ToolDeclarationError, match="deep"):
        check_schema("tool", schema)


def test_a_long_chain_of_references_is_refused():
    """Following references costs bounded effort."""
    chain = {f"d{index}": {"$ref": f"#/$defs/d{index + 1}"} for index in range(2000)}

    with pytest.raises(ToolDeclarationError, match="follow each other"):
        check_schema("tool", {**of(), "$defs": {**chain, "d2000": {}}})


def test_references_that_branch_are_checked_once_each():
    """Thirty definitions that each use the next one twice are no 2**30 steps."""
    pair = {f"d{index}": {"anyOf": [{"$ref": f"#/$defs/d{index + 1}"}] * 2} for index in range(30)}
    schema = {**of(x={"$ref": "#/$defs/d0"}), "$defs": {**pair, "d30": {"type": "string"}}}
    check_schema("tool", schema)

    assert violation(schema, {"x": "a"}) is None
    assert "too long" in violation(schema, {"x": 1})


@pytest.mark.parametrize("kind", ["object", "list"])
def test_the_check_goes_exactly_as_deep_as_arguments_may(kind):
    """32 levels are checked to the last, the next one is too deep (T12)."""
    schema = {
        "type": "object",
        "properties": {"x": {"$ref": "#/$defs/any"}},
        "$defs": {"any": {"items": {"$ref": "#/$defs/any"}, "additionalProperties": {"$ref": "#/$defs/any"}}},
    }
    check_schema("tool", schema)
    value = 1
    for _ in range(31):
        value = {"x": value} if kind == "object" else [value]

    assert violation(schema, {"x": value}) is None
    assert "too deep" in violation(schema, {"x": {"x": value} if kind == "object" else [value]})


@pytest.mark.parametrize("depth", [40, 100_000])
def test_arguments_that_nest_too_deep_are_a_violation(depth):
    """The check gives up in words; it never raises (T12)."""
    value = {}
    for _ in range(depth):
        value = {"inner": value}
    schema = {"type": "object", "properties": {"inner": {"$ref": "#"}}}

    assert "too deep" in violation(schema, value)
    del value


@given(VALUES)
def test_a_plain_copy_is_equal_and_apart(value):
    """Copying a schema changes nothing and shares nothing that can change."""
    copy = plain_copy(value)
    assume(isinstance(value, (dict, list)))

    assert copy == value
    assert copy is not value
