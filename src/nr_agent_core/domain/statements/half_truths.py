"""
References and numbers of an answer that the run does not bear out (V7).
"""

from collections.abc import Callable, Iterable

from nr_agent_core.domain.claims.claim import Claim
from nr_agent_core.domain.notices import JsonValue, Notice, NoticeCode
from nr_agent_core.domain.run import Run
from nr_agent_core.domain.statements.claimed_records import claimed_wrongly, file_claimed
from nr_agent_core.domain.statements.counts import miscounted
from nr_agent_core.domain.statements.deeds import Deeds
from nr_agent_core.domain.statements.references import Reference, Told, references, uncertain, unfamiliar
from nr_agent_core.domain.statements.sentences import Sentence, place_in, sentences, stated
from nr_agent_core.domain.statements.wording import wording
from nr_agent_core.domain.tool_result import Outcome, RecordWrite

_LOOKED_AT = 200
"""So many references of an answer are looked for; no amount of them takes a turn's time."""
_MOST = 50
"""So many references of one kind stand in a notice; an answer with more is told of the first."""


class HalfTruths:
    """
    What of one answer can be held against its run, found step by step and only as far as needed.

    Args:
        text: the answer, without calls that it spells out.
        run, told, earlier, claims, rounds_before: see
            :class:`~nr_agent_core.domain.statements.statements.Statements`.
    """

    def __init__(
        self,
        text: str,
        run: Run,
        told: Callable[[], tuple[tuple[str, ...], tuple[str, ...]]],
        earlier: tuple[RecordWrite, ...] | None,
        claims: Callable[[str], Iterable[Claim]],
        rounds_before: int,
    ) -> None:
        self._text, self._run, self._asked, self._rounds_before = text, run, told, rounds_before
        self._words = wording()
        self._deeds = Deeds(run, earlier)
        self._claims_of = claims
        self._claims: tuple[Claim, ...] | None = None
        self._told: Told | None = None
        self._kept: str | None = None
        self._sentences: list[Sentence] | None = None
        self._found: list[Reference] = []
        self._tables: dict[str, bool] = {}
        self._offered = tuple(dict.fromkeys(name for at in run.rounds for name in at.answer.offered))
        self.doubts: list[str] = []

    def notices(self, *, refers: bool, counts: bool) -> list[Notice]:
        """
        ``otherRecordsWritten`` and ``unknownReference``, where certain.

        Args:
            refers: whether references may stand in the text.
            counts: whether numbers of records may.
        """
        counts = counts and self._deeds.comparable
        found = references(self._stated, files=self._deeds.files)[:_LOOKED_AT] if refers else []
        self._found = found
        unwritten = [reference for reference in found if not self._deeds.wrote(reference)]
        notices: list[Notice] = []
        claimed = self._claimed(found if unwritten else [], counts=counts)
        if claimed:
            written: list[JsonValue] = [
                {"reference": str(record.reference), "kind": record.kind.value} for record in self._deeds.records
            ]
            notices.append(
                Notice(NoticeCode.OTHER_RECORDS_WRITTEN, {"claimed": list[JsonValue](claimed), "written": written})
            )
        unknown = self._unknown(unwritten)
        if unknown:
            notices.append(Notice(NoticeCode.UNKNOWN_REFERENCE, {"references": list[JsonValue](unknown)}))
        return notices

    def _claimed(self, found: list[Reference], *, counts: bool) -> list[str]:
        if not (found or counts):
            return []
        if not self._deeds.comparable:
            return []
        wrong = claimed_wrongly(found, self._parts, self._said, self._deeds, self._words) if found else []
        counted = miscounted(self._parts, self._said, self._deeds, self._words, whole=self._stated) if counts else ()
        shown = [reference.shown for reference in wrong] + [count.shown for count in counted]
        return list(dict.fromkeys(shown))[:_MOST]

    def _unknown(self, unwritten: list[Reference]) -> list[str]:
        unknown: dict[str, None] = {}
        for reference in unwritten:
            if self._deeds.wrote_before(reference) or self.told.holds(reference):
                continue
            doubt = self._doubt(reference)
            if doubt is None:
                unknown[reference.shown] = None
            else:
                self.doubts.append(f"a reference ({reference.form}) was left aside: {doubt}")
        return list(unknown)[:_MOST]

    def _doubt(self, reference: Reference) -> str | None:
        sentence = self._around(reference)
        doubt = uncertain(reference, sentence, self._words)
        if doubt is not None:
            return doubt
        if reference.form == "file" and not self._deeds.comparable:
            return "a write that names nothing may have brought the file about"
        if reference.form == "file" and not self._is_claimed(reference, sentence):
            return "it is not claimed as written"
        if reference.form == "record" and self._figures(reference, sentence):
            return "it stands beside figures, or its table is not known"
        return unfamiliar(reference, self.told, self._deeds.tables, self._offered)

    def _is_claimed(self, reference: Reference, sentence: Sentence) -> bool:
        said = [claim for claim in self._said if sentence.start <= claim.start < sentence.end]
        said = [claim for claim in said if "state" not in claim.why]
        if not said:
            return False
        inside = [each for each in self._found if sentence.start <= each.start < sentence.end]
        return file_claimed(reference, inside, sentence, said, self._words)

    def _figures(self, reference: Reference, sentence: Sentence) -> bool:
        """Whether it may be one of several figures: "pages:2, hidden:0"."""
        others = [each for each in self._found if sentence.start <= each.start < sentence.end and each.form == "record"]
        return any(map(self._strange, others))

    def _strange(self, reference: Reference) -> bool:
        strange = self._tables.get(reference.table)
        if strange is None:
            strange = unfamiliar(reference, self.told, self._deeds.tables, self._offered) is not None
            self._tables[reference.table] = strange
        return strange

    def _around(self, reference: Reference) -> Sentence:
        return self._parts[place_in(self._parts, reference.start)]

    # -- looked up once -----------------------------------------------------------------------

    @property
    def _stated(self) -> str:
        if self._kept is None:
            self._kept = stated(self._text)
        return self._kept

    @property
    def _parts(self) -> list[Sentence]:
        if self._sentences is None:
            self._sentences = sentences(self._stated)
        return self._sentences

    @property
    def _said(self) -> tuple[Claim, ...]:
        if self._claims is None:
            self._claims = tuple(self._claims_of(self._text))
        return self._claims

    @property
    def told(self) -> Told:
        """What the model was given, with what earlier segments' calls show of theirs."""
        if self._told is None:
            texts, results = self._asked()
            self._told = Told((*texts, *self._accepted()), results)
        return self._told

    def _accepted(self) -> list[str]:
        """Arguments of calls that an earlier segment asked for and that succeeded: a tool took them."""
        return [
            at.answer.arguments[result.index]
            for at in self._run.rounds[: self._rounds_before]
            for result in at.results
            if at.answer.arguments and result.executed and result.outcome is Outcome.TEXT
        ]
