"""
That a run wrote a record, announced as three values and nothing more (W1).
"""

import attrs

from nr_agent_core.domain.errors import InvalidValueError
from nr_agent_core.domain.tool_result import RecordReference, RecordWrite, WriteKind
from nr_agent_core.domain.value import Value


@attrs.frozen(repr=False, eq=False)
class AiRecordWritten(Value):
    """
    An AI wrote a record: which run, which record, and whether it was created, updated or deleted.

    There is no payload, tool name or person in it; who needs more reads the record, or the run
    by its id, under own rights. The same three values may come again (W3).

    Raises:
        InvalidValueError: the correlation id is empty or blank.
    """

    correlation_id: str
    reference: RecordReference
    kind: WriteKind

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.correlation_id, str) or not self.correlation_id.strip():
            raise InvalidValueError("the correlation id of a write", self.correlation_id, "the id of a stored run")


@attrs.frozen(repr=False, eq=False)
class StoredWrite(Value):
    """
    One entry of the durable feed: its position in commit order, and what was written (W4).
    """

    position: int
    written: AiRecordWritten


def announcements(run_id: str, writes: tuple[RecordWrite, ...]) -> tuple[AiRecordWritten, ...]:
    """
    One event per record of a call (W1).
    """
    return tuple(AiRecordWritten(run_id, write.reference, write.kind) for write in writes)
