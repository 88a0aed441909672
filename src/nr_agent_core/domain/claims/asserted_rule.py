"""
The asserted rule (V4, V5): an answer claims a change where it says, of itself and now, that one was made.

Words are looked up in one set for all languages; only sentences that hold a claiming word are cut and judged, each by
the languages whose words it holds. Where languages share a form, the one whose function words stand in the sentence
decides: no language is guessed for the text.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from nr_agent_core.domain.claims.claim import Claim
from nr_agent_core.domain.claims.context import Surroundings
from nr_agent_core.domain.claims.judge import Judge
from nr_agent_core.domain.claims.lexicon import ARROWS, MARKS, TOKEN, Lexicon
from nr_agent_core.domain.claims.normalise import Reading
from nr_agent_core.domain.claims.segments import Segments, Span

_WORD: Final = re.compile(r"[^\W\d_]+")
_SIGNS: Final = frozenset(MARKS + ARROWS)


class AssertedRule:
    """
    The compiled languages, ready to read texts.

    Args:
        tables: parsed data by language code.
    """

    def __init__(self, tables: Mapping[str, Mapping[str, Any]]) -> None:
        self._lexicons = tuple(Lexicon(code, table) for code, table in tables.items())
        self._triggers = frozenset[str]().union(*(lexicon.triggers for lexicon in self._lexicons))
        self._function = {lexicon: self._own_words(lexicon) for lexicon in self._lexicons}
        self._labels = frozenset[str]().union(*(lexicon.labels for lexicon in self._lexicons))
        self._before = frozenset[str]().union(*(lexicon.before for lexicon in self._lexicons))
        self._values = frozenset[str]().union(*(lexicon.values for lexicon in self._lexicons))
        self._abbreviations = frozenset(
            word for table in tables.values() for word in table.get("abbreviations", "").split()
        )

    def find(self, text: str) -> Iterator[Claim]:
        """
        Every claim of *text*, in its order.
        """
        reading = Reading(text)
        places = self._places(reading.text)
        if not places:
            return
        segments = Segments(reading, self._abbreviations)
        around = Surroundings(segments, self._lexicons)
        done = -1
        for place in places:
            if place < done:
                continue
            span = segments.around(place)
            done = span.end
            for start, end, lexicon, why in self._claims(reading.text, span, around):
                word = reading.text[start:end]
                yield Claim(reading.origin(start), reading.origin(end), word, lexicon.code, why)

    def _own_words(self, lexicon: Lexicon) -> frozenset[str]:
        """
        Function words of *lexicon* that mean nothing in another language.
        """
        others = [other.words for other in self._lexicons if other is not lexicon]
        return frozenset(word for word in lexicon.function if not any(word in words for words in others))

    def _places(self, text: str) -> list[int]:
        """
        Where claiming words and signs stand, in order.
        """
        places: list[int] = []
        words = set(_WORD.findall(text))
        for word in self._triggers & words:
            places += _places_of(word, text)
        if ":" in text:
            for word in self._labels & words:
                places += (at for at in _places_of(word, text) if text.startswith(":", at + len(word)))
        if "(" in text:
            for word in self._before & words:
                places += (at for at in _places_of(word, text) if text.startswith("(", at - 1))
        if ": " in text:
            for word in self._values & words:
                places += (at for at in _places_of(word, text) if text.startswith(": ", at - 2))
        if not text.isascii() and any(sign in text for sign in _SIGNS):
            places += (at for at, char in enumerate(text) if char in _SIGNS)
        places.sort()
        return places

    def _claims(self, text: str, span: Span, around: Surroundings) -> Iterator[tuple[int, int, Lexicon, str]]:
        tokens = TOKEN.findall(text, span.start, span.end)
        found: list[tuple[int, Lexicon, str]] = []
        for lexicon in self._concerned(tokens):
            judge = Judge(lexicon, tokens, around.of(span, lexicon))
            found += ((index, lexicon, why) for index, why in judge.found())
        if not found:
            return
        spans = [match.span() for match in TOKEN.finditer(text, span.start, span.end)]
        seen: set[int] = set()
        for index, lexicon, why in sorted(found, key=lambda item: item[0]):
            if index not in seen:
                seen.add(index)
                yield *spans[index], lexicon, why

    def _concerned(self, tokens: list[str]) -> list[Lexicon]:
        """
        The languages whose claiming words stand in the sentence, unless another's function words rule them out.
        """
        words = set(tokens)
        words.update(part for token in tokens if "-" in token for part in token.split("-"))
        hit = [lexicon for lexicon in self._lexicons if not lexicon.noticed.isdisjoint(words)]
        if not hit:
            return list(self._lexicons[:1]) if not _SIGNS.isdisjoint(words) else []
        known = {lexicon: len(own & words) for lexicon, own in self._function.items()}
        most = max(known.values())
        return [lexicon for lexicon in hit if known[lexicon] == most or known[lexicon] >= 2]


def _places_of(word: str, text: str) -> Iterator[int]:
    """
    Where *word* stands in *text* as a word of its own.
    """
    size = len(word)
    at = text.find(word)
    while at >= 0:
        if not (text[at - 1 : at].isalnum() or text[at + size : at + size + 1].isalnum()):
            yield at
        at = text.find(word, at + size)
