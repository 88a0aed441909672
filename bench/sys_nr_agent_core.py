"""
The library as a host uses it: ``Chat`` over a ``SqliteStore``, everything else as it comes.

A turn is ``send`` and a ``view`` of the newest message, since that is how a host gets an answer; an approval is a
``view`` of the card, ``decide`` on it, and a ``view`` of the answer.

``--history cached``: one object plays all turns. ``window``: each turn has objects of its own, as a worker without a
memory has, and reads back as much as the model's window holds.

``--window``: tokens of the model's window.
"""

import json
import sqlite3
from typing import Any

from bench import common
from nr_agent_core import (
    Chat,
    ModelAnswer,
    ModelCall,
    ModelRequest,
    Reader,
    RoleAccess,
    SendOutcome,
    ToolEffect,
    ToolResult,
    WriteKind,
    tool,
)
from nr_agent_core.adapters.sqlite import SqliteStore

ANNA = Reader("anna", language="de")


class Model:
    """
    The scripted model.
    """

    output_limit: int | None = None

    def __init__(self, window: int) -> None:
        self.context_window: int | None = window

    def complete(self, request: ModelRequest) -> ModelAnswer:
        """A call for a user's message, the answer for a tool's result."""
        newest = request.messages[-1]
        if newest.role != "user":
            asked = json.loads(request.messages[-2].calls[0].arguments)
            return ModelAnswer(common.final_text(asked["uid"]))
        i = common.num_after_seite(newest.text)
        if common.is_write(newest.text):
            call = ModelCall("update_page", json.dumps({"uid": i, "title": f"Neuer Titel {i}"}), f"k{i}")
        else:
            call = ModelCall("get_page", json.dumps({"uid": i}), f"k{i}")
        return ModelAnswer(calls=(call,))


@tool(effect=ToolEffect.READ_ONLY)
def get_page(uid: int) -> str:
    """Read a page record."""
    return common.page_record(uid)


@tool(effect=ToolEffect.NON_IDEMPOTENT_WRITE)
def update_page(uid: int, title: str) -> ToolResult:
    """Change the title of a page."""
    return ToolResult.text(common.do_write(uid, title)).with_write_target(("pages", max(uid, 1)), WriteKind.UPDATED)


class NrAgentCore:
    """
    One process of a host.
    """

    name = "nr_agent_core"
    w3_mode, w3_shared = "threads", True

    conversations: dict[str, str] = {}
    """What a host has in its addresses: the workload's name of a conversation and its id."""

    def __init__(self, path: str, durability: str = "wal_full", history: str = "cached", window: str = "32768") -> None:
        self._path, self._synchronous = path, durability.removeprefix("wal_").upper()
        self._model, self._forgets = Model(int(window)), history == "window"
        self._chat = self._opened()
        # A server has connections open besides; without one SQLite would write back its log after each turn.
        self._open_besides = sqlite3.connect(path) if self._forgets else None

    def _opened(self) -> Chat:
        store: Any = SqliteStore(self._path, synchronous=self._synchronous)
        access = RoleAccess(owner_decides=True)
        return Chat(store=store, model=self._model, tools=[get_page, update_page], access=access)

    def _send(self, conv: str, text: str) -> str:
        if self._forgets:
            self._chat.close()
            self._chat = self._opened()
        sent = self._chat.send(text, ANNA, conversation=self.conversations.get(conv))
        assert sent.outcome is SendOutcome.ACCEPTED
        assert sent.conversation is not None
        self.conversations[conv] = sent.conversation
        return sent.conversation

    def _answer(self, conversation: str) -> str:
        return self._chat.view(conversation, ANNA, limit=1).messages[-1].text

    async def turn(self, conv: str, i: int) -> str:
        """Message, call, result, answer."""
        return self._answer(self._send(conv, common.user_text(i)))

    async def suspend(self, conv: str, i: int) -> None:
        """Message, and a call that waits."""
        self._send(conv, common.write_text(i))

    async def approve(self, conv: str, i: int) -> str:
        """The card, the decision on it, and the answer."""
        conversation = self.conversations[conv]
        card = self._chat.view(conversation, ANNA, limit=1).card
        assert card is not None
        self._chat.decide(conversation, "approve", card=card, by=ANNA)
        return self._answer(conversation)

    async def close(self) -> None:
        """Let go of the file."""
        self._chat.close()
        if self._open_besides is not None:
            self._open_besides.close()


OPTIONS = [
    ("durability", "wal_full", ["wal_full", "wal_normal"]),
    ("history", "cached", ["cached", "window"]),
    ("window", "32768", []),
]

if __name__ == "__main__":
    common.main(NrAgentCore, [], OPTIONS)
