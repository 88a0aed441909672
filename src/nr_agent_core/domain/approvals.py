"""
Decisions on recorded calls: who may take them, what refuses them, what a card shows (A1-A6).

Text is never consent. Only a structured decision that names the digest of the waiting round
decides, once, for exactly the calls its card showed (P6, P7).
"""

import enum

import attrs

from nr_agent_core.domain.errors import InvalidValueError
from nr_agent_core.domain.notices import ReplyCode
from nr_agent_core.domain.run import Round, Run
from nr_agent_core.domain.run_events import ApprovalRequested, DecisionPlace
from nr_agent_core.domain.run_status import RunReason, RunStatus
from nr_agent_core.domain.tool_result import Outcome, ToolEffect
from nr_agent_core.domain.value import Value


class Decision(enum.Enum):
    """
    What was decided on the waiting round, as a whole.
    """

    APPROVE = "approve"
    DENY = "deny"


def decision(value: object) -> Decision:
    """
    The decision that *value* is or names.

    Raises:
        InvalidValueError: it is neither; in particular no text of a message is one (P6).
    """
    try:
        return Decision(value)
    except ValueError:
        raise InvalidValueError("a decision", value, "approve or deny") from None


@attrs.frozen(repr=False, eq=False)
class Refusal(Value):
    """
    Why a decision is refused: the code that says what is so now, and the reason in words.
    """

    code: ReplyCode
    why: str


@attrs.frozen(kw_only=True, repr=False, eq=False)
class Decider(Value):
    """
    Who decides, with the rights asked at this moment (O4).
    """

    id: str
    may_decide: bool
    administrator: bool


_ENDED = {
    RunReason.SUPERSEDED: ReplyCode.SUPERSEDED,
    RunReason.APPROVAL_EXPIRED: ReplyCode.APPROVAL_EXPIRED,
    RunReason.CANCELLED: ReplyCode.RUN_CANCELLED,
}


def state_refusal(run: Run, digest: object) -> Refusal | None:
    """
    Why the run's state refuses a decision on *digest*, or None: it waits for just that (A1).
    """
    status = "not started" if run.status is None else run.status.value
    if run.status is not RunStatus.WAITING_FOR_APPROVAL:
        code = _ENDED.get(run.reason) if run.reason is not None else None
        if code is not None:
            return Refusal(code, f"it is {status}")
        decided = any(at.decision is not None and at.decision.digest == digest for at in run.rounds)
        return Refusal(ReplyCode.ALREADY_DECIDED if decided else ReplyCode.STALE_DECISION, f"it is {status}")
    request = run.request
    if request is None or request.digest != digest:
        return Refusal(ReplyCode.STALE_DECISION, "the card is not the one that waits now")
    return None


def decider_refusal(
    run: Run, choice: Decision, decider: Decider, *, four_eyes: bool, admin_tools: frozenset[str]
) -> Refusal | None:
    """
    Why *decider* may not take this decision, or None (A1, A3).

    Args:
        run: a waiting run.
        choice: what is to be decided. A denial passes four-eyes and the tool gate.
        decider: who decides.
        four_eyes: whether an owner's own approval is refused.
        admin_tools: the names of tools that ask for an administrator.
    """
    if not decider.may_decide:
        return Refusal(ReplyCode.MAY_NOT_DECIDE, f"{decider.id!r} may not decide on it")
    if choice is Decision.DENY:
        return None
    if four_eyes and decider.id == run.owner:
        return Refusal(ReplyCode.SECOND_PERSON_NEEDED, "its owner asked for it; a second person must approve")
    writes = (call.tool for call in run.rounds[-1].waiting_calls if call.effect.writes)
    refused = [tool for tool in writes if tool in admin_tools]
    if refused and not decider.administrator:
        return Refusal(ReplyCode.TOOL_NOT_ALLOWED_FOR_APPROVER, f"{refused[0]!r} asks for an administrator")
    return None


@attrs.frozen(repr=False, eq=False)
class CallCard(Value):
    """
    One waiting call as a person sees it.

    ``lines`` is its preview, empty when there is none or this reader may not read it. ``before``
    names the outcome of the same call earlier in this run; ``copies`` counts equal calls of the round.
    """

    call_id: str
    tool: str
    effect: ToolEffect
    needs_approval: bool
    lines: tuple[str, ...] = ()
    more: int = 0
    generated: bool = False
    failed: bool = False
    withheld: bool = False
    before: Outcome | None = None
    copies: int = 1


@attrs.frozen(repr=False, eq=False)
class Card(Value):
    """
    The waiting round as one reader sees it; ``digest`` is what a decision names.

    The previews are a snapshot of the moment ``asked_at``; ``notes`` say so and the rest, in the
    reader's language.
    """

    run_id: str
    digest: str
    calls: tuple[CallCard, ...]
    asked_at: float
    expires_at: float | None
    can_approve: bool
    can_deny: bool
    notes: tuple[str, ...] = ()

    @property
    def reference(self) -> str:
        """
        What names this card in a form or an address; ``Chat.decide`` takes it.

        A digest alone names the round and not its run: equal calls of two runs have equal digests.
        """
        return f"{self.run_id}:{self.digest}"


def named_card(card: object) -> tuple[str | None, str | None]:
    """
    The run and the digest that *card* names: a card, its reference, or its digest alone; None for what is not named.

    Nothing is named by anything else, whatever came in a form.
    """
    if isinstance(card, Card):
        return card.run_id, card.digest
    if not isinstance(card, str):
        return None, None
    run_id, named, digest = card.rpartition(":")
    return (run_id if named else None), digest


def call_cards(run: Run, request: ApprovalRequested, *, readable: bool) -> tuple[CallCard, ...]:
    """
    The cards of the calls that wait in *run*.

    Args:
        run: a waiting run.
        request: what it waits for.
        readable: whether the reader may read previews (T11, O4).
    """
    at = run.rounds[-1]
    previews = {preview.call_id: preview for preview in request.previews or ()}
    digests = [call.digest for call in at.waiting_calls]
    cards = []
    for call in at.waiting_calls:
        call_id = f"{at.answer.round}.{call.index}"
        preview = previews.get(call_id) if readable else None
        cards.append(
            CallCard(
                call_id,
                call.tool,
                call.effect,
                call.approval,
                preview.lines if preview else (),
                preview.more if preview else 0,
                generated=bool(preview and preview.generated),
                failed=readable and call.approval and (preview is None or preview.failed),
                withheld=not readable,
                before=_outcome_before(run, call.digest),
                copies=digests.count(call.digest),
            )
        )
    return tuple(cards)


def _outcome_before(run: Run, digest: str) -> Outcome | None:
    """How the same call ended earlier in this run, if it failed or is unknown (A6)."""
    for at in reversed(run.rounds[:-1]):
        for call, result in zip(at.answer.calls, at.results, strict=False):
            # What was refused or denied was never attempted.
            if call.digest == digest and result.executed and result.outcome in (Outcome.ERROR, Outcome.UNKNOWN):
                return result.outcome
    return None


class Attribution(enum.Enum):
    """
    Whether a granted approval came from the run's owner (A3).
    """

    SELF = "self"
    SECOND_PERSON = "second_person"


def attribution(run: Run, at: Round) -> Attribution | None:
    """
    Who granted the approval of round *at*: its owner or somebody else; None without an approval.
    """
    if at.decision is None or not at.decision.approved:
        return None
    return Attribution.SELF if at.decision.decided_by == run.owner else Attribution.SECOND_PERSON


__all__ = [
    "Attribution",
    "CallCard",
    "Card",
    "Decider",
    "Decision",
    "DecisionPlace",
    "Refusal",
    "attribution",
    "call_cards",
    "decider_refusal",
    "decision",
    "named_card",
    "state_refusal",
]
