"""
A card as plain JSON values, for front ends that render it themselves (A1, O3).
"""

from nr_agent_core.domain.approvals import CallCard, Card
from nr_agent_core.domain.notices import JsonValue


def card_values(card: Card) -> dict[str, JsonValue]:
    """
    All of *card*, and nothing that is not on it.
    """
    return {
        "run": card.run_id,
        "digest": card.digest,
        "calls": [_call(call) for call in card.calls],
        "askedAt": card.asked_at,
        "expiresAt": card.expires_at,
        "canApprove": card.can_approve,
        "canDeny": card.can_deny,
        "notes": list(card.notes),
    }


def _call(call: CallCard) -> JsonValue:
    return {
        "call": call.call_id,
        "tool": call.tool,
        "effect": call.effect.value,
        "needsApproval": call.needs_approval,
        "lines": list(call.lines),
        "more": call.more,
        "generated": call.generated,
        "failed": call.failed,
        "withheld": call.withheld,
        "before": None if call.before is None else call.before.value,
        "copies": call.copies,
    }
