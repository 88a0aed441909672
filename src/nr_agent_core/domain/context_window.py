"""
How much fits into a model's context window, estimated from bytes alone (R11).

No tokenizer is asked: an estimate is the same for every model and costs nothing. It is taken once
per text; the estimates of stored messages are stored with them.
"""

import bisect
from collections.abc import Callable, Sequence

UNKNOWN_WINDOW = 32_768
"""Tokens of a window that nobody knows."""

MESSAGE_TOKENS = 8
"""What a message costs beyond its text."""

CALL_TOKENS = 12
"""What a call costs beyond its name and arguments."""


def estimate(text: str, dense: bool = False) -> int:
    """
    How many tokens *text* is taken for: its UTF-8 bytes by 3.5, or by 2.5 when dense, rounded up (R11).

    >>> estimate("a" * 35), estimate("a" * 35, dense=True)
    (10, 14)

    Args:
        text: what the model reads, without what a message or call costs beyond it.
        dense: JSON, code and other text with many signs.
    """
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    return (2 * size + 4) // 5 if dense else (2 * size + 6) // 7


def budget(window: int | None, output_limit: int | None = None) -> int:
    """
    How many tokens a question may have (R11). It may be 0 or less: then nothing fits.

    Args:
        window: tokens of the model's window; None when unknown.
        output_limit: the most tokens of an answer; None when unknown, then 2 % of the window, at
            least 1,000, are kept free.
    """
    size = UNKNOWN_WINDOW if window is None else window
    reserve = max(1000, -(-size * 2 // 100)) if output_limit is None else output_limit
    return size - reserve - -(-size * 3 // 100)


def fit(starts: Sequence[int], before: Callable[[int], int], excess: int) -> int:
    """
    How many of the older turns, from the oldest on, have to be left out so that *excess* tokens are saved (R11).

    >>> fit([0, 1, 2, 3], [0, 50, 70, 100].__getitem__, 45)
    1

    Args:
        starts: where each turn begins, oldest first, and behind them where the newest one does.
        before: the tokens of all that stands before such a place.
        excess: how many tokens there are too many; at most those of all older turns.
    """
    # Looked up and not walked: a question of a full window asks this every time.
    return bisect.bisect_left(starts, excess, key=before)
