"""
A chat with tools of servers: an administrator asks for a write, an editor decides, both look at the answer.
"""

from nr_agent_core import Chat, Configuration, Reader, RoleAccess
from nr_agent_core.adapters.mcp import McpServers
from nr_agent_core.adapters.memory import MemoryStore
from nr_agent_core.domain.run_events import ToolFinished
from nr_agent_core.domain.tool_result import Outcome
from nr_agent_core.testing.scripted_model import ScriptedModel, call

ROOT = Reader("root")
"""An administrator: tools of servers are for them only."""
ANNA = Reader("anna")
"""No administrator."""
DORA = Reader("dora")
"""Decides."""

CLAIM = "All done, the change is saved."


class Desk:
    """
    One conversation in which the model calls *tool* with *arguments*, and then claims that it is done.
    """

    def __init__(self, servers: McpServers, tool: str, arguments: dict, *, reader: Reader = ROOT) -> None:
        self.reader = reader
        self.model = ScriptedModel(call(tool, **arguments), CLAIM)
        self.chat = Chat(
            store=MemoryStore(),
            configuration=Configuration(model=self.model, tools_on=[tool]),
            tools=servers.tools(),
            access=RoleAccess(administrators={"root"}, deciders={"dora"}),
        )
        self.sent = self.chat.send("Please do it.", reader)
        self.conversation = self.sent.conversation

    @property
    def card(self):
        """The card as an administrator sees it."""
        return self.chat.view(self.conversation, ROOT).card

    def approve(self) -> None:
        """The administrator's approval of what the card shows."""
        self.chat.decide(self.conversation, "approve", card=self.card, by=ROOT)

    @property
    def notices(self) -> list[str]:
        """The codes of the notices beside the last answer."""
        view = self.chat.view(self.conversation, self.reader)
        return [notice.code.value for notice in view.messages[-1].notices]

    @property
    def outcomes(self) -> list[Outcome]:
        """How the executed calls of the run ended."""
        events = [stored.event for stored in self.chat.runtime.events(self.sent.run_id, ROOT)]
        return [event.outcome for event in events if isinstance(event, ToolFinished)]
