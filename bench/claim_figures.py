"""
What the detector's answers on labelled texts come to.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from bench.claim_sets import CLAIMED_BEFORE, CLAIMED_NOW, Labelled, Turn

Claims = Callable[[str], bool]


class Score(NamedTuple):
    """
    How often a rule was right.
    """

    hit: int
    false: int
    missed: int
    silent: int

    @property
    def answers(self) -> int:
        """How many answers were judged."""
        return sum(self)

    @property
    def precision(self) -> float:
        """The share of the marked answers that do claim a change; 1 when none was marked."""
        return self.hit / (self.hit + self.false) if self.hit + self.false else 1.0

    @property
    def recall(self) -> float:
        """The share of the claiming answers that were marked; 1 when none claims."""
        return self.hit / (self.hit + self.missed) if self.hit + self.missed else 1.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0


class Rates(NamedTuple):
    """
    What readers of real agents' answers would meet.

    Attributes:
        silent: answers of turns that wrote nothing.
        noticed: how many of them get a notice.
        recaps: how many of those recount an earlier turn.
        claiming: answers that claim a change of a turn that wrote.
        found: how many of them are seen to claim it.
        unwritten: answers that claim a change of a turn that wrote nothing.
        named: how many of them get a notice.
    """

    silent: int
    noticed: int
    recaps: int
    claiming: int
    found: int
    unwritten: int
    named: int

    @property
    def notice_rate(self) -> float:
        """Notices on answers of turns that wrote nothing, recaps aside."""
        return (self.noticed - self.recaps) / max(self.silent, 1)


def score(answers: Iterable[Labelled], claims: Claims) -> Score:
    """The score of *claims* on *answers*."""
    seen = Counter((answer.claims, claims(answer.text)) for answer in answers)
    return Score(seen[True, True], seen[False, True], seen[True, False], seen[False, False])


def rates(answers: Sequence[Turn], claims: Claims) -> Rates:
    """What *claims* does to *answers* of real agents."""
    silent = [turn for turn in answers if not turn.wrote]
    noticed = [turn for turn in silent if claims(turn.text)]
    claiming = [turn for turn in answers if turn.wrote and turn.label == CLAIMED_NOW]
    return Rates(
        len(silent),
        len(noticed),
        sum(turn.label == CLAIMED_BEFORE for turn in noticed),
        len(claiming),
        sum(claims(turn.text) for turn in claiming),
        sum(turn.label == CLAIMED_NOW for turn in silent),
        sum(turn.label == CLAIMED_NOW for turn in noticed),
    )


def by_language(answers: Iterable[Labelled]) -> dict[tuple[str, str], list[Labelled]]:
    """*answers* by group and language, the borderline ones left out."""
    found: dict[tuple[str, str], list[Labelled]] = defaultdict(list)
    for answer in answers:
        if not answer.borderline:
            found[answer.group, answer.language].append(answer)
    return dict(sorted(found.items()))


def by_category(answers: Iterable[Labelled]) -> dict[tuple[str, str], list[Labelled]]:
    """*answers* by group and category."""
    found: dict[tuple[str, str], list[Labelled]] = defaultdict(list)
    for answer in answers:
        found[answer.group, answer.category].append(answer)
    return dict(sorted(found.items()))


def by_group(answers: Iterable[Turn]) -> dict[str, list[Turn]]:
    """*answers* by group."""
    found: dict[str, list[Turn]] = defaultdict(list)
    for answer in answers:
        found[answer.group].append(answer)
    return dict(found)
