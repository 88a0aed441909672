"""
Well-formed and bounded text (P3, T9).
"""

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nr_agent_core.domain.bounding import RESULT_LIMIT, bounded, bounded_result, well_formed
from nr_agent_core.domain.tool_result import Outcome, ToolResult

# Surrogates included: a model or a tool may bring them.
ANY_TEXT = st.text(st.characters())
HALVES = st.text(st.sampled_from(["\ud83d", "\ude00", "a", "\ufeff", "😀"]), max_size=8)
PAGE = ("pages", 42)


@given(ANY_TEXT | HALVES)
def test_well_formed_text_can_be_stored(text):
    """The result is valid UTF-8, and well-formed text stays as it is (P3)."""
    clean = well_formed(text)

    assert clean.encode("utf-8").decode("utf-8") == clean
    assert well_formed(clean) == clean


@given(st.text())
def test_valid_text_is_never_changed(text):
    """What the model wrote is kept as it wrote it (P3)."""
    assert text == well_formed(text)


@given(st.text(max_size=5), st.sampled_from(["\ud800", "\udbff", "\udc00", "\udfff"]), st.text(max_size=5))
def test_a_lone_surrogate_becomes_one_replacement(before, lone, after):
    """Only the surrogate is replaced; what stands around it stays (P3)."""
    assert f"{before}\ufffd{after}" == well_formed(before + lone + after)


def test_two_halves_that_belong_together_are_joined():
    """A pair of surrogates is the character it stands for, not two losses."""
    assert well_formed("\ud83d\ude00") == "😀"
    assert well_formed("\ude00\ud83d") == "\ufffd\ufffd"


@given(ANY_TEXT, st.integers(0, 200))
def test_bounded_text_fits(text, limit):
    """At most the limit in bytes, always valid UTF-8, and bounding twice changes nothing (T9)."""
    short = bounded(text, limit)

    assert len(short.encode("utf-8")) <= limit
    assert short == bounded(short, limit)


@given(st.text(st.sampled_from("aä€😀"), min_size=60, max_size=120), st.integers(60, 119))
def test_a_cut_keeps_whole_characters_and_is_marked(text, limit):
    """What is left is a beginning of the text, on a character boundary, and says that it was cut (T9)."""
    short = bounded(text, limit)
    kept, _, marker = short.partition("\n[cut: ")

    assert text.startswith(kept)
    assert bool(marker) is (len(text.encode()) > limit)
    # As much as fits is kept: one more character would not have fitted.
    if marker:
        assert len(short.encode()) + len(text[len(kept)].encode()) > limit


@given(st.text(max_size=50))
def test_text_within_the_limit_stays(text):
    """Nothing is cut or marked that fits (T9)."""
    assert text == bounded(text, len(text.encode()))


@pytest.mark.parametrize("character", ["a", "ä", "€", "😀"])
@pytest.mark.parametrize("over", [0, 1])
def test_the_limit_is_50_000_bytes(character, over):
    """A text of exactly 50,000 bytes stays, one byte more is cut (T9)."""
    text = "a" * over + character * (RESULT_LIMIT // len(character.encode()))
    text += "a" * (RESULT_LIMIT + over - len(text.encode()))

    assert RESULT_LIMIT == 50_000
    assert (bounded(text) == text) is (over == 0)
    assert len(bounded(text).encode()) <= RESULT_LIMIT


@pytest.mark.parametrize("content", ["short", "x" * 60_000, "\ud800", "ä" * 30_000], ids=lambda text: text[:5])
@pytest.mark.parametrize("outcome", Outcome)
def test_rebuilding_a_result_carries_every_field(content, outcome):
    """Whatever a result holds besides its text survives bounding; a new field fails here first (T9)."""
    result = attrs.evolve(ToolResult.text(content).with_write_target(PAGE, "created"), outcome=outcome)
    result = result.carrying(ToolResult.text("").with_write_target(PAGE, "created").writes)
    rebuilt = bounded_result(result)

    assert rebuilt.content == bounded(content)
    assert {"outcome", "content", "writes"} == {field.name for field in attrs.fields(ToolResult)}
    assert (result.outcome, result.writes) == (rebuilt.outcome, rebuilt.writes)
    assert rebuilt.writes
