"""
Conversations: what a host calls about its embedded chat.
"""

from typing import TYPE_CHECKING, Any

from nr_agent_core.chat.facade import Chat
from nr_agent_core.chat.results import ConversationView, ErrorView, MessageView, NoticeView, SendOutcome, Sent

if TYPE_CHECKING:
    from nr_agent_core.chat.async_facade import AsyncChat, AsyncTurnStream
    from nr_agent_core.chat.streams import TurnStream

__all__ = [
    "AsyncChat",
    "AsyncTurnStream",
    "Chat",
    "ConversationView",
    "ErrorView",
    "MessageView",
    "NoticeView",
    "SendOutcome",
    "Sent",
    "TurnStream",
]


def __getattr__(name: str) -> Any:
    # Only a host with an event loop pays for one, and only one that streams for streams.
    if name == "TurnStream":
        from nr_agent_core.chat.streams import TurnStream

        return TurnStream
    if name in ("AsyncChat", "AsyncTurnStream"):
        from nr_agent_core.chat import async_facade

        return getattr(async_facade, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
