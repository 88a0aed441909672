"""
How a text is cut in a language in which nothing parts the words.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from nr_agent_core.domain.claims.normalise import QUOTE
from nr_agent_core.domain.claims.tokens import ARROWS, MARKS

_LONGEST_WORD: Final = 6
_PLAIN: Final = re.compile(
    f"[0-9a-z][\\w.:/#@-]*|{QUOTE}+|->|[^\\W_]|[{MARKS}{ARROWS},;:()\\[\\]|]",
    re.ASCII,
)


class Parting:
    """
    Cuts a text into the longest listed word at each place, else what stands there.

    Args:
        words: the listed words, as they are now.
    """

    __slots__ = ("_longest", "_words")

    def __init__(self, words: Mapping[str, int]) -> None:
        self._words = words
        self._longest: dict[str, int] = {}
        for word in words:
            if len(word) > self._longest.get(word[0], 1):
                self._longest[word[0]] = min(len(word), _LONGEST_WORD)

    def spans(self, text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
        """
        Where the words of *text* from *start* to *end* stand.
        """
        words, longest = self._words, self._longest.get
        at = start
        while at < end:
            for stop in range(min(at + longest(text[at], 1), end), at + 1, -1):
                if text[at:stop] in words:
                    break
            else:
                match = _PLAIN.match(text, at, end)
                stop = match.end() if match else at + 1
                if not match and text[at:stop] not in words and not text[at].isalnum():
                    at = stop
                    continue
            yield at, stop
            at = stop
