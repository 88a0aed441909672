"""
Claims held against evidence, answer by answer, and what the whole came to.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Final

import attrs

from nr_agent_core.cli.audit.answer import Answer
from nr_agent_core.cli.audit.evidence import TurnEvidence, WriteTools, evidence
from nr_agent_core.cli.audit.malformed import Malformed
from nr_agent_core.cli.audit.statements import Stated
from nr_agent_core.domain.claims import Claim, ClaimDetector, ClaimPolicy
from nr_agent_core.domain.notices import NoticeCode
from nr_agent_core.domain.write_evidence import Wrote

AS_JSON: Final = {Wrote.YES: True, Wrote.NO: False, Wrote.CANNOT_TELL: None}


@attrs.frozen
class Judged:
    """
    An answer with its claims, its evidence and its notices. ``text`` is kept for flagged answers only.
    """

    id: str
    file: str
    line: int
    claims: tuple[Claim, ...]
    wrote: Wrote
    notices: tuple[NoticeCode, ...]
    text: str

    @property
    def notice(self) -> NoticeCode | None:
        """The first of its notices."""
        return self.notices[0] if self.notices else None


@attrs.frozen
class Unreadable:
    """
    An input that could not be opened, or not be read to its end.
    """

    file: str
    why: str


def notice_for(claims: Iterable[Claim], found: TurnEvidence) -> NoticeCode | None:
    """
    The notice that a chat would have put beside the answer, as far as a transcript can tell (V6).
    """
    if found.open_write:
        return NoticeCode.WRITE_OUTCOME_UNKNOWN
    return NoticeCode.NOTHING_SAVED if found.wrote is Wrote.NO and any(True for _ in claims) else None


class Report:
    """
    Collects what an audit finds.

    Args:
        policy: the rule by which answers are read.

        tools: which tools write.

        claims: finds the claims of a text; by default the detector of *policy*.

    ``files`` counts the answers of each input, ``calls`` the calls of all turns, and ``undeclared`` the
    answers of which nothing can be told because nobody said which tools write.
    """

    def __init__(
        self, policy: ClaimPolicy, tools: WriteTools, *, claims: Callable[[str], Iterable[Claim]] | None = None
    ) -> None:
        self.policy = policy
        self.tools = tools
        self.answers: list[Judged] = []
        self.malformed: list[Malformed] = []
        self.unreadable: list[Unreadable] = []
        self.files: dict[str, int] = {}
        self.undeclared = 0
        self.calls = 0
        self._claims = claims or ClaimDetector(policy=policy).claims
        self._stated = Stated(tools, self._claims)

    @property
    def flagged(self) -> list[Judged]:
        """The answers that got a notice."""
        return [judged for judged in self.answers if judged.notices]

    @property
    def lacks_calls(self) -> bool:
        """Whether answers were flagged although no turn of the whole input shows a call: perhaps left out of it."""
        return not self.calls and bool(self.flagged)

    @property
    def silent_files(self) -> list[str]:
        """Inputs that were read and held no completed answer."""
        broken = {unreadable.file for unreadable in self.unreadable}
        return [file for file, answers in self.files.items() if not answers and file not in broken]

    def begin(self, file: str) -> None:
        """
        The next input.
        """
        self.files.setdefault(file, 0)

    def add(self, found: Answer | Malformed) -> None:
        """
        Judges an answer, or keeps the name of what could not be used.
        """
        if isinstance(found, Malformed):
            self.malformed.append(found)
            return
        proof = evidence(found, self.tools)
        text, more = found.text, list[NoticeCode]()
        try:
            text = self._stated.without_calls(found)
            more = self._stated.notices(text, found, proof)
        except Exception as error:  # noqa: BLE001 - it costs these notices, never the answer (V2)
            self._left_out(found, "statements", error)
        claims = self._claims_of(found, text)
        notice = notice_for(claims, proof)
        notices = tuple(sorted((*([notice] if notice else ()), *more), key=list(NoticeCode).index))
        self.files[found.file] = self.files.get(found.file, 0) + 1
        self.calls += len(found.calls)
        self.undeclared += proof.undeclared
        kept = found.text if notices else ""
        self.answers.append(Judged(found.id, found.file, found.line, claims, proof.wrote, notices, kept))

    def _claims_of(self, answer: Answer, text: str) -> tuple[Claim, ...]:
        try:
            return tuple(self._claims(text))
        except Exception as error:  # noqa: BLE001 - a rule that fails costs the notice, never the answer (V2)
            self._left_out(answer, "claims", error)
            return ()

    def _left_out(self, answer: Answer, what: str, error: Exception) -> None:
        why = f"the {what} of answer {answer.id} could not be looked for ({type(error).__name__})"
        self.malformed.append(Malformed(answer.file, answer.line, why))

    def summary(self) -> dict[str, object]:
        """
        The figures, as plain JSON values.
        """
        wrote = Counter(judged.wrote for judged in self.answers)
        notices = Counter(code.value for judged in self.answers for code in judged.notices)
        return {
            "policy": self.policy.value,
            "write_tools": list(self.tools.patterns),
            "unmatched_write_tools": list(self.tools.unmatched),
            "tools_seen": list(self.tools.seen),
            "files": len(self.files),
            "answers": len(self.answers),
            "claiming": sum(bool(judged.claims) for judged in self.answers),
            "wrote": {"true": wrote[Wrote.YES], "false": wrote[Wrote.NO], "null": wrote[Wrote.CANNOT_TELL]},
            "flagged": len(self.flagged),
            "notices": dict(sorted(notices.items())),
            "calls": self.calls,
            "undeclared": self.undeclared,
            "malformed_count": len(self.malformed),
            "malformed": [attrs.asdict(malformed) for malformed in self.malformed],
            "unreadable": [attrs.asdict(unreadable) for unreadable in self.unreadable],
        }
