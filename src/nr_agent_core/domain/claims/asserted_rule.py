"""
The asserted rule (V4, V5): an answer claims a change where it says, of itself and now, that one was made.

Words are looked up in one set for all languages; only sentences that hold a claiming word are cut and judged, each by
the languages whose words it holds. Where languages share a form, the one whose function words stand in the sentence
decides: no language is guessed for the text.
"""

import re
from collections.abc import Iterator, Mapping
from heapq import merge
from typing import Any, Final

from nr_agent_core.domain.claims.claim import Claim
from nr_agent_core.domain.claims.context import Surroundings
from nr_agent_core.domain.claims.judge import Judge
from nr_agent_core.domain.claims.lexicon import Lexicon
from nr_agent_core.domain.claims.normalise import Reading
from nr_agent_core.domain.claims.scan import SIGNS, Scanner
from nr_agent_core.domain.claims.segments import Segments, Span
from nr_agent_core.domain.claims.tables import RULED, changes
from nr_agent_core.domain.claims.tokens import TOKEN, is_name

_EFFORT: Final = 500_000
"""
How much of one answer is judged, in characters of sentences that hold a claiming word. An answer with more of them and
no claim so far gets one claim where judging ended: no amount of text hides a claim.
"""
_COST: Final = 40
"""What judging a sentence costs whatever its length, in characters."""

_OTHER_SCRIPT: Final = re.compile("[\u3040-\u30ff\u3400-\u9fff]{1,2}|[\u0370-\u1dff\uac00-\ud7af]+")
"""A word in other letters than Latin ones; where nothing parts them, two signs count as one."""

_LATIN: Final = re.compile("[a-z\u00df-\u024f][a-z0-9_./\u00df-\u024f-]*")

_CERTAIN: Final = 2
"""How many function words of its own show that a language is spoken, whatever others stand beside them."""


class AssertedRule:
    """
    The compiled languages, ready to read texts.

    Args:
        tables: parsed data by language code.
    """

    def __init__(self, tables: Mapping[str, Mapping[str, Any]]) -> None:
        self._lexicons = tuple(Lexicon(code, table) for code, table in tables.items())
        self._own = [self._own_words(lexicon) for lexicon in self._lexicons]
        self._scanner = Scanner(self._lexicons, self._own)
        self._owner = {word: number for number, words in enumerate(self._own) for word in words}
        self._noticed: dict[str, int] = {}
        for number, lexicon in enumerate(self._lexicons):
            mine = dict.fromkeys(lexicon.noticed, 1 << number)
            shared = {word: self._noticed[word] | 1 << number for word in self._noticed.keys() & mine.keys()}
            self._noticed |= mine | shared
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
        told = self._told(reading, places) if places else iter(())
        if "|" in reading.low and RULED.search(reading.text):
            told = merge(told, self._tabled(reading), key=lambda claim: claim.start)
        yield from told

    def _tabled(self, reading: Reading) -> Iterator[Claim]:
        """
        The claims that tables make by their columns.
        """
        segments = Segments(reading, self._abbreviations)
        for start, end, lexicon, why in changes(segments, Surroundings(segments, self._lexicons), self._lexicons):
            yield Claim(reading.origin(start), reading.origin(end), reading.text[start:end], lexicon.code, why)

    def _told(self, reading: Reading, places: list[int]) -> Iterator[Claim]:
        """
        The claims of the sentences around *places*.
        """
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
                silent, around.claimed = False, True
                word = reading.text[start:end]
                yield Claim(reading.origin(start), reading.origin(end), word, lexicon.code, why)
        if left < 0 and silent:
            token = TOKEN.search(reading.text, place)
            start, end = token.span() if token else (place, place + 1)
            claimed = reading.text[start:end], self._lexicons[0].code, "not read"
            yield Claim(reading.origin(start), reading.origin(end), *claimed)

    def explained(self, text: str) -> Iterator[Claim]:
        """
        Every place of *text* that was looked at, in its order: the claims, and what is none with the rule that says so.

        Of what :meth:`find` left unread nothing is told but its one claim.
        """
        claims = {claim.start: claim for claim in self.find(text)}
        yield from sorted({**self._rejected(text), **claims}.values(), key=lambda claim: claim.start)

    def _rejected(self, text: str) -> dict[int, Claim]:
        """
        What a judge of the languages concerned noted of each place that is noticed, by where it begins.
        """
        from nr_agent_core.domain.claims.explanation import DRAFTED, OTHER_LANGUAGE, ExplainingJudge

        reading = Reading(text)
        segments = Segments(reading, self._abbreviations)
        around = Surroundings(segments, self._lexicons)
        noted: dict[int, Claim] = {}
        left = _EFFORT
        for place in self._scanner.places(reading):
            span = segments.around(place)
            left -= span.end - span.start + _COST
            if left < 0:
                break
            tokens = TOKEN.findall(reading.text, span.start, span.end)
            concerned = self._concerned(reading.text, span, tokens)
            for lexicon in concerned or self._lexicons[:1]:
                judge = ExplainingJudge(
                    lexicon, lexicon.cut(reading.text, span.start, span.end), around.of(span, lexicon)
                )
                claimed = dict(judge.found())
                around.claimed = around.claimed or bool(claimed)
                for index, (start, end) in enumerate(lexicon.spans(reading.text, span.start, span.end)):
                    if start <= place < end and judge.is_candidate(index):
                        why = DRAFTED if index in claimed else judge.reason(index)
                        at = reading.origin(start), reading.origin(end)
                        noted.setdefault(
                            at[0],
                            Claim(*at, reading.text[start:end], lexicon.code, claimed.get(index, "candidate"), why),
                        )
            if not concerned:
                noted.update(_unread(reading, place, OTHER_LANGUAGE, self._lexicons[0].code))
        return noted

    def _own_words(self, lexicon: Lexicon) -> frozenset[str]:
        """
        Function words of *lexicon* that mean nothing in another language.
        """
        others = [other.words for other in self._lexicons if other is not lexicon]
        return frozenset(word for word in lexicon.function if not any(word in words for words in others))

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
        sentence = text[span.start : span.end]
        if "-" in sentence:
            words.update(part for token in tokens if "-" in token and not is_name(token) for part in token.split("-"))
        if ":" in sentence:
            words.update(token.partition(":")[2] for token in tokens if ":" in token)
        noticed = self._noticed.keys() & words
        unspaced: list[Lexicon] = []
        if not sentence.isascii():
            unspaced = [lexicon for lexicon in self._unspaced if lexicon.ending_in(sentence)]
            if unspaced and not noticed:
                return unspaced
            signs = not SIGNS.isdisjoint(words)
            if (noticed or signs) and self._in_other_script(sentence, tokens):
                return unspaced or (list(self._unspaced) if signs else [])
            if signs and not noticed:
                return list(self._lexicons[:1])
        if not noticed:
            return []
        if len(self._lexicons) == 1:
            return list(self._lexicons)
        if "'" in sentence:
            words.update(token[: token.index("'") + 1] for token in tokens if "'" in token)
        return self._spoken(words, noticed) + unspaced

    def _in_other_script(self, sentence: str, tokens: list[str]) -> bool:
        """
        Whether more words of the sentence stand in another script than in Latin letters, and no function word in these:
        a form among them is a name or a value.
        """
        if not _OTHER_SCRIPT.search(sentence):
            return False
        more = len(_OTHER_SCRIPT.findall(sentence)) > len(_LATIN.findall(sentence))
        return more and self._owner.keys().isdisjoint(tokens)

    def _spoken(self, words: set[str], noticed: set[str]) -> list[Lexicon]:
        """
        Of the languages that *noticed* words belong to, those in which the sentence of *words* can be.

        Function words that are no other language's decide; without them, or between languages that share the noticed
        words, the one that knows most of the words.
        """
        hit = 0
        for word in noticed:
            hit |= self._noticed[word]
        only = hit.bit_length() - 1
        if hit == 1 << only and len(self._own[only] & words) >= _CERTAIN:
            return [self._lexicons[only]]
        known, owner = [0] * len(self._lexicons), self._owner.get
        for word in words:
            if (number := owner(word)) is not None:
                known[number] += 1
        most = max(known)
        likely = [
            lexicon
            for number, lexicon in enumerate(self._lexicons)
            if hit >> number & 1
            and (known[number] == most or known[number] >= _CERTAIN)
            and (known[number] or not lexicon.shared.issuperset(noticed & lexicon.noticed))
        ]
        if likely and most and len(likely) < 2:
            return likely
        asked = likely if likely and most else self._lexicons
        listed = {lexicon: len(lexicon.words.keys() & words) for lexicon in asked}
        if not likely:
            return self._best_known(hit, listed) if most else []
        if not most:
            highest = max(listed.values())
            return [lexicon for lexicon in likely if listed[lexicon] == highest]
        return [
            lexicon
            for lexicon in likely
            if not any(
                listed[other] > listed[lexicon] and noticed & lexicon.noticed <= other.noticed for other in likely
            )
        ]

    def _best_known(self, hit: int, listed: Mapping[Lexicon, int]) -> list[Lexicon]:
        """
        The language of *hit* that knows more of the words than every other: a foreign function word was only a name.
        """
        best = max(self._lexicons, key=listed.__getitem__)
        others = (known for lexicon, known in listed.items() if lexicon is not best)
        return [best] if hit >> self._lexicons.index(best) & 1 and listed[best] > max(others) else []


def _unread(reading: Reading, place: int, why: str, code: str) -> dict[int, Claim]:
    """
    The word at *place*, which no language took for its own.
    """
    token = TOKEN.match(reading.text, place)
    end = token.end() if token else place + 1
    at = reading.origin(place), reading.origin(end)
    return {at[0]: Claim(*at, reading.text[place:end], code, "candidate", why)}
