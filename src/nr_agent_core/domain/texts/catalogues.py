"""
Catalogues: the texts of one language, by key, as data that a translator can edit (V10).

A key is dotted, such as ``reply.approvalPending``. A text names its arguments in braces; where a
count decides it is a table of the language's plural forms.
"""

import functools
import re
from collections.abc import Mapping
from typing import Final, TypeAlias

from nr_agent_core.domain.errors import CatalogueError
from nr_agent_core.domain.package_data import read_toml
from nr_agent_core.domain.texts.language import Language
from nr_agent_core.domain.texts.plural_rules import FORMS

SHIPPED_LANGUAGES = ("de", "en", "es", "fr", "it", "nl", "pl", "pt")
"""The languages that ship with this package; see :func:`unreviewed_languages`."""

FALLBACK_LANGUAGE = "en"
"""What a reader gets whose language has no catalogue."""

Entry: TypeAlias = str | Mapping[str, str]
Arguments: TypeAlias = Mapping[str, object]

_DEEPEST: Final = 4
_FORMS: Final = frozenset(FORMS)


class Catalogue:
    """
    The texts of one language, and what it says of the language. Treat it as frozen.

    Attributes:
        language: what the table ``language`` says.
        entries: dotted key to text or plural table.
    """

    __slots__ = ("entries", "language")

    def __init__(self, language: Language, entries: Mapping[str, Entry]) -> None:
        self.language, self.entries = language, entries

    def text(self, key: str, arguments: Arguments, missing: str) -> str | None:
        """
        The text of *key* with its arguments put in, in one pass: nothing inside one is looked at again.

        Args:
            key: a dotted key.
            arguments: texts and numbers; ``count`` chooses the form, and is grouped as the language does it.
            missing: stands for an argument that is not there.
        """
        entry = self.entries.get(key)
        if entry is None:
            return None

        def value(match: re.Match[str]) -> str:
            found = arguments.get(match[1])
            if match[1] == "count" and isinstance(found, int):
                return self.language.number(found)
            return missing if found is None else str(found)

        form = entry if isinstance(entry, str) else entry[self.language.form_of(arguments.get("count"))]
        return placeholder().sub(value, form)


@functools.cache
def shipped_catalogue(language: str) -> Catalogue:
    """
    The shipped catalogue of *language*, one of :data:`SHIPPED_LANGUAGES`; read on first use.
    """
    given = read_toml("nr_agent_core.domain.texts", f"{language}.toml")
    return Catalogue(Language(language, given["language"]), flat(language, given))


def shipped(language: str) -> Mapping[str, Entry]:
    """
    The texts of the shipped catalogue of *language*, flat: dotted key to text or plural table.
    """
    return shipped_catalogue(language).entries


def unreviewed_languages() -> tuple[str, ...]:
    """
    The shipped languages whose texts nobody who speaks them has read so far (V10).

    A host that does not want to show them gives such readers another ``language``.
    """
    return tuple(tag for tag in SHIPPED_LANGUAGES if not shipped_catalogue(tag).language.reviewed)


def flat(language: str, nested: Mapping[str, object], before: str = "") -> dict[str, Entry]:
    """
    A nested catalogue as one table of dotted keys, without its table ``language``.

    A table of plural forms is one entry.

    Raises:
        CatalogueError: an entry is neither a text nor a table, or stands twice, dotted and nested. It is named.
    """
    entries: dict[str, Entry] = {}
    for name, value in nested.items():
        key = f"{before}{name}"
        if key == "language":
            continue
        if key in entries:
            raise CatalogueError(language, key, "stands twice")
        if isinstance(value, str):
            entries[key] = value
        elif not isinstance(value, Mapping) or not value or before.count(".") > _DEEPEST:
            raise CatalogueError(language, key, "is neither a text nor a table of texts")
        elif set(value) <= _FORMS:
            if not all(isinstance(text, str) for text in value.values()):
                raise CatalogueError(language, key, "has a plural form that is no text")
            entries[key] = dict(value)
        else:
            below = flat(language, value, f"{key}.")
            if twice := entries.keys() & below.keys():
                raise CatalogueError(language, min(twice), "stands twice")
            entries.update(below)
    return entries


def written_forms(entry: Entry) -> tuple[str, ...]:
    """Every text of an entry: itself, or its plural forms."""
    return (entry,) if isinstance(entry, str) else tuple(entry.values())


@functools.cache
def placeholder() -> re.Pattern[str]:
    """What a named argument looks like in a text."""
    return re.compile(r"\{([A-Za-z]\w*)\}")


def placeholders(entry: Entry) -> frozenset[str]:
    """
    The names of the arguments that an entry uses.
    """
    return frozenset(name for text in written_forms(entry) for name in placeholder().findall(text))


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
    :class:`nr_agent_core.adapters.catalogues.CatalogueFiles` reads the same from files.

    >>> french = Catalogues(extra={"fr": {"reply": {"runCancelled": "Demande abandonnée."}}})
    >>> french.translate("reply.runCancelled", {}, "fr-CA")
    'Demande abandonnée.'

    Args:
        extra: by language, catalogues like the shipped files, nested or with dotted keys. Of a language that
            ships, keys may be left out.
        partial: keys of other languages may be left out, too; readers get those texts in English.

    Raises:
        CatalogueError: a key does not exist or is missing, a text uses an argument that its key has not, or a
            plural form is missing. The key is named; nothing of the catalogues is used.
    """

    def __init__(self, *, extra: Mapping[str, Mapping[str, object]], partial: bool = False) -> None:
        self._extra: dict[str, Catalogue] = {}
        # Bases come before their variants, which take over what they do not say of their language.
        for given_tag in sorted(extra, key=len):
            tag, given = base_of(given_tag)[0], extra[given_tag]
            if not isinstance(given, Mapping):
                raise CatalogueError(tag, "", "is no table of texts")
            self._extra[tag] = self._checked(tag, given, partial=partial)

    @property
    def languages(self) -> tuple[str, ...]:
        """Every language that has a catalogue, shipped or of the host."""
        return tuple(sorted({*SHIPPED_LANGUAGES, *self._extra}))

    @property
    def unreviewed(self) -> tuple[str, ...]:
        """Every language whose catalogue, shipped or of the host, says that nobody has reviewed it."""
        own = {tag for tag, catalogue in self._extra.items() if not catalogue.language.reviewed}
        return tuple(sorted(own | (set(unreviewed_languages()) - set(self._extra))))

    def translate(self, key: str, arguments: Arguments, language: str) -> str | None:
        """
        The host's text for *key*; None where it has none for this language.

        Args:
            key: a dotted key.
            arguments: already texts and numbers, as :func:`~nr_agent_core.domain.texts.render` passes them.
            language: a reader's language; ``fr-CA`` falls back to ``fr``.
        """
        for tag in base_of(language):
            text = self._extra[tag].text(key, arguments, "?") if tag in self._extra else None
            if text is not None:
                return text
        return None

    def _checked(self, tag: str, given: Mapping[str, object], *, partial: bool) -> Catalogue:
        bases = base_of(tag)
        base = next((self._extra[found].language for found in bases if found in self._extra), None)
        if base is None and bases[-1] in SHIPPED_LANGUAGES:
            base = shipped_catalogue(bases[-1]).language
        said = given.get("language", {})
        if not isinstance(said, Mapping):
            raise CatalogueError(tag, "language", "is no table")
        language = Language(tag, said, base)
        entries = flat(tag, given)
        for key, entry in entries.items():
            _check(language, key, entry)
        if base is None and not partial:
            _check_complete(tag, entries)
        return Catalogue(language, entries)


def _check(language: Language, key: str, entry: Entry) -> None:
    original = shipped(FALLBACK_LANGUAGE).get(key)
    if original is None:
        raise CatalogueError(language.tag, key, "is not a key of the shipped catalogues")
    known = placeholders(original)
    strange = placeholders(entry) - known
    if strange:
        allowed = ", ".join(sorted(known)) or "none"
        raise CatalogueError(language.tag, key, f"uses {', '.join(sorted(strange))}; its arguments are {allowed}")
    if not isinstance(entry, str):
        if "count" not in known:
            raise CatalogueError(language.tag, key, "has plural forms, but no count decides here")
        if set(entry) != set(language.forms):
            forms = ", ".join(language.forms)
            raise CatalogueError(language.tag, key, f"has the forms {', '.join(entry)}; the language has {forms}")
    for text in written_forms(entry):
        if not text.strip():
            raise CatalogueError(language.tag, key, "is blank")
        if set("{}") & set(placeholder().sub("", text)):
            raise CatalogueError(language.tag, key, "has a brace that belongs to no argument")


def _check_complete(tag: str, entries: Mapping[str, Entry]) -> None:
    missing = [key for key in shipped(FALLBACK_LANGUAGE) if key not in entries]
    if missing:
        more = f", and so are {len(missing) - 1} more" if len(missing) > 1 else ""
        raise CatalogueError(tag, missing[0], f"is missing{more}; partial=True shows them in English")
