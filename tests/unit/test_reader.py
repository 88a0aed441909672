"""
Who looks or acts: an id compared exactly, a language, and texts for the prompt (O4, M3).
"""

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nr_agent_core.domain.errors import InvalidValueError
from nr_agent_core.domain.reader import Reader, actor_id

IDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=255)


@given(IDS)
def test_an_id_is_taken_exactly_as_it_is(value):
    """Nothing is trimmed, folded or cut: ids are compared exactly."""
    assert value == actor_id(value) == actor_id(Reader(value)) == Reader(value).id


@pytest.mark.parametrize("value", ["", "x" * 256, None, 7, True, b"anna", ["anna"], "an\ud800na"])
def test_everything_else_is_no_id(value):
    """An id is a text of 1 to 255 characters that a store can hold."""
    with pytest.raises(InvalidValueError):
        actor_id(value)
    with pytest.raises(InvalidValueError):
        Reader(value)


@pytest.mark.parametrize("language", ["de", "EN", "pt-BR", "zh-Hant-TW", "x" * 35])
def test_a_language_is_a_tag(language):
    """Letters, digits and hyphens, up to 35 characters."""
    assert language == Reader("anna", language=language).language


@pytest.mark.parametrize("language", ["", "x" * 36, "de_AT", "d e", "dé", "de\n", None, 7, "../de"])
def test_everything_else_is_no_language(language):
    """A language reaches file names and translators, so it is checked where it comes in."""
    with pytest.raises(InvalidValueError):
        Reader("anna", language=language)


@pytest.mark.parametrize("field", ["context", "instructions"])
@pytest.mark.parametrize("value", [None, 7, ["x"], b"x"])
def test_texts_for_the_prompt_are_texts(field, value):
    """Context and instructions are texts."""
    with pytest.raises(InvalidValueError):
        Reader("anna", **{field: value})


def test_a_reader_has_no_role_and_does_not_change():
    """Rights are asked at the moment, never carried along (O4)."""
    reader = Reader("anna")

    assert [field.name for field in attrs.fields(Reader)] == ["id", "language", "context", "instructions"]
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        reader.id = "ben"
