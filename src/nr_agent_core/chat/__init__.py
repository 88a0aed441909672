"""
Conversations: what a host calls about its embedded chat.
"""

from nr_agent_core.chat.facade import Chat
from nr_agent_core.chat.results import ConversationView, ErrorView, MessageView, NoticeView, SendOutcome, Sent

__all__ = ["Chat", "ConversationView", "ErrorView", "MessageView", "NoticeView", "SendOutcome", "Sent"]
