"""
What an answer states beyond a claim, held against its transcript as far as that tells enough (V7, V8, V12).
"""

from collections.abc import Callable, Iterable

from nr_agent_core.cli.audit.answer import Answer, CallOutcome
from nr_agent_core.cli.audit.evidence import TurnEvidence, WriteTools
from nr_agent_core.domain.claims import Claim
from nr_agent_core.domain.notices import NoticeCode
from nr_agent_core.domain.statements.denials import Written, denial
from nr_agent_core.domain.statements.glance import may_deny, may_refer
from nr_agent_core.domain.statements.references import Told, references, uncertain, unfamiliar
from nr_agent_core.domain.statements.sentences import place_in, sentences, stated
from nr_agent_core.domain.statements.spelled_calls import spelled_calls
from nr_agent_core.domain.statements.wording import wording
from nr_agent_core.domain.write_evidence import Wrote

_LOOKED_AT = 200
"""So many references of an answer are looked for."""


class Stated:
    """
    The further notices of answers.

    Args:
        tools: which tools write, and which were seen.
        claims: finds the claims of a text.
    """

    def __init__(self, tools: WriteTools, claims: Callable[[str], Iterable[Claim]]) -> None:
        self._tools, self._claims = tools, claims

    def without_calls(self, answer: Answer) -> str:
        """
        The text of *answer* without calls that it spells out, at the same length.

        A tool that the turn called may be told of, so its calls stay.
        """
        called = {call.name for call in answer.calls}
        known = dict.fromkeys((*self._tools.seen, *self._tools.patterns))
        names = [name for name in known if name not in called and name in answer.text]
        text = answer.text
        for call in spelled_calls(answer.text, names, wording()) if names else ():
            text = text[: call.start] + " " * (call.end - call.start) + text[call.end :]
        return text

    def saved_nonetheless(self, text: str, answer: Answer, proof: TurnEvidence) -> bool:
        """Whether *text* denies every change although exactly one call of the turn wrote."""
        words = wording()
        wrote = [call for call in answer.calls if self._wrote(call.name, call.outcome)]
        if proof.wrote is not Wrote.YES or len(wrote) > 1 or not may_deny(text, words):
            return False
        found = denial(sentences(stated(text)), Written(frozenset()), words)
        if found is None:
            return False
        others = [claim for claim in self._claims(text) if not found.start <= claim.start < found.end]
        return all("state" in claim.why for claim in others)

    def _wrote(self, name: str | None, outcome: CallOutcome) -> bool:
        return outcome is CallOutcome.SUCCEEDED and self._tools.writes(name) is True

    def unknown_references(self, text: str, answer: Answer) -> list[str]:
        """The references of *text* that nothing in the transcript before it holds."""
        given = answer.given
        if given is None:
            return []
        words, told_of = wording(), stated(text)
        found = references(told_of, files=False) if may_refer(text, words, files=False) else []
        if not found:
            return []
        told = Told(given.texts[: given.until], given.results)
        unknown: dict[str, None] = {}
        parts = sentences(told_of)
        for reference in found[:_LOOKED_AT]:
            if told.holds(reference):
                continue
            doubt = uncertain(reference, parts[place_in(parts, reference.start)], words)
            if doubt is None and unfamiliar(reference, told, frozenset(), self._tools.seen) is None:
                unknown[reference.shown] = None
        return list(unknown)

    def notices(self, text: str, answer: Answer, proof: TurnEvidence) -> list[NoticeCode]:
        """The further notices of *answer*, whose text without calls is *text*."""
        checks = (
            (NoticeCode.CALL_NOT_MADE, text != answer.text),
            (NoticeCode.SAVED_NONETHELESS, self.saved_nonetheless(text, answer, proof)),
            (NoticeCode.UNKNOWN_REFERENCE, bool(self.unknown_references(text, answer))),
        )
        return [code for code, holds in checks if holds]
