"""
The places of a text that are worth a look, found without cutting it.

All words of a text are looked up in one set at once, however many forms and languages there are. Words that claim in
one position only (a label before its colon), and phrases, which are noticed by their rarest word, are checked where
they stand.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from nr_agent_core.domain.claims.lexicon import Lexicon
from nr_agent_core.domain.claims.normalise import Reading
from nr_agent_core.domain.claims.segments import BULLET
from nr_agent_core.domain.claims.tokens import ARROWS, MARKS

SIGNS: Final = frozenset(MARKS + ARROWS)
"""Check marks and arrows: they claim in any language."""

_TRIGGER, _ANCHOR, _LABEL, _BEFORE, _VALUE, _VERB = (1 << bit for bit in range(6))
"""What a noticed word is looked at for."""

_SIGN: Final = re.compile(f"[{MARKS}{ARROWS}]")
_WORD: Final = re.compile(r"[^\W\d_]+")
_LETTERS: Final = bytes(byte if byte >= 128 or chr(byte).isalpha() else 32 for byte in range(256))
"""ASCII without letters becomes blank; what is beyond ASCII is told apart word by word."""


class Scanner:
    """
    What the sentences of some languages are noticed by.

    Args:
        lexicons: the languages.
        own: function words of each that are no other's; a word that it shares is looked at in a text that holds one.
    """

    def __init__(self, lexicons: Sequence[Lexicon], own: Sequence[frozenset[str]]) -> None:
        self._roles: dict[str, int] = {}
        for lexicon in lexicons:
            self._enter(lexicon.triggers, _TRIGGER)
            self._enter(lexicon.labels, _LABEL)
            self._enter(lexicon.before, _BEFORE)
            self._enter(lexicon.values, _VALUE)
            self._enter((verb for verb in lexicon.verbs if verb.isalpha()), _VERB)
            self._enter(lexicon.anchored, _ANCHOR)
        self._noticed = frozenset(self._roles)
        self._anchored: dict[str, list[str]] = {}
        for lexicon in lexicons:
            for anchor, phrases in lexicon.anchored.items():
                self._anchored.setdefault(anchor, []).extend(phrases)
        self._clitics = tuple(verb for lexicon in lexicons for verb in lexicon.verbs if verb.startswith("'"))
        self._shared: dict[str, frozenset[str]] = {}
        for lexicon, words in zip(lexicons, own, strict=True):
            for word in lexicon.shared:
                self._shared[word] = self._shared.get(word, frozenset()) | words
        self._shared_words = frozenset(self._shared)
        self._endings = tuple(lexicon.ending for lexicon in lexicons if lexicon.ending is not None)
        values = "|".join(sorted({re.escape(value) for lexicon in lexicons for value in lexicon.values}))
        self._value = re.compile(f":[ *_]{{1,8}}({values})(?!\\w)")
        bound = "|".join(sorted({word for lexicon in lexicons for word in lexicon.bound}))
        self._behind = re.compile(f" (?:{bound})(?!\\w)|[.,;:!?)\n]|\\Z")

    def _enter(self, words: Iterable[str], role: int) -> None:
        entered = dict.fromkeys(words, role)
        known = {word: self._roles[word] | role for word in self._roles.keys() & entered.keys()}
        self._roles |= entered | known

    def places(self, reading: Reading) -> list[int]:
        """
        Where claiming words, phrases and signs stand in the text of *reading*, in order.
        """
        low = reading.low
        words = _words(low)
        hits = self._noticed & words
        if not hits.isdisjoint(self._shared_words):
            hits = frozenset(w for w in hits if w not in self._shared or self._spoken(self._shared[w], low, words))
        beyond = not low.isascii()
        signs = beyond and _SIGN.search(low)
        endings = [ending for ending in self._endings if ending.search(low)] if beyond else []
        if not (hits or signs or endings):
            return []
        sought, states, value = self._sought(low, hits)
        if not (sought or states or value or signs or endings):
            return []
        text = reading.text
        places: list[int] = []
        for ending in endings:
            places += (match.start() for match in ending.finditer(text))
        for phrase in sought:
            places += _places_of(phrase, text)
        for phrase in states:
            places += (at for at in _places_of(phrase, text) if self._behind.match(text, at + len(phrase)))
        if value:
            places += (match.start(1) for match in self._value.finditer(text))
        if signs:
            places += (
                match.start()
                for match in _SIGN.finditer(text)
                if match[0] in MARKS or text[match.end() + 1 :][:1].isdigit() or _listed(text, match.start())
            )
        places.sort()
        return places

    def _spoken(self, own: frozenset[str], low: str, words: set[str]) -> bool:
        """
        Whether one of *own* stands in the text *low* of *words*; those with an apostrophe are no words of it.
        """
        return not own.isdisjoint(words) or any("'" in word and word in low for word in own)

    def _sought(self, low: str, hits: frozenset[str]) -> tuple[list[str], list[str], bool]:
        """
        What to look for in the text: words and phrases that claim, states, and whether a value stands behind a colon.
        """
        roles = self._roles
        sought: list[str] = []
        verbs: list[str] = []
        values: list[str] = []
        for word in hits:
            role = roles[word]
            if role & _TRIGGER:
                sought.append(word)
            elif role & _ANCHOR:
                sought += (phrase for phrase in self._anchored[word] if phrase in low)
            if role & _VERB:
                verbs.append(word)
            if role & _VALUE:
                values.append(word)
            if role & _LABEL and word + ":" in low:
                sought.append(word + ":")
            if role & _BEFORE and "(" + word in low:
                sought.append("(" + word)
        if not values:
            return sought, [], False
        if "'" in low:
            verbs += self._clitics
        states = [pair for value in values for verb in verbs if (pair := f"{verb} {value}") in low]
        return sought, states, ":" in low and self._value.search(low) is not None


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
