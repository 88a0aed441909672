"""
What a run did, in the shape in which an answer is compared with it.
"""

from collections.abc import Iterable

from nr_agent_core.domain.run import Run
from nr_agent_core.domain.run_events import ToolFinished
from nr_agent_core.domain.statements.references import Reference, is_file_name, name_parts, singular
from nr_agent_core.domain.statements.wording import Wording
from nr_agent_core.domain.tool_result import Outcome, RecordWrite


class Deeds:
    """
    The records of a run and of the turns before it.

    Args:
        run: the run, all its calls settled.
        earlier: the records that earlier turns wrote; None when not all of them are known.
    """

    def __init__(self, run: Run, earlier: Iterable[RecordWrite] | None) -> None:
        self.records = run.evidence.records
        self.earlier = None if earlier is None else tuple(earlier)
        self.tables = frozenset(record.reference.table.lower() for record in self.records)
        self.files = any(is_file_name(record.reference.uid) for record in self.records)
        self._executed = [result for at in run.rounds for result in at.results if result.executed]
        self._own = frozenset(_names(self.records))
        self._before = frozenset(_names(self.earlier or ()))
        self._said: str | None = None

    @property
    def comparable(self) -> bool:
        """
        Whether the records are all that the run wrote, so that others were provably not written (V7).

        A remote tool may have written more than it names; so may a tool that named nothing. Of an
        unchanged call the record is as the answer says, although it was not written.
        """
        known = bool(self.records) and self.earlier is not None
        return known and not any(_unclear(result) for result in self._executed)

    @property
    def repeated(self) -> bool:
        """Whether several calls wrote one record: the last may have taken the first back."""
        named = [write.reference for result in self._executed for write in result.writes]
        return len(named) != len(set(named))

    @property
    def writes(self) -> int:
        """How many calls wrote."""
        return sum(bool(result.writes) for result in self._executed)

    @property
    def attempts(self) -> int:
        """How many calls wrote or tried to."""
        return sum(bool(result.writes) or result.effect.writes for result in self._executed)

    @property
    def said(self) -> str:
        """What the tools that wrote said themselves, in lower case: a bulk tool may name one record of many."""
        if self._said is None:
            self._said = "\n".join(result.text or "" for result in self._executed if result.writes).lower()
        return self._said

    def bulk(self, words: Wording) -> bool:
        """Whether a tool that wrote may write more than it names: ``import_customers``, ``create_series``."""
        tools = {result.tool for result in self._executed if result.writes}
        parts = {part.lower() for tool in tools for part in name_parts(tool)}
        return any(part in words.bulk or part != singular(part) for part in parts)

    def only_nouns(self, words: Wording) -> frozenset[str]:
        """What the only record is called, where the run tried only one write and that wrote one record."""
        if len(self.records) != 1 or self.attempts != 1:
            return frozenset()
        table = self.records[0].reference.table.lower()
        names = {singular(table), singular(table.rpartition("_")[2])}
        return frozenset(noun for name in names for noun in words.nouns_of.get(name, {name}))

    def wrote(self, reference: Reference) -> bool:
        """Whether this run wrote the record."""
        return not self._own.isdisjoint(_as_names(reference))

    def wrote_before(self, reference: Reference) -> bool:
        """Whether an earlier turn wrote it, as far as is known."""
        return not self._before.isdisjoint(_as_names(reference))


def _unclear(result: ToolFinished) -> bool:
    if result.outcome is Outcome.TEXT:
        return bool(result.effect.writes or result.writes) and (result.remote or not result.writes)
    return result.effect.writes and result.outcome in (Outcome.UNKNOWN, Outcome.UNCHANGED)


def _names(records: Iterable[RecordWrite]) -> set[str]:
    names: set[str] = set()
    for record in records:
        uid = str(record.reference.uid).lower()
        names.update((uid, str(record.reference).lower(), uid.rpartition("/")[2]))
    return names


def _as_names(reference: Reference) -> set[str]:
    key = reference.key.lower()
    if reference.form == "record":
        return {f"{reference.table.lower()}:{key}"}
    names = {key}
    if reference.form == "formed":
        names.add(key.lstrip("#").rpartition(" ")[2])
        names.add(key.rpartition("-")[2])
    if reference.form == "file":
        names.add(key.rpartition("/")[2])
    return names
