"""
The windows of retention.
"""

import pytest

from nr_agent_core import InvalidValueError, Purged, Retention


@pytest.mark.parametrize(
    "windows",
    [
        {"conversation_days": 0},
        {"run_days": -1},
        {"waiting_days": True},
        {"write_days": "30"},
        {"conversation_days": float("nan")},
        {"run_days": float("inf")},
        {"writes_up_to": -1},
        {"writes_up_to": 1.5},
        {"write_days": 31},
        {"write_days": 10, "run_days": 5},
    ],
)
def test_a_window_is_days_above_zero(windows: dict[str, object]) -> None:
    """Nothing else is taken; a window of writes that could not be kept is refused (O2)."""
    with pytest.raises(InvalidValueError):
        Retention(**windows)  # type: ignore[arg-type]


def test_a_window_ends_at_a_time() -> None:
    """What is as old as its window goes; what is kept for ever never does."""
    retention = Retention(conversation_days=2, run_days=None, waiting_days=0.5, write_days=1)

    assert retention.conversations_until(1_000_000) == 1_000_000 - 2 * 86_400
    assert retention.waiting_until(1_000_000) == 1_000_000 - 43_200
    assert retention.runs_until(1_000_000) == float("-inf")


def test_counts_add_up() -> None:
    """The last portion says whether there is more."""
    first = Purged(conversations=1, messages=2, runs=3, events=4, writes=5, more=True)

    assert first + first == Purged(conversations=2, messages=4, runs=6, events=8, writes=10, more=True)
    assert first + Purged() == Purged(conversations=1, messages=2, runs=3, events=4, writes=5)
