"""
Notices and replies: codes with their data, never a sentence (P2, V10, V11).

A notice stands beside a stored message. A reply answers a call and is not stored. The sentence
for one reader is made per request from the catalogues in :mod:`nr_agent_core.domain.texts`.
"""

import enum
from collections.abc import Iterable, Mapping
from typing import TypeAlias

import attrs

from nr_agent_core.domain.value import Value

JsonValue: TypeAlias = "str | int | float | bool | None | list[JsonValue] | dict[str, JsonValue]"


class NoticeCode(enum.Enum):
    """
    What stands beside a message, in the order in which notices are kept (V10).
    """

    RUN_ENDED = "runEnded"
    CALL_NOT_MADE = "callNotMade"
    NOTHING_SAVED = "nothingSaved"
    OTHER_RECORDS_WRITTEN = "otherRecordsWritten"
    SAVED_NONETHELESS = "savedNonetheless"
    UNKNOWN_REFERENCE = "unknownReference"
    WRITE_OUTCOME_UNKNOWN = "writeOutcomeUnknown"
    SAVED_BEFORE_END = "savedBeforeEnd"
    RUN_FINISHED_OUTSIDE = "runFinishedOutside"


class ReplyCode(enum.Enum):
    """
    What a call to the chat is answered with instead of a run (V11).
    """

    APPROVAL_PENDING = "approvalPending"
    APPROVAL_PENDING_ELSEWHERE = "approvalPendingElsewhere"
    CONVERSATION_BUSY = "conversationBusy"
    STALE_DECISION = "staleDecision"
    ALREADY_DECIDED = "alreadyDecided"
    SUPERSEDED = "superseded"
    APPROVAL_EXPIRED = "approvalExpired"
    MAY_NOT_DECIDE = "mayNotDecide"
    SECOND_PERSON_NEEDED = "secondPersonNeeded"
    TOOL_NOT_ALLOWED_FOR_APPROVER = "toolNotAllowedForApprover"
    RUN_CANCELLED = "runCancelled"
    NOTHING_TO_RETRY = "nothingToRetry"
    RETRY_REFUSED = "retryRefused"
    CHAT_NOT_CONFIGURED = "chatNotConfigured"


@attrs.frozen(repr=False, eq=False)
class Notice(Value):
    """
    One code and its arguments.

    The arguments are plain JSON values, by name:

    ========================  =====================================================================
    runEnded                  ``status``, ``reason``, ``code`` (or None), ``tools`` proposed
    callNotMade               ``tools``
    nothingSaved              none
    otherRecordsWritten       ``claimed``, ``written``
    savedNonetheless          ``records`` or ``tools``
    unknownReference          ``references``
    writeOutcomeUnknown       ``tools`` and ``calls`` (``round.index``) of unknown outcome
    savedBeforeEnd            ``records`` (``{"reference", "kind"}`` each); ``tools`` when released
                              calls were carried out that named no record
    runFinishedOutside        ``status``, ``records``, ``tools`` of unknown outcome
    ========================  =====================================================================
    """

    code: NoticeCode
    arguments: Mapping[str, JsonValue] = attrs.field(factory=dict)


_ORDER = {code: place for place, code in enumerate(NoticeCode)}


def in_order(notices: Iterable[Notice]) -> tuple[Notice, ...]:
    """
    *notices* in the order in which a message keeps them (V10).
    """
    return tuple(sorted(notices, key=lambda notice: _ORDER[notice.code]))
