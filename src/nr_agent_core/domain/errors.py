"""
Every error of the library, and when it is raised.

    AgentCoreError
    ├── CallerError                  the call was wrong; nothing happened
    │   ├── InvalidValueError        a value is of the wrong type or not allowed (also a ValueError)
    │   ├── CatalogueError           a host's catalogue of texts cannot be used; names the key
    │   ├── MessageRejectedError     a message is blank or too long
    │   ├── ToolDeclarationError     a tool cannot be declared like this
    │   │   └── DuplicateToolError   two tools share a name
    │   ├── ToolMissingError         this process does not know a waiting call's tool
    │   ├── NoQueueError             a run was to be queued, and there is no queue
    │   ├── NotFoundError            no such conversation or run, or not this reader's
    │   ├── AccessDeniedError        the actor may not do this
    │   └── DecisionRefusedError     a decision was not taken; carries the reply code
    ├── LostRaceError                somebody else was first; nothing was stored
    │   ├── StaleAppendError         the run moved on before this append
    │   ├── LeaseHeldError           another process still drives the run
    │   └── ConversationBusyError    the conversation has an unsettled run
    ├── IllegalMoveError             the run's status refuses this event
    ├── StoreError                   the store could not do its work
    │   ├── StoreUnavailableError    locked, full, gone, or the outcome of a commit is unknown
    │   │   └── ContentKeyError      the key for encrypted content is not here
    │   ├── RunUnreadableError       the stream exists but cannot be read
    │   ├── StoredFormError          a stored row is damaged
    │   │   ├── NewerFormError       a stored row or schema was written by a newer release
    │   │   └── ContentDamagedError  encrypted content is not what was encrypted for this place
    │   ├── QueueNotInstalledError   the engine's tables are not there, or not its
    │   └── AppendOnlyError          a change of stored facts was tried
    ├── NothingWrittenError          raised by a tool: it failed and wrote nothing
    ├── RemoteServerError            a server of remote tools cannot be used
    │   └── RemoteCallLostError      a call was sent to it, and no answer came back
    └── ProviderError                raised by a model provider; carries a FailureClass

Texts name the subject, its state, what came and what would do. They are for developers and
logs; a reader gets a code instead (P9, F2).
"""

import enum


class FailureClass(enum.Enum):
    """
    What kind of failure an outside system reported (R10).
    """

    CONNECTION = "connection"
    RATE_LIMIT = "rate_limit"
    QUOTA = "quota"
    SERVER_ERROR = "server_error"
    AUTHENTICATION = "authentication"
    CONFIGURATION = "configuration"
    CLIENT_ERROR = "client_error"
    CONTEXT_TOO_LONG = "context_too_long"
    CONTENT_REFUSED = "content_refused"
    UNKNOWN = "unknown"

    @property
    def retryable(self) -> bool:
        """Whether asking again later may succeed (R10)."""
        return self in (FailureClass.CONNECTION, FailureClass.RATE_LIMIT, FailureClass.SERVER_ERROR)


class AgentCoreError(Exception):
    """
    Base of all errors of this library.
    """


class CallerError(AgentCoreError):
    """
    The call cannot be carried out as it was made. Nothing happened.
    """


class InvalidValueError(CallerError, ValueError):
    """
    A value is of the wrong type or outside what is allowed. Nothing happened.
    """

    def __init__(self, subject: str, found: object, allowed: str) -> None:
        super().__init__(f"{subject} is {_shown(found)}; allowed is {allowed}")
        self.subject, self.found, self.allowed = subject, found, allowed


class VocabularyError(CallerError, ValueError):
    """
    An entry of a host's vocabulary cannot be used. No detector was made (V2).
    """

    def __init__(self, subject: str, entry: object, why: str) -> None:
        super().__init__(f"the entry {_shown(entry)} of the vocabulary's {subject} {why}")
        self.subject, self.entry, self.why = subject, entry, why


class CatalogueError(CallerError, ValueError):
    """
    A host's catalogue of texts cannot be used. Nothing of it is; no translator was made (V10).
    """

    def __init__(self, language: str, key: str, why: str, *, path: str = "") -> None:
        where = f"the catalogue {path or language!r}"
        super().__init__(f"{where}: {key!r} {why}" if key else f"{where} {why}")
        self.language, self.key, self.why, self.path = language, key, why, path


class MessageRejectedError(CallerError):
    """
    A message is blank, too long or no text. It was not stored and no run started.
    """

    def __init__(self, why: str, *, length: int = 0, limit: int = 0) -> None:
        super().__init__(f"the message was not taken: {why}")
        self.why, self.length, self.limit = why, length, limit


class ToolDeclarationError(CallerError):
    """
    A tool cannot be declared like this. It was not registered.
    """

    def __init__(self, tool: str, why: str) -> None:
        super().__init__(f"tool {tool!r}: {why}")
        self.tool, self.why = tool, why


class DuplicateToolError(ToolDeclarationError):
    """
    Two tools share one name. Neither set was registered (T1).
    """

    def __init__(self, tool: str) -> None:
        super().__init__(tool, "is declared twice; names are unique across all tools")


class ToolMissingError(CallerError):
    """
    This process does not know the tool of a waiting call. The decision was not taken; the run waits on.
    """

    def __init__(self, run_id: str, tool: str) -> None:
        super().__init__(f"run {run_id!r} waits with a call of {tool!r}, unknown here; decide elsewhere or cancel it")
        self.run_id, self.tool = run_id, tool


class NoQueueError(CallerError):
    """
    A run was to be queued, or a worker to be run, and no queue was given. Nothing was stored.
    """

    def __init__(self, wanted: str) -> None:
        super().__init__(f"{wanted} needs a queue; give one to the chat or the runtime as queue=...")
        self.wanted = wanted


class NotFoundError(CallerError):
    """
    There is no such conversation or run, or it is not this actor's: the two look alike (E5).
    """

    def __init__(self, kind: str, identifier: str) -> None:
        super().__init__(f"no {kind} {identifier!r}, or it is not yours to see")
        self.kind, self.identifier = kind, identifier


class AccessDeniedError(CallerError):
    """
    The access policy does not let this actor do this. Nothing happened (O4).
    """

    def __init__(self, actor: str, action: str, subject: str) -> None:
        super().__init__(f"{actor!r} may not {action} {subject}")
        self.actor, self.action, self.subject = actor, action, subject


class DecisionRefusedError(CallerError):
    """
    A decision was not taken: nothing was appended and nothing executed (A1).

    ``code`` is the :class:`~nr_agent_core.domain.notices.ReplyCode` that says what is so now.
    """

    def __init__(self, run_id: str, code: object, why: str) -> None:
        super().__init__(f"the decision on run {run_id!r} was not taken: {why}")
        self.run_id, self.code, self.why = run_id, code, why


class LostRaceError(AgentCoreError):
    """
    Somebody else was first. Nothing of this append was stored.
    """


class StaleAppendError(LostRaceError):
    """
    Another process moved the run on before this append.

    Nothing was stored: stop, and settle nothing (R3).
    """

    def __init__(self, run_id: str, expected: int, found: int | None = None) -> None:
        where = "is elsewhere" if found is None else f"is at event {found}"
        super().__init__(f"run {run_id!r} {where}; this append expected {expected}")
        self.run_id, self.expected, self.found = run_id, expected, found


class LeaseHeldError(LostRaceError):
    """
    Another process drives the run and its lease still stands. Nothing was stored (R8).
    """

    def __init__(self, run_id: str, until: float) -> None:
        super().__init__(f"run {run_id!r} is driven by another process; its lease stands until {until:.3f}")
        self.run_id, self.until = run_id, until


class ConversationBusyError(LostRaceError):
    """
    The conversation has an unsettled run, or took another message first. Nothing was stored (O1).
    """

    def __init__(self, conversation: str) -> None:
        super().__init__(f"conversation {conversation!r} is busy with another run or message")
        self.conversation = conversation


class IllegalMoveError(AgentCoreError):
    """
    The run's status does not take this event (R1). The run is unchanged.
    """

    def __init__(self, run_id: str, status: str, event: str, why: str = "") -> None:
        super().__init__(f"run {run_id!r} is {status}; {event!r} does not fit" + (f": {why}" if why else ""))
        self.run_id, self.status, self.event, self.why = run_id, status, event, why


class StoreError(AgentCoreError):
    """
    The store could not do its work.
    """


class StoreUnavailableError(StoreError):
    """
    The store is locked, full or gone. The append counts as refused: it may or may not stand (R3).
    """


class ContentKeyError(StoreUnavailableError):
    """
    Content cannot be encrypted or read: its key is not here (E7).

    Nothing was read and nothing stored. The content is not damaged: with its key it can be read.
    """

    def __init__(self, why: str) -> None:
        super().__init__(f"content cannot be read or stored: {why}; give the store a cipher with that key")
        self.why = why


class RunUnreadableError(StoreError):
    """
    The run's stream exists, or should, but cannot be read. This never means "nothing happened" (E5).
    """

    def __init__(self, run_id: str, why: str) -> None:
        super().__init__(f"the stream of run {run_id!r} cannot be read: {why}")
        self.run_id, self.why = run_id, why


class StoredFormError(StoreError):
    """
    A stored row is damaged. It was not read as a default and nothing was coerced (E6).
    """

    def __init__(self, subject: str, why: str) -> None:
        super().__init__(f"stored {subject} is damaged: {why}")
        self.subject, self.why = subject, why


class NewerFormError(StoredFormError):
    """
    A row or schema was written by a newer release. It was left as it is (E6).
    """

    def __init__(self, subject: str, found: object, known: object) -> None:
        StoreError.__init__(self, f"stored {subject} is of form {found!r}; this release knows up to {known!r}: upgrade")
        self.subject, self.found, self.known, self.why = subject, found, known, "newer form"


class ContentDamagedError(StoredFormError):
    """
    Encrypted content is not what was encrypted for its place. Nothing of it was read (E7).
    """


class QueueNotInstalledError(StoreError):
    """
    The engine has no tables in the store's database, or those of another release. Nothing was stored.
    """

    def __init__(self, schema: str, missing: str) -> None:
        super().__init__(
            f"schema {schema!r} holds no tables of the engine that would do ({missing}); "
            "install them once with queue.install(), or nr-agent-core worker MODULE:NAME --install"
        )
        self.schema, self.missing = schema, missing


class AppendOnlyError(StoreError):
    """
    A change of stored facts was tried and refused (R3).
    """


class NothingWrittenError(AgentCoreError):
    """
    Raised by a tool to say: this failed and nothing was written (T4).

    Its text does not reach the model or a reader (T10).
    """


class RemoteServerError(AgentCoreError):
    """
    A server of remote tools cannot be used. It costs its own tools alone.
    """

    def __init__(self, server: str, why: str) -> None:
        super().__init__(f"the tools of {server!r}: {why}")
        self.server, self.why = server, why


class RemoteCallLostError(RemoteServerError):
    """
    A call was sent to the server, and nothing that can be trusted came back: it may have happened (T4).
    """


class ProviderError(AgentCoreError):
    """
    Raised by a model provider. ``failure_class`` says of which kind the failure is (R10).

    ``retry_after``: seconds after which the server wants to be asked again; None when it does not say.
    """

    def __init__(
        self, text: str, failure_class: FailureClass = FailureClass.UNKNOWN, *, retry_after: float | None = None
    ) -> None:
        super().__init__(text)
        self.failure_class, self.retry_after = failure_class, retry_after


def _shown(value: object) -> str:
    # What a host's own object says of itself may hold a key.
    items = value if isinstance(value, (tuple, list, set, frozenset)) else (value,)
    plain = all(item is None or isinstance(item, (str, bytes, int, float, enum.Enum)) for item in items)
    text = repr(value) if plain else f"a {type(value).__name__}"
    return text if len(text) <= 80 else text[:77] + "..."
