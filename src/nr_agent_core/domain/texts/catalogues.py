"""
Catalogues: the texts of one language, by key, as data that a translator can edit (V10).

A key is dotted, such as ``reply.approvalPending``. A text names its arguments in braces; where a
count decides it is a table of ``one`` and ``other``.
"""

import functools
import re
from collections.abc import Callable, Mapping
from typing import TypeAlias

from nr_agent_core.domain.errors import InvalidValueError
from nr_agent_core.domain.package_data import read_toml

SHIPPED_LANGUAGES = ("de", "en")
"""The languages that ship with this package."""

FALLBACK_LANGUAGE = "en"
"""What a reader gets whose language has no catalogue."""

Entry: TypeAlias = str | Mapping[str, str]
Arguments: TypeAlias = Mapping[str, object]

_PLURAL = frozenset(("one", "other"))


@functools.cache
def shipped(language: str) -> Mapping[str, Entry]:
    """
    The shipped catalogue of *language*, flat: dotted key to text or plural table.
    """
    return flat(read_toml("nr_agent_core.domain.texts", f"{language}.toml"))


def flat(nested: Mapping[str, object], before: str = "") -> dict[str, Entry]:
    """
    A nested catalogue as one table of dotted keys. A table of ``one`` and ``other`` is one entry.

    Raises:
        InvalidValueError: an entry is neither a text nor a table.
    """
    entries: dict[str, Entry] = {}
    for name, value in nested.items():
        key = f"{before}{name}"
        if isinstance(value, str):
            entries[key] = value
        elif not isinstance(value, Mapping) or not value:
            raise InvalidValueError(f"the text {key!r} of a catalogue", value, "a text, or a table of texts")
        elif set(value) <= _PLURAL:
            entries[key] = _plural(key, value)
        else:
            entries.update(flat(value, f"{key}."))
    return entries


def written_forms(entry: Entry) -> tuple[str, ...]:
    """Every text of an entry: itself, or its plural forms."""
    return (entry,) if isinstance(entry, str) else tuple(entry.values())


def chosen(entry: Entry, arguments: Arguments) -> str:
    """The text of an entry for the count among *arguments*."""
    if isinstance(entry, str):
        return entry
    return entry["one" if arguments.get("count") == 1 else "other"]


@functools.cache
def placeholder() -> re.Pattern[str]:
    """What a named argument looks like in a text."""
    return re.compile(r"\{([A-Za-z]\w*)\}")


def placeholders(entry: Entry) -> frozenset[str]:
    """
    The names of the arguments that an entry uses.
    """
    return frozenset(name for text in written_forms(entry) for name in placeholder().findall(text))


def filled(text: str, arguments: Arguments, shown: Callable[[object], str], missing: str) -> str:
    """
    *text* with its arguments put in, in one pass: nothing inside an argument is looked at again.
    """

    def value(match: re.Match[str]) -> str:
        found = arguments.get(match[1])
        return missing if found is None else shown(found)

    return placeholder().sub(value, text)


def base_of(language: object) -> tuple[str, ...]:
    """
    The tags under which a catalogue for *language* may be found, best first: ``de-at``, ``de``.
    """
    tag = language.replace("_", "-").lower() if isinstance(language, str) else ""
    parts = tag.split("-")
    return tuple("-".join(parts[:length]) for length in range(len(parts), 0, -1))


class Catalogues:
    """
    Further catalogues of a host, as plain mappings: a language more, or own words for some keys.

    It is a translator, so ``Chat(translator=Catalogues(extra={"fr": {...}}))`` is all a host needs.
    What it does not hold comes from the shipped catalogues.

    >>> french = Catalogues(extra={"fr": {"reply": {"runCancelled": "Demande annulée."}}})
    >>> french.translate("reply.runCancelled", {}, "fr-CA")
    'Demande annulée.'

    Args:
        extra: by language, catalogues like the shipped files, nested or with dotted keys. Keys may
            be left out.

    Raises:
        InvalidValueError: a key does not exist, or a text uses an argument that its key has not.
    """

    def __init__(self, *, extra: Mapping[str, Mapping[str, object]]) -> None:
        self._extra = {base_of(language)[0]: flat(catalogue) for language, catalogue in extra.items()}
        for language, catalogue in self._extra.items():
            for key, entry in catalogue.items():
                _check(language, key, entry)

    @property
    def languages(self) -> tuple[str, ...]:
        """Every language that has a catalogue, shipped or of the host."""
        return tuple(sorted({*SHIPPED_LANGUAGES, *self._extra}))

    def translate(self, key: str, arguments: Arguments, language: str) -> str | None:
        """
        The host's text for *key*; None where it has none for this language.

        Args:
            key: a dotted key.
            arguments: already texts and numbers, as :func:`~nr_agent_core.domain.texts.render` passes them.
            language: a reader's language; ``fr-CA`` falls back to ``fr``.
        """
        for tag in base_of(language):
            entry = self._extra.get(tag, {}).get(key)
            if entry is not None:
                return filled(chosen(entry, arguments), arguments, str, "?")
        return None


def _plural(key: str, value: Mapping[str, object]) -> Mapping[str, str]:
    if set(value) != _PLURAL or not all(isinstance(text, str) for text in value.values()):
        raise InvalidValueError(f"the text {key!r} of a catalogue", dict(value), "both of one and other, as texts")
    return {form: str(text) for form, text in value.items()}


def _check(language: str, key: str, entry: Entry) -> None:
    original = shipped(FALLBACK_LANGUAGE).get(key)
    if original is None:
        raise InvalidValueError(f"a key of the catalogue {language!r}", key, "a key of the shipped catalogues")
    strange = placeholders(entry) - placeholders(original)
    if strange:
        names = ", ".join(sorted(placeholders(original))) or "none"
        raise InvalidValueError(f"the arguments of {key!r} in catalogue {language!r}", sorted(strange), names)
    if not all(text.strip() for text in written_forms(entry)):
        raise InvalidValueError(f"the text {key!r} of catalogue {language!r}", entry, "a text that is not blank")
