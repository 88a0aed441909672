"""
Canonical JSON, call and round digests, and the idempotency key (R5, T12, T13).
"""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nr_agent_core.domain.canonical import call_digest, call_id, canonical_json, idempotency_key, round_digest
from nr_agent_core.domain.errors import InvalidValueError


def shown(value: object) -> str:
    """A test's id that is the same in every process: without addresses of objects."""
    return re.sub(r" at 0x[0-9a-f]+", "", str(value))


VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "digests.json").read_text("utf-8"))

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4))


def vectors(kind):
    """The cases of one kind, named."""
    return [pytest.param(case, id=case["case"]) for case in VECTORS[kind]]


def exact(value):
    """*value* with its types spelled out, so that 1, 1.0 and True are told apart."""
    if isinstance(value, dict):
        return {key: exact(item) for key, item in value.items()}
    if isinstance(value, list):
        return [exact(item) for item in value]
    return (type(value).__name__, repr(value))


@pytest.mark.parametrize("case", vectors("canonical_json"))
def test_canonical_json_is_fixed(case):
    """A value has one text, the same in every release (R5)."""
    assert case["canonical"] == canonical_json(case["value"])


@pytest.mark.parametrize("case", vectors("call_digest"))
def test_call_digests_are_fixed(case):
    """A waiting call keeps its digest across releases (R5)."""
    assert case["digest"] == call_digest(case["tool"], case["arguments"])


@pytest.mark.parametrize("case", vectors("round_digest"))
def test_round_digests_are_fixed(case):
    """A card handed out by an older release still decides its round (R5)."""
    assert case["digest"] == round_digest(tuple(call) for call in case["calls"])


@pytest.mark.parametrize("case", vectors("idempotency_key"))
def test_keys_are_fixed(case):
    """A repeat by a newer release carries the key of the first try (T13)."""
    assert case["key"] == idempotency_key(case["run_id"], case["call_id"], case["digest"])


@pytest.mark.parametrize("kind", ["call_digest", "round_digest", "idempotency_key"])
def test_different_vectors_have_different_digests(kind):
    """No two of the fixed cases share a digest: each of them shows something that counts."""
    found = [case.get("digest") if kind != "idempotency_key" else case["key"] for case in VECTORS[kind]]

    assert len(found) == len(set(found))


@given(VALUES)
def test_canonical_json_says_the_value_exactly(value):
    """Reading the text gives the value back, numbers with their kind."""
    assert exact(value) == exact(json.loads(canonical_json(value)))


@given(VALUES, VALUES)
def test_same_text_only_for_the_same_value(one, other):
    """Two values share a text exactly when they are the same JSON, 1 and 1.0 being two."""
    assert (exact(one) == exact(other)) is (canonical_json(one) == canonical_json(other))


@given(st.dictionaries(TEXTS, SCALARS, max_size=6), st.randoms(use_true_random=False))
def test_order_of_keys_does_not_matter(arguments, random):
    """The model may write its arguments in any order (R5)."""
    pairs = list(arguments.items())
    random.shuffle(pairs)

    assert call_digest("tool", arguments) == call_digest("tool", dict(pairs))


@given(VALUES)
def test_canonical_json_has_no_space_between_tokens(value):
    """Re-dumping with the documented settings changes nothing."""
    again = json.dumps(json.loads(canonical_json(value)), separators=(",", ":"), ensure_ascii=False)

    assert again == canonical_json(value)


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("inf"),
        -float("inf"),
        "\ud800",
        {"\udfff": 1},
        {1: "a"},
        {True: "a"},
        {None: "a"},
        (1, 2),
        {1},
        b"bytes",
        object(),
        [[{"deep": float("nan")}]],
    ],
    ids=shown,
)
def test_what_is_no_json_has_no_fingerprint(value):
    """Nothing is coerced into a digest: two different things must not come to share one."""
    with pytest.raises(InvalidValueError):
        canonical_json(value)


def test_a_value_that_holds_itself_is_refused_in_words():
    """A value without end raises the typed error, not a RecursionError."""
    value = []
    value.append(value)

    with pytest.raises(InvalidValueError, match="too deep"):
        canonical_json(value)


@given(st.integers(0, 99), st.integers(0, 99))
def test_call_identity_is_round_and_index(number, index):
    """Round and index can be read back from the identity (T12)."""
    assert [str(number), str(index)] == call_id(number, index).split(".")


@given(TEXTS, TEXTS, TEXTS, TEXTS)
def test_keys_do_not_run_into_each_other(run, other_run, call, other_call):
    """Moving characters between run id and call id makes another key (T13)."""
    same = (run, call) == (other_run, other_call)

    assert same is (idempotency_key(run, call, "d") == idempotency_key(other_run, other_call, "d"))


def test_a_key_is_64_hexadecimal_characters():
    """The form that tools are promised (T13)."""
    key = idempotency_key("run", "1.0", call_digest("tool", {}))

    assert len(key) == 64
    assert set(key) <= set("0123456789abcdef")


def test_a_digest_covers_the_tool_and_the_precondition():
    """Same arguments for another tool, or another state of the target, is another decision (R5, T11)."""
    assert call_digest("a", {}) != call_digest("b", {})
    assert round_digest([("1.0", "d", "token")]) != round_digest([("1.0", "d", None)])
