"""
What an answer states beyond a claim: what is found, what is known, what stays silent (V7, V8, V12).
"""

import logging
import tomllib
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nr_agent_core.domain import statements as package
from nr_agent_core.domain.claims import Claim, ClaimDetector
from nr_agent_core.domain.notices import Notice
from nr_agent_core.domain.run import Run, fold
from nr_agent_core.domain.run_events import ModelAnswered, RecordedCall, Started, ToolFinished, ToolStarted
from nr_agent_core.domain.statements.counts import miscounted
from nr_agent_core.domain.statements.deeds import Deeds
from nr_agent_core.domain.statements.denials import Written, denial
from nr_agent_core.domain.statements.glance import may_count, may_deny, may_refer
from nr_agent_core.domain.statements.references import Told, references, singular
from nr_agent_core.domain.statements.sentences import place_in, sentences, stated
from nr_agent_core.domain.statements.statements import Statements
from nr_agent_core.domain.statements.wording import Wording, wording
from nr_agent_core.domain.tool_result import Outcome, RecordReference, RecordWrite, ToolEffect, WriteKind

DATA = Path(package.__file__).parent
PAGE = RecordWrite(RecordReference("pages", 42), WriteKind.CREATED)
WORDS = st.sampled_from(
    [
        "uid",
        "ID",
        "IDs",
        "pages:7",
        "tt_content:9",
        "#201",
        "INV-2026-7",
        "Ticket",
        "4711",
        "und",
        "and",
        "12",
        "13,",
        "zwei",
        "two",
        "all",
        "Seiten",
        "pages",
        "nichts",
        "nothing",
        "geändert",
        "changed",
        "ich",
        "habe",
        "I",
        "have",
        "not",
        "keine",
        "Änderungen",
        "no",
        "changes",
        ".",
        ",",
        ":",
        "-",
        "(",
        ")",
        '"',
        "```",
        "`x`",
        ">",
        "is",
        "alles",
        "bis",
        "to",
        "3",
        "0b1c2d3e-0000-4000-8000-00000000000f",
        "a.csv",
    ]
)
TEXTS = st.lists(WORDS | st.text(max_size=6) | st.just("\n"), max_size=30).map(" ".join)


def run_of(*writes: RecordWrite, offered: tuple[str, ...] = ("create_page",), text: str | None = "ok") -> Run:
    """A run whose one call wrote *writes*."""
    effect = ToolEffect.NON_IDEMPOTENT_WRITE if writes else ToolEffect.READ_ONLY
    call = RecordedCall(0, offered[0], effect, "d" * 64)
    events: list[Any] = [
        Started("anna", 5, segment="s1"),
        ModelAnswered(0, "p", "m", 0, 1, 0, offered, (call,), arguments=("{}",)),
    ]
    if writes:
        events.append(ToolStarted(0, 0, offered[0], effect, "k" * 64))
    events.append(ToolFinished(0, 0, offered[0], effect, True, Outcome.TEXT, 2, writes=writes, text=text))
    return fold("run", events)


def notices(answer: str, run: Run, *texts: str, results: tuple[str, ...] = ()) -> list[str]:
    """The codes that *answer* gets beside what a claim gives."""
    detector = ClaimDetector()
    judged = Statements(run, lambda: (texts, results), claims=detector.claims)
    return [notice.code.value for notice in judged.examine(answer)[1]]


# ------------------------------------------------------------------------------------ quick looks


@given(TEXTS)
def test_a_quick_look_overlooks_nothing(text: str) -> None:
    """What the full reading finds, the quick one lets through (V7, V8)."""
    words, told = wording(), stated(text)

    if references(told, files=True):
        assert may_refer(text, words, files=True)
    if denial(sentences(told), Written(frozenset(WriteKind)), words):
        assert may_deny(text, words)
    claims = [Claim(part.start, part.end, "created", "en", "is done") for part in sentences(told)]
    if list(miscounted(sentences(told), claims, Deeds(run_of(PAGE), ()), words, whole=told)):
        assert may_count(text, words)


@given(TEXTS, st.sampled_from([run_of(), run_of(PAGE)]))
def test_any_text_can_be_examined(text: str, run: Run) -> None:
    """The text keeps its length, the notices their order, and nothing raises."""
    judged = Statements(run, lambda: ((), ()), claims=ClaimDetector().claims)

    rest, found = judged.examine(text)

    assert len(rest) == len(text)
    assert all(isinstance(notice, Notice) for notice in found)


@given(TEXTS)
def test_sentences_are_the_text_in_order(text: str) -> None:
    """They do not overlap, keep their places, and every place belongs to one."""
    told = stated(text)
    parts = sentences(told)

    assert len(told) == len(text)
    assert all(part.text == told[part.start : part.end] for part in parts)
    assert all(one.end <= two.start for one, two in pairwise(parts))
    for index, part in enumerate(parts):
        assert place_in(parts, part.start) == place_in(parts, part.end - 1) == index


# -------------------------------------------------------------------------------- what is known


@given(
    st.integers(1, 10**9),
    st.sampled_from(["{}", "pages:{}", "uid {}", '"uid": {}', "https://x.test/{}/edit", "000{}", "[{}]", "n° {}."]),
    st.sampled_from(["pages:{} ist da.", "Die uid {} ist frei.", "It has ID {}.", "Ticket {} is open."]),
    st.booleans(),
)
def test_a_number_that_was_given_in_any_form_is_known(number: int, form: str, answer: str, result: bool) -> None:
    """Prompt, messages or results: whatever holds the number makes it known (V7)."""
    told = form.format(number)

    found = notices(answer.format(number), run_of(), *(() if result else (told,)), results=(told,) if result else ())

    assert "unknownReference" not in found


@given(st.integers(1000, 10**9))
@example(1130)
@example(20261)
def test_a_number_that_nothing_holds_is_named(number: int) -> None:
    """Neither longer numbers that contain it nor other numbers make it known (V7)."""
    given_texts = (f"{number}0", f"1{number}", "pages:12", "2026-11-30")

    assert notices(f"Die Seite hat die ID {number}.", run_of(), *given_texts) == ["unknownReference"]


@pytest.mark.parametrize(
    ("answer", "known"),
    [
        ("Article 4711 has the ID 4711.", "No. 4.711"),
        ("ID 17 ist dabei.", "Frei sind 10 bis 20."),
        ("pages:17 is one of them.", "pages:10 to pages:20"),
        ("0B1C2D3E-0000-4000-8000-00000000000F", "0b1c2d3e000040008000" + "00000000000f"),
    ],
)
def test_grouped_numbers_and_ranges_are_known(answer: str, known: str) -> None:
    """However a number was written (V7)."""
    assert notices(answer, run_of(), known) == []


@pytest.mark.parametrize(
    "answer",
    [
        "Der Dienst hört auf localhost:8080 und redis:7.",
        "Die Uhr zeigt 14:30, Port:443.",
        "ISO-27001 und RFC-2119 gelten.",
        "Zum Beispiel ID 4711.",
        "Meinten Sie pages:99?",
        "Frei sind die IDs 4000 bis 4999.",
        "Event ID 4625 means a failed login.",
        "`x`\n```\npages:99\n```\n> ID 4711",
        'Es heißt "ID 4711".',
        "user ID\n1. Anna\n2. Bernd",
        "Foo:12 and bar:13",
        "#4711 and ABC-4711",
    ],
)
def test_what_may_be_something_else_is_left_aside(answer: str) -> None:
    """Examples, questions, ranges, quotations, standards, unknown tables, forms no tool used (V7)."""
    assert notices(answer, run_of()) == []


def test_a_form_counts_where_a_tool_used_it() -> None:
    """Equal but for its digits; colours are not told apart from numbers, so they silence it (V7)."""
    assert notices("Open: #201 and #977.", run_of(), results=("#201",)) == ["unknownReference"]
    assert notices("Open: #201 and #9775.", run_of(), results=("#201",)) == []
    assert notices("Use #201 and #977.", run_of(), results=("the colour #201",)) == []


def test_what_a_result_said_is_for_results_only() -> None:
    """A form or table that merely the prompt uses is none of a tool's (V7)."""
    told = Told(("#201 boxes:5",), ("pages:5",))

    assert told.tables() == {"pages"}
    assert not told.same_form(references("#977", files=False)[0])


def test_doubts_are_told_without_the_text() -> None:
    """The log learns why nothing was said, and not what the answer said (V7, P9)."""
    judged = Statements(run_of(), lambda: ((), ()), claims=lambda _: ())
    judged.examine("Zum Beispiel ID 4711.")

    assert judged.doubts
    assert not any("4711" in doubt for doubt in judged.doubts)


# -------------------------------------------------------------------------- written by the run


def test_earlier_records_are_counted_and_unknown_ones_silence() -> None:
    """All five: two now and three before; and when not all before is known, nothing is said (V7)."""
    earlier = [RecordWrite(RecordReference("pages", uid), WriteKind.CREATED) for uid in (1, 2, 3)]
    run = run_of(PAGE, RecordWrite(RecordReference("pages", 43), WriteKind.CREATED))
    claims = ClaimDetector().claims

    def found(before: list[RecordWrite] | None) -> int:
        judged = Statements(run, lambda: ((), ()), earlier=before, claims=claims)
        return len(judged.examine("Alle fünf Seiten sind angelegt.")[1])

    assert (found([]), found(earlier), found(None)) == (1, 0, 0)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Nothing was changed.", ["savedNonetheless"]),
        ("Nothing was updated.", []),
        ("Nothing was deleted.", []),
        ("Nothing was created.", ["savedNonetheless"]),
        ("The page was not saved.", ["savedNonetheless"]),
        ("The page was not deleted.", []),
        ("The contact was not saved.", []),
        ("Nothing was changed in the menu.", []),
        ("Nothing else was changed.", []),
        ("Was nothing changed?", []),
        ("If you deny, nothing was changed.", []),
        ("- Nothing was changed.", []),
        ("Menu: nothing was changed.", []),
        ("Nothing was changed, only the title.", []),
        ("I have created the page. Nothing was changed.", []),
    ],
)
def test_a_denial_speaks_only_of_everything(answer: str, expected: list[str]) -> None:
    """Restricted, conditional, of another kind or beside a claim it denies nothing (V8)."""
    assert notices(answer, run_of(PAGE)) == expected


def test_a_denial_is_true_when_nothing_was_written() -> None:
    """Only a run that wrote can be denied (V8)."""
    assert notices("Nothing was changed.", run_of()) == []


def test_singular_of_nouns() -> None:
    """English plurals as tables have them."""
    assert [singular(word) for word in ("pages", "categories", "addresses", "news", "boxes", "status")] == [
        "page", "category", "address", "news", "box", "status",
    ]  # fmt: skip


# ------------------------------------------------------------------------------------ languages


def test_languages_have_the_same_fields() -> None:
    """A language is a file; the engine names none (V2)."""
    codes = tomllib.loads((DATA / "languages.toml").read_text(encoding="utf-8"))["languages"]
    tables = [tomllib.loads((DATA / f"{code}.toml").read_text(encoding="utf-8")) for code in codes]

    free = {"nouns", "numbers"}
    shapes = [{section: sorted(fields) for section, fields in table.items() if section not in free} for table in tables]
    assert all(shape == shapes[0] for shape in shapes)
    assert sorted(codes) == sorted(path.stem for path in DATA.glob("*.toml") if path.stem != "languages")
    for source in DATA.glob("*.py"):
        assert not any(f'"{code}"' in source.read_text(encoding="utf-8") for code in codes), source


def test_a_field_without_phrases_finds_nothing() -> None:
    """A language that leaves one empty silences nothing by it (V7)."""
    shared = tomllib.loads((DATA / "languages.toml").read_text(encoding="utf-8"))
    table = tomllib.loads((DATA / "en.toml").read_text(encoding="utf-8"))
    table["general"]["example"] = ""

    assert Wording([table], shared["neutral"]).examples.search("Any text: an example, perhaps.") is None


def test_a_rule_that_fails_costs_its_notices_alone(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The claim is still weighed, and the failure is logged (V2)."""
    from nr_agent_core.domain.model_briefing import Briefing
    from nr_agent_core.runtime.verdicts import Verdicts

    def fails(*_: object) -> None:
        raise RuntimeError("no rules")

    monkeypatch.setattr(Statements, "examine", fails)
    judge = Verdicts(ClaimDetector(), Briefing("", (), "", tokens=1000))

    with caplog.at_level(logging.ERROR):
        found = judge("The page has been created.", run_of())

    assert [notice.code.value for notice in found] == ["nothingSaved"]
    assert "no rules" in caplog.text


def test_an_earlier_segments_successful_call_counts_as_given() -> None:
    """Its prompt is not kept, so what a tool took is not called invented; in one segment it is (V7)."""
    call = RecordedCall(0, "create_page", ToolEffect.READ_ONLY, "d" * 64)
    run = fold(
        "run",
        [
            Started("anna", 5, segment="s1"),
            ModelAnswered(0, "p", "m", 0, 1, 0, ("create_page",), (call,), arguments=('{"parent": 5577}',)),
            ToolFinished(0, 0, "create_page", ToolEffect.READ_ONLY, True, Outcome.TEXT, 2, text="ok"),
        ],
    )

    def found(rounds_before: int) -> int:
        judged = Statements(run, lambda: ((), ()), claims=lambda _: (), rounds_before=rounds_before)
        return len(judged.examine("Sie liegt unter der ID 5577.")[1])

    assert (found(0), found(1)) == (1, 0)
