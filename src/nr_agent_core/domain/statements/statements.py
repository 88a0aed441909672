"""
All that an answer's statements are held against, once per completed turn (V7, V8, V12).
"""

import json
import re
from collections.abc import Callable, Iterable

from nr_agent_core.domain.claims.claim import Claim
from nr_agent_core.domain.notices import JsonValue, Notice, NoticeCode
from nr_agent_core.domain.run import Run
from nr_agent_core.domain.statements.glance import may_count, may_deny, may_refer
from nr_agent_core.domain.statements.wording import wording
from nr_agent_core.domain.tool_result import RecordWrite
from nr_agent_core.domain.write_evidence import Wrote

Texts = tuple[tuple[str, ...], tuple[str, ...]]

_DIGIT = re.compile(r"\d")
_BRACKETS = ("(", "{", "<", ":\n")


class Statements:
    """
    The statements of one answer beyond its claims.

    Args:
        run: the run, completed or about to be.
        told: gives all texts that the model was given in the run, and those of them that tools
            returned (V7); asked only where a reference has to be looked for.
        earlier: the records that earlier turns wrote; None when not all of them are known.
        claims: finds the claims of a text, with their places; asked only where a record, a number of
            records or a denial has to be weighed.
        rounds_before: how many rounds an earlier segment asked. What it was told in its prompt is not
            kept, so the arguments of its calls that succeeded count as given.

    Attributes:
        doubts: what was left aside because the comparison is not certain; for the log, quoting nothing.
    """

    __slots__ = ("_claims", "_earlier", "_rounds_before", "_run", "_told", "doubts")

    def __init__(
        self,
        run: Run,
        told: Callable[[], Texts],
        *,
        earlier: Iterable[RecordWrite] | None = (),
        claims: Callable[[str], Iterable[Claim]],
        rounds_before: int = 0,
    ) -> None:
        self._run, self._told, self._claims = run, told, claims
        self._earlier = None if earlier is None else tuple(earlier)
        self._rounds_before = rounds_before
        self.doubts: list[str] = []

    def examine(self, text: str) -> tuple[str, tuple[Notice, ...]]:
        """
        *text* without the calls that it spells out, at the same length, and the notices it gets.

        Raises:
            Exception: what the detector of claims raises.
        """
        notices: list[Notice] = []
        text, tools = self._without_calls(text)
        if tools:
            notices.append(Notice(NoticeCode.CALL_NOT_MADE, {"tools": list[JsonValue](tools)}))
        evidence = self._run.evidence
        wrote = evidence.wrote is Wrote.YES
        if wrote and (denied := self._denied(text)) is not None:
            notices.append(denied)
        elif _DIGIT.search(text) is not None or (wrote and evidence.records):
            notices += self._half_true(text)
        return text, tuple(notices)

    # -- V12 ----------------------------------------------------------------------------------

    def _without_calls(self, text: str) -> tuple[str, tuple[str, ...]]:
        if not any(bracket in text for bracket in _BRACKETS):
            return text, ()
        offered = {name: None for at in self._run.rounds for name in at.answer.offered if name in text}
        if not offered:
            return text, ()
        from nr_agent_core.domain.statements.spelled_calls import recounted, spelled_calls

        tools: dict[str, None] = {}
        whole = text
        for call in spelled_calls(whole, offered, wording()):
            if recounted(call, self._made()):
                self.doubts.append("a call written as text may tell of one that was made")
                continue
            if self._reported(whole[call.start : call.end]):
                self.doubts.append("a call written as text stands in a result")
                continue
            tools[call.tool] = None
            text = text[: call.start] + " " * (call.end - call.start) + text[call.end :]
        return text, tuple(tools)

    def _reported(self, spelled: str) -> bool:
        """Whether a tool returned it or was given it: a log, a page of documentation."""
        escaped = [json.dumps(spelled, ensure_ascii=ascii_only)[1:-1] for ascii_only in (False, True)]
        if any(form in arguments for _, arguments in self._made() for form in escaped):
            return True
        return any(spelled in (result.text or "") for at in self._run.rounds for result in at.results)

    def _made(self) -> list[tuple[str, str]]:
        rounds = [at.answer for at in self._run.rounds]
        return [
            (call.tool, answer.arguments[call.index] if answer.arguments else "")
            for answer in rounds
            for call in answer.calls
        ]

    # -- V8 -----------------------------------------------------------------------------------

    def _denied(self, text: str) -> Notice | None:
        words = wording()
        if not may_deny(text, words):
            return None
        from nr_agent_core.domain.statements.deeds import Deeds
        from nr_agent_core.domain.statements.denials import Written, denial
        from nr_agent_core.domain.statements.sentences import sentences, stated

        evidence = self._run.evidence
        deeds = Deeds(self._run, self._earlier)
        kinds = frozenset(record.kind for record in evidence.records)
        found = denial(sentences(stated(text)), Written(kinds, deeds.only_nouns(words)), words)
        if found is None:
            return None
        if deeds.repeated:
            self.doubts.append("an answer denies changes of a record that was written more than once")
            return None
        others = (claim for claim in self._claims(text) if not found.start <= claim.start < found.end)
        if any("state" not in claim.why for claim in others):
            self.doubts.append("an answer denies a change and claims one")
            return None
        arguments: dict[str, JsonValue] = {}
        if evidence.records:
            arguments["records"] = [
                {"reference": str(record.reference), "kind": record.kind.value} for record in evidence.records
            ]
        if evidence.released_tools:
            arguments["tools"] = list(dict.fromkeys(evidence.released_tools))
        return Notice(NoticeCode.SAVED_NONETHELESS, arguments)

    # -- V7 -----------------------------------------------------------------------------------

    def _half_true(self, text: str) -> list[Notice]:
        words, records = wording(), self._run.evidence.records
        files = any(isinstance(record.reference.uid, str) and "." in record.reference.uid for record in records)
        refers = may_refer(text, words, files=files)
        counts = bool(records) and may_count(text, words)
        if not (refers or counts):
            return []
        from nr_agent_core.domain.statements.half_truths import HalfTruths

        found = HalfTruths(text, self._run, self._told, self._earlier, self._claims, self._rounds_before)
        notices = found.notices(refers=refers, counts=counts)
        self.doubts += found.doubts
        return notices
