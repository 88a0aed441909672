"""
How much fits into a model's window (R11).
"""

import math
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nr_agent_core.domain.context_window import (
    CALIBRATION_BOUND,
    CALIBRATION_FLOOR,
    Calibration,
    budget,
    estimate,
    fit,
)
from nr_agent_core.testing.strategies import texts, texts_with_surrogates

costs = st.lists(st.integers(0, 500), max_size=30)


@given(texts(max_size=200))
def test_an_estimate_is_the_bytes_by_a_constant_rounded_up(text: str) -> None:
    """UTF-8 bytes by 3.5 for prose and by 2.5 for dense text (R11)."""
    size = len(text.encode("utf-8"))

    assert estimate(text) == math.ceil(size / 3.5)
    assert estimate(text, dense=True) == math.ceil(size / 2.5)


@given(texts_with_surrogates())
def test_any_text_can_be_estimated(text: str) -> None:
    """Even one that no wire can hold."""
    assert estimate(text) >= 0


@given(texts(), texts())
def test_a_longer_text_never_costs_less(one: str, two: str) -> None:
    """Appending costs; never more than the parts by themselves."""
    assert estimate(one) <= estimate(one + two) <= estimate(one) + estimate(two)


@pytest.mark.parametrize(
    ("window", "output_limit", "expected"),
    [
        (None, None, 32_768 - 1000 - 984),
        (32_768, None, 32_768 - 1000 - 984),
        (200_000, None, 200_000 - 4000 - 6000),
        (200_000, 64_000, 200_000 - 64_000 - 6000),
        (50_000, None, 50_000 - 1000 - 1500),
        (50_001, None, 50_001 - 1001 - 1501),
        (8192, 0, 8192 - 246),
        (1000, None, -30),
    ],
)
def test_the_budget_is_the_window_without_reserve_and_margin(
    window: int | None, output_limit: int | None, expected: int
) -> None:
    """The reserve is the output cap, else the larger of 1,000 and 2 %; 3 % stay free; unknown is 32,768 (R11)."""
    assert budget(window, output_limit) == expected


@given(costs, st.integers(0, 20_000))
def test_the_fewest_oldest_turns_are_left_out(turns: list[int], room: int) -> None:
    """What is kept fits, and one turn more would not (R11)."""
    before = list(accumulate(turns, initial=0))

    left_out = fit(range(len(before)), before.__getitem__, before[-1] - room)

    assert sum(turns[left_out:]) <= room
    assert left_out == 0 or sum(turns[left_out - 1 :]) > room


def test_turns_are_looked_up_and_not_walked() -> None:
    """The cost of fitting does not grow with the number of turns."""
    asked: list[int] = []

    def before(start: int) -> int:
        asked.append(start)
        return start

    assert fit(range(1_000_000), before, 999_000) == 999_000
    assert len(asked) < 50


# --------------------------------------------------------------------------------- what usage corrects

estimates = st.integers(CALIBRATION_FLOOR, 10**6)
reports = st.one_of(
    st.none(), st.booleans(), st.text(max_size=3), st.floats(), st.integers(), st.integers(1, 4 * 10**6)
)


@given(st.lists(st.tuples(reports, st.integers(0, 10**6))), st.integers(0, 10**6))
def test_whatever_is_reported_the_correction_is_bounded(told: list[tuple[object, int]], tokens: int) -> None:
    """Never more room than the estimate allows, never less than the bound's part of it (R11)."""
    calibration = Calibration()
    for counted, estimated in told:
        calibration = calibration.after(counted, estimated)

    assert tokens // CALIBRATION_BOUND <= calibration.room(tokens) <= tokens


@given(estimates, st.integers(0, 10**6), st.data())
def test_what_fits_by_the_correction_fits_by_the_model_s_own_count(
    estimated: int, tokens: int, data: st.DataObject
) -> None:
    """A question as dense as the one that was counted keeps within the budget, and one token more would not (R11)."""
    counted = data.draw(st.integers(estimated, CALIBRATION_BOUND * estimated))
    room = Calibration().after(counted, estimated).room(tokens)

    assert room * counted <= tokens * estimated
    assert (room + 1) * counted > tokens * estimated


@given(estimates, st.data())
def test_a_model_that_counts_less_gets_no_more(estimated: int, data: st.DataObject) -> None:
    """It takes back an earlier correction, and allows nothing beyond the estimate (R11)."""
    counted = data.draw(st.integers(-(-estimated // CALIBRATION_BOUND), estimated))

    assert Calibration(3, 2).after(counted, estimated).room(99) == 99


@given(st.lists(st.tuples(reports, st.integers(0, 10**6))))
def test_a_report_that_is_missing_or_absurd_changes_nothing(told: list[tuple[object, int]]) -> None:
    """No whole number, beyond the bound in either direction, or of a question too small to tell (R11)."""
    known = Calibration(3, 2)
    for counted, estimated in told:
        credible = (
            type(counted) is int
            and estimated >= CALIBRATION_FLOOR
            and estimated <= CALIBRATION_BOUND * counted <= CALIBRATION_BOUND**2 * estimated
        )

        assert (known.after(counted, estimated) is known) == (not credible)


@pytest.mark.parametrize(
    ("counted", "estimated", "changed"),
    [
        (4000, 1000, True),
        (4001, 1000, False),
        (250, 1000, True),
        (249, 1000, False),
        (1500, 999, False),
        (0, 1000, False),
        (-2000, 1000, False),
        (True, 1000, False),
        (1500.0, 1000, False),
    ],
)
def test_the_bounds_of_what_is_believed(counted: object, estimated: int, changed: bool) -> None:
    """Four times an estimate of 1,000 tokens or more, and a quarter of it (R11)."""
    known = Calibration(3, 2)

    assert (known.after(counted, estimated) is not known) == changed
