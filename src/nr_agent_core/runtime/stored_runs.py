"""
The runs of one store, as a caller may see them.
"""

from nr_agent_core.domain.bounding import well_formed
from nr_agent_core.domain.errors import (
    AccessDeniedError,
    IllegalMoveError,
    InvalidValueError,
    MessageRejectedError,
    NotFoundError,
    RunUnreadableError,
)
from nr_agent_core.domain.reader import Reader
from nr_agent_core.domain.run import Run, fold
from nr_agent_core.ports.access_policy import Action, Subject
from nr_agent_core.ports.run_store import RunRow
from nr_agent_core.ports.unit_of_work import UnitOfWork
from nr_agent_core.runtime.wiring import Wiring

MESSAGE_LIMIT = 100_000


class StoredRuns:
    """
    Loads runs and asks what may be done to them.
    """

    def __init__(self, wiring: Wiring) -> None:
        self.wiring = wiring

    @property
    def store(self) -> UnitOfWork:
        """
        The store.

        Raises:
            InvalidValueError: this runtime has none (R12).
        """
        if self.wiring.store is None:
            raise InvalidValueError("the store of this runtime", None, "a store, for what outlives a call")
        return self.wiring.store

    def load(self, run_id: str) -> Run:
        """
        The run folded from its stored stream.

        Raises:
            NotFoundError: there is no such run.
            RunUnreadableError, StoredFormError: its stream cannot be read (E5).
        """
        if not isinstance(run_id, str):
            raise InvalidValueError("a run id", run_id, "a text")
        if self.store.run_row(run_id) is None:
            raise self.not_found(run_id)
        try:
            return fold(run_id, (stored.event for stored in self.store.events(run_id)))
        except IllegalMoveError as error:
            raise RunUnreadableError(run_id, str(error)) from error

    def load_for(self, run_id: str, actor: str, action: Action) -> Run:
        """
        The run, if *actor* may do *action* to it.

        Raises:
            NotFoundError: no such run, or not *actor*'s to see (E5).
            AccessDeniedError: *actor* may see it and not do this.
        """
        self.row_for(run_id, actor, action)
        return self.load(run_id)

    def row_for(self, run_id: str, actor: str, action: Action) -> RunRow:
        """
        The row of the run, if *actor* may do *action* to it.

        Raises:
            NotFoundError, AccessDeniedError: see :meth:`load_for`.
        """
        row = self.store.run_row(run_id) if isinstance(run_id, str) else None
        if row is None:
            raise self.not_found(run_id)
        subject = self.subject_of(row)
        if not self.wiring.access.may(actor, action, subject):
            if action is Action.SEE or not self.wiring.access.may(actor, Action.SEE, subject):
                raise self.not_found(run_id)
            raise AccessDeniedError(actor, action.value, str(subject))
        return row

    def subject_of(self, row: RunRow) -> Subject:
        """What access is asked about."""
        return Subject(row.owner, row.conversation, row.id)

    def require_send(self, reader: Reader) -> None:
        """
        Whether *reader* may begin something of an own (O4).

        Raises:
            AccessDeniedError: the policy says no. Nothing was stored.
        """
        subject = Subject(reader.id)
        if not self.wiring.access.may(reader.id, Action.SEND, subject):
            raise AccessDeniedError(reader.id, Action.SEND.value, "messages of their own")

    def not_found(self, run_id: object) -> NotFoundError:
        """The one answer for a run that is not there and one that is not yours."""
        return NotFoundError("run", run_id if isinstance(run_id, str) else repr(run_id))

    def message_text(self, text: object, limit: int = MESSAGE_LIMIT) -> str:
        """
        *text* as it may be stored.

        Raises:
            MessageRejectedError: it is no text, blank, or longer than *limit* UTF-8 bytes.
        """
        if not isinstance(text, str):
            raise MessageRejectedError(f"it is a {type(text).__name__}, not a text")
        text = well_formed(text)
        if not text.strip():
            raise MessageRejectedError("it is blank")
        length = len(text.encode("utf-8"))
        if length > limit:
            raise MessageRejectedError(f"it is {length} bytes long; the limit is {limit}", length=length, limit=limit)
        return text
