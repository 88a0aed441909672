"""
What a catalogue says of its language: name, state of review, numbers and plural forms (V10).

It is the table ``language`` of the catalogue's file.
"""

from collections.abc import Mapping
from typing import Final

from nr_agent_core.domain.errors import CatalogueError
from nr_agent_core.domain.texts.plural_rules import FORMS, holds, read_rule

_FIELDS: Final = frozenset(("name", "reviewed", "group", "group_from", "plural"))
_TWO_FORMS: Final = (("one", "i = 1"), ("other", ""))


class Language:
    """
    One language of texts. Treat it as frozen.

    Attributes:
        tag: its tag, such as ``pl``.
        name: what it calls itself.
        reviewed: whether a person who speaks it has read its texts.
        group: what stands between the thousands of a number.
        group_from: the fewest digits that a number has before they are grouped.
        plurals: its plural forms with their rules, in the order in which they are asked; the last one has none.
    """

    __slots__ = ("group", "group_from", "name", "plurals", "reviewed", "tag")

    def __init__(self, tag: str, given: Mapping[str, object], base: "Language | None" = None) -> None:
        for key in given:
            if key not in _FIELDS:
                raise CatalogueError(tag, f"language.{key}", f"is not known; known are {', '.join(sorted(_FIELDS))}")
        self.tag = tag
        self.name: str = _text(tag, given, "name", base.name if base else tag)
        self.group: str = _text(tag, given, "group", base.group if base else "")
        self.group_from: int = _digits(tag, given, base.group_from if base else 4)
        self.reviewed: bool = _flag(tag, given, base.reviewed if base else True)
        plural = given.get("plural")
        inherited = base.plurals if base else _TWO_FORMS
        self.plurals: tuple[tuple[str, str], ...] = inherited if plural is None else _plurals(tag, plural)

    @property
    def forms(self) -> tuple[str, ...]:
        """The names of its plural forms."""
        return tuple(form for form, _ in self.plurals)

    def form_of(self, number: object) -> str:
        """The form that *number* takes; whatever is no whole number takes the last one."""
        if not isinstance(number, int):
            return self.plurals[-1][0]
        return next(form for form, rule in self.plurals if holds(rule, number))

    def number(self, value: int) -> str:
        """*value* in digits, its thousands set apart as this language does it."""
        if len(str(abs(value))) < self.group_from:
            return str(value)
        return f"{value:,}".replace(",", self.group)


def _text(tag: str, given: Mapping[str, object], name: str, default: str) -> str:
    found = given.get(name, default)
    if not isinstance(found, str):
        raise CatalogueError(tag, f"language.{name}", "is no text")
    return found


def _flag(tag: str, given: Mapping[str, object], default: bool) -> bool:
    found = given.get("reviewed", default)
    if not isinstance(found, bool):
        raise CatalogueError(tag, "language.reviewed", "is neither true nor false")
    return found


def _digits(tag: str, given: Mapping[str, object], default: int) -> int:
    found = given.get("group_from", default)
    if not isinstance(found, int) or isinstance(found, bool) or found < 4:
        raise CatalogueError(tag, "language.group_from", "is no whole number from 4 on")
    return found


def _plurals(tag: str, given: object) -> tuple[tuple[str, str], ...]:
    if not isinstance(given, Mapping):
        raise CatalogueError(tag, "language.plural", "is no table of forms and their rules")
    rules: list[tuple[str, str]] = []
    for form, rule in given.items():
        key = f"language.plural.{form}"
        if form not in FORMS:
            raise CatalogueError(tag, key, f"is no plural form; forms are {', '.join(FORMS)}")
        if rules and not rules[-1][1]:
            raise CatalogueError(tag, key, "stands behind a form without a rule, which holds for every other number")
        try:
            read_rule(rule if isinstance(rule, str) else repr(rule))
        except ValueError as error:
            raise CatalogueError(tag, key, f"cannot be read: {error}") from None
        rules.append((form, rule.strip()))
    if not rules or rules[-1][1]:
        if any(form == "other" for form, _ in rules):
            raise CatalogueError(tag, "language.plural.other", "has a rule; it is for every other number")
        rules.append(("other", ""))
    return tuple(rules)
