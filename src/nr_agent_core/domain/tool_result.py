"""
What a call of a tool brought: text, unchanged, an error, or unknown; and which records it wrote.

A write target enters a result by one method, together with its kind: a target without a kind
cannot be expressed (T5).
"""

import enum
import re
from typing import Self

import attrs

from nr_agent_core.domain.errors import InvalidValueError
from nr_agent_core.domain.value import Value

_TABLE = re.compile(r"[A-Za-z0-9_]{1,64}")
_UID = re.compile(r"[A-Za-z0-9._~-]{1,128}")


class ToolEffect(enum.Enum):
    """
    May a repeat of the call do harm (T2)? A property of the tool's code, never of configuration.
    """

    READ_ONLY = "read_only"
    IDEMPOTENT_WRITE = "idempotent_write"
    NON_IDEMPOTENT_WRITE = "non_idempotent_write"

    @property
    def writes(self) -> bool:
        """Whether the tool declares that it writes."""
        return self is not ToolEffect.READ_ONLY

    @property
    def repeatable(self) -> bool:
        """Whether the same call may be executed again with the same key (R7)."""
        return self is not ToolEffect.NON_IDEMPOTENT_WRITE


class WriteKind(enum.Enum):
    """
    Was the record brought into being, changed or removed (T5)? Never derived from the effect.
    """

    CREATED = "created"
    UPDATED = "updated"
    DELETED = "deleted"


class Outcome(enum.Enum):
    """
    How a call ended (T4).
    """

    TEXT = "text"
    UNCHANGED = "unchanged"
    ERROR = "error"
    UNKNOWN = "unknown"


@attrs.frozen(repr=False, eq=False)
class RecordReference(Value):
    """
    Names one record of the host: a table and the record's uid in it (T6).

    >>> str(RecordReference("pages", 42))
    'pages:42'

    Args:
        table: 1 to 64 ASCII letters, digits or underscores.
        uid: an integer of at least 1, or 1 to 128 characters of ``[A-Za-z0-9._~-]``.

    Raises:
        InvalidValueError: table or uid is something else. Nothing is trimmed or cut to make it fit.
    """

    table: str
    uid: int | str

    def __attrs_post_init__(self) -> None:
        if not (isinstance(self.table, str) and _TABLE.fullmatch(self.table)):
            raise InvalidValueError("the table of a record", self.table, "1 to 64 ASCII letters, digits or underscores")
        if isinstance(self.uid, bool) or not self._uid_fits():
            raise InvalidValueError("the uid of a record", self.uid, "an integer from 1, or 1-128 of [A-Za-z0-9._~-]")

    def _uid_fits(self) -> bool:
        if isinstance(self.uid, int):
            return self.uid >= 1
        return isinstance(self.uid, str) and _UID.fullmatch(self.uid) is not None

    def __str__(self) -> str:
        return f"{self.table}:{self.uid}"


@attrs.frozen(repr=False, eq=False)
class RecordWrite(Value):
    """
    One record that a call wrote, and what became of it.
    """

    reference: RecordReference
    kind: WriteKind

    def __str__(self) -> str:
        return f"{self.reference} ({self.kind.value})"


_RANK = {WriteKind.UPDATED: 0, WriteKind.CREATED: 1, WriteKind.DELETED: 2}


@attrs.frozen(repr=False, eq=False)
class ToolResult(Value):
    """
    The outcome of one call, its text for the model, and the records it wrote (T4, T5).

    >>> page = RecordReference("pages", 42)
    >>> ToolResult.text("Draft saved.").with_write_target(page, WriteKind.CREATED).writes[0].kind.value
    'created'

    Make one with :meth:`text`, :meth:`unchanged`, :meth:`error` or :meth:`unknown`.
    """

    outcome: Outcome
    content: str
    writes: tuple[RecordWrite, ...] = attrs.field(default=(), init=False)

    @classmethod
    def text(cls, content: str) -> Self:
        """A success. *content* is what the model reads."""
        return cls._of(Outcome.TEXT, content)

    @classmethod
    def unchanged(cls, content: str) -> Self:
        """A success that wrote nothing, because all was as asked already."""
        return cls._of(Outcome.UNCHANGED, content)

    @classmethod
    def error(cls, content: str) -> Self:
        """A failure that promises: nothing was written. *content* reaches the model as it is."""
        return cls._of(Outcome.ERROR, content)

    @classmethod
    def unknown(cls, content: str) -> Self:
        """The call may or may not have written; it is not repeated."""
        return cls._of(Outcome.UNKNOWN, content)

    @classmethod
    def _of(cls, outcome: Outcome, content: str) -> Self:
        if not isinstance(content, str):
            raise InvalidValueError("the content of a tool result", content, "text (str)")
        return cls(outcome, content)

    def with_write_target(self, reference: RecordReference | tuple[str, int | str], kind: WriteKind | str) -> Self:
        """
        This result, naming one more record that the call wrote (T5).

        Naming a record twice leaves one entry: created outranks updated, deleted outranks both.
        A result that is not a text wrote nothing it could name and is returned as it is.

        Args:
            reference: the record, or its ``(table, uid)``.
            kind: created, updated or deleted; the literal value is accepted too.

        Raises:
            InvalidValueError: reference or kind is something else. The result is unchanged.
        """
        write = RecordWrite(_reference(reference), _kind(kind))
        if self.outcome is not Outcome.TEXT:
            return self
        return self.carrying(merge_writes(self.writes, (write,)))

    def carrying(self, writes: tuple[RecordWrite, ...]) -> Self:
        """This result with exactly *writes*, every other field carried over (T9)."""
        copy = attrs.evolve(self)
        object.__setattr__(copy, "writes", writes)
        return copy


def merge_writes(known: tuple[RecordWrite, ...], more: tuple[RecordWrite, ...]) -> tuple[RecordWrite, ...]:
    """
    *known* and *more* with one entry per record; the higher ranking kind stays (T5).
    """
    # Keyed by plain pairs, which hash fast: a call may name thousands of records, one by one.
    merged = {(write.reference.table, write.reference.uid): write for write in known}
    for write in more:
        key = (write.reference.table, write.reference.uid)
        before = merged.get(key)
        if before is None or _RANK[write.kind] > _RANK[before.kind]:
            merged[key] = write
    return tuple(merged.values())


def _reference(value: object) -> RecordReference:
    if isinstance(value, RecordReference):
        return value
    if isinstance(value, tuple) and len(value) == 2:
        return RecordReference(*value)
    raise InvalidValueError("a write target", value, "a RecordReference or a (table, uid) pair")


def _kind(value: object) -> WriteKind:
    try:
        return WriteKind(value)
    except ValueError:
        raise InvalidValueError("a write kind", value, "created, updated or deleted") from None
