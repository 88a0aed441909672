"""
What a call's end means, and what the model reads about it (T4).
"""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nr_agent_core.domain import tool_outcomes
from nr_agent_core.domain.errors import NothingWrittenError
from nr_agent_core.domain.run_events import NotExecuted, ToolFinished
from nr_agent_core.domain.tool_outcomes import (
    OUTCOME_UNKNOWN,
    late_text,
    not_executed_text,
    outcome_of_deadline,
    outcome_of_exception,
    outcome_of_return,
    repeat_unknown_text,
)
from nr_agent_core.domain.tool_result import Outcome, RecordReference, RecordWrite, ToolEffect, ToolResult, WriteKind

READING = ToolEffect.READ_ONLY
WRITING = [effect for effect in ToolEffect if effect.writes]
effects = st.sampled_from(ToolEffect)
PAGE = RecordWrite(RecordReference("pages", 42), WriteKind.CREATED)


@given(effects, st.sampled_from(Outcome), st.text())
def test_a_result_counts_as_it_is(effect: ToolEffect, outcome: Outcome, text: str) -> None:
    """Whatever a tool says in a result's words is its outcome, records included (T4)."""
    result = ToolResult(outcome, text).carrying((PAGE,))

    assert outcome_of_return(effect, result) is result


@given(effects, st.text())
def test_a_text_is_the_text_of_a_success(effect: ToolEffect, text: str) -> None:
    """A plain string is a result in short (T4)."""
    assert outcome_of_return(effect, text) == ToolResult.text(text)


def test_a_text_of_a_subclass_becomes_a_plain_one() -> None:
    """What is stored is a string and nothing that behaves like one."""

    class Safe(str):
        """
        A marked text, as template engines make them.
        """

    assert type(outcome_of_return(READING, Safe("x")).content) is str


@pytest.mark.parametrize("effect", ToolEffect)
@pytest.mark.parametrize(
    "value",
    [None, 0, True, b"bytes", ["text"], {"text": "x"}, object(), ToolResult(Outcome.TEXT, 5), ToolResult("text", "x")],  # type: ignore[arg-type]
)
def test_a_wrong_type_is_judged_by_the_effect(effect: ToolEffect, value: object) -> None:
    """It says nothing about what happened: an error from a reading tool, unknown from a writing one (T4)."""
    result = outcome_of_return(effect, value)

    assert result.outcome is (Outcome.UNKNOWN if effect.writes else Outcome.ERROR)
    assert result.writes == ()


@pytest.mark.parametrize("effect", ToolEffect)
@pytest.mark.parametrize("error", [ValueError("x"), TimeoutError(), ConnectionResetError("gone"), AssertionError()])
def test_an_exception_is_judged_by_the_effect(effect: ToolEffect, error: Exception) -> None:
    """A writing tool that raises may have written; a reading one has not (T4)."""
    expected = Outcome.UNKNOWN if effect.writes else Outcome.ERROR

    assert outcome_of_exception(effect, error).outcome is expected
    assert outcome_of_deadline(effect).outcome is expected


class RefusedByHostError(NothingWrittenError):
    """
    A host's own kind of the promise.
    """


@pytest.mark.parametrize("effect", ToolEffect)
@pytest.mark.parametrize("kind", [NothingWrittenError, RefusedByHostError])
def test_a_promise_that_nothing_was_written_is_an_error(effect: ToolEffect, kind: type[Exception]) -> None:
    """The one exception by which a writing tool says that it wrote nothing (T4)."""
    assert outcome_of_exception(effect, kind("why")).outcome is Outcome.ERROR


@pytest.mark.parametrize("effect", WRITING)
def test_the_promise_of_a_cause_or_a_group_member_promises_nothing(effect: ToolEffect) -> None:
    """What a tool did beside the part that promised is not known (T4)."""
    error = RuntimeError("after the first row")
    error.__cause__ = NothingWrittenError("second row")
    group = ExceptionGroup("rows", [NothingWrittenError("one"), ValueError("two")])

    assert outcome_of_exception(effect, error).outcome is Outcome.UNKNOWN
    assert outcome_of_exception(effect, group).outcome is Outcome.UNKNOWN


@given(effects, st.text(min_size=1).filter(lambda text: text not in OUTCOME_UNKNOWN), st.booleans())
def test_an_exceptions_text_never_reaches_the_model(effect: ToolEffect, text: str, promised: bool) -> None:
    """The result depends on the effect and on the promise alone (T10)."""
    kind = NothingWrittenError if promised else RuntimeError

    assert outcome_of_exception(effect, kind(text)) == outcome_of_exception(effect, kind())


@pytest.mark.parametrize("effect", WRITING)
def test_an_unknown_outcome_is_told_as_unknown(effect: ToolEffect) -> None:
    """Neither as a failure nor as a success, and with what to do about it (T4)."""
    for result in (
        outcome_of_exception(effect, ValueError()),
        outcome_of_deadline(effect),
        outcome_of_return(effect, None),
    ):
        assert "may or may not have happened" in result.content
        assert "Check before doing anything" in result.content


@given(st.sampled_from([ToolResult.unchanged, ToolResult.error, ToolResult.unknown]), st.text())
def test_a_repeat_that_wrote_nothing_speaks_for_itself_alone(kind: Callable[[str], ToolResult], text: str) -> None:
    """The model is told that the first try is unknown, whatever the repeat says (R7)."""
    told = repeat_unknown_text(kind(text))

    assert told.startswith(OUTCOME_UNKNOWN)
    assert text in told


@pytest.mark.parametrize("why", NotExecuted)
def test_every_reason_has_a_text_of_its_own(why: NotExecuted) -> None:
    """The model reads why a call was not executed, and that it was not."""
    text = not_executed_text(why)

    assert any(words in text for words in ("Nothing was executed", "was not executed", "did not happen"))
    assert [reason for reason in NotExecuted if not_executed_text(reason) == text] == [why]


def test_only_wrong_arguments_are_explained_further() -> None:
    """The violation is named so that the model can mend it; no other reason takes words from outside."""
    assert not_executed_text(NotExecuted.INVALID_ARGUMENTS, "title: missing").endswith("title: missing")
    assert not_executed_text(NotExecuted.DECLINED, "by anna") == not_executed_text(NotExecuted.DECLINED)


def finished(effect: ToolEffect, outcome: Outcome, *writes: RecordWrite, late: bool = True) -> ToolFinished:
    """An executed call's end, without its text."""
    return ToolFinished(0, 0, "save", effect, True, outcome, 0, late=late, writes=writes)


@pytest.mark.parametrize("effect", WRITING)
def test_an_outcome_that_became_known_later_is_told_from_its_facts(effect: ToolEffect) -> None:
    """Carried out with its records, carried out, changed nothing, wrote nothing, still unknown (R7)."""
    assert "pages:42 (created)" in late_text(finished(effect, Outcome.TEXT, PAGE))
    assert late_text(finished(effect, Outcome.TEXT)).startswith("This call was carried out.")
    assert "changed nothing" in late_text(finished(effect, Outcome.UNCHANGED))
    assert "wrote nothing" in late_text(finished(effect, Outcome.ERROR))
    assert late_text(finished(effect, Outcome.UNKNOWN)) == OUTCOME_UNKNOWN


@pytest.mark.parametrize("why", NotExecuted)
def test_a_call_that_was_not_executed_is_told_by_its_reason(why: NotExecuted) -> None:
    """A forgotten text of a refused call is its reason's text again (E4)."""
    event = ToolFinished(0, 0, "save", WRITING[0], False, Outcome.ERROR, 0, refusal=why)

    assert late_text(event) == not_executed_text(why)


@pytest.mark.parametrize("effect", ToolEffect)
@pytest.mark.parametrize("outcome", Outcome)
def test_no_text_from_facts_is_empty_or_claims_a_record_that_is_not_there(effect: ToolEffect, outcome: Outcome) -> None:
    """Every kind of end has a text, and only written records are named."""
    text = late_text(finished(effect, outcome, late=False))

    assert text
    assert "Written:" not in text
    assert "Written:" not in tool_outcomes.OUTCOME_UNKNOWN
