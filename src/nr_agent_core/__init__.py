"""
A chat that states what its run did, not what it said.

These are the supported names. Adapters (``nr_agent_core.adapters.sqlite`` and the others), ports
(``nr_agent_core.ports``) and the test kit (``nr_agent_core.testing``) are imported from their
own modules.
"""

from typing import TYPE_CHECKING, Any

from nr_agent_core.chat import (
    Chat,
    ConversationView,
    ErrorView,
    MessageView,
    NoticeView,
    SendOutcome,
    Sent,
)
from nr_agent_core.defaults.access import RoleAccess
from nr_agent_core.defaults.fixed_configuration import FixedConfiguration
from nr_agent_core.domain.approvals import CallCard, Card, Decision
from nr_agent_core.domain.claims import Claim, ClaimDetector, ClaimPolicy
from nr_agent_core.domain.continue_phrases import ContinuePhraseRouter, PhraseKind
from nr_agent_core.domain.conversation import ConversationStatus, Message, MessageRole
from nr_agent_core.domain.errors import (
    AccessDeniedError,
    AgentCoreError,
    CallerError,
    CatalogueError,
    ContentDamagedError,
    ContentKeyError,
    ConversationBusyError,
    DecisionRefusedError,
    DuplicateToolError,
    FailureClass,
    IllegalMoveError,
    InvalidValueError,
    LeaseHeldError,
    LostRaceError,
    MessageRejectedError,
    NewerFormError,
    NoQueueError,
    NotFoundError,
    NothingWrittenError,
    ProviderError,
    QueueNotInstalledError,
    RunUnreadableError,
    StaleAppendError,
    StoredFormError,
    StoreError,
    StoreUnavailableError,
    ToolDeclarationError,
    ToolMissingError,
    VocabularyError,
)
from nr_agent_core.domain.failures import FailureCode
from nr_agent_core.domain.gate import DenialReason
from nr_agent_core.domain.model_dialogue import ModelAnswer, ModelCall, ModelMessage, ModelRequest, OfferedTool
from nr_agent_core.domain.notices import Notice, NoticeCode, ReplyCode
from nr_agent_core.domain.provenance import AiRecordWritten, StoredWrite
from nr_agent_core.domain.reader import Reader
from nr_agent_core.domain.run_status import RunReason, RunStatus
from nr_agent_core.domain.tool_decorator import tool
from nr_agent_core.domain.tool_result import (
    Outcome,
    RecordReference,
    RecordWrite,
    ToolEffect,
    ToolResult,
    WriteKind,
)
from nr_agent_core.domain.tools import Preview, Reconciliation, Tool, ToolContext
from nr_agent_core.domain.trust_zones import TrustZones
from nr_agent_core.domain.write_evidence import WriteEvidence, Wrote
from nr_agent_core.ports.access_policy import Action, Subject
from nr_agent_core.ports.configuration_resolver import Configuration
from nr_agent_core.runtime import InboxItem, RunResult, Runtime, UpkeepReport

if TYPE_CHECKING:
    from nr_agent_core.chat import AsyncChat, AsyncTurnStream, TurnStream
    from nr_agent_core.domain.claims import Vocabulary
    from nr_agent_core.domain.turn_events import (
        ApprovalNeeded,
        MessageNotTaken,
        RecordWritten,
        TextDelta,
        TextWasInterim,
        ToolCallFinished,
        ToolCallStarted,
        TurnCompleted,
        TurnEvent,
        TurnFailed,
        TurnLeft,
        TurnStarted,
    )
    from nr_agent_core.ports.retention import Purged, Retention
    from nr_agent_core.runtime import AsyncRuntime

__all__ = [
    "AccessDeniedError",
    "Action",
    "AgentCoreError",
    "AiRecordWritten",
    "ApprovalNeeded",
    "AsyncChat",
    "AsyncRuntime",
    "AsyncTurnStream",
    "CallCard",
    "CallerError",
    "Card",
    "CatalogueError",
    "Chat",
    "Claim",
    "ClaimDetector",
    "ClaimPolicy",
    "Configuration",
    "ContentDamagedError",
    "ContentKeyError",
    "ContinuePhraseRouter",
    "ConversationBusyError",
    "ConversationStatus",
    "ConversationView",
    "Decision",
    "DecisionRefusedError",
    "DenialReason",
    "DuplicateToolError",
    "ErrorView",
    "FailureClass",
    "FailureCode",
    "FixedConfiguration",
    "IllegalMoveError",
    "InboxItem",
    "InvalidValueError",
    "LeaseHeldError",
    "LostRaceError",
    "Message",
    "MessageNotTaken",
    "MessageRejectedError",
    "MessageRole",
    "MessageView",
    "ModelAnswer",
    "ModelCall",
    "ModelMessage",
    "ModelRequest",
    "NewerFormError",
    "NoQueueError",
    "NotFoundError",
    "NothingWrittenError",
    "Notice",
    "NoticeCode",
    "NoticeView",
    "OfferedTool",
    "Outcome",
    "PhraseKind",
    "Preview",
    "ProviderError",
    "Purged",
    "QueueNotInstalledError",
    "Reader",
    "Reconciliation",
    "RecordReference",
    "RecordWrite",
    "RecordWritten",
    "ReplyCode",
    "Retention",
    "RoleAccess",
    "RunReason",
    "RunResult",
    "RunStatus",
    "RunUnreadableError",
    "Runtime",
    "SendOutcome",
    "Sent",
    "StaleAppendError",
    "StoreError",
    "StoreUnavailableError",
    "StoredFormError",
    "StoredWrite",
    "Subject",
    "TextDelta",
    "TextWasInterim",
    "Tool",
    "ToolCallFinished",
    "ToolCallStarted",
    "ToolContext",
    "ToolDeclarationError",
    "ToolEffect",
    "ToolMissingError",
    "ToolResult",
    "TrustZones",
    "TurnCompleted",
    "TurnEvent",
    "TurnFailed",
    "TurnLeft",
    "TurnStarted",
    "TurnStream",
    "UpkeepReport",
    "Vocabulary",
    "VocabularyError",
    "WriteEvidence",
    "WriteKind",
    "Wrote",
    "tool",
]


# Loaded when asked for: only a host with an event loop pays for one, only one that streams for events, and
# only one that needs words or windows of its own for those.
_LATER = {
    **dict.fromkeys(("AsyncChat", "AsyncTurnStream", "TurnStream"), "nr_agent_core.chat"),
    "AsyncRuntime": "nr_agent_core.runtime",
    **dict.fromkeys(("Purged", "Retention"), "nr_agent_core.ports.retention"),
    "Vocabulary": "nr_agent_core.domain.claims.vocabulary",
    **dict.fromkeys(
        (
            "ApprovalNeeded",
            "MessageNotTaken",
            "RecordWritten",
            "TextDelta",
            "TextWasInterim",
            "ToolCallFinished",
            "ToolCallStarted",
            "TurnCompleted",
            "TurnEvent",
            "TurnFailed",
            "TurnLeft",
            "TurnStarted",
        ),
        "nr_agent_core.domain.turn_events",
    ),
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_LATER[name]), name)
