"""
What a report is made of: figures, remarks, passages, visible text, the bar.
"""

import io
import unicodedata
from collections.abc import Iterable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nr_agent_core.cli.audit.answer import Answer, Call, CallOutcome
from nr_agent_core.cli.audit.evidence import WriteTools
from nr_agent_core.cli.audit.malformed import Malformed
from nr_agent_core.cli.audit.passages import passages
from nr_agent_core.cli.audit.progress import ReadingProgress
from nr_agent_core.cli.audit.remarks import remarks
from nr_agent_core.cli.audit.report import Report
from nr_agent_core.cli.audit.visible_text import visible, visible_line
from nr_agent_core.domain.claims import Claim, ClaimPolicy
from nr_agent_core.domain.notices import NoticeCode
from nr_agent_core.domain.write_evidence import Wrote


def claim(start: int, end: int) -> Claim:
    """A claim at a place."""
    return Claim(start, end, "saved", "en", "test")


def always(text: str) -> Iterable[Claim]:
    """Finds a claim in every text."""
    return [claim(0, len(text))]


def never(text: str) -> Iterable[Claim]:
    """Finds no claim."""
    return []


def judged(answer: Answer, rule: object = always, tools: tuple[str, ...] = ("save",)) -> Report:
    """A report on one answer."""
    report = Report(ClaimPolicy.ASSERTED, WriteTools(tools), claims=rule)  # type: ignore[arg-type]
    report.add(answer)
    return report


# ----------------------------------------------------------------------------------- the notice


@given(st.sampled_from(Wrote), st.booleans())
def test_only_a_claim_without_a_write_is_accused(stated: Wrote, claims: bool) -> None:
    """An accusation needs a claim and evidence no; cannot tell is neither (P4, V6)."""
    report = judged(Answer("a", "f", 1, "text", stated=stated), always if claims else never)

    expected = NoticeCode.NOTHING_SAVED if claims and stated is Wrote.NO else None
    assert report.answers[0].notice is expected


@given(st.booleans(), st.booleans())
def test_an_open_write_is_told_whatever_the_text_says(claims: bool, wrote_too: bool) -> None:
    """A writing call of unknown outcome is told, also beside another write (V6)."""
    made = (Call("save", CallOutcome.UNKNOWN), *([Call("save", CallOutcome.SUCCEEDED)] * wrote_too))

    report = judged(Answer("a", "f", 1, "text", made), always if claims else never)

    assert report.answers[0].notice is NoticeCode.WRITE_OUTCOME_UNKNOWN
    assert report.answers[0].wrote is (Wrote.YES if wrote_too else Wrote.CANNOT_TELL)


def test_a_rule_that_raises_costs_the_notice_and_is_named() -> None:
    """The answer keeps its entry, and the failure is told (V2)."""

    def broken(text: str) -> Iterable[Claim]:
        raise RecursionError

    report = judged(Answer("a", "f", 3, "text", stated=Wrote.NO), broken)

    assert report.answers[0].notice is None
    assert [(entry.line, "RecursionError" in entry.why) for entry in report.malformed] == [(3, True)]


def test_everything_left_out_is_remarked() -> None:
    """What was left out or could not be told has one line each; a clean report has none."""
    report = judged(Answer("a", "f", 1, "text", (Call("x\ny", CallOutcome.SUCCEEDED),)), tools=())
    report.add(Malformed("f", 2, "odd \x1b"))
    report.begin("empty")

    lines = list(remarks(report))

    assert [line.split(":")[0] for line in lines[:2]] == ["f", "empty"]
    assert "--write-tools; called here: x\u240ay" in lines[2]
    assert len(lines) == 3
    assert not [line for line in lines if "\x1b" in line or "\n" in line]
    assert list(remarks(judged(Answer("a", "f", 1, "text", (Call("save", CallOutcome.SUCCEEDED),))))) == []


# ------------------------------------------------------------------------------------- passages

TEXTS = st.text(alphabet="ab \n", min_size=1, max_size=80)
SPANS = st.lists(st.tuples(st.integers(0, 79), st.integers(1, 12)), min_size=1, max_size=6)


@example("aaaa bbbb", [(0, 3), (2, 3)], 0)
@given(TEXTS, SPANS, st.integers(0, 20))
def test_passages_show_every_claim_in_place_and_in_order(text: str, spans: list[tuple[int, int]], around: int) -> None:
    """The marked characters are exactly the claimed ones, and no stretch is shown twice."""
    claims = [claim(start, min(start + length, len(text))) for start, length in spans if start < len(text)]
    claimed = sorted({place for found in claims for place in range(found.start, found.end)})

    shown = passages(text, claims, around=around)

    pieces = [piece for passage in shown for piece in passage.pieces]
    assert "".join(piece for piece, is_claim in pieces if is_claim) == "".join(text[place] for place in claimed)
    place = 0
    for passage in shown:
        whole = "".join(piece for piece, _ in passage.pieces)
        place = text.index(whole, place) + len(whole)
    assert shown[-1].cut_after or text.endswith(whole)


def test_a_passage_is_cut_at_blanks_and_says_so() -> None:
    """A long answer is shown around its claim, without halves of words."""
    text = f"{'before ' * 60}saved{' after' * 60}"
    start = text.index("saved")

    (passage,) = passages(text, [claim(start, start + 5)], around=20)

    assert passage.pieces == (("before before ", False), ("saved", True), (" after after after", False))
    assert (passage.cut_before, passage.cut_after) == (True, True)


def test_without_a_claim_the_beginning_is_shown() -> None:
    """An answer flagged for an open call shows how it begins."""
    (passage,) = passages("word " * 200, [])

    assert passage.pieces[0][0].startswith("word word")
    assert (passage.cut_before, passage.cut_after) == (False, True)


# --------------------------------------------------------------------------------- visible text


@example("\ud800")
@given(st.text(st.characters()))
def test_visible_text_controls_nothing(text: str) -> None:
    """No control character is left but line breaks and tabs, and what is left can be written (P9)."""
    shown = visible(text)

    assert {c for c in shown if unicodedata.category(c) == "Cc"} <= {"\n", "\t"}
    assert not {c for c in shown if unicodedata.bidirectional(c) in {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI"}}
    shown.encode("utf-8")
    assert len(visible_line(text).splitlines()) <= 1


@given(st.text(alphabet=st.characters(categories=["L", "N", "P", "Zs"]) | st.sampled_from("\n\t")))
def test_harmless_text_stays(text: str) -> None:
    """Letters, digits, signs, blanks, tabs and line breaks are shown as they are."""
    assert visible(text) == text


# -------------------------------------------------------------------------------------- the bar


class Screen(io.StringIO):
    """
    Standard error, on a terminal or not.
    """

    def __init__(self, *, terminal: bool) -> None:
        super().__init__()
        self.terminal = terminal

    def isatty(self) -> bool:
        """Whether somebody looks."""
        return self.terminal


@pytest.mark.parametrize(("terminal", "seconds", "drawn"), [(True, 5, True), (True, 0, False), (False, 5, False)])
@pytest.mark.parametrize("total", [1000, None])
def test_the_bar_is_drawn_on_a_terminal_for_long_input(
    terminal: bool, seconds: int, drawn: bool, total: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short input and redirected output see no bar."""
    monkeypatch.setenv("TERM", "xterm")
    screen, now = Screen(terminal=terminal), [0.0]

    with ReadingProgress(total, screen, clock=lambda: now[0]) as progress:
        progress.advance(100)
        now[0] += seconds
        progress.advance(100)
        progress.advance(100)

    assert bool(screen.getvalue()) is drawn
