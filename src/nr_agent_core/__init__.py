"""
A chat that states what its run did, not what it said.

These are the supported names. Adapters (``nr_agent_core.adapters.sqlite`` and the others), ports
(``nr_agent_core.ports``) and the test kit (``nr_agent_core.testing``) are imported from their
own modules.
"""

from nr_agent_core.chat import Chat, ConversationView, ErrorView, MessageView, NoticeView, SendOutcome, Sent
from nr_agent_core.defaults.access import RoleAccess
from nr_agent_core.defaults.fixed_configuration import FixedConfiguration
from nr_agent_core.domain.approvals import CallCard, Card, Decision
from nr_agent_core.domain.claims import Claim, ClaimDetector, ClaimPolicy, Vocabulary
from nr_agent_core.domain.continue_phrases import ContinuePhraseRouter, PhraseKind
from nr_agent_core.domain.conversation import ConversationStatus, Message, MessageRole
from nr_agent_core.domain.errors import (
    AccessDeniedError,
    AgentCoreError,
    CallerError,
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
from nr_agent_core.ports.retention import Purged, Retention
from nr_agent_core.runtime import InboxItem, RunResult, Runtime, UpkeepReport

__all__ = [
    "AccessDeniedError",
    "Action",
    "AgentCoreError",
    "AiRecordWritten",
    "CallCard",
    "CallerError",
    "Card",
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
    "Tool",
    "ToolContext",
    "ToolDeclarationError",
    "ToolEffect",
    "ToolMissingError",
    "ToolResult",
    "TrustZones",
    "UpkeepReport",
    "Vocabulary",
    "VocabularyError",
    "WriteEvidence",
    "WriteKind",
    "Wrote",
    "tool",
]
