"""
The words of all languages by which answers are held against a run; data, read on first use.
"""

import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

_PACKAGE: Final = "nr_agent_core.domain.statements"


class Wording:
    """
    Every language's words at once: no language is guessed.

    Args:
        tables: the parsed data files of the languages.
        neutral: what belongs to none of them.
    """

    def __init__(self, tables: Iterable[Mapping[str, Any]], neutral: Mapping[str, str]) -> None:
        self._tables = tuple(tables)
        self.no_table, self.no_prefix = frozenset(neutral["no_table"].split()), frozenset(neutral["no_prefix"].split())
        self.containers = frozenset(neutral["containers"].split())
        self.program, self.kinds = frozenset(neutral["program"].split()), frozenset(neutral["kinds"].split())
        self.no_id = frozenset(neutral["no_id"].split())
        self.no_file, self.no_name = frozenset(neutral["no_file"].split()), frozenset(neutral["no_name"].split())
        self.joiners = self.words("general", "joiners")
        self.ranges = self.words("general", "ranges")
        self.foreign = self.words("general", "foreign_ids")
        self.numbered = self.words("general", "numbered")
        self.negators = self.words("general", "negators")
        self.examples = self.phrases("general", "example")
        self.dated = self.phrases("general", "dated")
        self.earlier = self.phrases("general", "earlier")
        self.absent, self.missing = self.phrases("general", "absent"), self.phrases("general", "missing")
        self.prepositions = self.words("roles", "prepositions")
        self.naming = self.phrases("roles", "naming")
        self.determiners = self.words("roles", "determiners")
        self.whole = self.words("roles", "whole")
        self.verbs = self.words("roles", "verbs")
        self.counted_verbs = self.verbs | self.words("roles", "counted_verbs")
        self.measures = self.words("roles", "measures")
        self.possessive, self.bulk = self.words("roles", "possessive"), frozenset(neutral["bulk"].split())
        self.labels = self.words("roles", "labels")
        self.producing, self.targets = self.words("roles", "producing"), self.words("roles", "targets")
        self.storing = self.words("roles", "storing")
        self.subordinate = self.words("roles", "subordinate")
        self.of = self.words("roles", "of")
        self.updating = self.words("roles", "updating")
        self.partitive = self.words("roles", "partitive")
        self.numbers: dict[str, int] = {}
        self.nouns: dict[str, set[str]] = {}
        for table in self._tables:
            self.numbers.update(table["numbers"])
            for name, listed in table["nouns"].items():
                for noun in listed.split():
                    self.nouns.setdefault(noun, set()).add(name)
        self.nouns_of: dict[str, set[str]] = {}
        for noun, names in self.nouns.items():
            for name in names:
                self.nouns_of.setdefault(name, {name}).add(noun)
        self.no_call, self.proposed = self.phrases("call", "no_call"), self.phrases("call", "proposed")
        self.counting = frozenset(self.numbers)
        self.settled = self.words("denial", "settled")
        self.denying = self.settled.union(*(self.words("denial", name) for name in ("nothing", "none", "never")))
        self.undone = frozenset[str]().union(
            *(self.words("denial", name) for name in ("change", "created", "updated", "deleted", "exists"))
        )

    @property
    def denials(self) -> tuple["DenialWords", ...]:
        """The words of a denial, language by language."""
        return _denials(self)

    def each(self, section: str) -> Iterator[Mapping[str, str]]:
        """*section* of every language."""
        return (table[section] for table in self._tables)

    def words(self, section: str, name: str) -> frozenset[str]:
        """The words of one field, of all languages."""
        return frozenset(word for part in self.each(section) for word in part[name].split())

    def phrases(self, section: str, name: str) -> "re.Pattern[str]":
        """The phrases of one field, of all languages, as a pattern that finds whole ones."""
        listed = [phrase for part in self.each(section) for phrase in part[name].split("|") if phrase]
        # A field without phrases finds nothing, instead of everything.
        return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, listed)) or '(?!)'})(?!\w)", re.IGNORECASE)


class DenialWords:
    """
    What a denial of every change is made of, in one language.

    Args:
        table: the section of its data file.
    """

    def __init__(self, table: Mapping[str, str]) -> None:
        def words(name: str) -> frozenset[str]:
            return frozenset(table[name].split())

        self.nothing, self.none, self.objects = words("nothing"), words("none"), words("objects")
        self.never, self.anything, self.exists = words("never"), words("anything"), words("exists")
        self.change, self.saved, self.created = words("change"), words("saved"), words("created")
        self.updated, self.deleted = words("updated"), words("deleted")
        self.done = self.change | self.created | self.updated | self.deleted
        self.open, self.behind, self.clauses = words("open"), words("behind"), words("clauses")
        self.phrases = frozenset(table["phrases"].split("|"))
        core = self.nothing | self.none | self.objects | self.never | self.anything | self.exists
        self.determiners = words("determiners")
        self.leading, self.for_now = words("leading"), frozenset(table["for_now"].split("|"))
        self.known = core | self.done | words("frame")
        self.denying = self.nothing | self.none | self.never
        self.settled = words("settled")


@functools.cache
def wording() -> Wording:
    """The words of all shipped languages; read and compiled once per process."""
    from nr_agent_core.domain.package_data import read_toml

    shared = read_toml(_PACKAGE, "languages.toml")
    return Wording((read_toml(_PACKAGE, f"{code}.toml") for code in shared["languages"]), shared["neutral"])


@functools.cache
def _denials(words: Wording) -> tuple[DenialWords, ...]:
    return tuple(DenialWords(table) for table in words.each("denial"))
