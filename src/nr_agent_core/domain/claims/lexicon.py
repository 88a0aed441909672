"""
The words of one language: what each can be, compiled from its data file.

A data file holds these settings, all but the first optional, and four tables:

    shape               adjacent: the auxiliary stands directly before the form; frame: anywhere in the clause
    any_agent           whatever follows a word of BY is an actor, not only a word of OTHER
    generic_plural      ending of a bare plural: as the subject of "are done" it speaks of all such things
    participle_endings  endings by which an unlisted participle is known
    progressive         endings of a form that says what is going on
    present_endings     endings of an unlisted verb in the present, beside a word of NOW
    adverb_endings      endings of unlisted adverbs
    hyphen_prefixes     beginnings of hyphenated forms: re-added
    abbreviations       words whose full stop ends no sentence
    [respelled]         letters and how they are written instead
    [split_verbs]       verbs in the first person present, with their particles
    [words]             words by class
    [phrases]           phrases by class, parted by "|"; those under "neutral" lose the classes of their words

A word is looked up once and yields all its classes as bits. Phrases are found from their first word and give their
classes to all of their words. Spelling variants of the claiming forms are entered beforehand, so that a text is only
ever looked up in sets, however many forms there are.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from nr_agent_core.domain.claims import word_class as wc
from nr_agent_core.domain.claims.normalise import QUOTE
from nr_agent_core.domain.claims.tokens import ARROWS, MARKS, TOKEN, is_name, is_number

_PUNCTUATION: Final[dict[str, int]] = {
    ",": wc.COMMA,
    ";": wc.BREAK,
    ":": wc.COLON,
    "(": wc.OPEN,
    "[": wc.OPEN,
    ")": wc.CLOSE,
    "]": wc.CLOSE,
    "-": wc.BREAK,
    "\u2013": wc.BREAK,
    "\u2014": wc.BREAK,
    "|": wc.BREAK,
    "\u2022": wc.BREAK,
    "->": wc.ARROW,
    **dict.fromkeys(ARROWS, wc.ARROW),
    **dict.fromkeys(MARKS, wc.MARK),
}
_DATE: Final = re.compile(
    r"\d{4}-\d\d?(?:-\d\d?)?|(?:[0-2]?\d|3[01])\.(?:0?\d|1[0-2])(?:\.\d{2,4})?|\d\d?/\d\d?/\d{2,4}|20\d\d|19\d\d"
)
_EVERYDAY: Final = (
    wc.FUNCTION
    | wc.NEG
    | wc.QUANTITY
    | wc.DETERMINER
    | wc.PREPOSITION
    | wc.ADVERB
    | wc.PRONOUN
    | wc.QUESTION
    | wc.FILLER
    | wc.SELF
    | wc.PLAN
)
_SHORTEST_VARIED: Final = 7

Phrase = tuple[tuple[str, ...], int]
"""The words after the second, and the classes."""


class _Words(dict[str, int]):
    """
    The listed words; asked for another one, its classes by shape, remembered for nothing: texts are endless.
    """

    def __init__(self, unlisted: Callable[[str], int], adverb_endings: tuple[str, ...]) -> None:
        super().__init__(_PUNCTUATION)
        self._endings = adverb_endings
        self._unlisted = unlisted

    def __missing__(self, token: str) -> int:
        return 0 if token.isalpha() and not token.endswith(self._endings) else self._unlisted(token)


class Lexicon:
    """
    One language, ready to classify tokens.

    Args:
        code: code of the data file.

        table: its parsed content.

    Attributes:
        adjacent: the auxiliary stands directly before the participle; otherwise it frames the clause.

        triggers: words of which a sentence needs one to be looked at.

        anchored: claiming phrases by their rarest word.

        noticed: all words for which a sentence is looked at.

        labels: words that are looked at before a colon only.

        values: words that are looked at behind a colon only.

        verbs, bound: words that are looked for before a value, and behind one.

        before: words that are looked at behind an opening bracket only.
    """

    def __init__(self, code: str, table: Mapping[str, Any]) -> None:
        self.code = code
        self.adjacent: bool = table["shape"] == "adjacent"
        self.any_agent: bool = table.get("any_agent", False)
        self.generic_plural: str = table.get("generic_plural", "")
        self.participle_endings: tuple[str, ...] = tuple(table.get("participle_endings", "").split())
        self.progressive: tuple[str, ...] = tuple(table.get("progressive", "").split())
        self.present_endings: tuple[str, ...] = tuple(table.get("present_endings", "").split())
        self._adverb_endings: tuple[str, ...] = tuple(table.get("adverb_endings", "").split())
        self.split_verbs: dict[str, frozenset[str]] = {
            verb: frozenset(particles.split()) for verb, particles in table.get("split_verbs", {}).items()
        }
        self.words = _Words(self._unlisted, self._adverb_endings)
        self.phrases: dict[str, dict[str, list[Phrase]]] = {}
        self._prefixes: tuple[str, ...] = tuple(table.get("hyphen_prefixes", "").split())
        for name, listed in table["words"].items():
            for word in listed.split():
                self._add(word, wc.BY_NAME[name])
        for verb in self.split_verbs:
            self._add(verb, wc.SPLIT)
        self._vary(table.get("respelled", {}))
        self.triggers = frozenset(word for word, bits in self.words.items() if bits & wc.CLAIMING)
        self.values = frozenset(word for word, bits in self.words.items() if bits & wc.SWITCHED)
        self.verbs = frozenset(word for word, bits in self.words.items() if bits & (wc.BE | wc.AGAIN))
        self.bound = frozenset(word for word, bits in self.words.items() if bits & wc.BOUND)
        self.before = frozenset(word for word, bits in self.words.items() if bits & wc.BEFORE)
        self.labels = frozenset(word for word, bits in self.words.items() if bits & wc.LABEL) - self.triggers
        self.anchored = self._add_phrases(table.get("phrases", {}))
        self.noticed = self.triggers | self.anchored.keys() | self.labels | self.before | self.values
        self.function = frozenset(word for word, bits in self.words.items() if bits & wc.FUNCTION)

    def classify(self, tokens: list[str]) -> list[int]:
        """
        The classes of each of *tokens*; words of a phrase carry the phrase's.
        """
        flags = list(map(self.words.__getitem__, tokens))
        firsts, last = self.phrases, len(tokens) - 1
        for index in [index for index, token in enumerate(tokens) if token in firsts]:
            if index < last and (phrases := firsts[tokens[index]].get(tokens[index + 1])) and flags[index] & wc.PHRASE:
                _mark(tokens, flags, index, phrases)
        return flags

    def _unlisted(self, token: str) -> int:
        """
        Classes of a word that no list holds, by its shape.
        """
        first = token[0]
        if first.isdigit() and is_number(token):
            return wc.QUANTITY | (wc.DATE if _DATE.fullmatch(token) else wc.QUOTED if ":" in token else 0)
        if first == QUOTE or first.isdigit():
            return wc.QUOTED
        if is_name(token):
            return self._named(token)
        if token.endswith(self._adverb_endings):
            return wc.ADVERB
        if "'" in token:
            stem, _, clitic = token.rpartition("'")
            return self.words.get("'" + clitic, 0) | (self.words.get(stem, 0) & ~(wc.CLAIMING | wc.PHRASE))
        if "-" in token and token.startswith(self._prefixes):
            return self.words.get(token.partition("-")[2], 0) & ~wc.PHRASE
        return 0

    def _named(self, token: str) -> int:
        """
        Classes of a reference; of a label and a form that are written together: "state:saved", those of the form.
        """
        head, colon, rest = token.partition(":")
        if not colon or not rest.isalpha():
            return wc.QUOTED
        if rest in self.words:
            return self.words[rest] & ~wc.PHRASE
        return self.words.get(head, 0) & wc.OTHER or wc.QUOTED

    def _add(self, word: str, bits: int) -> None:
        self.words[word] = self.words.get(word, 0) | bits

    def _add_phrases(self, table: Mapping[str, str]) -> dict[str, list[str]]:
        """
        Enter the phrases; returns the claiming ones by the word by which they are noticed.
        """
        found: dict[tuple[str, ...], int] = {}
        for name, listed in table.items():
            for phrase in filter(None, map(str.strip, listed.split("|"))):
                key = tuple(TOKEN.findall(phrase))
                found[key] = found.get(key, 0) | (wc.BY_NAME[name] if name != "neutral" else 0)
        for key, bits in sorted(found.items(), key=lambda item: -len(item[0])):
            if len(key) == 1:
                self._add(key[0], bits)
                continue
            self.words.setdefault(key[0], self._unlisted(key[0]))
            self.phrases.setdefault(key[0], {}).setdefault(key[1], []).append((key[2:], bits))
            self._add(key[0], wc.PHRASE)
        anchored: dict[str, list[str]] = {}
        for key, bits in found.items():
            if bits & wc.CLAIMING:
                anchored.setdefault(self._anchor(key), []).append(" ".join(key))
        return anchored

    def _anchor(self, phrase: tuple[str, ...]) -> str:
        """
        The word by which *phrase* is noticed in a text: its longest that is no everyday word.
        """
        rare = [word for word in phrase if word.isalpha() and not self.words.get(word, 0) & _EVERYDAY]
        told = [word for word in phrase if self.words.get(word, 0) & wc.CLAIMING]
        return max(rare or told or phrase, key=len)

    def _vary(self, respelled: Mapping[str, str]) -> None:
        """
        Enter the ways in which claiming forms are misspelt, where no listed word is in the way.
        """
        for word, bits in list(self.words.items()):
            if not bits & (wc.PARTICIPLE | wc.ALONE):
                continue
            for variant in {*_respellings(word, respelled), *_slips(word)}:
                if variant not in self.words:
                    self.words[variant] = bits


def _mark(tokens: list[str], flags: list[int], index: int, phrases: list[Phrase]) -> None:
    """
    Give the words of the longest of *phrases* that stands at *index* its classes.
    """
    for rest, bits in phrases:
        end = index + 2 + len(rest)
        if not rest or tuple(tokens[index + 2 : end]) == rest:
            flags[index:end] = [bits] * (end - index)
            return


def _respellings(word: str, respelled: Mapping[str, str]) -> Iterable[str]:
    """
    *word* with each letter of the table written the other way, all at once and one at a time.
    """
    everything = word
    for letters, other in respelled.items():
        if letters in word:
            everything = everything.replace(letters, other)
            yield word.replace(letters, other)
    yield everything


def _slips(word: str) -> Iterable[str]:
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
