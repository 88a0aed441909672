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
from nr_agent_core.domain.claims.normalise import Reading
from nr_agent_core.domain.claims.segments import BULLET
from nr_agent_core.domain.claims.tokens import ARROWS, MARKS

SIGNS: Final = frozenset(MARKS + ARROWS)
"""Check marks and arrows: they claim in any language."""

_SIGN: Final = re.compile(f"[{MARKS}{ARROWS}]")
_WORD: Final = re.compile(r"[^\W\d_]+")
_LETTERS: Final = bytes(byte if byte >= 128 or chr(byte).isalpha() else 32 for byte in range(256))
"""ASCII without letters becomes blank; what is beyond ASCII is told apart word by word."""


class Scanner:
    """
    What the sentences of some languages are noticed by.

    Args:
        lexicons: the languages.
    """

    def __init__(self, lexicons: Sequence[Lexicon]) -> None:
        self._triggers = frozenset[str]().union(*(lexicon.triggers for lexicon in lexicons))
        self._labels = frozenset[str]().union(*(lexicon.labels for lexicon in lexicons))
        self._before = frozenset[str]().union(*(lexicon.before for lexicon in lexicons))
        values = sorted(frozenset[str]().union(*(lexicon.values for lexicon in lexicons)))
        self._value = re.compile(f":[ *_]{{1,8}}({'|'.join(map(re.escape, values))})(?!\\w)")
        self._values = frozenset(values)
        verbs = frozenset[str]().union(*(lexicon.verbs for lexicon in lexicons))
        self._verbs = frozenset(verb for verb in verbs if verb.isalpha())
        self._clitics = tuple(verb for verb in verbs if verb.startswith("'"))
        bound = "|".join(sorted(frozenset[str]().union(*(lexicon.bound for lexicon in lexicons))))
        self._behind = re.compile(f" (?:{bound})(?!\\w)|[.,;:!?)\n]|\\Z")
        anchored: dict[str, list[str]] = {}
        for lexicon in lexicons:
            for anchor, phrases in lexicon.anchored.items():
                anchored.setdefault(anchor, []).extend(phrases)
        self._anchored = {anchor: phrases for anchor, phrases in anchored.items() if anchor not in self._triggers}
        self._anchors = frozenset(self._anchored)

    def places(self, reading: Reading) -> list[int]:
        """
        Where claiming words, phrases and signs stand in the text of *reading*, in order.
        """
        low = reading.low
        words = _words(low)
        triggers, anchors = self._triggers & words, self._anchors & words
        phrases = [phrase for anchor in anchors for phrase in self._anchored[anchor] if phrase in low]
        phrases += [word + ":" for word in self._labels & words if word + ":" in low]
        opened = ["(" + word for word in self._before & words if "(" + word in low]
        states = self._states(low, words)
        value = ":" in low and self._value.search(low)
        signs = not low.isascii() and _SIGN.search(low)
        if not (triggers or phrases or opened or value or states or signs):
            return []
        text = reading.text
        places: list[int] = []
        for word in triggers:
            places += _places_of(word, text)
        for phrase in phrases:
            places += _places_of(phrase, text)
        for phrase in opened:
            places += (at + 1 for at in _places_of(phrase, text))
        if value:
            places += (match.start(1) for match in self._value.finditer(text))
        for phrase in states:
            places += (at for at in _places_of(phrase, text) if self._behind.match(text, at + len(phrase)))
        if signs:
            places += (
                match.start() for match in _SIGN.finditer(text) if match[0] in MARKS or _listed(text, match.start())
            )
        places.sort()
        return places

    def _states(self, low: str, words: set[str]) -> list[str]:
        """
        Pairs of a verb and a value, "is on", that stand in *low*.
        """
        values = self._values & words
        if not values:
            return []
        verbs = [*(self._verbs & words), *(self._clitics if "'" in low else ())]
        pairs = (f"{verb} {value}" for value in values for verb in verbs)
        return [pair for pair in pairs if pair in low]


def _listed(text: str, at: int) -> bool:
    """
    Whether the line of *at* is an item of a list: elsewhere an arrow only points.
    """
    return BULLET.match(text, text.rfind("\n", 0, at) + 1) is not None


def _words(text: str) -> set[str]:
    """
    The different words of *text*, which are runs of letters.
    """
    if "\\n" in text:
        text = text.replace("\\n", "  ")
    if text.isascii():
        return set(text.encode().translate(_LETTERS).decode().split())
    kept = text.encode("utf-8", "surrogatepass").translate(_LETTERS).decode("utf-8", "surrogatepass")
    words = set(kept.split())
    for word in [word for word in words if not word.isascii()]:
        words.update(_WORD.findall(word))
    return words


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
