"""
Where sentences, cells and lines begin and end around a place (V4).
"""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nr_agent_core.domain.claims.normalise import Reading
from nr_agent_core.domain.claims.segments import Line, Segments

SHORT = frozenset({"e.g", "approx", "dr"})


def segments(text: str) -> Segments:
    """The segments of *text*, with three abbreviations."""
    return Segments(Reading(text), SHORT)


def whole(text: str) -> Line:
    """All of *text* as one line."""
    return Line(0, len(text), 0)


def cut(text: str) -> list[str]:
    """The sentences of *text*, taken as one line, as they are written."""
    return [text[span.start : span.end] for span in segments(text).sentences(whole(text))]


@pytest.mark.parametrize(
    "parts",
    [
        ["One is here.", " Two is there."],
        ["Is it?", " It is!", " Good"],
        ["What?!", " Well... ", "yes"],
        ["He said so.)", " And then."],
        ["He said so).", " And then."],
        ["It is [so.]", " And then."],
        ["Well\u2026", " and then"],
        ["\u5df2\u4fdd\u5b58\u3002", "\u6ca1\u6709\u5220\u9664\uff01", "\u662f\u5417\uff1f", "\u662f"],
        ["\u300c\u5df2\u4fdd\u5b58\u3002\u300d", "\u662f"],
        ["All good \U0001f642", " More of it"],
        ["All good \U0001f642", " More \U0001f642 of it"],
        ["See line 12.", " The rest is fine."],
        ["It was in 2021.", " the rest"],
        ["The price is 123.", " the rest"],
    ],
)
def test_a_sentence_ends_at_its_sign(parts: list[str]) -> None:
    """Full stops, question and exclamation marks and pictures end sentences, with what closes behind them."""
    text = "".join(parts)

    assert cut(text) == _joined(parts)


def _joined(parts: list[str]) -> list[str]:
    """*parts* with blanks where the cut puts them: in front of the sentence they lead into."""
    text = "".join(parts)
    ends = [sum(map(len, parts[: number + 1])) for number in range(len(parts))]
    ends = [len(text[:end].rstrip()) if end < len(text) else end for end in ends]
    return [text[start:end] for start, end in zip([0, *ends], ends, strict=False)]


@pytest.mark.parametrize(
    "text",
    [
        "Look at e.g. the list",
        "It is approx. nine",
        "Ask Dr. Orlov",
        "Ask (Dr. Orlov)",
        "Ask A. Orlov",
        "On the 3. floor",
        "On the 12. floor",
        "On the 3. f",
        "Am 3. Mai",
        "Version 1.2 is out",
        "See page.html for it",
        "All good \U0001f642 and more of it",
        "\U0001f642 All good",
    ],
)
def test_no_sentence_ends_inside(text: str) -> None:
    """Abbreviations, initials, ordinal numbers, numbers and names with a stop, and pictures on the way end nothing."""
    assert cut(text) == [text]


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("On line 3. The rest", True),
        ("On line 3. the rest", False),
        ("On line 12. The rest", True),
        ("On the 3. The rest", False),
        ("On line 123. the rest", True),
        ("On line 3. 4 of them", True),
        ("On line 3.", True),
        ("line 3. The rest", True),
        ("row 3. The rest", False),
        ("a line 3. The rest", True),
        ("A x-ray 3. The rest", False),
        ("On line3. The rest", True),
    ],
)
def test_a_number_ends_a_sentence_as_the_number_of_a_thing(text: str, ends: bool) -> None:
    """Behind a noun, before a capital letter; otherwise a number of at most two digits with a stop is an ordinal."""
    assert (len(cut(text)) > 1 or text.endswith(".")) is ends
    assert cut(text)[0] == (text.partition(".")[0] + "." if ends else text)


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("Is it? It is. Is it", [True, False, False]),
        ("Really?! Yes!", [True, False]),
        ("\u662f\uff1f\u662f\u3002", [True, False]),
    ],
)
def test_a_question_ends_in_a_question_mark(text: str, asked: list[bool]) -> None:
    """Also among other signs, and in full width."""
    assert [span.question for span in segments(text).sentences(whole(text))] == asked


@pytest.mark.parametrize("text", ["One. Two? Three!", "| one. two | three", "one"])
def test_what_is_no_table_has_no_cells(text: str) -> None:
    """The cells of a row are counted from 0; a sentence is in no cell."""
    cells = [span.cell for span in segments(text).sentences(whole(text))]

    assert cells == (list(range(len(cells))) if text.startswith("|") else [-1] * len(cells))


@given(st.lists(st.text("ab. ", min_size=1, max_size=4), min_size=1, max_size=5), st.booleans())
def test_a_row_is_cut_at_its_bars_only(cells: list[str], closed: bool) -> None:
    """Each cell is a span of its own, without its bars, whatever signs it holds; a last bar opens no further one."""
    row = "|" + "|".join(cells) + ("|" if closed else "")
    line = whole(row)

    spans = segments(row).sentences(line)

    assert [row[span.start : span.end] for span in spans] == cells
    assert [(span.cell, span.question, span.line) for span in spans] == [(n, False, line) for n in range(len(cells))]


def test_a_row_ends_with_its_line() -> None:
    """The bars of the next row are not its own; an empty row is one cell."""
    text = "x\n| a | b\n| c |\n|\n|"

    found = segments(text)

    assert [text[s.start : s.end] for s in found.sentences(Line(2, 9, 2))] == [" a ", " b"]
    assert [text[s.start : s.end] for s in found.sentences(Line(10, 15, 10))] == [" c "]
    assert [(s.start, s.end, s.cell) for s in found.sentences(Line(16, 17, 16))] == [(16, 17, 0)]


def test_a_row_behind_a_bullet_is_a_row() -> None:
    """What counts is where the text of the line begins."""
    text = "- | a | b |"
    span = segments(text).around(text.index("b"))

    assert (text[span.start : span.end], span.cell, span.line.body) == (" b ", 1, 2)


@pytest.mark.parametrize(
    ("lead", "listed"),
    [
        ("- ", True),
        ("* ", True),
        ("+ ", True),
        ("  - ", True),
        ("\t\u2022 ", True),
        ("\u2013\t", True),
        ("1. ", True),
        ("12) ", True),
        ("123. ", True),
        ("# ", True),
        ("###### ", True),
        ("-", False),
        ("1234. ", False),
        ("####### ", False),
        ("a. ", False),
        ("", False),
    ],
)
def test_an_item_begins_behind_its_bullet(lead: str, listed: bool) -> None:
    """Bullets, numbers of up to three digits and the marks of headings lead into a line, with a blank behind them."""
    text = f"above\n\n{lead}item here"

    line = segments(text).around(len(text) - 1).line

    assert (line.start, line.end, line.listed) == (7, len(text), listed)
    assert line.body == 7 + (len(lead) if listed else 0)


@pytest.mark.parametrize(
    ("text", "wrapped"),
    [
        ("the page\nwas saved", True),
        ("the page,\nwas saved", True),
        ("the page \nwas saved", True),
        ("the page.\nwas saved", False),
        ("the page:\nwas saved", False),
        ("the page\nWas saved", False),
        ("the page\n\nwas saved", False),
        ("the page\n- was saved", False),
        ("the page\n2 were saved", False),
    ],
)
def test_a_line_goes_on_with_a_small_letter(text: str, wrapped: bool) -> None:
    """A line that ends in a letter, a comma or a blank goes on where the next one begins with a small letter."""
    last, first = segments(text).around(len(text) - 1), segments(text).around(0)

    assert (last.start == 0) is wrapped
    assert (first.end == len(text)) is wrapped
    assert first.line.end == (len(text) if wrapped else text.index("\n"))


def test_lines_are_wrapped_many_times() -> None:
    """A paragraph is one line, however many rows it has, and stops at the next paragraph."""
    text = "First one.\n\nSo the page\nand the menu\nand the rest\nof it is here.\n\nLast one."
    middle = text[12:-11]

    for place in (text.index("page"), text.index("menu"), text.index("here")):
        span = segments(text).around(place)
        assert text[span.start : span.end] == middle
        assert text[span.line.start : span.line.end] == middle


def test_places_are_asked_in_rising_order() -> None:
    """Each place lies in its sentence; the places of one sentence share it."""
    text = "One here. Two there? Three.\nFour | five\n| six | seven |"
    found = segments(text)

    asked = {
        word: found.around(text.lower().index(word))
        for word in ["one", "here", "two", "there", "three", "four", "five", "six", "seven"]
    }

    assert {word: text[span.start : span.end] for word, span in asked.items()} == {
        "one": "One here.",
        "here": "One here.",
        "two": " Two there?",
        "there": " Two there?",
        "three": " Three.",
        "four": "Four | five",
        "five": "Four | five",
        "six": " six ",
        "seven": " seven ",
    }


@given(st.text("aB.?! \n|-", max_size=60), st.data())
def test_every_place_is_in_the_sentence_around_it(text: str, data: st.DataObject) -> None:
    """Whatever the text, asked in rising order, a letter is in the sentence around it."""
    found = segments(text)
    # In the copy: a word that was parted at the end of a line is whole there.
    letters = [place for place, letter in enumerate(found.text) if letter in "ab"]
    places = sorted(data.draw(st.sets(st.sampled_from(letters)))) if letters else []

    for place in places:
        span = found.around(place)
        assert span.start <= place < span.end
        assert span.line.start <= span.start <= span.end <= span.line.end


def test_sentences_beside_one_are_of_its_line() -> None:
    """Up to so many before and behind it; none of another line, and not the sentence itself."""
    text = "Zero.\n\nOne. Two. Three. Four. Five.\n\nSix."
    found = segments(text)

    def shown(spans: list) -> list[str]:
        return [text[span.start : span.end].strip() for span in spans]

    found.around(text.index("Three"))
    assert [shown(spans) for spans in found.beside(1)] == [["Two."], ["Four."]]
    assert [shown(spans) for spans in found.beside(2)] == [["One.", "Two."], ["Four.", "Five."]]
    assert [shown(spans) for spans in found.beside(9)] == [["One.", "Two."], ["Four.", "Five."]]
    assert [shown([span]) for back in (1, 2) if (span := found.before(back))] == [["Two."], ["One."]]
    assert found.before(3) is None
    found.around(text.index("Six"))
    assert found.before(1) is None
    assert found.beside(3) == ([], [])


@pytest.mark.parametrize(
    ("text", "above"),
    [
        ("lead:\n\n  \n- item", "lead:"),
        ("a\nlead:\n- item", "lead:"),
        ("- one\n- item", "- one"),
        ("\n \n- item", None),
        ("- item", None),
    ],
)
def test_the_line_above_is_the_nearest_with_a_text(text: str, above: str | None) -> None:
    """Empty lines lie between without being lines."""
    found = segments(text)

    line = found.line_above(found.around(len(text) - 1).line)

    assert (line and text[line.start : line.end]) == above


@pytest.mark.parametrize("sign", ["; ", ", ", " "])
def test_a_sentence_without_an_end_is_parted_behind_signs(sign: str) -> None:
    """No part is longer than twenty thousand characters, and each begins behind a sign: nothing is lost."""
    text = f"some words{sign}" * (50_000 // (10 + len(sign)))

    spans = segments(text).sentences(whole(text))

    assert [spans[0].start, spans[-1].end] == [0, len(text)]
    assert all(one.end == two.start for one, two in itertools.pairwise(spans))
    assert all(10_000 < span.end - span.start <= 20_000 for span in spans[:-1])
    assert all(text[span.end - 1] == sign[0] for span in spans[:-1])


def test_what_has_no_sign_is_parted_by_length() -> None:
    """Twenty thousand characters are read as one, one more as two."""
    for length, parts in ((20_000, [20_000]), (20_001, [20_000, 1]), (45_000, [20_000, 20_000, 5_000])):
        text = "x" * length
        assert [span.end - span.start for span in segments(text).sentences(whole(text))] == parts


def test_the_nearest_end_of_a_part_is_its_last_semicolon() -> None:
    """A semicolon parts better than a comma behind it, and a comma better than a blank."""
    head = "x" * 15_000

    assert segments(t := f"{head};{'x' * 100}, {'x' * 9_000}").sentences(whole(t))[0].end == 15_001
    assert segments(t := f"{head},{'x' * 100} {'x' * 9_000}").sentences(whole(t))[0].end == 15_001
    assert segments(t := f"{'x' * 100};{'x' * 14_900} {'x' * 9_000}").sentences(whole(t))[0].end == 15_002
