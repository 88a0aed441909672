"""
Whole turns as streams of the AI SDK.
"""

import json
from typing import Any

from nr_agent_core.adapters.ai_sdk import AiSdkEncoder
from nr_agent_core.testing import round_of
from nr_agent_core.testing.scripted_model import call
from tests.chat.world import ANNA, CREATE, World

INTERIM = "Die Seite ist schon gespeichert."
ANSWER = "Angelegt: pages:42, wie pages:77."


def encoded(turn: Any) -> str:
    """A turn as the stream that a client reads."""
    encoder = AiSdkEncoder()
    return "".join(frame for event in turn for frame in encoder.encode(event))


def chunks(stream: str) -> list[dict[str, Any]]:
    """The chunks of a stream, which ends as it has to."""
    *frames, done, nothing = stream.split("\n\n")
    assert (done, nothing) == ("data: [DONE]", "")
    assert stream.isascii()
    return [json.loads(frame.removeprefix("data: ")) for frame in frames]


def story(world: World) -> dict[str, str]:
    """From the message to the notice: what each call is told as."""
    chat = world.chat(round_of(call("search_pages"), CREATE, text=INTERIM), ANSWER)
    asked = chat.stream("Lege eine Seite 'Team' an.", ANNA)
    told = {"asked": encoded(asked)}
    conversation = asked.sent.conversation
    told["held"] = encoded(chat.stream("weiter", ANNA, conversation=conversation))
    (card,) = [chunk["data"]["card"] for chunk in chunks(told["asked"]) if chunk["type"] == "data-approval"]
    for name in ("approved", "again"):
        told[name] = encoded(chat.stream_decide(conversation, "approve", card=card["digest"], by=ANNA))
    return told
