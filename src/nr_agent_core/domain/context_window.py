"""
How much fits into a model's context window, estimated from bytes and corrected by what providers count (R11).

No tokenizer is asked: an estimate is the same for every model and costs nothing. It is taken once
per text; the estimates of stored messages are stored with them. How far a model's own tokens are
from it is learnt from the usage that its provider reports, and never stored.
"""

import bisect
from collections.abc import Callable, Sequence

UNKNOWN_WINDOW = 32_768
"""Tokens of a window that nobody knows."""

MESSAGE_TOKENS = 8
"""What a message costs beyond its text."""

CALL_TOKENS = 12
"""What a call costs beyond its name and arguments."""


CALIBRATION_FLOOR = 1000
"""Estimated tokens of the smallest question whose usage corrects: of a smaller one a provider's own additions tell."""

CALIBRATION_BOUND = 4
"""How many times an estimate a count may be, or the estimate a count; beyond that no text explains it."""


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


class Calibration:
    """
    How many tokens a model counts for what is estimated; never changed once made.

    It corrects in one direction only: a model that counts less than the estimate gets no more than
    the estimate allows.

    >>> learnt = Calibration().after(15_000, 10_000)
    >>> learnt.room(30_000)
    20000
    >>> learnt.after(None, 10_000) is learnt, learnt.after(10**9, 10_000) is learnt
    (True, True)
    """

    __slots__ = ("_counted", "_estimated")

    def __init__(self, counted: int = 1, estimated: int = 1) -> None:
        self._counted, self._estimated = counted, estimated

    def after(self, counted: object, estimated: int) -> "Calibration":
        """
        What is known once a provider reported *counted* input tokens for a question of *estimated* ones (R11).

        The newest report counts, since a question grows with its conversation. One that is missing
        or absurd, or that tells of a question too small, changes nothing.
        """
        # Whole numbers alone: True is one, and no count.
        if type(counted) is not int or estimated < CALIBRATION_FLOOR:
            return self
        if counted > CALIBRATION_BOUND * estimated or estimated > CALIBRATION_BOUND * counted:
            return self
        return Calibration(max(counted, estimated), estimated)

    def room(self, tokens: int) -> int:
        """How many estimated tokens are at most *tokens* of the model's."""
        return tokens * self._estimated // self._counted
