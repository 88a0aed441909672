"""
How much fits into a model's context window, estimated from bytes alone (R11).

No tokenizer is asked: an estimate is the same for every model and costs nothing. It is taken once
per text; the estimates of stored messages are stored with them.
"""

from collections.abc import Iterable

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


def fit(turns: Iterable[int], total: int, floor: int, limit: int) -> int | None:
    """
    How many of the older *turns*, from the oldest on, have to be left out (R11).

    >>> fit([50, 20, 30], total=120, floor=20, limit=75)
    1

    Args:
        turns: tokens of each whole turn before the newest one, oldest first; read no further than needed.
        total: the tokens of all of them and of the floor.
        floor: tokens of what is never left out: the head and the newest turn.
        limit: the tokens there are.

    Returns:
        The smallest number of turns without which the rest fits; None when the floor alone does not.
    """
    if floor > limit:
        return None
    left_out, older = 0, iter(turns)
    while total > limit:
        total -= next(older)
        left_out += 1
    return left_out
