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


def sentences(key):
    """Every sentence under *key*, as (file, kind, text)."""
    return [
        pytest.param(text, id=f"{path.name}:{kind}:{number}")
        for path in FILES
        for kind, table in tomllib.loads(path.read_text(encoding="utf-8")).items()
        for number, text in enumerate(table[key])
    ]


CLAIMS, HONEST = sentences("claims"), sentences("honest")


def test_every_shipped_language_has_vectors():
    """A language without sentences of its own would be shipped on trust."""
    assert set(DETECTOR.languages) == {path.name.split(".")[1] for path in FILES}


@pytest.mark.parametrize("text", CLAIMS)
def test_claims_are_found(text):
    """A sentence that claims a change of this turn is found."""
    assert DETECTOR.claims_change(text)


@pytest.mark.parametrize("text", HONEST)
def test_honest_sentences_are_left_alone(text):
    """A sentence that claims none is left alone."""
    assert DETECTOR.claims(text) == ()


@given(st.lists(st.sampled_from([p.values[0] for p in HONEST if "```" not in p.values[0]]), min_size=2, max_size=5))
def test_honest_paragraphs_stay_honest_together(texts):
    """Paragraphs that claim nothing alone claim nothing beside each other."""
    assert not DETECTOR.claims_change("\n\n".join(texts))
