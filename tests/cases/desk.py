"""
A small site for these tests: one chat over any store, a writing tool that counts, and what it did.
"""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from nr_agent_core import (
    Chat,
    ModelRequest,
    Reader,
    RoleAccess,
    Sent,
    Tool,
    ToolContext,
    ToolEffect,
    ToolResult,
    WriteKind,
)
from nr_agent_core.adapters.sqlite import SqliteStore
from nr_agent_core.testing.scripted_model import Scripted, ScriptedModel, call

ANNA = Reader("anna", language="de")
ANNA_EN = Reader("anna", language="en")
BOSS = Reader("boss", language="en")
CHEF = Reader("boss", language="de")

_TITLE = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}


class Desk:
    """
    A chat, the titles that its writing tool was executed with, and the model behind it.

    Args:
        answers: the model's script; without one it proposes ``publish`` for whatever the user
            says and then repeats what the tool brought.
        tools: further tools; one named ``publish`` takes the place of the writing tool.
        path: the store's file, or memory.
        store: the store itself, instead of a path.
        parts: further parts of the chat.
    """

    def __init__(
        self,
        *answers: Scripted,
        tools: Iterable[Tool] = (),
        path: Path | str = ":memory:",
        store: SqliteStore | None = None,
        **parts: Any,
    ) -> None:
        self.published: list[str] = []
        self.model = ScriptedModel(*answers) if answers else ScriptedModel(otherwise=proposing)
        parts.setdefault("access", RoleAccess(owner_decides=True, administrators={"boss"}))
        if "configuration" not in parts:
            parts["model"] = self.model
        tools = list(tools)
        if not any(tool.name == "publish" for tool in tools):
            tools.insert(0, self.writer())
        self.chat = Chat(store=SqliteStore(path) if store is None else store, tools=tools, **parts)

    def writer(
        self, name: str = "publish", effect: ToolEffect = ToolEffect.NON_IDEMPOTENT_WRITE, **options: Any
    ) -> Tool:
        """A tool that writes and counts."""

        def execute(arguments: Any, context: ToolContext) -> ToolResult:
            self.published.append(arguments["title"])
            return ToolResult.text("Saved.").with_write_target(("notes", len(self.published)), WriteKind.CREATED)

        return tool_of(name, execute, effect, **options)

    def waiting(self, text: str = "Publish the note, please.", reader: Reader = ANNA) -> Sent:
        """A conversation whose run waits for an approval."""
        sent = self.chat.send(text, reader)
        assert self.chat.view(sent.conversation, reader).card is not None
        return sent

    def card(self, conversation: str, reader: Reader = ANNA) -> Any:
        """The card that stands, or None."""
        return self.chat.view(conversation, reader).card

    def decide(self, conversation: str, decision: str = "approve", card: Any = None) -> Sent:
        """Decide on *card*, or on the one that stands."""
        return self.chat.decide(conversation, decision, card=card or self.card(conversation), by=ANNA)

    def texts(self, conversation: str, reader: Reader = ANNA) -> list[str]:
        """All texts of the conversation, as this reader sees them."""
        return [message.text for message in self.chat.view(conversation, reader).messages]

    def codes(self, conversation: str) -> list[str]:
        """All notices of the conversation."""
        view = self.chat.view(conversation, ANNA)
        return [notice.code.value for message in view.messages for notice in message.notices]


def tool_of(
    name: str,
    execute: Callable[[Any, ToolContext], object],
    effect: ToolEffect = ToolEffect.NON_IDEMPOTENT_WRITE,
    **options: Any,
) -> Tool:
    """A tool with one argument, ``title``."""
    return Tool(name=name, description=f"Does {name}.", parameters=_TITLE, effect=effect, execute=execute, **options)


def proposing(request: ModelRequest) -> Scripted:
    """Proposes to publish what the user said; then says what the tool brought."""
    last = request.messages[-1]
    return call("publish", title=last.text[:40]) if last.role == "user" else f"The tool says: {last.text}"


def everything(request: ModelRequest) -> str:
    """All that a model was given, as one text."""
    messages = [(m.role, m.text, [(c.name, c.arguments) for c in m.calls]) for m in request.messages]
    tools = [(tool.name, tool.description) for tool in request.tools]
    return json.dumps([request.system, messages, tools], ensure_ascii=False)
