"""
Records that an answer claims as written, of which the run wrote others (V7).
"""

import re
from collections.abc import Iterable, Iterator

from nr_agent_core.domain.claims.claim import Claim
from nr_agent_core.domain.statements.deeds import Deeds
from nr_agent_core.domain.statements.references import Reference, uncertain
from nr_agent_core.domain.statements.sentences import Sentence, place_in
from nr_agent_core.domain.statements.wording import Wording

_BULLET = re.compile(r"\s*(?:[-*+•–—·]|\d{1,3}[.)])\s+")
_BREAK = re.compile(r"[,;:()–—]")
_REACH = 4
"""So many words before a reference may hold the preposition that makes it a place, a source or a part."""


def plain(sentence: Sentence, words: Wording) -> bool:
    """
    Whether *sentence* says what it says of this run and of nothing less: no negation, question, example or past.
    """
    low = sentence.text.lower()
    if sentence.question or "n't" in low or "n’t" in low:
        return False
    if any(pattern.search(low) for pattern in (words.examples, words.earlier, words.dated)):
        return False
    return words.negators.isdisjoint(re.findall(r"[^\W\d_]+", low))


def claimed_wrongly(
    found: Iterable[Reference], sentences: Iterable[Sentence], claims: Iterable[Claim], deeds: Deeds, words: Wording
) -> list[Reference]:
    """
    References that a sentence claims as written although the run wrote others of their kind.

    Args:
        found: the references of the answer, in order.
        sentences: its sentences.
        claims: its claims.
        deeds: what the run wrote.
        words: the languages' words.
    """
    parts = list(sentences)
    inside: dict[int, list[Reference]] = {}
    for reference in found:
        inside.setdefault(place_in(parts, reference.start), []).append(reference)
    said: dict[int, list[Claim]] = {}
    for claim in claims:
        if claim.word in words.verbs:
            said.setdefault(place_in(parts, claim.start), []).append(claim)
    wrong: list[Reference] = []
    for place, claimed in said.items():
        sentence = parts[place]
        leads = sentence.text.rstrip(" \n*_").endswith(":")
        if not (leads or place in inside) or not plain(sentence, words):
            continue
        if leads:
            wrong += _listed_wrongly(inside, parts, place + 1, deeds, words)
        else:
            wrong += _wrong(inside[place], sentence, claimed, deeds, words)
    return wrong


def _listed_wrongly(
    inside: dict[int, list[Reference]], parts: list[Sentence], place: int, deeds: Deeds, words: Wording
) -> Iterator[Reference]:
    """What stands in the list behind "these were updated:", if a record that was written does."""
    listed: list[tuple[Reference, Sentence]] = []
    while place in inside:
        item, first = parts[place], inside[place][0]
        bullet = _BULLET.match(item.text)
        if bullet is None or item.text[bullet.end() : first.start - item.start].strip(" *_`[("):
            break
        if not plain(item, words):
            break
        listed.append((first, item))
        place += 1
    if not any(deeds.wrote(reference) for reference, _ in listed):
        return
    for reference, item in listed:
        if _unwritten(reference, item, deeds, words) and _comparable(reference, deeds, together=True):
            yield reference


def _wrong(
    inside: list[Reference], sentence: Sentence, said: list[Claim], deeds: Deeds, words: Wording
) -> Iterator[Reference]:
    any_written = any(map(deeds.wrote, inside))
    for group in _groups(inside, sentence, words):
        if _governed(group[0], sentence, said, words):
            continue
        if _loose(group, sentence, said, words):
            continue
        together = any(map(deeds.wrote, group))
        if not together and (any_written or len(said) > 1 or not _same_clause(group, sentence, said[0])):
            continue
        for reference in group:
            if _unwritten(reference, sentence, deeds, words) and _comparable(reference, deeds, together=together):
                yield reference


def _unwritten(reference: Reference, sentence: Sentence, deeds: Deeds, words: Wording) -> bool:
    """Whether neither this turn nor an earlier one wrote it, as far as the texts tell, and it is meant as it stands."""
    known = deeds.wrote(reference) or deeds.wrote_before(reference) or _named_by_a_write(reference, deeds)
    return not known and uncertain(reference, sentence, words) is None


def _comparable(reference: Reference, deeds: Deeds, *, together: bool) -> bool:
    """A record is compared with others of its table only, a form of number only beside one that was written."""
    if reference.form == "record":
        return reference.table.lower() in deeds.tables
    return together or reference.form in ("label", "uuid", "file")


def _named_by_a_write(reference: Reference, deeds: Deeds) -> bool:
    key = reference.key.lower().rpartition(" ")[2].lstrip("#").rpartition("/")[2]
    return re.search(rf"(?<!\w){re.escape(key)}(?!\w)", deeds.said) is not None


def file_claimed(
    reference: Reference, inside: list[Reference], sentence: Sentence, said: Iterable[Claim], words: Wording
) -> bool:
    """
    Whether *sentence* says of the file *reference* that it was brought about: not that it is read, mentioned, renamed.

    Args:
        reference: the file.
        inside: the references of the sentence, in order.
        sentence: the sentence.
        said: its claims.
        words: the languages' words.
    """
    group = next(group for group in _groups(inside, sentence, words) if reference in group)
    return any(
        claim.word in words.producing and _brings(claim, reference, group, inside, sentence, words) for claim in said
    )


def _brings(
    claim: Claim,
    reference: Reference,
    group: list[Reference],
    inside: list[Reference],
    sentence: Sentence,
    words: Wording,
) -> bool:
    """Whether what *claim* says is said of *reference*, one of *group*."""
    start, end = group[0].start - sentence.start, group[-1].end - sentence.start
    if claim.start >= group[-1].end:
        between = sentence.text[end : claim.start - sentence.start]
        before = re.findall(r"[^\W_]+", sentence.text[:start].lower())[-_REACH:]
        told = words.subordinate.union(words.prepositions - words.targets).intersection(before)
        nearer = _loose(group, sentence, [claim], words) and reference is not group[-1]
        nearer = nearer or any(group[-1].end <= other.start < claim.start for other in inside)
        return not (told or nearer or _BREAK.search(between)) and len(between.split()) <= _REACH
    between = sentence.text[claim.end - sentence.start : start]
    if _BREAK.search(between.rstrip(" *_`:(")) or any(other.start < claim.start for other in inside):
        return False
    if any(claim.end <= other.start < group[0].start for other in inside):
        return False
    near = set(re.findall(r"[^\W_]+", between.lower()))
    into = words.targets if sentence.text[: claim.start - sentence.start].strip() and near & words.targets else set()
    return not near & (words.subordinate | (words.prepositions - into)) and (not into or claim.word in words.storing)


def _groups(inside: list[Reference], sentence: Sentence, words: Wording) -> Iterator[list[Reference]]:
    """References that are listed one after the other: "pages:31, pages:32 and pages:33"."""
    group: list[Reference] = []
    for reference in inside:
        if group:
            between = sentence.text[group[-1].end - sentence.start : reference.start - sentence.start]
            if not words.joiners.issuperset(re.findall(r"[^\W\d_]+", _unlabelled(between).lower())):
                yield group
                group = []
        group.append(reference)
    if group:
        yield group


def _loose(group: list[Reference], sentence: Sentence, said: list[Claim], words: Wording) -> bool:
    """Whether a comma alone may part two clauses here: "after a look at pages:7, pages:42 was updated"."""
    if len(group) < 2 or any(claim.start < group[0].start for claim in said):
        return False
    between = sentence.text[group[-2].end - sentence.start : group[-1].start - sentence.start]
    return "," in between and words.joiners.isdisjoint(between.lower().split())


def _unlabelled(text: str) -> str:
    return re.sub(r"\bu?ids?\b", " ", text, flags=re.IGNORECASE)


def _governed(reference: Reference, sentence: Sentence, said: list[Claim], words: Wording) -> bool:
    """Whether a preposition makes *reference* something else than what was written: "under pages:1"."""
    before = _unlabelled(sentence.text[: reference.start - sentence.start]).lower()
    before = re.split(r"[;:.!?](?=\s)", before)[-1].rstrip(" *_`(=:")
    naming = list(words.naming.finditer(before))
    if reference.form in ("label", "uuid") and naming and not before[naming[-1].end() :].strip():
        before = before[: naming[-1].start()]
    near = re.findall(r"[^\W_]+", before)[-_REACH:]
    if words.of.intersection(near) and any(claim.word in words.updating for claim in said):
        near = [word for word in near if word not in words.of]
    return not words.prepositions.isdisjoint(near)


def _same_clause(group: list[Reference], sentence: Sentence, claim: Claim) -> bool:
    """Whether nothing parts the claiming word from the reference."""
    first, last = sorted(((claim.start, claim.end), (group[0].start, group[-1].end)))
    between = sentence.text[first[1] - sentence.start : last[0] - sentence.start]
    if claim.start > group[0].start:
        # Behind the reference, the verb may follow only after its auxiliary.
        return re.search(r"[,;:()–—]", between) is None and len(between.split()) <= _REACH
    return re.search(r"[,;()–—]", between) is None and len(between.split()) <= _REACH
