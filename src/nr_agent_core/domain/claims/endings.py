"""
Forms that come of a listed word by its ending, so that a data file need not list each of them.
"""

from collections.abc import Mapping
from typing import Final

from nr_agent_core.domain.claims import word_class as wc

_IMPLIED: Final = {wc.TOLD: wc.PARTICIPLE, wc.IMPERSONAL: wc.PARTICIPLE, wc.THIRD: wc.PARTICIPLE}


class Endings:
    """
    What comes of the words of one list, by their endings; the longest ending that fits counts, "" fits any word.
    """

    def __init__(self, endings: Mapping[str, str]) -> None:
        self._rules: list[tuple[str, list[tuple[int, list[str]]]]] = []
        for ending in sorted(endings, key=len, reverse=True):
            made = [part.split() for part in endings[ending].split("|")]
            self._rules.append((ending, [(classes_of(name), list(new)) for name, *new in made]))

    def forms(self, word: str) -> list[tuple[str, int]]:
        """
        Every form of *word* with its classes.
        """
        for ending, made in self._rules:
            if word.endswith(ending):
                stem = word[: len(word) - len(ending)]
                return [(stem + new, bits) for bits, endings in made for new in endings]
        return []


def classes_of(name: str) -> int:
    """
    The classes that a list gives to its words.
    """
    given = wc.BY_NAME[name]
    return given | _IMPLIED.get(given, 0)
