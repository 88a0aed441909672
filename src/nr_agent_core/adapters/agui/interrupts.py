"""
A waiting card as an interrupt, and an answer to an interrupt as a decision on a card (A1, P6).

An interrupt is named by its run and by the digest of the waiting round: equal calls of two runs are
two interrupts. An answer names both by the interrupt's id; whether it decides is judged where every
decision is.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import attrs

from nr_agent_core.adapters.agui.names import LONGEST, name_of
from nr_agent_core.domain.approvals import Card, Decision
from nr_agent_core.domain.card_values import card_values
from nr_agent_core.domain.errors import InvalidValueError
from nr_agent_core.domain.notices import JsonValue
from nr_agent_core.domain.value import Value

REASON = "nr_agent_core:approval"
"""Not the protocol's ``tool_call``, which is about one call: a card is about a round of them."""


@attrs.frozen(repr=False, eq=False)
class Answer(Value):
    """
    What a client answered to an interrupt: *decision* on the card with this *digest*.

    The digest is None when the answer names another one beside its interrupt's; that is a stale card.
    """

    run_id: str
    decision: Decision
    digest: str | None

    @property
    def card(self) -> str | None:
        """The reference of the card that is decided on."""
        return None if self.digest is None else f"{self.run_id}:{self.digest}"


def answerable(card: Card | None) -> Card | None:
    """
    *card*, if its reader can take a decision on it.
    """
    return card if card is not None and (card.can_approve or card.can_deny) else None


def interrupt_of(card: Card) -> dict[str, JsonValue]:
    """
    The interrupt that asks for a decision on *card*.

    ``message`` is what a client shows that knows nothing else; ``metadata`` holds the card whole.
    """
    choice: dict[str, JsonValue] = {"type": "boolean"}
    if not (card.can_approve and card.can_deny):
        choice["const"] = card.can_approve
    interrupt: dict[str, JsonValue] = {
        "id": card.reference,
        "reason": REASON,
        "message": "\n".join([*(line for call in card.calls for line in (call.tool, *call.lines)), *card.notes]),
        "responseSchema": {
            "type": "object",
            "properties": {"approved": choice, "digest": {"const": card.digest}},
            "required": ["approved"],
            "additionalProperties": False,
        },
        "metadata": {"card": card_values(card)},
    }
    if card.expires_at is not None:
        interrupt["expiresAt"] = datetime.fromtimestamp(card.expires_at, UTC).isoformat()
    return interrupt


def answer_of(entry: Mapping[str, Any]) -> Answer:
    """
    The decision that a resume entry states.

    ``resolved`` carries it in its payload, as ``approved``. Whatever else stands there is refused, edited
    arguments above all: only what the card showed can be approved (A2). ``cancelled`` is a denial of the
    interrupt's card: whoever gives an approval up declines it, and nothing is carried out.

    Raises:
        InvalidValueError: the entry is of another form. Nothing was decided.
    """
    status, payload = entry.get("status"), entry.get("payload")
    interrupt = name_of("interruptId", entry.get("interruptId"), most=2 * LONGEST)  # a run and a digest
    run_id, _, digest = interrupt.rpartition(":")
    if status == "cancelled":
        return Answer(run_id, Decision.DENY, digest)
    if status != "resolved":
        raise InvalidValueError("the status of a resume entry", status, "resolved or cancelled")
    if not isinstance(payload, dict) or not isinstance(payload.get("approved"), bool):
        raise InvalidValueError("the payload of a resume entry", payload, "an object whose approved is true or false")
    if more := payload.keys() - {"approved", "digest"}:
        raise InvalidValueError("the payload of a resume entry", sorted(more), "approved and digest alone")
    decision = Decision.APPROVE if payload["approved"] else Decision.DENY
    return Answer(run_id, decision, digest if payload.get("digest", digest) == digest else None)
