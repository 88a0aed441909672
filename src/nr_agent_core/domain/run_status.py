"""
Where a run stands, and the one table of legal moves (R1).

Rule 1: a status changes by an event that this table takes, and in no other way.
Rule 2: this module performs nothing and knows no process, clock or store.

The table is keyed by the *kind* of an event, so that documents and tests can print it. Two
targets in one cell mean: the first with a segment token, the second without (R6).
"""

import enum


class RunStatus(enum.Enum):
    """
    Where a run stands (R1).
    """

    QUEUED = "queued"
    RUNNING = "running"
    WAITING_FOR_APPROVAL = "waiting_for_approval"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def settled(self) -> bool:
        """Whether the run is over. Only a late outcome may still be appended."""
        return self in _SETTLED


class RunReason(enum.Enum):
    """
    Why a run ended, a field of its own (R1).
    """

    COMPLETED = "completed"
    MAX_ITERATIONS = "max_iterations"
    NOT_CONFIGURED = "not_configured"
    PROVIDER_FAILED = "provider_failed"
    CONTEXT_TRUNCATED = "context_truncated"
    EMPTY_ANSWER = "empty_answer"
    RETRIES_EXHAUSTED = "retries_exhausted"
    WRITE_OUTCOME_UNKNOWN = "write_outcome_unknown"
    INTERNAL = "internal"
    CANCELLED = "cancelled"
    SUPERSEDED = "superseded"
    APPROVAL_EXPIRED = "approval_expired"


_SETTLED = frozenset({RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELLED})

_QUEUED, _RUNNING, _WAITING = RunStatus.QUEUED, RunStatus.RUNNING, RunStatus.WAITING_FOR_APPROVAL
_COMPLETED, _FAILED, _CANCELLED = RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELLED

TRANSITIONS: dict[RunStatus | None, dict[str, tuple[RunStatus, ...]]] = {
    # No event yet: only the beginning fits.
    None: {"started": (_RUNNING, _QUEUED)},
    _QUEUED: {
        "claimed": (_RUNNING,),
        "failed": (_FAILED,),
        "cancelled": (_CANCELLED,),
        "tool": (_QUEUED,),  # late outcome only
    },
    _RUNNING: {
        "model": (_RUNNING,),
        "tool_started": (_RUNNING,),
        "tool": (_RUNNING,),
        "claimed": (_RUNNING,),  # a takeover is an append; the store asks for an expired lease (R8)
        "approval_requested": (_WAITING,),
        "requeued": (_QUEUED,),
        "completed": (_COMPLETED,),
        "failed": (_FAILED,),
        "cancelled": (_CANCELLED,),
    },
    _WAITING: {
        "approval": (_RUNNING, _QUEUED),
        "cancelled": (_CANCELLED,),
        "tool": (_WAITING,),  # late outcome only
    },
    # A settled run takes the late outcome of a call that is still open, and nothing else (R7).
    _COMPLETED: {"tool": (_COMPLETED,)},
    _FAILED: {"tool": (_FAILED,)},
    _CANCELLED: {"tool": (_CANCELLED,)},
}
