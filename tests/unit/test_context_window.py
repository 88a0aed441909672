"""
How much fits into a model's window (R11).
"""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nr_agent_core.domain.context_window import budget, estimate, fit
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


@given(costs, st.integers(0, 2000), st.integers(-10, 8000))
def test_the_fewest_oldest_turns_are_left_out(turns: list[int], floor: int, limit: int) -> None:
    """What is kept fits, one turn more would not, and the floor is never cut (R11)."""
    left_out = fit(iter(turns), floor + sum(turns), floor, limit)

    if floor > limit:
        assert left_out is None
        return
    assert left_out is not None
    assert floor + sum(turns[left_out:]) <= limit
    assert left_out == 0 or floor + sum(turns[left_out - 1 :]) > limit


def test_turns_are_read_no_further_than_needed() -> None:
    """The cost of fitting does not grow with what is kept."""
    turns = iter([50, 20, 30])

    assert fit(turns, 120, 20, 75) == 1
    assert next(turns) == 20
