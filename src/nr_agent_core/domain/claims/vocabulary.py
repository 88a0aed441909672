"""
Words of a host's own trade, added to those of the languages (V2).
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import attrs

from nr_agent_core.domain.errors import VocabularyError
from nr_agent_core.domain.value import Value

_LONGEST: Final = 80
_MOST: Final = 2000
_OF_FORMS: Final = frozenset({"participle", "world", "stative", "reads", "past", "base", "either", "alone", "label"})
"""Classes beside which a word may be a form that claims; any other one says that it is an everyday word."""


def _entries(subject: str, given: Iterable[str], *, spaced: bool) -> tuple[str, ...]:
    """
    *given* in lower case, composed, each once and in order.
    """
    if isinstance(given, str):
        raise VocabularyError(subject, given, "is one text; a list of texts is meant")
    import unicodedata

    found: list[str] = []
    for entry in given:
        plain = unicodedata.normalize("NFC", entry).replace("\u2019", "'").lower() if isinstance(entry, str) else ""
        plain = " ".join(plain.split())
        letters = plain.replace("-", "").replace("'", "")
        if not letters.replace(" ", "").isalpha() or len(plain) > _LONGEST:
            raise VocabularyError(subject, entry, f"is no word of letters, of at most {_LONGEST} characters")
        if " " in plain and not spaced:
            raise VocabularyError(subject, entry, "is several words; only phrases to ignore may be")
        found.append(plain)
    if len(found) > _MOST:
        raise VocabularyError(subject, found[_MOST], f"is one too many; allowed are {_MOST}")
    return tuple(sorted(set(found)))


def _verbs(given: Iterable[str]) -> tuple[str, ...]:
    return _entries("verbs", given, spaced=False)


def _nouns(given: Iterable[str]) -> tuple[str, ...]:
    return _entries("nouns", given, spaced=False)


def _ignored(given: Iterable[str]) -> tuple[str, ...]:
    return _entries("ignore", given, spaced=True)


@attrs.frozen(repr=False, eq=False)
class Vocabulary(Value):
    """
    Words a host adds to the detector: immutable, checked when it is made, merged with ``|``.

    >>> Vocabulary(verbs=["Bevorratet"], ignore=["wohl geordnet"])
    Vocabulary(verbs=('bevorratet',), nouns=(), ignore=('wohl geordnet',), language=None)

    Attributes:
        verbs: forms that claim a change as "created" does: participles, and past forms of the first person.

        nouns: what the host's records are called: their names are no actors, and "the <noun> is shut" is a claim.

        ignore: words and phrases that claim nothing, whatever words they hold.

        language: code of the language they belong to; None: every language the detector reads.

    Raises:
        VocabularyError: an entry is no text, no word, too long, one too many, or both a verb and ignored. It is named.
    """

    verbs: tuple[str, ...] = attrs.field(default=(), converter=_verbs)
    nouns: tuple[str, ...] = attrs.field(default=(), converter=_nouns)
    ignore: tuple[str, ...] = attrs.field(default=(), converter=_ignored)
    language: str | None = None

    def __attrs_post_init__(self) -> None:
        for verb in self.verbs:
            if verb in self.ignore:
                raise VocabularyError("verbs", verb, "is to be ignored, too")

    def __or__(self, other: "Vocabulary") -> "Vocabulary":
        """
        Both in one.

        Raises:
            VocabularyError: they are of different languages, or a verb of one is ignored by the other.
        """
        if self.language != other.language:
            why = f"is not {self.language!r}; give both to the detector: ClaimDetector(vocabulary=[a, b])"
            raise VocabularyError("language", other.language, why)
        merged = (self.verbs + other.verbs, self.nouns + other.nouns, self.ignore + other.ignore)
        return Vocabulary(*merged, language=self.language)

    def added_to(self, table: Mapping[str, Any]) -> dict[str, Any]:
        """
        *table*, the data of a language, with these words; the table itself stays as it is.

        Raises:
            VocabularyError: a verb is an everyday word of that language, such as "not" or "is".
        """
        words: dict[str, list[str]] = {name: listed.split() for name, listed in table["words"].items()}
        for verb in self.verbs:
            taken = next((name for name, listed in words.items() if verb in listed and name not in _OF_FORMS), None)
            if taken is not None:
                raise VocabularyError("verbs", verb, f"is an everyday word of the language ({taken})")
        gone = {entry for entry in self.ignore if " " not in entry}
        words = {name: [word for word in listed if word not in gone] for name, listed in words.items()}
        words["other"] = [word for word in words.get("other", []) if word not in self.nouns]
        words["participle"] = [*words.get("participle", []), *self.verbs]
        words["case"] = [*words.get("case", []), *self.nouns]
        phrases: dict[str, str] = dict(table.get("phrases", {}))
        phrases["neutral"] = " | ".join(
            filter(None, [phrases.get("neutral", ""), *(p for p in self.ignore if " " in p)])
        )
        rarer = " ".join(word for word in table.get("rarer", "").split() if word not in gone)
        return {
            **table,
            "words": {name: " ".join(listed) for name, listed in words.items()},
            "phrases": phrases,
            "rarer": rarer,
        }
