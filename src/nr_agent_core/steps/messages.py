"""
What a segment leaves: the event of a call, the message of a run.
"""

from nr_agent_core.domain.context_window import estimate
from nr_agent_core.domain.conversation import MessageRole, NewMessage
from nr_agent_core.domain.notices import Notice
from nr_agent_core.domain.run_events import (
    RecordedCall,
    ToolFinished,
)
from nr_agent_core.domain.tool_result import ToolResult


def finished(number: int, call: RecordedCall, result: ToolResult, *, late: bool = False) -> ToolFinished:
    """
    The ``tool`` event of an executed call. A late one keeps no content (E4).
    """
    return ToolFinished(
        round=number,
        index=call.index,
        tool=call.tool,
        effect=call.effect,
        executed=True,
        outcome=result.outcome,
        length=len(result.content),
        remote=call.remote,
        late=late,
        writes=result.writes,
        text=None if late else result.content,
    )


def assistant_message(run_id: str, text: str, notices: tuple[Notice, ...]) -> NewMessage:
    """
    The message that a settled run leaves: its answer, or F5's without text.
    """
    return NewMessage(MessageRole.ASSISTANT, text, run_id, estimate(text), notices)
