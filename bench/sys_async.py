"""
The library as an asynchronous host uses it: ``AsyncChat`` over a ``SqliteStore``, one for all tasks.

The model and the tools are asynchronous functions of this process. A turn is ``send`` and a ``view`` of the newest
message, as in :mod:`bench.sys_nr_agent_core`.
"""

from typing import Any

from bench import common
from bench.sys_nr_agent_core import ANNA, Model
from nr_agent_core import (
    AsyncChat,
    ModelAnswer,
    ModelRequest,
    RoleAccess,
    SendOutcome,
    ToolEffect,
    ToolResult,
    WriteKind,
    tool,
)
from nr_agent_core.adapters.sqlite import SqliteStore


class AsyncModel:
    """
    The scripted model, awaited.
    """

    def __init__(self, window: int) -> None:
        self._model = Model(window)
        self.context_window, self.output_limit = self._model.context_window, self._model.output_limit

    async def complete_async(self, request: ModelRequest) -> ModelAnswer:
        """What the scripted model says."""
        return self._model.complete(request)


@tool(effect=ToolEffect.READ_ONLY)
async def get_page(uid: int) -> str:
    """Read a page record."""
    return common.page_record(uid)


@tool(effect=ToolEffect.NON_IDEMPOTENT_WRITE)
async def update_page(uid: int, title: str) -> ToolResult:
    """Change the title of a page."""
    return ToolResult.text(common.do_write(uid, title)).with_write_target(("pages", uid), WriteKind.UPDATED)


class NrAgentCoreAsync:
    """
    One system under test.
    """

    name = "nr_agent_core async"
    w3_mode, w3_shared = "tasks", True

    conversations: dict[str, str] = {}

    def __init__(self, path: str, durability: str = "wal_full", threads: str = "4") -> None:
        store: Any = SqliteStore(path, synchronous=durability.removeprefix("wal_").upper())
        access = RoleAccess(owner_decides=True)
        tools = [get_page, update_page]
        self._chat = AsyncChat(store=store, model=AsyncModel(32768), tools=tools, access=access, threads=int(threads))

    async def _send(self, conv: str, text: str) -> str:
        sent = await self._chat.send(text, ANNA, conversation=self.conversations.get(conv))
        assert sent.outcome is SendOutcome.ACCEPTED
        self.conversations[conv] = sent.conversation
        return sent.conversation

    async def _answer(self, conversation: str) -> str:
        return (await self._chat.view(conversation, ANNA, limit=1)).messages[-1].text

    async def turn(self, conv: str, i: int) -> str:
        """Message, call, result, answer."""
        return await self._answer(await self._send(conv, common.user_text(i)))

    async def suspend(self, conv: str, i: int) -> None:
        """Message, and a call that waits."""
        await self._send(conv, common.write_text(i))

    async def approve(self, conv: str, i: int) -> str:
        """The card, the decision on it, and the answer."""
        conversation = self.conversations[conv]
        card = (await self._chat.view(conversation, ANNA, limit=1)).card
        assert card is not None
        await self._chat.decide(conversation, "approve", card=card, by=ANNA)
        return await self._answer(conversation)

    async def close(self) -> None:
        """Let go of the file."""
        await self._chat.close(wait=5.0)


OPTIONS = [("durability", "wal_full", ["wal_full", "wal_normal"]), ("threads", "4", [])]

if __name__ == "__main__":
    common.main(NrAgentCoreAsync, [], OPTIONS)
