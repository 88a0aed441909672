"""
Rendering: one key, its arguments, one reader's language, one text (V10, P2).

Nothing stored is trusted here. Whatever a stored notice holds, or a host's translator does, a
reader gets a readable text.
"""

from collections.abc import Iterable, Mapping
from typing import Protocol

from nr_agent_core.domain.texts.catalogues import (
    FALLBACK_LANGUAGE,
    SHIPPED_LANGUAGES,
    Arguments,
    Catalogue,
    base_of,
    placeholders,
    shipped_catalogue,
)

LONGEST_LIST = 20
"""How many members of a list are shown; the rest is counted."""

LONGEST_VALUE = 200
"""How many characters of one value are shown."""

_BEYOND_NUMBERS = 10**LONGEST_VALUE


class Translating(Protocol):
    """
    What rendering needs of a translator; the port is :class:`nr_agent_core.ports.translator.Translator`.
    """

    def translate(self, key: str, arguments: Arguments, language: str) -> str | None:
        """The host's text, or None."""
        ...


def render(key: str, arguments: Arguments | None, language: str, translator: Translating | None = None) -> str:
    """
    The text of *key* for one reader. It never raises.

    A host's translator is asked first, with arguments that are texts and numbers already. When it
    has nothing, raises, or returns anything but a text, the shipped catalogue speaks: the
    reader's language, its base (``de`` for ``de-AT``). Where none of them has a text, the host's
    translator is asked for English, and the shipped English comes last.

    Args:
        key: a dotted key, such as ``reply.approvalPending``. An unknown one is shown by its last part.
        arguments: values by name. What is missing is shown as not recorded; records are shown as
            ``pages:42 (created)`` in the reader's words; lists are joined.
        language: the reader's language tag.
        translator: the host's own texts.
    """
    given = arguments if isinstance(arguments, Mapping) else {}
    ready = {name: _argument(value, language, translator) for name, value in given.items() if value is not None}
    return _render(key, ready, language, translator)


def _render(key: str, ready: Arguments, language: str, translator: Translating | None) -> str:
    own = None if translator is None else _host_text(translator, key, ready, language)
    if own is not None:
        return own
    catalogue = _catalogue(key, base_of(language))
    if catalogue is None and translator is not None and base_of(language)[-1] != FALLBACK_LANGUAGE:
        # Also where no catalogue has the reader's language, the host's own words come first.
        own = _host_text(translator, key, ready, FALLBACK_LANGUAGE)
        if own is not None:
            return own
    catalogue = catalogue or _catalogue(key, (FALLBACK_LANGUAGE,))
    text = None
    if catalogue is not None:
        missing = "" if key == _MISSING else _missing(ready, catalogue, key, language, translator)
        text = catalogue.text(key, ready, missing)
    return _plain(key.rpartition(".")[2]) if text is None else text


_MISSING = "shown.missing"


def _missing(ready: Arguments, catalogue: Catalogue, key: str, language: str, translator: Translating | None) -> str:
    # Rendered only where something is missing, so that an intact notice asks for its own text alone.
    return "" if placeholders(catalogue.entries[key]) <= set(ready) else _render(_MISSING, {}, language, translator)


def _catalogue(key: str, tags: Iterable[str]) -> Catalogue | None:
    """The first shipped catalogue that has *key*."""
    shipped = (shipped_catalogue(tag) for tag in tags if tag in SHIPPED_LANGUAGES)
    return next((catalogue for catalogue in shipped if key in catalogue.entries), None)


def _host_text(translator: Translating, key: str, ready: Arguments, language: str) -> str | None:
    try:
        text = translator.translate(key, dict(ready), language)
    except Exception:  # noqa: BLE001 - a host's catalogue must not cost a reader the text (V10)
        return None
    return text if isinstance(text, str) and text.strip() and _encodes(text) else None


def _argument(value: object, language: str, translator: Translating | None) -> str | int:
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < _BEYOND_NUMBERS:
        return value
    if isinstance(value, (list, tuple, set, frozenset)):
        return _listed(value, language, translator)
    return _member(value, language, translator)


def _listed(values: Iterable[object], language: str, translator: Translating | None) -> str:
    members = [_member(value, language, translator) for value in values]
    left_out = len(members) - LONGEST_LIST
    if left_out > 0:
        members[LONGEST_LIST:] = [_render("shown.more", {"count": left_out}, language, translator)]
    return ", ".join(members) or _render(_MISSING, {}, language, translator)


def _member(value: object, language: str, translator: Translating | None) -> str:
    if isinstance(value, Mapping):
        reference, kind = value.get("reference"), value.get("kind")
        if isinstance(reference, str) and reference.strip():
            key = f"record.{kind}"
            known = isinstance(kind, str) and _catalogue(key, (FALLBACK_LANGUAGE,)) is not None
            shown = _plain(reference)
            return _render(key, {"reference": shown}, language, translator) if known else shown
        return _render(_MISSING, {}, language, translator)
    if isinstance(value, int) and abs(value) >= _BEYOND_NUMBERS:
        # Nobody counts that far, and Python refuses to write some of them.
        return _render(_MISSING, {}, language, translator)
    if isinstance(value, (str, int, float)) and str(value).strip():
        return _plain(str(value))
    return _render(_MISSING, {}, language, translator)


def _plain(text: str) -> str:
    """*text* on one line, without characters that no page can show, cut where it is long."""
    head = text[: 2 * LONGEST_VALUE]
    line = " ".join("".join(mark if mark.isprintable() else " " for mark in head).split())
    return line if len(line) <= LONGEST_VALUE else line[: LONGEST_VALUE - 1] + "…"


def _encodes(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
