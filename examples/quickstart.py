"""
The first embedded chat: a false claim, a pause, "go on", a decision, and the true answer.

``python -m examples.quickstart``
"""

from nr_agent_core import Chat, Reader, RoleAccess, ToolEffect, ToolResult, WriteKind, tool
from nr_agent_core.adapters.memory import MemoryStore
from nr_agent_core.testing.scripted_model import ScriptedModel, call

pages: list[str] = []


@tool(effect=ToolEffect.NON_IDEMPOTENT_WRITE)
def create_page(title: str) -> ToolResult:
    """Create a page as a draft."""
    pages.append(title)
    return ToolResult.text("Draft saved as pages:1.").with_write_target(("pages", len(pages)), WriteKind.CREATED)


def show(text: str | None) -> None:
    """Print one line, and how many pages there are by now."""
    print(f"[{len(pages)} pages] {text}")


model = ScriptedModel("Done, the page is saved.", call("create_page", title="Team"), "The draft pages:1 is saved.")
# One person plays both parts here. The default is no: owners would release what their own prompts brought about.
chat = Chat(store=MemoryStore(), model=model, tools=[create_page], access=RoleAccess(owner_decides=True))
anna = Reader("anna")

conversation = chat.send("Create a page 'Team'.", anna).conversation
for message in chat.view(conversation, anna).messages[1:]:
    show(f"{message.text} <- {message.notices[0].label}")

chat.send("There is none. Please create it.", anna, conversation=conversation)  # stops before the write
show(chat.send("go on", anna, conversation=conversation).text)  # held: no decision, and no second request

card = chat.view(conversation, anna).card
chat.decide(conversation, "approve", card=card, by=anna)  # executed once, whoever else clicks
show(chat.view(conversation, anna).messages[-1].text)
