"""
Previews of waiting calls (T11).
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nr_agent_core.domain.previews import CallPreview, bounded_preview, generated_preview
from nr_agent_core.domain.tools import Preview

ANY_TEXT = st.text(st.characters(), max_size=30)
VISIBLE = st.text(st.sampled_from("abcäß "), min_size=1).filter(str.strip)


@given(st.lists(ANY_TEXT | st.text("ab \n", min_size=480, max_size=1100), max_size=40))
def test_a_preview_is_bounded(lines):
    """At most 20 lines of 500 characters, no runs of whitespace, valid UTF-8 (T11)."""
    shown, _ = bounded_preview(lines)

    assert len(shown) <= 20
    for line in shown:
        assert 1 <= len(line) <= 500
        assert " ".join(line.split()) == line
        line.encode("utf-8")


@given(st.lists(VISIBLE, max_size=40))
def test_lines_beyond_the_twentieth_are_counted(lines):
    """Nothing is left out silently: shown and more add up (T11)."""
    shown, more = bounded_preview(lines)

    assert len(lines) == len(shown) + more
    assert [" ".join(line.split()) for line in lines[:20]] == list(shown)
    assert (more > 0) is (len(lines) > 20)


@pytest.mark.parametrize(("length", "cut"), [(500, False), (501, True)])
def test_a_cut_line_shows_that_it_was_cut(length, cut):
    """An approver sees that a line goes on (T11)."""
    ((line,), _) = bounded_preview(["x" * length])

    assert len(line) == 500
    assert line.endswith("…") is cut


HIDING = (*range(0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A))


@pytest.mark.parametrize("hiding", [chr(code) for code in HIDING if not chr(code).isspace()], ids=ascii)
def test_characters_that_hide_or_reorder_text_are_shown_as_such(hiding):
    """What is approved is what is read: no text turns around or vanishes on the card."""
    assert bounded_preview([f"pay 10{hiding}EUR"]) == (("pay 10\ufffdEUR",), 0)


@pytest.mark.parametrize("blank", ["", "  ", "\n\t", "\u200b", "\u200b \u200d"])
def test_blank_lines_are_no_preview(blank):
    """A line without anything to see is left out."""
    assert bounded_preview([blank, "a", blank]) == (("a",), 0)


def test_a_text_is_taken_as_its_lines():
    """One text is not taken apart into characters."""
    assert bounded_preview("one\ntwo") == (("one", "two"), 0)


def test_arguments_are_shown_one_a_line():
    """``name: value``; texts as they are, everything else as JSON (T11)."""
    lines, more = generated_preview({"title": "Über uns", "count": 1.0, "tags": ["a", {"b": None}], "draft": True})

    assert lines == ("title: Über uns", "count: 1.0", 'tags: ["a",{"b":null}]', "draft: true")
    assert more == 0


def test_a_value_cannot_pose_as_another_argument():
    """A line break inside a value makes no line of its own."""
    assert generated_preview({"title": "Team\nprice: 0"}) == (("title: Team price: 0",), 0)


@given(st.dictionaries(VISIBLE, ANY_TEXT, max_size=30))
def test_a_generated_preview_is_marked(arguments):
    """The card says that the lines are the arguments, and that there is nothing to see without any (T11)."""
    preview = CallPreview.of_arguments("1.0", arguments)

    assert preview.generated
    assert preview.failed is (not arguments)
    assert len(preview.lines) + preview.more == len(arguments)


@pytest.mark.parametrize("made", ["a\nb", ["a", "b"], ("a", "b"), Preview(["a", "b"]), Preview("a\nb")], ids=repr)
def test_a_tool_may_return_its_preview_in_any_form(made):
    """A text, lines or a Preview come to the same."""
    assert CallPreview.of("1.0", made) == (CallPreview("1.0", ("a", "b")), None)
    assert CallPreview("1.0", ("a", "b")) == CallPreview("1.0", ("a", "b"), more=0, generated=False, failed=False)


@pytest.mark.parametrize("joining", ["\u200d", "\u2029", "\u202f", "\u2065", "\u206a", "\u00ad"], ids=ascii)
def test_other_characters_stay_or_count_as_space(joining):
    """Joined emoji and soft hyphens are no tricks; separators are whitespace."""
    ((line,), _) = bounded_preview([f"a{joining}b"])

    assert line == f"a{' ' if joining.isspace() else joining}b"


@pytest.mark.parametrize("made", ["", [], ["", " "], None, 5, {"a": "b"}, [1], b"a", Preview("\u200b")], ids=repr)
def test_an_empty_or_wrong_preview_is_visibly_missing(made):
    """The card says that one decides without a preview; the call is never hidden (T11)."""
    assert CallPreview.of("1.0", made) == (CallPreview.missing("1.0"), None)
    assert CallPreview.missing("1.0").failed


def test_a_precondition_counts_even_without_lines():
    """The token guards the write, whatever could be shown (T11)."""
    preview, guard = CallPreview.of("1.0", Preview("", precondition="v7"))

    assert preview.failed
    assert guard == "v7"
