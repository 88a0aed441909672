"""
The asserted rule (V4, V5): an answer claims a change where it says, of itself and now, that one was made.

Words are looked up in one set for all languages; only sentences that hold a claiming word are cut and judged, each by
the languages whose words it holds. Where languages share a form, the one whose function words stand in the sentence
decides: no language is guessed for the text.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from nr_agent_core.domain.claims import word_class as wc
from nr_agent_core.domain.claims.claim import Claim
from nr_agent_core.domain.claims.context import Surroundings
from nr_agent_core.domain.claims.judge import Judge
from nr_agent_core.domain.claims.lexicon import Lexicon
from nr_agent_core.domain.claims.normalise import Reading
from nr_agent_core.domain.claims.scan import SIGNS, Scanner
from nr_agent_core.domain.claims.segments import Segments, Span
from nr_agent_core.domain.claims.tokens import TOKEN, is_name

_EFFORT: Final = 500_000
"""
How much of one answer is judged, in characters of sentences that hold a claiming word. An answer with more of them and
no claim so far gets one claim where judging ended: no amount of text hides a claim.
"""
_COST: Final = 40
"""What judging a sentence costs whatever its length, in characters."""


class AssertedRule:
    """
    The compiled languages, ready to read texts.

    Args:
        tables: parsed data by language code.
    """

    def __init__(self, tables: Mapping[str, Mapping[str, Any]]) -> None:
        self._lexicons = tuple(Lexicon(code, table) for code, table in tables.items())
        self._scanner = Scanner(self._lexicons)
        self._function = {lexicon: self._own_words(lexicon) for lexicon in self._lexicons}
        self._elsewhere = {lexicon: self._others_words(lexicon) for lexicon in self._lexicons}
        self._unspaced = tuple(lexicon for lexicon in self._lexicons if lexicon.unspaced)
        self._abbreviations = frozenset(
            word for table in tables.values() for word in table.get("abbreviations", "").split()
        )

    def find(self, text: str) -> Iterator[Claim]:
        """
        Every claim of *text*, in its order.
        """
        reading = Reading(text)
        places = self._scanner.places(reading)
        if not places:
            return
        segments = Segments(reading, self._abbreviations)
        around = Surroundings(segments, self._lexicons)
        done, left, silent = -1, _EFFORT, True
        place = places[0]
        for place in places:
            if place < done:
                continue
            span = segments.around(place)
            done = span.end
            left -= span.end - span.start + _COST
            if left < 0:
                break
            for start, end, lexicon, why in self._claims(reading.text, span, around):
                if around.drafted(start):
                    continue
                silent = False
                word = reading.text[start:end]
                yield Claim(reading.origin(start), reading.origin(end), word, lexicon.code, why)
        if left < 0 and silent:
            token = TOKEN.search(reading.text, place)
            start, end = token.span() if token else (place, place + 1)
            claimed = reading.text[start:end], self._lexicons[0].code, "not read"
            yield Claim(reading.origin(start), reading.origin(end), *claimed)

    def _own_words(self, lexicon: Lexicon) -> frozenset[str]:
        """
        Function words of *lexicon* that mean nothing in another language.
        """
        others = [other.words for other in self._lexicons if other is not lexicon]
        return frozenset(word for word in lexicon.function if not any(word in words for words in others))

    def _others_words(self, lexicon: Lexicon) -> frozenset[str]:
        """
        What *lexicon* is noticed by and is another word in another language: it claims beside its own function words.
        """
        others = [other.words for other in self._lexicons if other is not lexicon]
        noticed = lexicon.noticed - lexicon.before - lexicon.labels
        shared = set(lexicon.shared)
        for words in others:
            shared.update(word for word in noticed & words.keys() if not words[word] & wc.CLAIMING)
        return frozenset(shared)

    def _claims(self, text: str, span: Span, around: Surroundings) -> Iterator[tuple[int, int, Lexicon, str]]:
        tokens = TOKEN.findall(text, span.start, span.end)
        found: list[tuple[int, int, Lexicon, str]] = []
        for lexicon in self._concerned(text, span, tokens):
            parted = lexicon.cut(text, span.start, span.end) if lexicon.unspaced else tokens
            claims = list(Judge(lexicon, parted, around.of(span, lexicon)).found())
            spans = lexicon.spans(text, span.start, span.end) if claims else []
            found += ((*spans[index], lexicon, why) for index, why in claims)
        seen: set[int] = set()
        for start, end, lexicon, why in sorted(found, key=lambda item: item[0]):
            if start not in seen:
                seen.add(start)
                yield start, end, lexicon, why

    def _concerned(self, text: str, span: Span, tokens: list[str]) -> list[Lexicon]:
        """
        The languages whose claiming words stand in the sentence, unless another's function words rule them out.
        """
        words = set(tokens)
        if text.find("-", span.start, span.end) >= 0:
            words.update(part for token in tokens if "-" in token and not is_name(token) for part in token.split("-"))
        if text.find(":", span.start, span.end) >= 0:
            words.update(token.partition(":")[2] for token in tokens if ":" in token)
        hit = [lexicon for lexicon in self._lexicons if not lexicon.noticed.isdisjoint(words)]
        unspaced = [lexicon for lexicon in self._unspaced if lexicon.ending_in(text, span.start, span.end)]
        if not hit:
            return unspaced or (list(self._lexicons[:1]) if not SIGNS.isdisjoint(words) else [])
        if len(self._lexicons) == 1:
            return hit
        if text.find("'", span.start, span.end) >= 0:
            words.update(token[: token.index("'") + 1] for token in tokens if "'" in token)
        known = {lexicon: len(own & words) for lexicon, own in self._function.items()}
        most = max(known.values())
        return [
            lexicon
            for lexicon in hit
            if (known[lexicon] == most or known[lexicon] >= 2)
            and (known[lexicon] or not self._elsewhere[lexicon].issuperset(lexicon.noticed & words))
        ] + unspaced
