"""
Arguments as the model wrote them (T12).
"""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nr_agent_core.domain.arguments import MAX_DEPTH, accepted_arguments
from nr_agent_core.domain.errors import InvalidValueError
from nr_agent_core.domain.parameters import parse_arguments

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4))
ARGUMENTS = st.dictionaries(TEXTS, VALUES, max_size=4)


def nested(depth, *, innermost="1"):
    """An object of arguments that nests *depth* deep."""
    return '{"a":' * depth + innermost + "}" * depth


@given(ARGUMENTS, st.booleans())
def test_json_objects_are_taken_as_they_are(arguments, ascii_only):
    """Valid arguments arrive unchanged, however they were escaped."""
    assert arguments == parse_arguments(json.dumps(arguments, ensure_ascii=ascii_only))


@pytest.mark.parametrize("blank", ["", " ", "\n\t "])
def test_blank_means_no_arguments(blank):
    """A call without arguments is a call with none."""
    assert parse_arguments(blank) == {}


@pytest.mark.parametrize(
    "raw",
    [
        '{"a": 1, "a": 2}',
        '{"a": 1, "\\u0061": 1}',
        '{"x": {"a": 1, "a": 1}}',
        '{"x": [{"a": 1, "a": 1}]}',
        '{"a": NaN}',
        '{"a": Infinity}',
        '{"a": -Infinity}',
        '{"a": 1e999}',
        '{"a": [-1e999]}',
        '{"a": "\\ud800"}',
        '{"\\udfff": 1}',
        '{"a": "\ud800"}',
        "[]",
        "[1]",
        '"text"',
        "1",
        "null",
        "true",
        "{",
        "{a: 1}",
        '{"a": 1,}',
        "{} {}",
        '{"a": 01}',
        '{"a": 1' + "0" * 5000 + "}",
        nested(MAX_DEPTH + 1),
        nested(1, innermost="[" * MAX_DEPTH + "]" * MAX_DEPTH),
        nested(100_000),
        "[" * 100_000,
    ],
    ids=lambda raw: ascii(raw[:24]),
)
def test_everything_else_is_refused_in_words(raw):
    """Duplicate keys, NaN, infinities, lone surrogates, no object, too deep: invalid, with a reason (T12)."""
    with pytest.raises(InvalidValueError) as caught:
        parse_arguments(raw)

    assert caught.value.allowed.startswith("one JSON object")
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize("raw", [nested(MAX_DEPTH), nested(1, innermost="[" * (MAX_DEPTH - 1) + "]" * (MAX_DEPTH - 1))])
def test_the_deepest_allowed_is_taken(raw):
    """32 levels are fine; the bound is where it says."""
    assert MAX_DEPTH == 32
    assert json.loads(raw) == parse_arguments(raw)


@pytest.mark.parametrize("raw", [None, 5, b"{}", {}], ids=repr)
def test_only_text_is_parsed(raw):
    """Whatever is no text is refused with the typed error."""
    with pytest.raises(InvalidValueError):
        parse_arguments(raw)


@given(ARGUMENTS)
def test_decoded_arguments_are_copied(arguments):
    """Arguments that came decoded are equal, and a copy."""
    accepted = accepted_arguments(arguments)

    assert arguments == accepted
    assert accepted is not arguments


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        "{}",
        {1: "a"},
        {"a": {None: 1}},
        {"a": float("nan")},
        {"a": float("inf")},
        {"a": "\udc00"},
        {"a": {1, 2}},
        {"a": b"x"},
    ],
    ids=ascii,
)
def test_decoded_arguments_follow_the_same_rules(value):
    """A provider that decodes for us opens no back door (T12)."""
    with pytest.raises(InvalidValueError):
        accepted_arguments(value)
