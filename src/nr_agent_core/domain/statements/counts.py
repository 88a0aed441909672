"""
Numbers of records that an answer claims as written, against how many the run wrote (V7).
"""

import functools
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from nr_agent_core.domain.claims.claim import Claim
from nr_agent_core.domain.statements.claimed_records import plain
from nr_agent_core.domain.statements.deeds import Deeds
from nr_agent_core.domain.statements.references import singular
from nr_agent_core.domain.statements.sentences import Sentence, place_in
from nr_agent_core.domain.statements.wording import Wording, wording
from nr_agent_core.domain.tool_result import RecordWrite, WriteKind

_MOST = 999
_LONGEST = 4_000
"""A longer sentence is none; it is not read, so that no text takes more than its length in time."""
_ANY, _FILE = "record", "file"


class Count(NamedTuple):
    """
    A claimed number of records.
    """

    number: int
    noun: str
    """As the answer has it."""

    @property
    def shown(self) -> str:
        """The number in digits, then the noun."""
        return f"{self.number} {self.noun}"


@functools.cache
def _counted() -> "re.Pattern[str]":
    words = wording()
    numbers = "|".join(sorted(words.numbers, key=len, reverse=True))
    partitive = "|".join(sorted(words.partitive))
    determiner = "|".join(sorted(words.determiners))
    return re.compile(
        rf"(?<![\w.,:#$€-])({numbers}|\d{{1,3}})(?![\w.,:%])"
        rf"(?:\s+(?:{partitive})\s+(?:{determiner}\s+)?(?:{numbers}|\d{{1,3}})(?!\w))?"
        rf"(?:\s+(?:{determiner}))*((?:\s+[^\W\d_]+){{1,3}})",
        re.IGNORECASE,
    )


def miscounted(
    sentences: Iterable[Sentence], claims: Iterable[Claim], deeds: Deeds, words: Wording, *, whole: str
) -> Iterator[Count]:
    """
    Numbers claimed that are higher than what this run and the turns before it wrote of that kind.

    Args:
        sentences: those of the answer.
        claims: its claims.
        deeds: what the run wrote.
        words: the languages' words.
        whole: the answer; where it tells of something earlier, nothing is certain.
    """
    claims = [claim for claim in claims if claim.word in words.counted_verbs]
    if not claims or deeds.earlier is None or deeds.bulk(words) or words.earlier.search(whole):
        return
    parts = list(sentences)
    said: dict[int, list[Claim]] = {}
    for claim in claims:
        said.setdefault(place_in(parts, claim.start), []).append(claim)
    for place, claimed in said.items():
        if len(parts[place].text) <= _LONGEST and plain(parts[place], words):
            yield from _wrong(parts[place], claimed, deeds, words)


def _wrong(sentence: Sentence, said: list[Claim], deeds: Deeds, words: Wording) -> Iterator[Count]:
    updated = all(claim.word in words.updating for claim in said)
    for match in _counted().finditer(sentence.text):
        number = words.numbers.get(match[1].lower()) or (int(match[1]) if match[1].isdigit() else 0)
        counted = _noun(match[2], sentence.text[match.start(2) :], words, deeds, updated=updated)
        if counted is None or not 2 <= number <= _MOST or _governed(sentence.text[: match.start()], words):
            continue
        noun, names = counted
        stretch = match.start(), match.start(2) + match[2].index(noun) + len(noun)
        if _apart(sentence.text, stretch, said, sentence.start, words):
            continue
        if re.search(rf"(?<!\d){number}(?!\d)", deeds.said) or _says(number, deeds.said, words):
            continue
        if number > max(_number_of(names, deeds), deeds.writes):
            yield Count(number, noun)


def _noun(told: str, onwards: str, words: Wording, deeds: Deeds, *, updated: bool) -> tuple[str, frozenset[str]] | None:
    """The first word that names a kind of record that the run wrote, with the tables' names for it."""
    kinds = {singular(table) for table in _tables(deeds.records)}
    if updated and _whole_containers(deeds, words):
        kinds.add(_FILE)
    for match in re.finditer(r"[^\W\d_]+", told):
        word = match[0]
        if word.lower() in words.determiners or word.lower() in words.prepositions:
            return None
        names = frozenset(words.nouns.get(word.lower(), ())) | {singular(word.lower())}
        known = names & kinds
        if not known and not (_ANY in names and deeds.attempts > 1):
            if word[:1].isupper():
                # A noun of its own: what follows belongs to it.
                return None
            continue
        behind = re.match(r"\s+([^\W\d_]+)", onwards[match.end() :])
        following = behind[1] if behind else ""
        if following.lower() in words.measures or following[:1].isupper():
            return None
        return word, known or frozenset({_ANY})
    return None


def _number_of(names: frozenset[str], deeds: Deeds) -> int:
    everything = {record.reference: record for record in (*(deeds.earlier or ()), *deeds.records)}.values()
    return sum(_ANY in names or not names.isdisjoint(map(singular, _tables((record,)))) for record in everything)


def _whole_containers(deeds: Deeds, words: Wording) -> bool:
    """Whether all that was written are folders that came or went: no file in them was changed."""
    kinds = {record.kind for record in deeds.records if record.reference.table.lower() in words.containers}
    return deeds.tables <= words.containers and WriteKind.UPDATED not in kinds


def _tables(records: Iterable[RecordWrite]) -> set[str]:
    """The tables' names and their last parts: ``tt_content`` is content as well."""
    tables = {record.reference.table.lower() for record in records}
    return tables | {table.rpartition("_")[2] for table in tables}


def _governed(before: str, words: Wording) -> bool:
    """Whether the number is of a part or a place: "one of the five", "for two customers", "auf beiden Seiten"."""
    own = False
    for word in reversed(re.findall(r"[^\W_]+", before.lower())):
        # "the page and its two subpages": what goes with a record is not counted.
        if own and word in words.joiners:
            return True
        own = own or word in words.possessive
        if word not in words.whole and word not in words.possessive:
            return word in words.prepositions or word in words.determiners or word in words.labels | words.subordinate
    return False


def _apart(text: str, count: tuple[int, int], said: list[Claim], start: int, words: Wording) -> bool:
    """Whether every claim of the sentence stands in another clause: "5 were found, one was updated"."""
    for claim in said:
        at, end = claim.start - start, claim.end - start
        between = text[count[1] : at] if at >= count[1] else text[end : count[0]]
        parted = re.search(r"[,;()–—]", between) is not None
        if not parted and words.joiners.isdisjoint(between.lower().split()):
            return False
    return True


def _says(number: int, text: str, words: Wording) -> bool:
    return any(value == number and re.search(rf"(?<!\w){word}(?!\w)", text) for word, value in words.numbers.items())
