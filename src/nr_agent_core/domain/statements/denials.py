"""
Answers that deny every change (V8).
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from nr_agent_core.domain.statements.sentences import Sentence
from nr_agent_core.domain.statements.wording import DenialWords, Wording
from nr_agent_core.domain.tool_result import WriteKind

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*|\d+|\ue000")
# Behind a colon or in brackets it is said of what stands before them.
_PARTS = re.compile(r"[,;–—]")
_ITEM = re.compile(r"\s*(?:[-*+•–—·]|\d{1,3}[.)]|#{1,6}|\|)\s")


class Written(NamedTuple):
    """
    What a denial is weighed against.
    """

    kinds: frozenset[WriteKind]
    """Of the records that the run wrote: who deleted nothing may have created something."""
    nouns: frozenset[str] = frozenset()
    """What the only record may be called, where the run's only write is of one: "the page was not saved"."""


def denial(sentences: Iterable[Sentence], written: Written, words: Wording) -> Sentence | None:
    """
    The first sentence that says without any restriction that nothing was changed; None without one.

    Args:
        sentences: those of the answer.
        written: what the run wrote.
        words: the languages' words.
    """
    before = ""
    for sentence in sentences:
        opened, before = before.rstrip(" *_\n").endswith(":"), sentence.text
        # An item of a list speaks of one thing among others.
        # ... and what follows a colon is what a record or somebody says.
        if sentence.question or opened or ":" in sentence.text or _ITEM.match(sentence.text):
            continue
        low = sentence.text.lower().replace("’", "'").replace("*", " ").replace("_", " ")
        tokens = _WORD.findall(low)
        if any(_denies(low, tokens, written, language, words.prepositions) for language in words.denials):
            return sentence
    return None


def _denies(low: str, tokens: list[str], written: Written, words: DenialWords, prepositions: frozenset[str]) -> bool:
    present = {part for token in tokens for part in (token, _root(token))}
    if words.denying.isdisjoint(present) and words.settled.isdisjoint(present):
        return False
    if not words.open.isdisjoint(present):
        return False
    clauses = _clauses(low, words)
    denying = [place for place, clause in enumerate(clauses) if _clause_denies(clause, written, words)]
    if not denying:
        return False
    # "For visitors, nothing has changed" and "nothing was changed, for visitors" speak of a part.
    before = clauses[denying[0] - 1] if denying[0] else []
    if (
        before
        and before[0] in prepositions
        and not words.known.issuperset(before)
        and " ".join(before) not in words.for_now
    ):
        return False
    behind = clauses[denying[0] + 1 :]
    return all(words.behind.isdisjoint(clause[:2]) and clause[0] not in prepositions for clause in behind)


def _root(token: str) -> str:
    return "n't" if token.endswith("n't") else token


def _clauses(low: str, words: DenialWords) -> list[list[str]]:
    clauses: list[list[str]] = []
    for part in _PARTS.split(low):
        clause: list[str] = []
        for token in _WORD.findall(part):
            if token in words.clauses:
                clauses.append(clause)
                clause = []
            else:
                clause.append(token)
        clauses.append(clause)
    return [clause for clause in clauses if clause]


def _clause_denies(clause: list[str], written: Written, words: DenialWords) -> bool:
    if " ".join(clause) in words.phrases:
        return True
    if clause[0] in words.leading:
        clause = clause[1:]
    present = {token if token in words.known else _root(token) for token in clause}
    if not words.known.issuperset(present):
        known = words.known | words.determiners | written.nouns
        return known.issuperset(present) and not written.nouns.isdisjoint(present) and _record(present, written, words)
    done, objects = present & words.done, present & words.objects
    if words.nothing & present:
        return bool(done) and _covers(done, written.kinds, words)
    if words.none & present and objects:
        made = done - objects
        return _covers(made, written.kinds, words) if made else bool(present & words.exists)
    never = bool(words.never & present) and bool(words.anything & present)
    return never and bool(done) and _covers(done, written.kinds, words)


def _record(present: set[str], written: Written, words: DenialWords) -> bool:
    """Whether the clause denies what became of the run's only record."""
    if not present & (words.nothing | words.never):
        return False
    done = present & words.done
    return bool(done & words.saved) or _matches(done, written.kinds, words, updated=words.updated | words.change)


def _covers(done: set[str], kinds: frozenset[WriteKind], words: DenialWords) -> bool:
    """Whether what was denied is everything that the run did."""
    return bool(done & words.change) or _matches(done, kinds, words, updated=words.updated)


def _matches(done: set[str], kinds: frozenset[WriteKind], words: DenialWords, *, updated: frozenset[str]) -> bool:
    told = ((WriteKind.CREATED, words.created), (WriteKind.UPDATED, updated), (WriteKind.DELETED, words.deleted))
    denied = {kind for kind, verbs in told if done & verbs}
    return bool(kinds) and kinds <= denied
