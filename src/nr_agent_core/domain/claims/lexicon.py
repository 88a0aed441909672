"""
The words of one language: what each can be, compiled from its data file.

A data file holds these settings, all but the first optional, and five tables:

    shape               adjacent: the auxiliary stands directly before the form; frame: anywhere in the clause;
                        unspaced: nothing parts the words, and small words around a verb say that it is done
    exact               no variants of forms are entered for slips of the pen
    elision             beginnings with an apostrophe that are words of their own
    enclitics           endings with a hyphen that are words of their own
    shared              forms that are words of other languages which no list holds
    any_agent           whatever follows a word of BY is an actor, not only a word of OTHER
    named_agent         an unlisted word directly behind a word of BY is the name of an actor
    past_forms          participles are past tenses as well: with a name before them they tell of somebody else
    dated_perfect       the perfect is told with the date at which it was
    generic_plural      ending of a bare plural: as the subject of "are done" it speaks of all such things
    participle_endings  endings by which an unlisted participle is known
    progressive         endings of a form that says what is going on
    present_endings     endings of an unlisted verb in the present, beside a word of NOW
    adverb_endings      endings of unlisted adverbs
    hyphen_prefixes     beginnings of hyphenated forms: re-added
    abbreviations       words whose full stop ends no sentence
    rarer               participles that are entered without the ways in which they are misspelt
    [respelled]         letters and how they are written instead
    [split_verbs]       verbs in the first person present, with their particles
    [derived.LIST]      endings of the words of a list, and the forms that come of them: "car" = "told qué | base car"
    [words]             words by class; "verbs" are of the class base, and are there to be derived from
    [phrases]           phrases by class, parted by "|"; those under "neutral" lose the classes of their words

A word is looked up once and yields all its classes as bits. Phrases are found from their first word and give their
classes to all of their words. Spelling variants of the claiming forms are entered beforehand, so that a text is only
ever looked up in sets, however many forms there are.
"""

import re
from collections.abc import Callable, Mapping
from functools import reduce
from operator import or_
from typing import Any, Final

from nr_agent_core.domain.claims import word_class as wc
from nr_agent_core.domain.claims.endings import Endings, classes_of
from nr_agent_core.domain.claims.normalise import QUOTE
from nr_agent_core.domain.claims.parting import Parting
from nr_agent_core.domain.claims.spelling import respellings, slips
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
    "\uff0c": wc.COMMA,
    "\u3001": wc.CONJUNCTION,
    "\uff1b": wc.BREAK,
    "\uff1a": wc.COLON,
    "\uff08": wc.OPEN,
    "\uff09": wc.CLOSE,
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
_LETTERS: Final = re.compile(r"[^\W\d_]+")
_VERBS: Final = "verbs"
_ENDING_A_DEED: Final = wc.RESULT | wc.HAVE | wc.ALONE | wc.GONE

_NOTICED: Final = (
    wc.SWITCHED,
    wc.BE | wc.AGAIN,
    wc.BOUND,
    wc.BEFORE,
    wc.LABEL,
    wc.FUNCTION,
    wc.GO_AHEAD,
)
_ANY_NOTICED: Final = reduce(or_, _NOTICED)

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

        drafts: words that announce a text that is only proposed.

        unwritten: phrases by which an answer says that nothing was written.

        labels: words that are looked at before a colon only.

        values: words that are looked at behind a colon only.

        verbs, bound: words that are looked for before a value, and behind one.

        before: words that are looked at behind an opening bracket only.
    """

    def __init__(self, code: str, table: Mapping[str, Any]) -> None:
        self.code = code
        self.adjacent: bool = table["shape"] != "frame"
        self.unspaced: bool = table["shape"] == "unspaced"
        self.any_agent: bool = table.get("any_agent", False)
        self.named_agent: bool = table.get("named_agent", False)
        self.dated_perfect: bool = table.get("dated_perfect", False)
        self.past_forms: bool = table.get("past_forms", False)
        self.generic_plural: str = table.get("generic_plural", "")
        self.participle_endings = _split(table, "participle_endings")
        self.progressive = _split(table, "progressive")
        self.present_endings = _split(table, "present_endings")
        self.shared = frozenset(_split(table, "shared"))
        self._adverb_endings = _split(table, "adverb_endings")
        self._elided = frozenset(_split(table, "elision"))
        self._enclitics = _split(table, "enclitics")
        self._prefixes = _split(table, "hyphen_prefixes")
        self.split_verbs: dict[str, frozenset[str]] = {
            verb: frozenset(particles.split()) for verb, particles in table.get("split_verbs", {}).items()
        }
        self.words = _Words(self._unlisted, self._adverb_endings)
        self.phrases: dict[str, dict[str, list[Phrase]]] = {}
        self._add_words(table["words"], table.get("derived", {}))
        for verb in self.split_verbs:
            self._add(verb, wc.SPLIT)
        if not table.get("exact", False):
            self._vary(table.get("respelled", {}))
        for word in _split(table, "rarer"):
            self._add(word, wc.PARTICIPLE)
        self.triggers = frozenset([word for word, bits in self.words.items() if bits & wc.CLAIMING])
        by_use: dict[int, list[str]] = {use: [] for use in _NOTICED}
        for word, bits in [item for item in self.words.items() if item[1] & _ANY_NOTICED]:
            for use in _NOTICED:
                if bits & use:
                    by_use[use].append(word)
        self.values, self.verbs, self.bound, self.before, labels, self.function, self.asking = (
            frozenset(words) for words in by_use.values()
        )
        self.labels = labels - self.triggers
        self.drafts = frozenset(_split(table["words"], "draft"))
        self._parting = Parting(self.words if self.unspaced else {})
        self.anchored = self._add_phrases(table.get("phrases", {}))
        said = table.get("phrases", {}).get("unwritten", "").split("|")
        self.unwritten = tuple(filter(None, map(str.strip, said)))
        self.ending: re.Pattern[str] | None = None
        if self.unspaced:
            self._parting = Parting(self.words)
            self._watch_endings()
        self.noticed = self.triggers | self.anchored.keys() | self.labels | self.before | self.values

    def cut(self, text: str, start: int = 0, end: int | None = None) -> list[str]:
        """
        The tokens of *text* from *start* to *end*, as this language parts words.
        """
        end = len(text) if end is None else end
        if self.unspaced:
            return [text[at:stop] for at, stop in self._parting.spans(text, start, end)]
        return TOKEN.findall(text, start, end)

    def spans(self, text: str, start: int, end: int) -> list[tuple[int, int]]:
        """
        Where the tokens that :meth:`cut` gives stand.
        """
        if self.unspaced:
            return list(self._parting.spans(text, start, end))
        return [match.span() for match in TOKEN.finditer(text, start, end)]

    def ending_in(self, sentence: str) -> bool:
        """
        Whether *sentence* holds something by which a language that does not part its words is noticed.
        """
        return self.ending is not None and bool(self.ending.search(sentence))

    def asks(self, tokens: list[str]) -> bool:
        """
        Whether *tokens* ask for a go-ahead.
        """
        if self.asking.isdisjoint(tokens):
            return False
        return any(bits & wc.GO_AHEAD for bits in self.classify(tokens))

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

    def told(self, union: int) -> int:
        """
        Classes *union* without that of a form where words have no forms and nothing says that something is done.
        """
        return union & ~wc.PARTICIPLE if self.unspaced and not union & _ENDING_A_DEED else union

    def _watch_endings(self) -> None:
        """
        Where nothing parts the words, a sentence is noticed by what ends a deed: there are few of those.
        """
        listed = sorted((word for word, bits in self.words.items() if bits & _ENDING_A_DEED), key=len, reverse=True)
        self.ending = re.compile("|".join(map(re.escape, listed)))
        self.triggers = frozenset()
        self.anchored = {}

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
            head = token[: token.index("'") + 1]
            if head in self._elided:
                return self._behind_elision(self.words.get(head, 0), token[len(head) :])
            stem, _, clitic = token.rpartition("'")
            bits = self.words.get("'" + clitic, 0) | (self.words.get(stem, 0) & ~(wc.CLAIMING | wc.PHRASE))
            return bits | wc.CLITIC if bits & wc.BE else bits
        if "-" in token and token.startswith(self._prefixes):
            return self.words.get(token.partition("-")[2], 0) & ~wc.PHRASE
        if self._enclitics and token.endswith(self._enclitics):
            return self.words.get(token.partition("-")[0], 0) & ~wc.PHRASE
        return 0

    def _behind_elision(self, head: int, rest: str) -> int:
        """
        Classes of two words that are written as one; a form behind an article is a noun.
        """
        bits = self.words[rest] & ~wc.PHRASE
        return head | (bits & ~wc.CLAIMING if head & wc.DETERMINER else bits)

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

    def _add_words(self, listed: Mapping[str, str], derived: Mapping[str, Mapping[str, str]]) -> None:
        """
        Enter the listed words and the forms that come of them; what a list says of a word holds for its forms, too.
        """
        rules = {name: Endings(endings) for name, endings in derived.items()}
        forms: dict[str, list[tuple[str, int]]] = {}
        entered = self.words
        for name, endings in rules.items():
            for word in listed.get(name, "").split():
                forms[word] = made = endings.forms(word)
                for form, bits in made:
                    entered[form] = entered.get(form, 0) | bits
        for name, words in listed.items():
            given = wc.BASE if name == _VERBS else classes_of(name)
            of_forms = name not in rules and bool(forms) and not given & (wc.FUNCTION | wc.BASE)
            for word in words.split():
                self._add(word, given)
                if of_forms and word in forms:
                    for form, bits in forms[word]:
                        if bits & wc.PARTICIPLE:
                            self._add(form, given)

    def _add(self, word: str, bits: int) -> None:
        self.words[word] = self.words.get(word, 0) | bits

    def _add_phrases(self, table: Mapping[str, str]) -> dict[str, list[str]]:
        """
        Enter the phrases; returns the claiming ones by the word by which they are noticed.
        """
        found: dict[tuple[str, ...], int] = {}
        for name, listed in table.items():
            for phrase in filter(None, map(str.strip, listed.split("|"))):
                key = tuple(self.cut(phrase))
                found[key] = found.get(key, 0) | (classes_of(name) if name != "neutral" else 0)
        for key, bits in sorted(found.items(), key=lambda item: -len(item[0])):
            if len(key) == 1:
                self._add(key[0], bits)
                continue
            self.words.setdefault(key[0], self._unlisted(key[0]))
            self.phrases.setdefault(key[0], {}).setdefault(key[1], []).append((key[2:], bits))
            self._add(key[0], wc.PHRASE)
            if bits & wc.GO_AHEAD:
                self.asking |= {key[0]}
        anchored: dict[str, list[str]] = {}
        for key, bits in found.items():
            if bits & wc.CLAIMING:
                anchored.setdefault(self._anchor(key), []).append(" ".join(key))
        return anchored

    def _anchor(self, phrase: tuple[str, ...]) -> str:
        """
        The word by which *phrase* is noticed in a text: its longest that is no everyday word.
        """
        parts = [part for word in phrase for part in _LETTERS.findall(word)]
        rare = [part for part in parts if not self.words.get(part, 0) & _EVERYDAY]
        told = [part for part in parts if self.words.get(part, 0) & wc.CLAIMING]
        return max(rare or told or parts or phrase, key=len)

    def _vary(self, respelled: Mapping[str, str]) -> None:
        """
        Enter the ways in which claiming forms are misspelt, where no listed word is in the way.
        """
        for word, bits in list(self.words.items()):
            if not bits & (wc.PARTICIPLE | wc.ALONE):
                continue
            for variant in {*respellings(word, respelled), *slips(word)}:
                if variant not in self.words:
                    self.words[variant] = bits


def _split(table: Mapping[str, Any], name: str) -> tuple[str, ...]:
    return tuple(table.get(name, "").split())


def _mark(tokens: list[str], flags: list[int], index: int, phrases: list[Phrase]) -> None:
    """
    Give the words of the longest of *phrases* that stands at *index* its classes.
    """
    for rest, bits in phrases:
        end = index + 2 + len(rest)
        if not rest or tuple(tokens[index + 2 : end]) == rest:
            flags[index:end] = [bits] * (end - index)
            return
