"""
How claiming forms get misspelt: with other letters, or by a slip of the pen.
"""

from collections.abc import Iterable, Mapping
from typing import Final

_SHORTEST_VARIED: Final = 7


def respellings(word: str, respelled: Mapping[str, str]) -> Iterable[str]:
    """
    *word* with each letter of the table written the other way, all at once and one at a time.
    """
    everything = word
    for letters, other in respelled.items():
        if letters in word:
            everything = everything.replace(letters, other)
            yield word.replace(letters, other)
    yield everything


def slips(word: str) -> Iterable[str]:
    """
    *word* with two letters swapped, one left out or one doubled; its first and last letter stay.
    """
    if len(word) < _SHORTEST_VARIED or not word.isalpha():
        return
    for at in range(1, len(word) - 2):
        yield word[:at] + word[at + 1] + word[at] + word[at + 2 :]
        yield word[:at] + word[at + 1 :]
        yield word[:at] + word[at] + word[at:]
    yield word[0:-2] + word[-2] + word[-2:]
