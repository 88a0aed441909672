"""
The places of a text that are worth a look, found without cutting it.

All words of a text are looked up in one set at once, however many forms and languages there are. Words that claim in
one position only (a label before its colon), and phrases, which are noticed by their rarest word, are checked where
they stand.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from nr_agent_core.domain.claims.lexicon import Lexicon
from nr_agent_core.domain.claims.tokens import ARROWS, MARKS

SIGNS: Final = frozenset(MARKS + ARROWS)
"""Check marks and arrows: they claim in any language."""

_SIGN: Final = re.compile(f"[{MARKS}{ARROWS}]")
_WORD: Final = re.compile(r"[^\W\d_]+")


class Scanner:
    """
    What the sentences of some languages are noticed by.

    Args:
        lexicons: the languages.
    """

    def __init__(self, lexicons: Sequence[Lexicon]) -> None:
        self._triggers = frozenset[str]().union(*(lexicon.triggers for lexicon in lexicons))
        self._positioned = (
            (frozenset[str]().union(*(lexicon.labels for lexicon in lexicons)), "", ":"),
            (frozenset[str]().union(*(lexicon.before for lexicon in lexicons)), "(", ""),
            (frozenset[str]().union(*(lexicon.values for lexicon in lexicons)), ": ", ""),
        )
        anchored: dict[str, list[str]] = {}
        for lexicon in lexicons:
            for anchor, phrases in lexicon.anchored.items():
                anchored.setdefault(anchor, []).extend(phrases)
        self._anchored = {anchor: phrases for anchor, phrases in anchored.items() if anchor not in self._triggers}
        self._anchors = frozenset(self._anchored)

    def places(self, text: str) -> list[int]:
        """
        Where claiming words, phrases and signs stand in the normalised *text*, in order.
        """
        places: list[int] = []
        words = set(_WORD.findall(text))
        for word in self._triggers & words:
            places += _places_of(word, text)
        for anchor in self._anchors & words:
            for phrase in self._anchored[anchor]:
                places += _places_of(phrase, text)
        for listed, before, after in self._positioned:
            if before in text and after in text:
                for word in listed & words:
                    whole = before + word + after
                    places += (at + len(before) for at in _places_of(whole, text))
        if not text.isascii():
            places += (match.start() for match in _SIGN.finditer(text))
        places.sort()
        return places


def _places_of(phrase: str, text: str) -> Iterator[int]:
    """
    Where *phrase* stands in *text* and no letter goes on with it.
    """
    size = len(phrase)
    first, last = phrase[0].isalnum(), phrase[-1].isalnum()
    at = text.find(phrase)
    while at >= 0:
        if not (first and text[at - 1 : at].isalnum()) and not (last and text[at + size : at + size + 1].isalnum()):
            yield at
        at = text.find(phrase, at + size)
