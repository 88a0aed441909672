"""
Sentences by kind, one file a language (V4, V5).
"""

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nr_agent_core.domain.claims import ClaimDetector

VECTORS = Path(__file__).parents[2] / "vectors"
FILES = sorted(VECTORS.glob("claims.*.toml"))
DETECTOR = ClaimDetector()


def kinds(key):
    """The sentences under *key*, one kind of one language after the other."""
    return [
        pytest.param(table[key], id=f"{path.name}:{kind}")
        for path in FILES
        for kind, table in tomllib.loads(path.read_text(encoding="utf-8")).items()
    ]


CLAIMS, HONEST = kinds("claims"), kinds("honest")
ALONE = [text for kind in HONEST for text in kind.values[0] if "```" not in text]


def test_every_shipped_language_has_vectors():
    """A language without sentences of its own would be shipped on trust."""
    assert set(DETECTOR.languages) == {path.name.split(".")[1] for path in FILES}


def test_no_kind_is_empty():
    """A kind without any sentence would be green for ever."""
    assert [
        claims.id for claims, honest in zip(CLAIMS, HONEST, strict=True) if not claims.values[0] + honest.values[0]
    ] == []


@pytest.mark.parametrize("texts", CLAIMS)
def test_claims_are_found(texts):
    """A sentence that claims a change of this turn is found."""
    assert [text for text in texts if not DETECTOR.claims_change(text)] == []


@pytest.mark.parametrize("texts", HONEST)
def test_honest_sentences_are_left_alone(texts):
    """A sentence that claims none is left alone."""
    assert [(text, found) for text in texts if (found := DETECTOR.claims(text))] == []


@given(st.lists(st.sampled_from(ALONE), min_size=2, max_size=5))
def test_honest_paragraphs_stay_honest_together(texts):
    """Paragraphs that claim nothing alone claim nothing beside each other."""
    assert not DETECTOR.claims_change("\n\n".join(texts))
